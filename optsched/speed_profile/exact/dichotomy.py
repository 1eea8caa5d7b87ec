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

from optsched.deadline import clock
from optsched.result import Outcome, Settings
from optsched.speed_profile.bounds import dual_bound
from optsched.speed_profile.exact._hull_kernel import (
    empty_hull,
    fill_changes,
    fill_slopes,
    lower_hull,
    meet_deadline,
    time_of,
)
from optsched.speed_profile.exact.algorithm_1_as_printed import algorithm_1_as_printed
from optsched.speed_profile.instance import SpeedProfileInstance
from optsched.speed_profile.options import SpeedProfileOptions
from optsched.speed_profile.profile import STATUSES, Profile, curve_of, outcome_of, speeds_of
from optsched.uncertainty.survival import Curve


def dichotomy(
    instance: SpeedProfileInstance, options: SpeedProfileOptions, settings: Settings
) -> Outcome:
    """Solve a speed profile by the dichotomy over its slowest speed."""
    if options.algorithm == "printed":
        return algorithm_1_as_printed(instance)
    began = clock()
    curve = curve_of(instance)
    profile, multiplier = dichotomy_profile(instance, curve)
    bound = dual_bound(instance, curve, multiplier)
    seconds = clock() - began
    source, gap = "dichotomy", settings.gap
    return outcome_of(instance, curve, profile, seconds, bound=bound, source=source, gap=gap)


def dichotomy_profile(instance: SpeedProfileInstance, curve: Curve) -> tuple[Profile, float]:
    """Algorithm 1, repaired, over the hull's speeds; and its multiplier."""
    if not instance.can_be_in_time:
        return Profile.infeasible(), 0.0
    speeds, hull = speeds_of(instance), empty_hull(len(instance.speeds))
    last = lower_hull(speeds, hull.vertices) - 1
    work, deadline = float(curve.knots[-1] - curve.knots[0]), float(instance.deadline)
    if work * speeds.inverse[hull.vertices[0]] <= deadline:
        return Profile.of_changes(curve, hull.vertices[:1], (), "slack"), 0.0
    fill_slopes(speeds, hull, last)

    def seconds_at_start(m: int) -> float:
        """The left-hand side of (25) where s_m is left at once, y_m = 0, and (24) says the rest."""
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
