"""Compiled loops of the hull method: the lower hull, the multiplier, many jobs at once.

Vertices of the hull are numbered from the slowest useful speed (least Q) to the fastest; edge e
joins vertices e and e + 1 and has the slope Phi_e > 0, increasing in e. At a multiplier lam an
epoch w runs beyond edge e once F^c(w) Phi_e <= lam: from y_e(lam), the first such epoch, on.
Products F^c Phi only put breakpoints in order; which of them is critical, and which come before
it, is known by the numbers of its point and edge. An ulp then costs an ulp, never a piece.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable

from optsched.kernels import kernel
from optsched.uncertainty.survival import Curve, Curves

SLACK, BINDING, INFEASIBLE = 0, 1, 2
ROUNDING = 1e-12
"""Relative: a deadline missed by so little is met, a first piece so short is none."""


class Speeds(NamedTuple):
    """Speeds to choose from: 1/s_k (K,) seconds per epoch, and Q_k (K,) energy an epoch.

    Those of many jobs have one row a job.
    """

    inverse: Any
    energy: Any


class Hull(NamedTuple):
    """What a profile is written into, and work space; ``edges`` of all but `vertices` count.

    Attributes
    ----------
    vertices : (K,) int
        The speeds of the hull, slowest first.
    changes : (K,) float
        Epochs at which the profile passes to the next of them.
    slopes, spare : (K,) float
    passed : (K,) int
    """

    vertices: Any
    changes: Any
    slopes: Any
    spare: Any
    passed: Any


class FirstPieces(NamedTuple):
    """The first piece of every job's profile.

    Attributes
    ----------
    speed : (J,) int
        Index of its speed; -1 where the deadline cannot be met.
    length : (J,) float
        Epochs until the next speed; infinite when the first piece is the last.
    energy : (J,) float
        Least expected energy of the whole profile.
    """

    speed: Any
    length: Any
    energy: Any


@register_jitable
def empty_hull(speeds: int) -> Hull:
    """Room for the profile of so many speeds."""
    return Hull(
        np.empty(speeds, np.int64),
        np.empty(speeds),
        np.empty(speeds),
        np.empty(speeds),
        np.empty(speeds, np.int64),
    )


@register_jitable
def lower_hull(speeds: Speeds, vertices: Any) -> int:
    """Vertices of the lower convex hull of (1/s, Q), from least Q to the least 1/s; their number.

    O(K) where more GPUs are never slower, else O(K^2). Equal points and points above the hull are
    left out.
    """
    inverse, order = speeds.inverse, np.arange(len(speeds.inverse))
    for i in range(1, len(inverse)):  # slowest first, equal ones as they come
        k, at = order[i], i
        while at and inverse[order[at - 1]] < inverse[k]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = k
    return hull_in_order(speeds, order, vertices)


@register_jitable
def hull_in_order(speeds: Speeds, order: Any, vertices: Any) -> int:
    """`lower_hull` of speeds whose order is known: the slowest first, equal ones as they come."""
    inverse, energy = speeds.inverse, speeds.energy
    count = 0
    for k in order:
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


@register_jitable
def solve_profile(curve: Curve, speeds: Speeds, deadline: float, hull: Hull) -> Any:
    """Least expected energy within a deadline in seconds.

    Fills the hull's vertices and changes; returns the status, the number of edges and the
    multiplier of the deadline. Complexity: O(K log K + K^2 log^2 n) for K speeds and n segments.
    """
    knots, inverse, energy = curve.knots, speeds.inverse, speeds.energy
    vertices, changes, slopes, passed = hull.vertices, hull.changes, hull.slopes, hull.passed
    edges = lower_hull(speeds, vertices) - 1
    work = knots[-1] - knots[0]
    fastest = work * inverse[vertices[edges]]
    if fastest > deadline + ROUNDING * max(fastest, deadline):
        return INFEASIBLE, edges, np.inf
    if work * inverse[vertices[0]] <= deadline:
        for e in range(edges):
            changes[e] = knots[-1]
        return SLACK, edges, 0.0
    for e in range(edges):
        a, b = vertices[e], vertices[e + 1]
        slopes[e] = (energy[b] - energy[a]) / (inverse[a] - inverse[b])
        if e:  # rounding must not turn the edges' order
            slopes[e] = max(slopes[e], slopes[e - 1])
    if fastest >= deadline:  # by a hair at most
        for e in range(edges):
            changes[e] = knots[0]
        return BINDING, edges, curve.high[0] * slopes[edges - 1] if edges else 0.0
    point, edge = _critical(curve, speeds, hull, edges, deadline)
    multiplier = _value(curve, point) * slopes[edge]
    _pass(curve, hull, edges, point, edge)
    if multiplier == 0.0:  # what is late costs nothing: time is spent where F^c is 0
        _changes(curve, hull, edges, multiplier, changes)
        return SLACK, edges, 0.0
    passed[edge] = point + 1  # all breakpoints before the critical one
    under = 0.0
    for e in range(edges):
        if passed[e] < 2 * len(curve.high):
            under = max(under, _value(curve, passed[e]) * slopes[e])
    _changes(curve, hull, edges, under, hull.spare)
    _changes(curve, hull, edges, multiplier, changes)
    slow = _time(curve, speeds, vertices, edges, hull.spare)
    fast = _time(curve, speeds, vertices, edges, changes)
    if fast > deadline:  # the deadline lies inside the jump at the critical breakpoint: split it
        saved = inverse[vertices[edge]] - inverse[vertices[edge + 1]]
        end = knots[(point + 1) // 2]
        changes[edge] = max(end, changes[edge] - (fast - deadline) / saved)
    elif slow > fast:  # between two multipliers, where all changes move linearly
        share = min((deadline - fast) / (slow - fast), 1.0)
        for e in range(edges):
            changes[e] += share * (hull.spare[e] - changes[e])
        multiplier += share * (under - multiplier)
    return BINDING, edges, multiplier


@kernel
def profile_of_curve(curve: Curve, speeds: Speeds, deadline: float, hull: Hull) -> Any:
    """`solve_profile`, called from Python."""
    return solve_profile(curve, speeds, deadline, hull)


@kernel
def first_pieces(
    curves: Curves, speeds: Speeds, deadlines: Any, least: Any, shortest: float, pieces: FirstPieces
) -> None:
    """Fill the first piece of every job's profile, and its expected energy.

    A first piece of less than `shortest` seconds, or that is rounding's, is left out and the next
    speed starts at once.
    """
    hull = empty_hull(speeds.inverse.shape[1])
    for j in range(len(deadlines)):
        mine = Speeds(speeds.inverse[j], speeds.energy[j])
        for k in range(least[j]):
            mine.inverse[k] = np.inf
        found = first_piece(curve_of(curves, j), mine, deadlines[j], shortest, hull)
        pieces.speed[j], pieces.length[j], pieces.energy[j] = found


@register_jitable
def curve_of(curves: Curves, j: int) -> Curve:
    """The curve of one of many jobs."""
    a, b = curves.start[j], curves.start[j + 1]
    return Curve(curves.knots[a + j : b + j + 1], curves.high[a:b], curves.low[a:b])


@register_jitable
def first_piece(
    curve: Curve, speeds: Speeds, deadline: float, shortest: float, hull: Hull
) -> tuple[int, float, float]:
    """The speed, length and energy of a `FirstPieces` for one job."""
    knots = curve.knots
    status, edges, _ = solve_profile(curve, speeds, deadline, hull)
    if status == INFEASIBLE:
        return -1, np.inf, np.inf
    speed, length = hull.vertices[edges], np.inf
    before, total, found = knots[0], 0.0, False
    for e in range(edges + 1):
        k, after = hull.vertices[e], hull.changes[e] if e < edges else knots[-1]
        long = after - before > ROUNDING * (knots[-1] - knots[0])
        last = after >= knots[-1]
        if not found and long and (last or (after - before) * speeds.inverse[k] >= shortest):
            found = True
            speed = k
            length = np.inf if last else after - knots[0]
        total += speeds.energy[k] * _area(curve, before, after)
        before = max(before, after)
    return speed, length, total


@register_jitable
def _time(curve: Curve, speeds: Speeds, vertices: Any, edges: int, changes: Any) -> float:
    """Seconds of the profile that passes edge e at changes[e]."""
    total, before = 0.0, curve.knots[0]
    for e in range(edges):
        total += (changes[e] - before) * speeds.inverse[vertices[e]]
        before = changes[e]
    return total + (curve.knots[-1] - before) * speeds.inverse[vertices[edges]]


@register_jitable
def _value(curve: Curve, point: int) -> float:
    """F^c at a breakpoint: high[0], low[0], high[1], low[1], ..., which never grow."""
    return curve.low[point // 2] if point % 2 else curve.high[point // 2]


@register_jitable
def _pass(curve: Curve, hull: Hull, edges: int, point: int, edge: int) -> None:
    """Fill the first breakpoint that each edge has passed when (point, edge) is the last of all.

    The order: increasing F^c Phi, then the later point, then the lower edge. So no two are equal,
    and of ``edge`` itself the answer is ``point`` whatever rounding does to a product.
    """
    slopes = hull.slopes
    multiplier = _value(curve, point) * slopes[edge]
    for e in range(edges):
        left, right = (0, point) if e < edge else (point + 1, 2 * len(curve.high))
        while left < right and e != edge:
            middle = (left + right) // 2
            value = _value(curve, middle) * slopes[e]
            if value < multiplier or (value == multiplier and middle > point):
                right = middle
            else:
                left = middle + 1
        hull.passed[e] = point if e == edge else left


@register_jitable
def _changes(curve: Curve, hull: Hull, edges: int, multiplier: float, changes: Any) -> None:
    """Fill y_e: the knot of the first breakpoint passed, or lam's place on a falling segment."""
    knots, high, low = curve.knots, curve.high, curve.low
    for e in range(edges):
        point = hull.passed[e]
        changes[e] = knots[(point + 1) // 2]
        i = point // 2
        if point % 2 and low[i] < high[i]:
            top, bottom = high[i] * hull.slopes[e], low[i] * hull.slopes[e]
            if multiplier >= top:
                changes[e] = knots[i]
            elif multiplier > bottom:
                back = (multiplier - bottom) / (top - bottom)
                changes[e] -= back * (knots[i + 1] - knots[i])


@register_jitable
def _critical(curve: Curve, speeds: Speeds, hull: Hull, edges: int, deadline: float) -> Any:
    """The first breakpoint, in the order of `_pass`, from which on the deadline is met."""
    slopes, last = hull.slopes, 2 * len(curve.high)
    point, edge = 0, edges - 1  # the last of all: everything at the greatest speed
    late_point, late_edge = last, -1  # none that misses it known
    for e in range(edges):
        left, right = 0, last
        while left < right:  # the first of this edge that misses the deadline
            middle = (left + right) // 2
            if not _precedes(curve, slopes, middle, e, point, edge):
                meets = True
            elif late_edge >= 0 and not _precedes(curve, slopes, late_point, late_edge, middle, e):
                meets = False
            else:
                _pass(curve, hull, edges, middle, e)
                _changes(curve, hull, edges, _value(curve, middle) * slopes[e], hull.changes)
                meets = _time(curve, speeds, hull.vertices, edges, hull.changes) <= deadline
                if meets:
                    point, edge = middle, e
                else:
                    late_point, late_edge = middle, e
            if meets:
                left = middle + 1
            else:
                right = middle
    return point, edge


@register_jitable
def _precedes(curve: Curve, slopes: Any, point: int, edge: int, other: int, its_edge: int) -> bool:
    """Whether a breakpoint comes before another one in the order of `_pass`."""
    mine = _value(curve, point) * slopes[edge]
    theirs = _value(curve, other) * slopes[its_edge]
    if mine != theirs:
        return mine < theirs
    return point > other or (point == other and edge < its_edge)


@register_jitable
def _area(curve: Curve, start: float, end: float) -> float:
    """The integral of F^c from one epoch to another. O(log n + segments between)."""
    if end <= start:
        return 0.0
    knots, high, low = curve.knots, curve.high, curve.low
    total = 0.0
    i = max(int(np.searchsorted(knots, start, side="right")) - 1, 0)
    while i < len(high) and knots[i] < end:
        a, b = max(start, knots[i]), min(end, knots[i + 1])
        if b > a:
            fall = (high[i] - low[i]) / (knots[i + 1] - knots[i])
            total += (b - a) * (high[i] - fall * ((a + b) / 2 - knots[i]))
        i += 1
    return total
