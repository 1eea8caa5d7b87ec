"""Method ``dichotomy``: Algorithm 1 of sts, repaired, on the hull's speeds.

Guarantee: optimal (to rounding of the bisection). For a set of speeds s_m..s_K, (24) gives all
changes y_k from one multiplier and (25) makes the time equal to the deadline. Repairs of the
printed algorithm, each needed (models/selection/README.md shows an instance for each):
slack and infeasible first; if the time at y_m = 0 still exceeds d then L := m + 1 (printed: L := m,
which loops forever); if the time at y_m = w^max is within d then U := m (printed: no root of (25));
the speeds are the hull's (printed: all, wrong where idle power makes Q fall first); for discrete W,
where (24) has no exact root, the multiplier is bisected and the profile interpolated at the jump.
Complexity: O(log K) root searches of O(K n) each. Source: sts, (23)-(26) and Algorithm 1.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from optsched.result import Outcome, Settings
from optsched.speed_profile.curve import Curve, curve_of
from optsched.speed_profile.hull import hull_speeds
from optsched.speed_profile.instance import SpeedProfileInstance
from optsched.speed_profile.options import SpeedProfileOptions
from optsched.speed_profile.profile import Profile, outcome_of

BISECTIONS = 200
ROUNDING = 1e-12


def dichotomy(
    instance: SpeedProfileInstance, options: SpeedProfileOptions, settings: Settings
) -> Outcome:
    """Solve a speed profile by the dichotomy over its slowest speed."""
    if options.algorithm == "printed":
        from optsched.speed_profile.printed import printed

        return printed(instance)
    began = time.perf_counter()
    curve = curve_of(instance)
    profile = dichotomy_profile(instance, curve, hull_speeds(instance))
    seconds = time.perf_counter() - began
    return outcome_of(instance, curve, profile, seconds, proved=True, source="dichotomy")


def dichotomy_profile(
    instance: SpeedProfileInstance, curve: Curve, speeds: Sequence[int]
) -> Profile:
    """Algorithm 1, repaired, over speeds given by index, slowest first."""
    search = Search(instance, curve, speeds)
    work = float(curve.knots[-1] - curve.knots[0])
    last = len(speeds) - 1
    deadline = float(instance.deadline)
    fastest = work * search.inverse[last]
    if fastest > deadline + ROUNDING * max(fastest, deadline):
        return Profile.infeasible()
    if work * search.inverse[0] <= deadline:
        return Profile.of_changes(curve, speeds[:1], (), "slack")
    low, high = 0, last
    while high > low:
        m = (low + high) // 2
        if search.seconds(m, search.multiplier_at_start(m)) > deadline:
            low = m + 1  # even leaving s_m at once is too slow
        else:
            high = m  # a root of (25) exists, or s_m alone is in time
    profile = Profile.of_changes(curve, speeds[high:], search.root(high, deadline), "binding")
    spare = deadline - profile.seconds(instance)
    return profile if spare <= 1e-9 * deadline else replace(profile, status="slack")


class Search:
    """(24) and (25) over a set of speeds: changes and time as functions of one multiplier."""

    def __init__(self, instance: SpeedProfileInstance, curve: Curve, speeds: Sequence[int]) -> None:
        inverse = [1.0 / instance.speeds[k] for k in speeds]
        energy = [instance.power[k] / instance.speeds[k] for k in speeds]
        self.curve, self.inverse = curve, inverse
        self.phi = [
            (energy[k + 1] - energy[k]) / (inverse[k] - inverse[k + 1])
            for k in range(len(speeds) - 1)
        ]

    def multiplier_at_start(self, m: int) -> float:
        """The multiplier at which y_m is just 0."""
        return float(self.curve.high[0]) * self.phi[m]

    def changes(self, m: int, multiplier: float) -> list[float]:
        """(24): y_k = inf{w : F^c(w) Phi_k <= multiplier} for k >= m."""
        return [self._first(multiplier / phi) for phi in self.phi[m:]]

    def seconds(self, m: int, multiplier: float) -> float:
        """The left-hand side of (25)."""
        return self._time(m, self.changes(m, multiplier))

    def root(self, m: int, deadline: float) -> list[float]:
        """Changes with time d: bisect the multiplier, interpolate what is left of a jump."""
        if m == len(self.phi):
            return []
        slow, fast = 0.0, self.multiplier_at_start(len(self.phi) - 1)
        for _ in range(BISECTIONS):
            middle = (slow + fast) / 2
            if self.seconds(m, middle) <= deadline:
                fast = middle
            else:
                slow = middle
        at_slow, at_fast = self.changes(m, slow), self.changes(m, fast)
        spent_slow, spent_fast = self._time(m, at_slow), self._time(m, at_fast)
        if spent_slow <= spent_fast:
            return at_fast
        share = min(max((deadline - spent_fast) / (spent_slow - spent_fast), 0.0), 1.0)
        return [a + share * (b - a) for a, b in zip(at_fast, at_slow, strict=True)]

    def _time(self, m: int, changes: Sequence[float]) -> float:
        ends = np.array([*changes, self.curve.knots[-1]])
        lengths = np.diff(ends, prepend=self.curve.knots[0])
        return float(lengths @ np.array(self.inverse[m:]))

    def _first(self, level: float) -> float:
        """(F^c)^{-1}, read as inf{w : F^c(w) <= level}."""
        curve = self.curve
        under = np.flatnonzero(curve.low <= level)
        if not len(under):
            return float(curve.knots[-1])
        i = int(under[0])
        if curve.high[i] <= level:
            return float(curve.knots[i])
        share = (curve.high[i] - level) / (curve.high[i] - curve.low[i])
        return float(curve.knots[i] + share * (curve.knots[i + 1] - curve.knots[i]))
