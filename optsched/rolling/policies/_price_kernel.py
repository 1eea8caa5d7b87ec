"""Compiled loops of the price policy: due-date multipliers and clearing prices."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from optsched.compiled_loops import njit
from optsched.speed_profile.exact._hull_kernel import Speeds, lower_hull
from optsched.uncertainty.survival import Curve, Curves

HALVINGS = 40


class Types(NamedTuple):
    """GPU types: GPUs of each configuration (T, C), dollars per GPU second (T,), GPUs (T,)."""

    sizes: Any
    rates: Any
    gpus: Any


class Useful(NamedTuple):
    """A job's 1/s (K,), the vertices of its hull, and the slopes of the hull's edges."""

    inverse: Any
    vertices: Any
    slopes: Any


@njit(cache=True)
def due_date_multipliers(
    curves: Curves, speeds: Speeds, due: Any, weights: Any, multipliers: Any, changes: Any
) -> None:
    """M of every job, and epochs until its planned change of speed (infinite if none).

    Parameters
    ----------
    curves : Curves
        F^c of every job, by epochs.
    speeds : Speeds
        All configurations of a job, pooled over types; Q in dollars.
    due : (J,) float
        Seconds left.
    weights : (J,) float
        Dollars per second late.
    multipliers : (J,) float
        Gets M, from 0 to 1.
    changes : (J,) float
        Gets epochs.
    """
    count = speeds.inverse.shape[1]
    vertices, slopes = np.empty(count, np.int64), np.empty(count)
    for j in range(len(due)):
        a, b = curves.start[j], curves.start[j + 1]
        curve = Curve(curves.knots[a + j : b + j + 1], curves.high[a:b], curves.low[a:b])
        inverse, energy = speeds.inverse[j], speeds.energy[j]
        edges = lower_hull(Speeds(inverse, energy), vertices) - 1
        for e in range(edges):
            u, v = vertices[e], vertices[e + 1]
            slopes[e] = (energy[v] - energy[u]) / (inverse[u] - inverse[v])
        useful = Useful(inverse, vertices, slopes[:edges])
        changes[j] = np.inf
        if due[j] <= 0 or weights[j] <= 0:
            multipliers[j] = 1.0 if due[j] <= 0 else 0.0
            continue
        low, top = 0.0, 1.0
        if _meets(curve, useful, 0.0, weights[j], due[j]):
            top = 0.0
        for _ in range(HALVINGS):
            if top == 0.0:
                break
            middle = 0.5 * (low + top)
            if _meets(curve, useful, middle, weights[j], due[j]):
                top = middle
            else:
                low = middle
        multipliers[j] = top
        now = _vertex(useful.slopes, curve.high[0], top, weights[j])
        for i in range(1, len(curve.high)):
            if curve.high[i] <= top:
                break
            if _vertex(useful.slopes, curve.high[i], top, weights[j]) != now:
                changes[j] = curve.knots[i] - curve.knots[0]
                break


@njit(cache=True)
def clear_prices(
    worth: Any, speeds: Any, types: Types, rounds: int, bisections: int, prices: Any
) -> None:
    """Fill ``prices`` with those at which each job's best configuration fits, type after type.

    Parameters
    ----------
    worth : (J,) float
        Dollars per epoch.
    speeds : (J, T, C) float
        Epochs per second; 0 where a job cannot run.
    types : Types
        GPUs and costs of each.
    rounds : int
        Passes over the types.
    bisections : int
        Steps a type and pass.
    prices : (T,) float
        Dollars per GPU second, beside the cost; changed.
    """
    sizes, rates = types.sizes, types.rates
    jobs, kinds, count = speeds.shape
    gain = np.full((kinds, jobs, count), -np.inf)
    for t in range(kinds):
        for j in range(jobs):
            for c in range(count):
                if speeds[j, t, c] > 0:
                    gain[t, j, c] = worth[j] * speeds[j, t, c] - rates[t] * sizes[t, c]
    for _ in range(rounds):
        for t in range(kinds):
            other, high = np.zeros(jobs), 0.0
            for j in range(jobs):
                for u in range(kinds):
                    for c in range(count):
                        if u != t:
                            other[j] = max(other[j], gain[u, j, c] - prices[u] * sizes[u, c])
                        elif sizes[t, c] > 0:
                            high = max(high, gain[t, j, c] / sizes[t, c])
            low = 0.0
            if _demand(gain[t], sizes[t], 0.0, other) <= types.gpus[t]:
                high = 0.0
            for _ in range(bisections):
                if high == 0.0:
                    break
                middle = 0.5 * (low + high)
                if _demand(gain[t], sizes[t], middle, other) <= types.gpus[t]:
                    high = middle
                else:
                    low = middle
            prices[t] = high


@njit(cache=True)
def _vertex(slopes: Any, survival: float, multiplier: float, weight: float) -> int:
    """The slowest hull speed whose next edge is not worth its price."""
    for e in range(len(slopes)):
        if slopes[e] * max(survival, multiplier) > weight * multiplier:
            return e
    return len(slopes)


@njit(cache=True)
def _meets(curve: Curve, useful: Useful, multiplier: float, weight: float, due: float) -> bool:
    """Whether the epochs that more than a share M of the cases need take so many seconds at most.

    Survival falls and slopes are positive, so that no epoch is slower than the one before.

    Parameters
    ----------
    curve : Curve
        F^c, by epochs.
    useful : Useful
        Speeds.
    multiplier : float
        M.
    weight : float
        Dollars per second late.
    due : float
        Seconds.
    """
    total, at = 0.0, 0
    for i in range(len(curve.high)):
        if curve.high[i] <= multiplier or total > due:
            break
        top = max(curve.high[i], multiplier)
        while at < len(useful.slopes) and useful.slopes[at] * top <= weight * multiplier:
            at += 1
        total += (curve.knots[i + 1] - curve.knots[i]) * useful.inverse[useful.vertices[at]]
    return total <= due


@njit(cache=True)
def _demand(gain: Any, size: Any, price: Any, other: Any) -> Any:
    """GPUs of a type that jobs want at a price, given their best gain elsewhere."""
    total = 0.0
    for j in range(gain.shape[0]):
        best, want = other[j], 0.0
        for c in range(gain.shape[1]):
            value = gain[j, c] - price * size[c]
            if value > best:
                best, want = value, size[c]
        total += want
    return total
