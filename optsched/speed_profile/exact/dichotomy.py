"""Method ``dichotomy``: Algorithm 1 of sts, repaired, on the hull's speeds.

Guarantee: optimal to rounding, with the dual's value at its multiplier as its bound. For a set of
speeds s_m..s_K, (24) gives all changes y_k from one multiplier and (25) makes the time equal to the
deadline. Repairs of the printed algorithm, each needed (models/selection/README.md shows an
instance for each): slack and infeasible first; if the time at y_m = 0 still exceeds d then
L := m + 1 (printed: L := m, which loops forever); if the time at y_m = w^max is within d then
U := m (printed: no root of (25));
the speeds are the hull's (printed: all, wrong where idle power makes Q fall first); for discrete W,
where (24) has no exact root, the multiplier is bisected and the profile interpolated at the jump.
Complexity: O(log K) root searches of O(K n) each. Source: sts, (23)-(26) and Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from optsched.deadline import clock
from optsched.result import Outcome, Settings
from optsched.speed_profile.bounds import dual_bound, first_epoch, slopes_of
from optsched.speed_profile.exact.hull import hull_speeds
from optsched.speed_profile.instance import SpeedProfileInstance
from optsched.speed_profile.options import SpeedProfileOptions
from optsched.speed_profile.profile import Profile, curve_of, outcome_of
from optsched.uncertainty.survival import Curve

BISECTIONS = 200


def dichotomy(
    instance: SpeedProfileInstance, options: SpeedProfileOptions, settings: Settings
) -> Outcome:
    """Solve a speed profile by the dichotomy over its slowest speed."""
    if options.algorithm == "printed":
        from optsched.speed_profile.exact.algorithm_1_as_printed import algorithm_1_as_printed

        return algorithm_1_as_printed(instance)
    began = clock()
    curve = curve_of(instance)
    speeds = hull_speeds(instance)
    profile, multiplier = dichotomy_profile(instance, curve, speeds)
    bound = dual_bound(instance, curve, speeds, multiplier)
    seconds = clock() - began
    source, gap = "dichotomy", settings.gap
    return outcome_of(instance, curve, profile, seconds, bound=bound, source=source, gap=gap)


def dichotomy_profile(
    instance: SpeedProfileInstance, curve: Curve, speeds: Sequence[int]
) -> tuple[Profile, float]:
    """Algorithm 1, repaired, over speeds given by index, slowest first; and its multiplier."""
    search = Search(instance, curve, speeds)
    work = float(curve.knots[-1] - curve.knots[0])
    last = len(speeds) - 1
    deadline = float(instance.deadline)
    if not instance.can_be_in_time:
        return Profile.infeasible(), 0.0
    if work * search.inverse[0] <= deadline:
        return Profile.of_changes(curve, speeds[:1], (), "slack"), 0.0
    low, high = 0, last
    while high > low:
        m = (low + high) // 2
        if search.seconds_at_start(m) > deadline:
            low = m + 1  # even leaving s_m at once is too slow
        else:
            high = m  # a root of (25) exists, or s_m alone is in time
    changes, multiplier = search.root(high, deadline)
    return Profile.of_solver(instance, curve, speeds[high:], changes), multiplier


class Search:
    """(24) and (25) over a set of speeds: changes and time as functions of one multiplier."""

    def __init__(self, instance: SpeedProfileInstance, curve: Curve, speeds: Sequence[int]) -> None:
        self.curve = curve
        self.inverse, self.phi = slopes_of(instance, speeds)

    def seconds_at_start(self, m: int) -> float:
        """The left-hand side of (25) where s_m is left at once: y_m = 0 itself, not its root."""
        start, multiplier = float(self.curve.knots[0]), float(self.curve.high[0]) * self.phi[m]
        return self._time(m, [start, *self._changes(m + 1, multiplier)])

    def root(self, m: int, deadline: float) -> tuple[list[float], float]:
        """Changes with time d: bisect the multiplier, interpolate what is left of a jump.

        Both ends are kept as changes: those of s_m alone, too slow, and of s_K alone, in time.
        """
        edges, start, end = len(self.phi) - m, self.curve.knots[0], self.curve.knots[-1]
        slow, at_slow = 0.0, [float(end)] * edges
        fast = float(self.curve.high[0]) * max(self.phi, default=0.0)
        at_fast = [float(start)] * edges
        for _ in range(BISECTIONS):
            middle = (slow + fast) / 2
            changes = self._changes(m, middle)
            if self._time(m, changes) <= deadline:
                fast, at_fast = middle, changes
            else:
                slow, at_slow = middle, changes
        spent_slow, spent_fast = self._time(m, at_slow), self._time(m, at_fast)
        if spent_slow <= spent_fast:
            return at_fast, fast
        share = min(max((deadline - spent_fast) / (spent_slow - spent_fast), 0.0), 1.0)
        return [a + share * (b - a) for a, b in zip(at_fast, at_slow, strict=True)], fast

    def _changes(self, m: int, multiplier: float) -> list[float]:
        """(24): y_k = inf{w : F^c(w) Phi_k <= multiplier} for k >= m."""
        return [first_epoch(self.curve, multiplier / phi) for phi in self.phi[m:]]

    def _time(self, m: int, changes: Sequence[float]) -> float:
        ends = np.array([*changes, self.curve.knots[-1]])
        lengths = np.diff(ends, prepend=self.curve.knots[0])
        return float(lengths @ np.array(self.inverse[m:]))
