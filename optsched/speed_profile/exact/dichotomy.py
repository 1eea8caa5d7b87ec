"""Method ``dichotomy``: Algorithm 1 of sts, repaired, on the hull's speeds.

Guarantee: optimal to rounding, with the dual's value at its multiplier as its bound. For a set of
speeds s_m..s_K, (24) gives all changes y_k from one multiplier and (25) makes the time equal to the
deadline. models/selection/README.md lists the repairs, with an instance for each. For discrete W,
where (24) has no exact root, the multiplier is bisected and the profile interpolated at the jump.
Complexity: O(log K) root searches of O(K n) each. Source: sts, (23)-(26) and Algorithm 1.
"""

import numpy as np

from optsched.deadline import clock
from optsched.result import Outcome, Settings, Termination
from optsched.speed_profile.bounds import solve_with_bound
from optsched.speed_profile.exact._hull_kernel import (
    empty_hull,
    fill_changes,
    fill_slopes,
    lower_hull,
    meet_deadline,
    time_of,
)
from optsched.speed_profile.instance import SpeedProfileInstance
from optsched.speed_profile.options import SpeedProfileOptions
from optsched.speed_profile.profile import STATUSES, Profile, curve_of, outcome_of, speeds_of
from optsched.uncertainty.survival import Curve

BISECTIONS = 100
TOLERANCE = 1e-9


class _FailedError(Exception):
    """Algorithm 1 as printed has no result."""


def dichotomy(
    instance: SpeedProfileInstance, options: SpeedProfileOptions, settings: Settings
) -> Outcome:
    """Solve a speed profile by the dichotomy over its slowest speed."""
    if options.algorithm == "printed":
        return algorithm_1_as_printed(instance)
    return solve_with_bound(instance, settings, dichotomy_profile, "dichotomy")


def dichotomy_profile(instance: SpeedProfileInstance, curve: Curve) -> tuple[Profile, float]:
    """Algorithm 1, repaired, over the hull's speeds; and its multiplier."""
    if not instance.is_feasible:
        return Profile((), "infeasible"), 0.0
    speeds, hull = speeds_of(instance), empty_hull(len(instance.speeds))
    last = lower_hull(speeds, hull.vertices) - 1
    work, deadline = float(curve.knots[-1] - curve.knots[0]), float(instance.deadline)
    if work * speeds.inverse[hull.vertices[0]] <= deadline:
        return Profile.of_changes(curve, hull.vertices[:1], (), "slack"), 0.0
    fill_slopes(speeds, hull, last)

    def seconds_at_start(m: int) -> float:
        """The left-hand side of (25) at y_m = 0."""
        multiplier = float(curve.high[0]) * hull.slopes[m]
        fill_changes(curve, hull.slopes, m + 1, last, multiplier, hull.changes)
        return time_of(curve, speeds, hull.vertices, m + 1, last, hull.changes)

    low, high = 0, last
    while high > low:
        m = (low + high) // 2
        if seconds_at_start(m) > deadline:
            low = m + 1  # even leaving s_m at once is too slow
        else:
            high = m  # a root of (25) exists, or s_m alone is in time
    status, multiplier = meet_deadline(curve, speeds, deadline, hull, high, last)
    used, changes = hull.vertices[high : last + 1], hull.changes[high:last]
    return Profile.of_changes(curve, used, changes, STATUSES[status]), float(multiplier)


def algorithm_1_as_printed(instance: SpeedProfileInstance) -> Outcome:
    """Run Algorithm 1 as printed, to show where it fails; a failure is a status 'error'."""
    started, curve = clock(), curve_of(instance)
    try:
        profile = _algorithm_1(instance, curve)
    except _FailedError as failure:
        details = {"message": f"Algorithm 1 as printed: {failure}"}
        seconds = clock() - started
        return Outcome(None, Termination.ERROR, solve_time=seconds, details=details)
    return outcome_of(instance, curve, profile, clock() - started)


def _algorithm_1(instance: SpeedProfileInstance, curve: Curve) -> Profile:
    last = len(instance.speeds) - 1
    upper, lower = last, 0
    while upper > lower:
        m = (upper + lower) // 2
        root = _root(instance, curve, m)
        if root <= curve.knots[0]:
            if lower == m:
                raise _FailedError(f"loops forever at L = m = {m + 1}")
            lower = m
        else:
            upper = m
    if upper == last:
        changes: list[float] = []
    else:
        changes = _changes(instance, curve, upper, _root(instance, curve, upper))
    return Profile.of_changes(curve, range(upper, last + 1), changes, "binding")


def _phi(instance: SpeedProfileInstance, k: int) -> float:
    """Phi_k below (24)."""
    s, power = instance.speeds, instance.power
    return (s[k] * power[k + 1] - s[k + 1] * power[k]) / (s[k + 1] - s[k])


def _changes(instance: SpeedProfileInstance, curve: Curve, m: int, first: float) -> list[float]:
    """y_m, and the later changes by (24)."""
    changes = [first]
    for k in range(m + 1, len(instance.speeds) - 1):
        phi = _phi(instance, k)
        if phi <= 0:
            raise _FailedError(
                f"Phi_{k + 1} = {phi:g}: (24) has no value, Q falls at speed {k + 1}"
            )
        changes.append(_inverse(curve, _phi(instance, m) / phi * curve.survival(first)))
    return changes


def _root(instance: SpeedProfileInstance, curve: Curve, m: int) -> float:
    """A root of (25) in y_m; the start when y_m = 0 is already too slow."""
    start, end = float(curve.knots[0]), float(curve.knots[-1])

    def excess(first: float) -> float:
        changes = _changes(instance, curve, m, first)
        ends = np.diff([start, *changes, end])
        speeds = np.array(instance.speeds[m:])
        return float((ends / speeds).sum()) - float(instance.deadline)

    if excess(start) > 0:
        return start
    if excess(end) < -TOLERANCE * float(instance.deadline):
        raise _FailedError(f"(25) has no root for m = {m + 1}: s_m alone is faster than d")
    low, high = start, end
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (low, middle) if excess(middle) > 0 else (middle, high)
    if abs(excess(high)) > 1e-6 * float(instance.deadline):
        raise _FailedError(f"(25) has no root for m = {m + 1}: the time is discontinuous at d")
    return high


def _inverse(curve: Curve, level: float) -> float:
    """sup{z : F^c(z) = y}; with no such z, where F^c passes y."""
    above = np.flatnonzero(curve.high >= level)
    if not len(above):
        return float(curve.knots[0])
    i = int(above[-1])
    if curve.low[i] >= level:
        return float(curve.knots[i + 1])
    share = (curve.high[i] - level) / (curve.high[i] - curve.low[i])
    return float(curve.knots[i] + share * (curve.knots[i + 1] - curve.knots[i]))
