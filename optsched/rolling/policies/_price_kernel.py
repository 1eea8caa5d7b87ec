"""Compiled loops of the price policy: due-date multipliers and clearing prices."""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.compiled_loops import njit
from optsched.speed_profile.exact._hull_kernel import lower_hull

HALVINGS = 40


@njit(cache=True)
def _vertex(slopes: Any, edges: Any, survival: Any, multiplier: Any, weight: Any) -> Any:
    """The slowest hull speed whose next edge is not worth its price."""
    for e in range(edges):
        if slopes[e] * max(survival, multiplier) > weight * multiplier:
            return e
    return edges


@njit(cache=True)
def _seconds(
    knots: Any, high: Any, inverse: Any, vertices: Any, slopes: Any, edges: Any,
    multiplier: Any, weight: Any,
) -> Any:  # fmt: skip
    """Time of the epochs that more than a share M of the cases need."""
    total = 0.0
    for i in range(len(high)):
        if high[i] <= multiplier:
            break
        at = _vertex(slopes, edges, high[i], multiplier, weight)
        total += (knots[i + 1] - knots[i]) * inverse[vertices[at]]
    return total


@njit(cache=True)
def due_date_multipliers(
    knots: Any, high: Any, start: Any, inverse: Any, energy: Any, due: Any, weights: Any,
    multipliers: Any, changes: Any,
) -> Any:  # fmt: skip
    """M of every job, and epochs until its planned change of speed (infinite if none).

    Job j's survival curve is segments start[j] .. start[j + 1] of ``high``; ``inverse`` and
    ``energy`` hold 1/s and Q of all its configurations, pooled over GPU types.
    """
    count = inverse.shape[1]
    vertices, slopes = np.empty(count, np.int64), np.empty(count)
    for j in range(len(due)):
        a, b = start[j], start[j + 1]
        k, h = knots[a + j : b + j + 1], high[a:b]
        edges = lower_hull(inverse[j], energy[j], vertices) - 1
        for e in range(edges):
            u, v = vertices[e], vertices[e + 1]
            slopes[e] = (energy[j, v] - energy[j, u]) / (inverse[j, u] - inverse[j, v])
        changes[j] = np.inf
        if due[j] <= 0 or weights[j] <= 0:
            multipliers[j] = 1.0 if due[j] <= 0 else 0.0
            continue
        low, top = 0.0, 1.0
        if _seconds(k, h, inverse[j], vertices, slopes, edges, 0.0, weights[j]) <= due[j]:
            top = 0.0
        for _ in range(HALVINGS):
            if top == 0.0:
                break
            middle = 0.5 * (low + top)
            spent = _seconds(k, h, inverse[j], vertices, slopes, edges, middle, weights[j])
            if spent <= due[j]:
                top = middle
            else:
                low = middle
        multipliers[j] = top
        now = _vertex(slopes, edges, h[0], top, weights[j])
        for i in range(1, len(h)):
            if h[i] <= top:
                break
            if _vertex(slopes, edges, h[i], top, weights[j]) != now:
                changes[j] = k[i] - k[0]
                break


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


@njit(cache=True)
def clear_prices(
    worth: Any, speeds: Any, sizes: Any, rates: Any, gpus: Any, rounds: Any, bisections: Any,
    prices: Any,
) -> Any:  # fmt: skip
    """Fill ``prices`` with those at which each job's best configuration fits, type after type."""
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
            if _demand(gain[t], sizes[t], 0.0, other) <= gpus[t]:
                high = 0.0
            for _ in range(bisections):
                if high == 0.0:
                    break
                middle = 0.5 * (low + high)
                if _demand(gain[t], sizes[t], middle, other) <= gpus[t]:
                    high = middle
                else:
                    low = middle
            prices[t] = high
