"""Method ``hull``: the optimal speed profile for any distribution and any power curve.

Guarantee: optimal. An epoch at speed s costs F^c(w) Q(s) and takes 1/s, so only the lower convex
hull of the points (1/s_k, Q_k) matters, from its least-Q vertex to its fastest, and one Lagrange
multiplier on the deadline decides where the profile passes each edge. At the critical multiplier
the deadline is met exactly by mixing two profiles that are both optimal there: for discrete W a
fractional knapsack whose last piece is split, its later part the faster. Complexity: O(K^2 +
B K log n) for K speeds (K^2 only where more GPUs are slower), n pieces of F^c and B halvings of the
multiplier, about 60.
Source: (P3) of sts; models/selection.
"""

import math
from dataclasses import replace

from optsched.deadline import Deadline
from optsched.result import Outcome, Settings
from optsched.speed_profile.bounds import dual_bound, solve_with_bound
from optsched.speed_profile.exact._hull_kernel import INFEASIBLE, empty_hull, profile_of_curve
from optsched.speed_profile.instance import SpeedProfileInstance
from optsched.speed_profile.options import SpeedProfileOptions
from optsched.speed_profile.profile import STATUSES, Profile, curve_of, speeds_of
from optsched.uncertainty.survival import Curve

SOURCE = "hull and multiplier"
"""Of the bound."""


def hull(
    instance: SpeedProfileInstance, options: SpeedProfileOptions, settings: Settings
) -> Outcome:
    return solve_with_bound(instance, settings, hull_profile, SOURCE)


def quick_bound(
    instance: SpeedProfileInstance, options: SpeedProfileOptions, deadline: Deadline | None = None
) -> tuple[float | None, str]:
    """The dual's value at the hull's multiplier; None when the deadline cannot be met."""
    curve = curve_of(instance)
    profile, multiplier = hull_profile(instance, curve)
    if profile.status == "infeasible":
        return None, SOURCE
    return dual_bound(instance, curve, multiplier), SOURCE


def exact(
    instance: SpeedProfileInstance, options: SpeedProfileOptions, settings: Settings
) -> Outcome:
    """Method ``exact``: alias of ``hull``."""
    return replace(hull(instance, options, settings), chosen="hull")


def hull_profile(instance: SpeedProfileInstance, curve: Curve) -> tuple[Profile, float]:
    """The optimal profile on a curve, and the multiplier of its deadline.

    Parameters
    ----------
    instance : SpeedProfileInstance
        The instance.
    curve : Curve
        F^c of the work that is left, in epochs.

    Returns
    -------
    tuple[Profile, float]
        Pieces, and multiplier: energy saved per additional second.

    Examples
    --------
    >>> import optsched
    >>> from optsched.speed_profile.profile import curve_of
    >>> plateau = optsched.load("speed-profile/plateau")
    >>> profile, multiplier = hull_profile(plateau, curve_of(plateau))
    >>> profile.status, round(multiplier, 3)
    ('binding', 0.487)
    """
    hull = empty_hull(len(instance.speeds))
    steps = 60 * len(instance.speeds) * (1 + math.log2(len(curve.high)))
    status, edges, multiplier = profile_of_curve.for_size(steps)(
        curve, speeds_of(instance), float(instance.deadline), hull
    )
    if status == INFEASIBLE:
        return Profile((), "infeasible"), 0.0
    speeds, passed = hull.vertices[: edges + 1].tolist(), hull.changes[:edges].tolist()
    return Profile.of_changes(curve, speeds, passed, STATUSES[status]), float(multiplier)
