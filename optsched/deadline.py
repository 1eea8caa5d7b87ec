"""One notion of a time limit: a clock that starts when solving starts and is handed on.

Whoever works under a limit asks the same clock, whatever has been spent on heuristics, on bounds
or on stating a model: `Settings.deadline`. Work that cannot be interrupted (a Pyomo model being
stated) is refused beforehand with `has`, or stopped between two steps with `check`. An interrupt
lets every deadline pass, also one without a limit (`interrupts`). The clock stands still while code
is compiled.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


def clock() -> float:
    """Seconds of `time.perf_counter`, less those in which the clock stood still."""
    return time.perf_counter() - _stood


def stood() -> float:
    """Seconds in which the clock has stood still so far."""
    return _stood


@contextmanager
def standing_still() -> Iterator[None]:
    """Let the clock stand still: what is done meanwhile is not a method's work."""
    global _stood
    began = clock()
    try:
        yield
    finally:
        _stood += clock() - began


class OutOfTimeError(Exception):
    """The deadline passed between two steps; whoever set out catches it: never a user's error."""


@dataclass(frozen=True)
class Deadline:
    """When work began, and after how many seconds it must end.

    Attributes
    ----------
    limit : float or None
        Seconds from `began`; None for no limit.
    began : float
        On `clock`.
    """

    limit: float | None = None
    began: float = field(default_factory=clock)

    @property
    def spent(self) -> float:
        """Seconds so far."""
        return clock() - self.began

    @property
    def left(self) -> float | None:
        """Seconds left, at least 0; None without a limit."""
        if _all_passed:
            return 0.0
        return None if self.limit is None else max(self.limit - self.spent, 0.0)

    @property
    def until(self) -> float:
        """When it passes, on `clock`; infinite without a limit."""
        if _all_passed:
            return -math.inf
        return math.inf if self.limit is None else self.began + self.limit

    @property
    def is_over(self) -> bool:
        """Whether it has passed."""
        return clock() >= self.until

    def has(self, seconds: float) -> bool:
        """Whether so many seconds are left."""
        return clock() + seconds < self.until

    def check(self) -> None:
        """Raise OutOfTimeError once it has passed; to be called between two steps."""
        if self.is_over:
            raise OutOfTimeError

    def share(self, part: float) -> Deadline:
        """A deadline of its own, from now, over a part of the time left."""
        left = self.left
        return Deadline(None if left is None else part * left)


def pass_all(passed: bool) -> None:
    """Let every deadline have passed, whatever its limit; or let each have its limit again."""
    global _all_passed
    _all_passed = passed


_all_passed = False
_stood = 0.0
