"""Progress and remaining time of long work: a bar on a terminal, else a line every ten seconds."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

from optsched.experiments.run.runner import SweepState

EVERY = 10.0
"""Seconds between two lines where there is no terminal."""


class StepProgress:
    """Call it with how many steps are done, and of how many; use it as a context manager."""

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
        """Show a count; the first call, and one that falls back, sets what was done before."""
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
    """Call it with each `SweepState` of a sweep."""

    def __init__(self) -> None:
        super().__init__(steps="units")
        self._done_before = 0

    def show(self, state: SweepState) -> None:
        """Show the state of a sweep."""
        if state.run == 0:
            self._done_before = state.done
        done = self._done_before + state.run
        self(done, state.total, f"{state.failed} failed now")

    def _due(self, done: int, total: int, now: float) -> bool:
        """The first and the last line too: a resumed sweep may have nothing to do."""
        return done == self._before or done >= total or super()._due(done, total, now)


class RunProgress:
    """Call it with a policy's name, how many of its jobs have ended, and how many there are."""

    def __init__(self) -> None:
        self._bars = ExitStack()
        self._by_name: dict[str, StepProgress] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.close()

    def __call__(self, name: str, over: int, jobs: int) -> None:
        """Show how far a policy's run is."""
        if name not in self._by_name:
            self._bars.close()  # of the policy before
            self._by_name[name] = self._bars.enter_context(StepProgress(name, "jobs"))
        self._by_name[name](over, jobs)
