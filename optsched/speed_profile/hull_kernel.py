"""Compiled loops of the hull method: the lower hull, the multiplier, many jobs at once.

Vertices of the hull are numbered from the slowest useful speed (least Q) to the fastest; edge e
joins vertices e and e + 1 and has the slope Phi_e > 0, increasing in e. At a multiplier lam an
epoch w runs beyond edge e once F^c(w) Phi_e <= lam: from y_e(lam), the first such epoch, on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

SLACK, BINDING, INFEASIBLE = 0, 1, 2
ROUNDING = 1e-12


@njit(cache=True)
def lower_hull(inverse: Any, energy: Any, vertices: Any) -> Any:
    """Vertices of the lower convex hull of (1/s, Q), from least Q to the least 1/s; their number.

    O(K log K). Equal points and points above the hull are left out.
    """
    count = 0
    for k in np.argsort(-inverse, kind="mergesort"):  # slowest first
        if not (inverse[k] < np.inf and energy[k] < np.inf):
            continue
        if count and inverse[k] == inverse[vertices[count - 1]]:
            if energy[k] >= energy[vertices[count - 1]]:
                continue
            count -= 1
        while count and energy[k] <= energy[vertices[count - 1]]:
            count -= 1  # slower and no cheaper: never useful
        while count > 1:
            a, b = vertices[count - 2], vertices[count - 1]
            across = (energy[b] - energy[a]) * (inverse[b] - inverse[k])
            if across < (energy[k] - energy[b]) * (inverse[a] - inverse[b]):
                break
            count -= 1
        vertices[count] = k
        count += 1
    return count


@njit(cache=True)
def first_epoch(knots: Any, high: Any, low: Any, level: Any, strictly: Any) -> Any:
    """inf{w : F^c(w) <= level}, or < level; the last knot when there is none. O(log n)."""
    n = len(high)
    left, right = 0, n  # the first segment whose low end is at or under the level
    while left < right:
        middle = (left + right) // 2
        under = low[middle] < level if strictly else low[middle] <= level
        if under:
            right = middle
        else:
            left = middle + 1
    if left == n:
        return knots[n]
    start_under = high[left] < level if strictly else high[left] <= level
    if start_under or high[left] == low[left]:
        return knots[left]
    share = (high[left] - level) / (high[left] - low[left])
    return knots[left] + min(max(share, 0.0), 1.0) * (knots[left + 1] - knots[left])


@njit(cache=True)
def changes_at(
    knots: Any,
    high: Any,
    low: Any,
    slopes: Any,
    edges: Any,
    multiplier: Any,
    strictly: Any,
    changes: Any,
) -> Any:
    """Fill y_e(lam) for every edge."""
    for e in range(edges):
        changes[e] = first_epoch(knots, high, low, multiplier / slopes[e], strictly)


@njit(cache=True)
def time_of(knots: Any, inverse: Any, vertices: Any, edges: Any, changes: Any) -> Any:
    """Seconds of the profile that passes edge e at changes[e]."""
    total, before = 0.0, knots[0]
    for e in range(edges):
        total += (changes[e] - before) * inverse[vertices[e]]
        before = changes[e]
    return total + (knots[-1] - before) * inverse[vertices[edges]]


@njit(cache=True)
def solve_profile(
    knots: Any,
    high: Any,
    low: Any,
    inverse: Any,
    energy: Any,
    deadline: Any,
    vertices: Any,
    changes: Any,
    spare: Any,
) -> Any:
    """Least expected energy within the deadline.

    Fills ``vertices`` (speeds of the hull) and ``changes`` (epochs at which the profile passes to
    the next one); returns the status and the number of edges. ``spare`` is work space. Complexity:
    O(K log K + K^2 log^2 n) for K speeds and n segments.
    """
    edges = lower_hull(inverse, energy, vertices) - 1
    work = knots[-1] - knots[0]
    fastest = work * inverse[vertices[edges]]
    if fastest > deadline + ROUNDING * max(fastest, deadline):
        return INFEASIBLE, edges
    if work * inverse[vertices[0]] <= deadline:
        for e in range(edges):
            changes[e] = knots[-1]
        return SLACK, edges
    slopes = np.empty(edges)
    for e in range(edges):
        a, b = vertices[e], vertices[e + 1]
        slopes[e] = (energy[b] - energy[a]) / (inverse[a] - inverse[b])
    found, under = _critical(knots, high, low, inverse, slopes, edges, deadline, vertices, changes)
    changes_at(knots, high, low, slopes, edges, found, True, spare)
    slow = time_of(knots, inverse, vertices, edges, spare)
    if slow >= deadline:  # the deadline lies inside the jump at the critical multiplier
        changes_at(knots, high, low, slopes, edges, found, False, changes)
        fast = time_of(knots, inverse, vertices, edges, changes)
    else:  # between two multipliers, where all changes move linearly
        fast = slow
        for e in range(edges):
            changes[e] = spare[e]
        changes_at(knots, high, low, slopes, edges, under, False, spare)
        slow = time_of(knots, inverse, vertices, edges, spare)
    if found == 0.0:
        return SLACK, edges  # what is late costs nothing: time is spent where F^c is 0
    share = 0.0 if slow <= fast else min(max((deadline - fast) / (slow - fast), 0.0), 1.0)
    for e in range(edges):
        changes[e] += share * (spare[e] - changes[e])
    return BINDING, edges


@njit(cache=True)
def _critical(
    knots: Any,
    high: Any,
    low: Any,
    inverse: Any,
    slopes: Any,
    edges: Any,
    deadline: Any,
    vertices: Any,
    changes: Any,
) -> Any:
    """The least multiplier among the breakpoints that meets the deadline, and the one under it."""
    n = len(high)
    found, under = high[0] * slopes[edges - 1], -1.0
    for e in range(edges):
        left, right = 0, 2 * n  # breakpoints high[0], low[0], high[1], ...: non-increasing
        while left < right:  # the first that misses the deadline
            middle = (left + right) // 2
            value = low[middle // 2] if middle % 2 else high[middle // 2]
            multiplier = value * slopes[e]
            meets = multiplier >= found  # known from a breakpoint tried before
            if under < multiplier < found:
                changes_at(knots, high, low, slopes, edges, multiplier, False, changes)
                spent = time_of(knots, inverse, vertices, edges, changes)
                meets = spent <= deadline * (1 + ROUNDING)
            if meets:
                found = min(found, multiplier)
                left = middle + 1
            else:
                under = max(under, multiplier)
                right = middle
    return found, max(under, 0.0)


@njit(cache=True)
def first_speeds(
    knots: Any,
    high: Any,
    low: Any,
    start: Any,
    inverse: Any,
    energy: Any,
    deadlines: Any,
    speeds: Any,
    costs: Any,
) -> Any:
    """For each job the index of its first speed and its least expected energy; -1 if infeasible.

    Job j's curve is segments start[j] .. start[j + 1] of ``high`` and ``low``; its knots begin at
    start[j] + j. One row of ``inverse`` and ``energy`` a job.
    """
    kinds = inverse.shape[1]
    vertices, changes = np.empty(kinds, np.int64), np.empty(kinds)
    spare = np.empty(kinds)
    for j in range(len(deadlines)):
        a, b = start[j], start[j + 1]
        k, h, f = knots[a + j : b + j + 1], high[a:b], low[a:b]
        status, edges = solve_profile(
            k, h, f, inverse[j], energy[j], deadlines[j], vertices, changes, spare
        )
        if status == INFEASIBLE:
            speeds[j], costs[j] = -1, np.inf
            continue
        speeds[j] = vertices[edges]
        before, total = k[0], 0.0
        for e in range(edges + 1):
            after = changes[e] if e < edges else k[-1]
            if after > before and before == k[0]:
                speeds[j] = vertices[e]
            total += energy[j, vertices[e]] * _area(k, h, f, before, after)
            before = max(before, after)
        costs[j] = total


@njit(cache=True)
def _area(knots: Any, high: Any, low: Any, start: Any, end: Any) -> Any:
    """The integral of F^c from one epoch to another. O(log n + segments between)."""
    if end <= start:
        return 0.0
    total = 0.0
    i = max(np.searchsorted(knots, start, side="right") - 1, 0)
    while i < len(high) and knots[i] < end:
        a, b = max(start, knots[i]), min(end, knots[i + 1])
        if b > a:
            fall = (high[i] - low[i]) / (knots[i + 1] - knots[i])
            total += (b - a) * (high[i] - fall * ((a + b) / 2 - knots[i]))
        i += 1
    return total
