"""Time limits: a clock that starts with the run and is shared by all of its parts.

`Settings.deadline` covers heuristics, bounds, models and solvers together. Work that cannot be
interrupted, such as building a Pyomo model, is refused beforehand with `has` or stopped between two
steps with `check`. An interrupt makes every deadline pass (see `interrupts`). The clock stops while
code is compiled.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


def clock() -> float:
    """Return the seconds of `time.perf_counter`, less those in which the clock was stopped."""
    return time.perf_counter() - _seconds_stopped


def seconds_stopped() -> float:
    """Return the seconds in which the clock has been stopped so far."""
    return _seconds_stopped


@contextmanager
def clock_stopped() -> Iterator[None]:
    """Stop the clock during work that does not count as a method's, such as compiling."""
    global _seconds_stopped
    began = clock()
    try:
        yield
    finally:
        _seconds_stopped += clock() - began


class OutOfTimeError(Exception):
    """The deadline passed between two steps; internal, caught by the methods."""


@dataclass(frozen=True)
class Deadline:
    """A time limit in seconds, None for no limit, and the reading of `clock` when it began."""

    limit: float | None = None
    began: float = field(default_factory=clock)

    @property
    def spent(self) -> float:
        return clock() - self.began

    @property
    def left(self) -> float | None:
        """Seconds left, at least 0; None without a limit."""
        if _all_passed:
            return 0.0
        return None if self.limit is None else max(self.limit - self.spent, 0.0)

    @property
    def until(self) -> float:
        """The clock's reading when it passes; infinite without a limit."""
        if _all_passed:
            return -math.inf
        return math.inf if self.limit is None else self.began + self.limit

    @property
    def is_over(self) -> bool:
        return clock() >= self.until

    def has(self, seconds: float) -> bool:
        return clock() + seconds < self.until

    def check(self) -> None:
        """Raise OutOfTimeError once it has passed; to be called between two steps."""
        if self.is_over:
            raise OutOfTimeError

    def share(self, fraction: float) -> Deadline:
        """Return a deadline, from now, over a fraction of the time left."""
        left = self.left
        return Deadline(None if left is None else fraction * left)


def expire_all(passed: bool) -> None:
    """Make every deadline pass at once, or restore their own limits."""
    global _all_passed
    _all_passed = passed


_all_passed = False
_seconds_stopped = 0.0
