"""Algorithm 1 of sts exactly as printed, to show where it fails.

Guarantee: none. It ends in a profile, in a loop ("L := m" with m = L), without a root of (25), or
at a wrong profile where Q is not increasing in the speed. All speeds are used; (F^c)^{-1} is
sup{z : F^c(z) = y}, and a root is looked for in y_m, as the text below (26) says.
"""

from __future__ import annotations

import numpy as np

from optsched.deadline import clock
from optsched.result import Outcome, Termination
from optsched.speed_profile.instance import SpeedProfileInstance
from optsched.speed_profile.profile import Profile, curve_of, outcome_of
from optsched.uncertainty.survival import Curve

BISECTIONS = 100
TOLERANCE = 1e-9


class _FailedError(Exception):
    pass


def algorithm_1_as_printed(instance: SpeedProfileInstance) -> Outcome:
    """Run it; a failure becomes an outcome "error" whose message names it."""
    began = clock()
    curve = curve_of(instance)
    try:
        profile = _algorithm_1(instance, curve)
    except _FailedError as failure:
        details = {"message": f"Algorithm 1 as printed: {failure}"}
        seconds = clock() - began
        return Outcome(None, Termination.ERROR, solve_time=seconds, details=details)
    seconds = clock() - began
    return outcome_of(instance, curve, profile, seconds, bound=None, source="")


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
        raise _FailedError(f"(25) has no root for m = {m + 1}: its time jumps over d")
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
