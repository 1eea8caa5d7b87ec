"""A bound on a profile's energy that needs no solver: the Lagrangian dual of the deadline.

For any multiplier lam >= 0, min over profiles of (energy + lam (time - d)) is at most the optimum:
each epoch by itself takes the speed of the least F^c(w) Q_k + lam / s_k. An inexact lam makes the
bound weaker, never wrong.
"""

from collections.abc import Callable

import numpy as np

from optsched.deadline import clock
from optsched.result import Outcome, Settings
from optsched.speed_profile.exact._hull_kernel import (
    empty_hull,
    fill_changes,
    fill_slopes,
    lower_hull,
)
from optsched.speed_profile.instance import SpeedProfileInstance
from optsched.speed_profile.profile import Profile, curve_of, outcome_of, speeds_of
from optsched.uncertainty.survival import Curve

ROUNDING = 16 * float(np.finfo(float).eps)
"""Relative rounding error subtracted from the bound."""


def dual_bound(instance: SpeedProfileInstance, curve: Curve, multiplier: float) -> float:
    """The dual's value at a multiplier, over the hull's speeds, less what rounding may add.

    Parameters
    ----------
    instance : SpeedProfileInstance
        The instance.
    curve : Curve
        F^c of the work that is left, in epochs.
    multiplier : float
        Lagrange multiplier of the deadline, energy per second.

    Returns
    -------
    float
        Energy: joules where power is in watts.

    Examples
    --------
    >>> import optsched
    >>> from optsched.speed_profile.profile import curve_of
    >>> alexnet = optsched.load("speed-profile/alexnet-8")
    >>> round(dual_bound(alexnet, curve_of(alexnet), 165.7))
    3751216
    >>> round(optsched.solve(alexnet).objective)
    3751216
    """
    speeds, hull = speeds_of(instance), empty_hull(len(instance.speeds))
    edges = lower_hull(speeds, hull.vertices) - 1
    fill_slopes(speeds, hull, edges)
    fill_changes(curve, hull.slopes, 0, edges, multiplier, hull.changes)
    best = Profile.of_changes(curve, hull.vertices[: edges + 1], hull.changes[:edges], "binding")
    energy, seconds = best.energy(instance, curve), best.seconds(instance)
    deadline = float(instance.deadline)
    value = energy + multiplier * (seconds - deadline)
    return max(value - ROUNDING * (energy + multiplier * (seconds + deadline)), 0.0)


def solve_with_bound(
    instance: SpeedProfileInstance,
    settings: Settings,
    solve: Callable[[SpeedProfileInstance, Curve], tuple[Profile, float]],
    source: str,
) -> Outcome:
    """The outcome of a method that gives a profile and its multiplier, with the dual's bound."""
    started, curve = clock(), curve_of(instance)
    profile, multiplier = solve(instance, curve)
    bound = dual_bound(instance, curve, multiplier)
    seconds, gap = clock() - started, settings.gap
    return outcome_of(instance, curve, profile, seconds, bound=bound, source=source, gap=gap)
