"""How far a sweep is, with the time that remains: a bar on a terminal, else a line now and then."""

from __future__ import annotations

import sys
import time
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from optsched.experiments.runner import Standing

EVERY = 10.0
"""Seconds between two lines where there is no terminal."""


class SweepProgress:
    """Call it with each `Standing`; use it as a context manager."""

    def __init__(self) -> None:
        console = Console(stderr=True)
        columns = (
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[failed]} failed, remaining"),
            TimeRemainingColumn(),
        )
        self._bar = Progress(*columns, console=console) if console.is_terminal else None
        self._task = None if self._bar is None else self._bar.add_task("", total=None, failed=0)
        self._began = self._said = time.monotonic()
        self._before = 0

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, standing: Standing) -> None:
        """Show a standing."""
        if standing.run == 0:
            self._before = standing.done
        done = self._before + standing.run
        if self._bar is not None and self._task is not None:
            self._bar.update(
                self._task, total=standing.total, completed=done, failed=standing.failed
            )
            return
        now = time.monotonic()
        if standing.run == 0 or done >= standing.total or now - self._said >= EVERY:
            self._said = now
            print(self._line(standing, done, now - self._began), file=sys.stderr, flush=True)

    def _line(self, standing: Standing, done: int, elapsed: float) -> str:
        left = standing.total - done
        line = f"{done} of {standing.total} units, {standing.failed} failed now"
        if not standing.run or left <= 0:
            return line
        return f"{line}, about {elapsed / standing.run * left:.0f} s remaining"
