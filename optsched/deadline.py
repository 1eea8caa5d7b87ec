"""One notion of a time limit: a clock that starts when solving starts and is handed on.

Whoever works under a limit asks the same clock, whatever has been spent on heuristics, on bounds
or on stating a model: `Settings.deadline`. Work that cannot be interrupted (a Pyomo model being
stated) is refused beforehand with `has`, or stopped between two steps with `check`. An interrupt
lets every deadline pass, also one without a limit (`interrupts`).
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field


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
        On the clock of `time.perf_counter`.
    """

    limit: float | None = None
    began: float = field(default_factory=time.perf_counter)

    @property
    def spent(self) -> float:
        """Seconds so far."""
        return time.perf_counter() - self.began

    @property
    def left(self) -> float | None:
        """Seconds left, at least 0; None without a limit."""
        if _all_passed:
            return 0.0
        return None if self.limit is None else max(self.limit - self.spent, 0.0)

    @property
    def until(self) -> float:
        """When it passes, on the clock of `time.perf_counter`; infinite without a limit."""
        if _all_passed:
            return -math.inf
        return math.inf if self.limit is None else self.began + self.limit

    @property
    def is_over(self) -> bool:
        """Whether it has passed."""
        return time.perf_counter() >= self.until

    def has(self, seconds: float) -> bool:
        """Whether so many seconds are left."""
        return time.perf_counter() + seconds < self.until

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
