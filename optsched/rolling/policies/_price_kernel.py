"""Compiled loops of the price policy: what an epoch is worth, and prices that clear."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from optsched.compiled_loops import njit, njit_inner
from optsched.speed_profile.exact._hull_kernel import Speeds, hull_in_order
from optsched.uncertainty.survival import Curve, Curves

GRID = 2.0**40
"""M is a number of so many parts."""
ROUNDING = 0.01
"""Of such a part: more than rounding can make of a breakpoint."""
STEPS = 3
"""Probes next to the last one before the search halves."""


class Types(NamedTuple):
    """GPU types: GPUs of each configuration (T, C), dollars per GPU second (T,), GPUs (T,)."""

    sizes: Any
    rates: Any
    gpus: Any


class Ways(NamedTuple):
    """How all jobs of an instance can run, pooled over types (J, T C).

    ``speed`` epochs per second, 0 where they cannot; ``inverse`` seconds per epoch, infinite there;
    ``order`` the slowest first.
    """

    speed: Any
    inverse: Any
    order: Any


class Useful(NamedTuple):
    """A job's 1/s (K,), the vertices of its hull, and the slopes of the hull's edges."""

    inverse: Any
    vertices: Any
    slopes: Any


class Worths(NamedTuple):
    """By job: M, epochs until the planned change of speed (infinite if none), and at M the least
    dollars an epoch, delay included, and the speed that has them; (J,) each."""

    multiplier: Any
    change: Any
    dollars: Any
    wish: Any


class Bids(NamedTuple):
    """What jobs gain on a type (J, C) and ``elsewhere`` (J,), and who wants any of it (J,)."""

    gain: Any
    elsewhere: Any
    wants: Any


@njit(cache=True)
def value_jobs(
    jobs: Any, ways: Ways, cost: Any, curves: Curves, due: Any, weights: Any, worths: Worths
) -> None:
    """Fill ``worths``."""
    count = ways.speed.shape[1]
    vertices, slopes, energy = np.empty(count, np.int64), np.empty(count), np.empty(count)
    for i in range(len(jobs)):
        j = jobs[i]
        speed, inverse = ways.speed[j], ways.inverse[j]
        for c in range(count):
            energy[c] = cost[c] / speed[c] if speed[c] > 0 else np.inf
        worths.change[i] = np.inf
        if due[i] <= 0 or weights[i] <= 0:
            worths.multiplier[i] = 1.0 if due[i] <= 0 else 0.0
        else:
            a, b = curves.start[i], curves.start[i + 1]
            curve = Curve(curves.knots[a + i : b + i + 1], curves.high[a:b], curves.low[a:b])
            edges = hull_in_order(Speeds(inverse, energy), ways.order[j], vertices) - 1
            for e in range(edges):
                u, v = vertices[e], vertices[e + 1]
                slopes[e] = (energy[v] - energy[u]) / (inverse[u] - inverse[v])
            useful = Useful(inverse, vertices, slopes[:edges])
            found = _multiplier(curve, useful, weights[i], due[i], worths.multiplier[i])
            worths.multiplier[i] = found
            worths.change[i] = _change(curve, useful, weights[i], found)
        worths.dollars[i], worths.wish[i] = np.inf, speed[0]
        late = weights[i] * worths.multiplier[i]
        for c in range(count):
            if speed[c] > 0 and energy[c] + late / speed[c] < worths.dollars[i]:
                worths.dollars[i], worths.wish[i] = energy[c] + late / speed[c], speed[c]


@njit(cache=True)
def gains(jobs: Any, ways: Ways, types: Types, worth: Any, gain: Any) -> None:
    """Fill dollars per second of each way to run, minus infinity where there is none."""
    kinds, count = types.sizes.shape
    for i in range(len(jobs)):
        for t in range(kinds):
            for c in range(count):
                speed = ways.speed[jobs[i], t * count + c]
                cost = types.rates[t] * types.sizes[t, c]
                gain[i, t, c] = worth[i] * speed - cost if speed > 0 else -np.inf


@njit(cache=True)
def clear_prices(gain: Any, types: Types, rounds: int, bisections: int, prices: Any) -> None:
    """Fill ``prices`` with those at which each job's best configuration fits, type after type."""
    sizes = types.sizes
    jobs, kinds, count = gain.shape
    bids = Bids(np.empty((jobs, count)), np.empty(jobs), np.empty(jobs, np.bool_))
    for _ in range(rounds):
        for t in range(kinds):
            bidders, high = 0, 0.0
            for j in range(jobs):
                other, most = 0.0, -np.inf
                for u in range(kinds):
                    for c in range(count):
                        if u != t:
                            other = max(other, gain[j, u, c] - prices[u] * sizes[u, c])
                        else:
                            most = max(most, gain[j, t, c])
                            if sizes[t, c] > 0:
                                high = max(high, gain[j, t, c] / sizes[t, c])
                if most > other:  # else it wants none at any price
                    for c in range(count):
                        bids.gain[bidders, c] = gain[j, t, c]
                    bids.elsewhere[bidders] = other
                    bidders += 1
            low = 0.0
            if _demand(bids, bidders, sizes[t], 0.0) <= types.gpus[t]:
                high = 0.0
            for _ in range(bisections):
                if high == 0.0:
                    break
                middle = 0.5 * (low + high)
                if _demand(bids, bidders, sizes[t], middle) <= types.gpus[t]:
                    high = middle
                else:
                    low, bidders = middle, _who_bids_on(bids, bidders)
            prices[t] = high


@njit_inner
def _multiplier(curve: Curve, useful: Useful, weight: float, due: float, guess: float) -> float:
    """The least M, in parts of 1 / `GRID`, that meets the due date; at most 1.

    The epochs' speeds and those that count change at breakpoints of M only, and no M is slower than
    a smaller one, rounding included: after a probe all up to the next breakpoint are as it was.
    """
    meets, edge = _probe(curve, useful, 0.0, weight, due)
    if meets:
        return 0.0
    low, top = min(max(np.ceil(edge * GRID - ROUNDING) - 1, 0.0), GRID - 1), GRID
    at, probes = np.floor(guess * GRID), 0
    while top - low > 1:
        at = min(max(at, low + 1), top - 1)
        meets, edge = _probe(curve, useful, at / GRID, weight, due)
        if meets:
            top = min(at, max(np.ceil(edge * GRID + ROUNDING), low + 1))
            at = top - 1
        else:
            low = max(at, min(np.ceil(edge * GRID - ROUNDING) - 1, top - 1))
            at = low + 1
        probes += 1
        if probes > STEPS:
            at = np.floor(np.sqrt((low + 1) * top) if probes % 2 else 0.5 * (low + top))
    return top / GRID


@njit_inner
def _probe(curve: Curve, useful: Useful, multiplier: float, weight: float, due: float) -> Any:
    """Whether the epochs that more than a share M of the cases need take so many seconds at most.

    If so, also an M down to which that is so, else one up to which it is not, but for rounding.
    Survival falls and slopes are positive, so that no epoch is slower than the one before.
    """
    high, slopes, worth = curve.high, useful.slopes, weight * multiplier
    total, at, below, above = 0.0, 0, 0.0, np.inf
    for i in range(len(high)):
        if high[i] <= multiplier:
            below = max(below, high[i] * weight)
            break
        while at < len(slopes) and slopes[at] * high[i] <= worth:
            below = max(below, slopes[at] * high[i])
            at += 1
        above = min(above, high[i] * weight)
        if at < len(slopes):
            above = min(above, slopes[at] * high[i])
        total += (curve.knots[i + 1] - curve.knots[i]) * useful.inverse[useful.vertices[at]]
        if total > due:
            return False, above / weight
    return True, below / weight


@njit_inner
def _change(curve: Curve, useful: Useful, weight: float, multiplier: float) -> float:
    """Epochs until the speed at M changes; infinite if it does not."""
    now = _vertex(useful.slopes, curve.high[0], multiplier, weight)
    for i in range(1, len(curve.high)):
        if curve.high[i] <= multiplier:
            break
        if _vertex(useful.slopes, curve.high[i], multiplier, weight) != now:
            return curve.knots[i] - curve.knots[0]
    return np.inf


@njit_inner
def _vertex(slopes: Any, survival: float, multiplier: float, weight: float) -> int:
    """The slowest hull speed whose next edge is not worth its price."""
    for e in range(len(slopes)):
        if slopes[e] * max(survival, multiplier) > weight * multiplier:
            return e
    return len(slopes)


@njit_inner
def _demand(bids: Bids, bidders: int, size: Any, price: float) -> float:
    """GPUs of a type that jobs want at a price, given their best gain elsewhere."""
    total = 0.0
    for j in range(bidders):
        best, want = bids.elsewhere[j], 0.0
        for c in range(len(size)):
            value = bids.gain[j, c] - price * size[c]
            if value > best:
                best, want = value, size[c]
        total += want
        bids.wants[j] = want > 0
    return total


@njit_inner
def _who_bids_on(bids: Bids, bidders: int) -> int:
    """Leave out who wanted none: none is wanted at a higher price either; how many are left."""
    left = 0
    for j in range(bidders):
        if bids.wants[j]:
            for c in range(bids.gain.shape[1]):
                bids.gain[left, c] = bids.gain[j, c]
            bids.elsewhere[left] = bids.elsewhere[j]
            left += 1
    return left
