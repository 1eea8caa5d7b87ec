"""A bound on a profile's energy that needs no solver: the Lagrangian dual of the deadline.

For any multiplier lam >= 0, min over profiles of (energy + lam (time - d)) is at most the optimum:
each epoch by itself takes the speed of the least F^c(w) Q_k + lam / s_k. An inexact lam makes the
bound weaker, never wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from optsched.speed_profile.instance import SpeedProfileInstance
from optsched.speed_profile.profile import Profile
from optsched.uncertainty.survival import Curve

ROUNDING = 16 * float(np.finfo(float).eps)
"""Of the sums behind a bound, relative to their largest term: taken off."""


def dual_bound(
    instance: SpeedProfileInstance, curve: Curve, speeds: Sequence[int], multiplier: float
) -> float:
    """The dual's value at a multiplier, over the hull's speeds, less what rounding may add.

    Parameters
    ----------
    instance : SpeedProfileInstance
        The instance.
    curve : Curve
        F^c of the work that is left, in epochs.
    speeds : sequence of int
        0-based indices of the hull's speeds, slowest first.
    multiplier : float
        Of the deadline, energy a second.

    Returns
    -------
    float
        Energy: joules where power is in watts.

    Examples
    --------
    >>> import optsched
    >>> from optsched.speed_profile.profile import curve_of
    >>> alexnet = optsched.load("speed-profile/alexnet-8")
    >>> round(dual_bound(alexnet, curve_of(alexnet), range(8), 165.7))
    3751216
    >>> round(optsched.solve(alexnet).objective)
    3751216
    """
    _, phi = slopes_of(instance, speeds)
    changes = [first_epoch(curve, multiplier / each) for each in phi]
    best = Profile.of_changes(curve, speeds, changes, "binding")
    energy, seconds = best.energy(instance, curve), best.seconds(instance)
    deadline = float(instance.deadline)
    value = energy + multiplier * (seconds - deadline)
    return max(value - ROUNDING * (energy + multiplier * (seconds + deadline)), 0.0)


def slopes_of(
    instance: SpeedProfileInstance, speeds: Sequence[int]
) -> tuple[list[float], list[float]]:
    """1/s of the hull's speeds, and Phi of its edges: energy paid for each second saved.

    Phi never falls from edge to edge; where speeds lie on one line, rounding must not make it.
    """
    inverse = 1.0 / np.array([instance.speeds[k] for k in speeds])
    energy = np.array([instance.power[k] for k in speeds]) * inverse
    phi = np.maximum.accumulate(np.diff(energy) / -np.diff(inverse))
    return inverse.tolist(), phi.tolist()


def first_epoch(curve: Curve, level: float) -> float:
    """(F^c)^{-1}, read as inf{w : F^c(w) <= level}."""
    under = np.flatnonzero(curve.low <= level)
    if not len(under):
        return float(curve.knots[-1])
    i = int(under[0])
    if curve.high[i] <= level:
        return float(curve.knots[i])
    share = (curve.high[i] - level) / (curve.high[i] - curve.low[i])
    return float(curve.knots[i] + share * (curve.knots[i + 1] - curve.knots[i]))
