"""Progress and remaining time of long work: a bar on a terminal, else a line every ten seconds."""

import sys
import time
from contextlib import ExitStack
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from optsched.experiments.run.runner import SweepState

LINE_INTERVAL = 10.0
"""Seconds between two lines where there is no terminal."""


class StepProgress:
    """Progress bar (context manager); call with (done, total)."""

    def __init__(self, name: str = "", steps: str = "steps") -> None:
        console = Console(stderr=True)
        self._name, self._steps = name, steps
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[detail]} remaining"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
            speed_estimate_period=3600.0,  # steps may take minutes
            get_time=lambda: time.monotonic(),
        )
        self._initial = -1
        self._last_print = time.monotonic()

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if not self._bar.disable:  # rich 13 prints an empty line for a disabled bar
            self._bar.stop()

    def __call__(self, done: int, total: int, detail: str = "") -> None:
        """Update. The first call, and a decreasing count, restart the estimate of the time left."""
        tasks = self._bar.tasks
        if not tasks or done < tasks[0].completed:
            for task in tasks:
                self._bar.remove_task(task.id)
            self._initial = done
            self._bar.add_task(self._name, completed=done, total=total, detail=detail)
        else:
            self._bar.update(tasks[0].id, completed=done, total=total, detail=detail)
        if self._bar.disable and self._is_due(done, total):
            self._last_print = time.monotonic()
            name = f"{self._name}: " if self._name else ""
            remaining = self._bar.tasks[0].time_remaining
            words = [f"{name}{done} of {total} {self._steps}", detail]
            words += [f"about {remaining:.0f} s remaining"] if remaining else []
            print(", ".join(filter(None, words)), file=sys.stderr, flush=True)

    def _is_due(self, done: int, total: int) -> bool:
        return time.monotonic() - self._last_print >= LINE_INTERVAL


class SweepProgress(StepProgress):
    def __init__(self) -> None:
        super().__init__(steps="units")
        self._done_before = 0

    def show(self, state: SweepState) -> None:
        if state.run == 0:
            self._done_before = state.done
        done = self._done_before + state.run
        self(done, state.total, f"{state.failed} failed now")

    def _is_due(self, done: int, total: int) -> bool:
        """The first and the last line too: a resumed sweep may have nothing to do."""
        return done == self._initial or done >= total or super()._is_due(done, total)


class RunProgress(ExitStack):
    """Progress by policy; call with (policy, done, total)."""

    def __init__(self) -> None:
        super().__init__()
        self._by_name: dict[str, StepProgress] = {}

    def __call__(self, name: str, done: int, total: int) -> None:
        if name not in self._by_name:
            self.close()
            self._by_name[name] = self.enter_context(StepProgress(name, "jobs"))
        self._by_name[name](done, total)
