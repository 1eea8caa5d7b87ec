"""Compiled loops of the hull method: the lower hull, the multiplier, many jobs at once.

Vertices of the hull are numbered from the slowest useful speed (least Q) to the fastest; edge e
joins vertices e and e + 1 and has the slope Phi_e > 0, increasing in e. At a multiplier lam an
epoch w runs beyond edge e once F^c(w) Phi_e <= lam: from y_e(lam), the first such epoch, on.
Products F^c Phi only put breakpoints in order; which of them is critical, and which come before
it, is known by the numbers of its point and edge. An ulp then costs an ulp, never a piece.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.compiled_loops import njit

SLACK, BINDING, INFEASIBLE = 0, 1, 2
ROUNDING = 1e-12
"""Relative: a deadline missed by so little is met, a first piece so short is none."""


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
    the next one); returns the status, the number of edges and the multiplier of the deadline.
    ``spare`` is work space. Complexity: O(K log K + K^2 log^2 n) for K speeds and n segments.
    """
    edges = lower_hull(inverse, energy, vertices) - 1
    work = knots[-1] - knots[0]
    fastest = work * inverse[vertices[edges]]
    if fastest > deadline + ROUNDING * max(fastest, deadline):
        return INFEASIBLE, edges, np.inf
    if work * inverse[vertices[0]] <= deadline:
        for e in range(edges):
            changes[e] = knots[-1]
        return SLACK, edges, 0.0
    slopes = np.empty(edges)
    for e in range(edges):
        a, b = vertices[e], vertices[e + 1]
        slopes[e] = (energy[b] - energy[a]) / (inverse[a] - inverse[b])
        if e:  # rounding must not turn the edges' order
            slopes[e] = max(slopes[e], slopes[e - 1])
    if fastest >= deadline:  # by a hair at most
        changes[:edges] = knots[0]
        return BINDING, edges, high[0] * slopes[edges - 1] if edges else 0.0
    passed = np.empty(edges, np.int64)
    point, edge = _critical(knots, high, low, inverse, slopes, deadline, vertices, changes, passed)
    multiplier = _value(high, low, point) * slopes[edge]
    _pass(high, low, slopes, point, edge, passed)
    if multiplier == 0.0:  # what is late costs nothing: time is spent where F^c is 0
        _changes(knots, high, low, slopes, passed, multiplier, changes)
        return SLACK, edges, 0.0
    passed[edge] = point + 1  # all breakpoints before the critical one
    under = 0.0
    for e in range(edges):
        if passed[e] < 2 * len(high):
            under = max(under, _value(high, low, passed[e]) * slopes[e])
    _changes(knots, high, low, slopes, passed, under, spare)
    _changes(knots, high, low, slopes, passed, multiplier, changes)
    slow = time_of(knots, inverse, vertices, edges, spare)
    fast = time_of(knots, inverse, vertices, edges, changes)
    if fast > deadline:  # the deadline lies inside the jump at the critical breakpoint: split it
        saved = inverse[vertices[edge]] - inverse[vertices[edge + 1]]
        end = knots[(point + 1) // 2]
        changes[edge] = max(end, changes[edge] - (fast - deadline) / saved)
    elif slow > fast:  # between two multipliers, where all changes move linearly
        share = min((deadline - fast) / (slow - fast), 1.0)
        for e in range(edges):
            changes[e] += share * (spare[e] - changes[e])
        multiplier += share * (under - multiplier)
    return BINDING, edges, multiplier


@njit(cache=True)
def _value(high: Any, low: Any, point: Any) -> Any:
    """F^c at a breakpoint: high[0], low[0], high[1], low[1], ..., which never grow."""
    return low[point // 2] if point % 2 else high[point // 2]


@njit(cache=True)
def _pass(high: Any, low: Any, slopes: Any, point: Any, edge: Any, passed: Any) -> Any:
    """Fill the first breakpoint that each edge has passed when (point, edge) is the last of all.

    The order: increasing F^c Phi, then the later point, then the lower edge. So no two are equal,
    and of ``edge`` itself the answer is ``point`` whatever rounding does to a product.
    """
    multiplier = _value(high, low, point) * slopes[edge]
    for e in range(len(slopes)):
        left, right = (0, point) if e < edge else (point + 1, 2 * len(high))
        while left < right and e != edge:
            middle = (left + right) // 2
            value = _value(high, low, middle) * slopes[e]
            if value < multiplier or (value == multiplier and middle > point):
                right = middle
            else:
                left = middle + 1
        passed[e] = point if e == edge else left


@njit(cache=True)
def _changes(
    knots: Any, high: Any, low: Any, slopes: Any, passed: Any, multiplier: Any, changes: Any
) -> Any:
    """Fill y_e: the knot of the first breakpoint passed, or lam's place on a falling segment."""
    for e in range(len(slopes)):
        point = passed[e]
        changes[e] = knots[(point + 1) // 2]
        i = point // 2
        if point % 2 and low[i] < high[i]:
            top, bottom = high[i] * slopes[e], low[i] * slopes[e]
            if multiplier >= top:
                changes[e] = knots[i]
            elif multiplier > bottom:
                back = (multiplier - bottom) / (top - bottom)
                changes[e] -= back * (knots[i + 1] - knots[i])


@njit(cache=True)
def _critical(
    knots: Any,
    high: Any,
    low: Any,
    inverse: Any,
    slopes: Any,
    deadline: Any,
    vertices: Any,
    changes: Any,
    passed: Any,
) -> Any:
    """The first breakpoint, in the order of `_pass`, from which on the deadline is met."""
    edges = len(slopes)
    point, edge = 0, edges - 1  # the last of all: everything at the greatest speed
    late_point, late_edge = 2 * len(high), -1  # none that misses it known
    for e in range(edges):
        left, right = 0, 2 * len(high)
        while left < right:  # the first of this edge that misses the deadline
            middle = (left + right) // 2
            if not _precedes(high, low, slopes, middle, e, point, edge):
                meets = True
            elif late_edge >= 0 and not _precedes(
                high, low, slopes, late_point, late_edge, middle, e
            ):
                meets = False
            else:
                _pass(high, low, slopes, middle, e, passed)
                multiplier = _value(high, low, middle) * slopes[e]
                _changes(knots, high, low, slopes, passed, multiplier, changes)
                meets = time_of(knots, inverse, vertices, edges, changes) <= deadline
                if meets:
                    point, edge = middle, e
                else:
                    late_point, late_edge = middle, e
            if meets:
                left = middle + 1
            else:
                right = middle
    return point, edge


@njit(cache=True)
def _precedes(
    high: Any, low: Any, slopes: Any, point: Any, edge: Any, other: Any, its_edge: Any
) -> Any:
    """Whether a breakpoint comes before another one in the order of `_pass`."""
    mine = _value(high, low, point) * slopes[edge]
    theirs = _value(high, low, other) * slopes[its_edge]
    if mine != theirs:
        return mine < theirs
    return point > other or (point == other and edge < its_edge)


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
        status, edges, _ = solve_profile(
            k, h, f, inverse[j], energy[j], deadlines[j], vertices, changes, spare
        )
        if status == INFEASIBLE:
            speeds[j], costs[j] = -1, np.inf
            continue
        speeds[j] = vertices[edges]
        before, total, found = k[0], 0.0, False
        for e in range(edges + 1):
            after = changes[e] if e < edges else k[-1]
            if not found and after - before > ROUNDING * (k[-1] - k[0]):
                found = True  # a shorter piece is rounding's
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
