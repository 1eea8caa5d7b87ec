"""How far long work is, and what time remains: a bar on a terminal, else a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from optsched.experiments.run.runner import Standing

EVERY = 10.0
"""Seconds between two lines where there is no terminal."""


class StepProgress:
    """Call it with how many steps are done, and of how many; use it as a context manager.

    Parameters
    ----------
    name : str
        What the steps belong to.
    steps : str
        What a step is called, in the plural.
    """

    def __init__(self, name: str = "", steps: str = "steps") -> None:
        console = Console(stderr=True)
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[aside]} remaining"),
            TimeRemainingColumn(),
        )
        self._name, self._steps = name, steps
        self._bar = (
            Progress(*columns, console=console, transient=True) if console.is_terminal else None
        )
        self._task = None if self._bar is None else self._bar.add_task(name, total=None, aside="")
        self._said = time.monotonic()
        self._before = self._last = -1
        self._first: tuple[int, float] | None = None

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, done: int, total: int, aside: str = "") -> None:
        """Show how far it is; the first call, and one that falls back, counts as done before."""
        if self._before < 0 or done < self._last:
            self._before, self._first = done, None
        elif self._first is None and done > self._before:
            self._first = done, time.monotonic()  # the time until then may be that of compiling
        self._last = done
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, total=total, completed=done, aside=aside)
            return
        now = time.monotonic()
        if self._due(done, total, now):
            self._said = now
            print(self._line(done, total, aside, now), file=sys.stderr, flush=True)

    def _due(self, done: int, total: int, now: float) -> bool:
        return now - self._said >= EVERY

    def _line(self, done: int, total: int, aside: str, now: float) -> str:
        start = f"{self._name}: " if self._name else ""
        line = f"{start}{done} of {total} {self._steps}{f', {aside}' if aside else ''}"
        if self._first is None or done <= self._first[0] or done >= total:
            return line
        each = (now - self._first[1]) / (done - self._first[0])
        return f"{line}, about {each * (total - done):.0f} s remaining"


class SweepProgress(StepProgress):
    """Call it with each `Standing` of a sweep."""

    def __init__(self) -> None:
        super().__init__(steps="units")
        self._done_before = 0

    def standing(self, standing: Standing) -> None:
        """Show a standing."""
        if standing.run == 0:
            self._done_before = standing.done
        done = self._done_before + standing.run
        self(done, standing.total, f"{standing.failed} failed now")

    def _due(self, done: int, total: int, now: float) -> bool:
        """The first and the last line too: a resumed sweep may have nothing to do."""
        return done == self._before or done >= total or super()._due(done, total, now)


class RunProgress:
    """Call it with a policy, how many of its jobs are over, and of how many: a bar a policy."""

    def __init__(self, names: Sequence[str], jobs: int) -> None:
        console = Console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:.0f} of {task.total:.0f} jobs"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._tasks = {name: self._bar.add_task(name, total=jobs) for name in names}
        self._said = time.monotonic()

    def __enter__(self) -> Self:
        if not self._bar.disable:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if not self._bar.disable:  # or older versions of rich end with an empty line
            self._bar.stop()

    def __call__(self, name: str, over: int, jobs: int) -> None:
        """Show how far a policy's run is."""
        self._bar.update(self._tasks[name], completed=over)
        if self._bar.disable and time.monotonic() - self._said >= EVERY:
            self._said = time.monotonic()
            print(f"{name}: {over} of {jobs} jobs", file=sys.stderr, flush=True)
