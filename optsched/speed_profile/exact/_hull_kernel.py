"""Compiled loops of the hull method: the lower hull, the multiplier, a first piece for `sts`.

Vertices of the hull are numbered from the slowest useful speed (least Q) to the fastest; edge e
joins vertices e and e + 1 and has the slope Phi_e > 0, increasing in e: joules paid for each second
saved. At a multiplier lam an epoch w uses a speed faster than edge e once F^c(w) Phi_e <= lam: from
y_e(lam), the first such epoch, on (sts, (24)). The time falls with lam, so bisection finds the
least lam that meets the deadline; where it jumps over the deadline, the profiles on both sides of
the jump cost the same at lam, and their mixture meets the deadline exactly.
"""

from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable

from optsched.kernels import kernel
from optsched.uncertainty.survival import Curve, Curves

SLACK, BINDING, INFEASIBLE = 0, 1, 2
ROUNDING = 1e-12
"""Relative tolerance for the deadline and for the shortest first piece."""
BISECTIONS = 200
"""Halvings of the multiplier; about 60 reach neighbouring floats, more only where it is tiny."""


class Speeds(NamedTuple):
    """Speeds to choose from: 1/s_k (K,) seconds per epoch, and Q_k (K,) energy an epoch."""

    inverse: Any
    energy: Any


class Hull(NamedTuple):
    """The profile, and work space; as many `slopes` and `changes` count as the hull has edges."""

    vertices: Any
    """(K,): the speeds of the hull, slowest first."""
    slopes: Any
    """(K,): Phi_e, energy per second saved beyond edge e."""
    changes: Any
    """(K,): y_e, epochs at which the profile passes to the next speed."""
    slower: Any
    """(K,): `changes` at a multiplier below the critical one."""


@register_jitable
def empty_hull(speeds: int) -> Hull:
    vertices = np.empty(speeds, np.int64)
    return Hull(vertices, np.empty(speeds), np.empty(speeds), np.empty(speeds))


@register_jitable
def lower_hull(speeds: Speeds, vertices: Any) -> int:
    """Vertices of the lower convex hull of (1/s, Q), from least Q to the least 1/s; their number.

    O(K) where more GPUs are never slower, else O(K^2). Equal points and points above the hull are
    left out.
    """
    inverse, order = speeds.inverse, np.arange(len(speeds.inverse))
    for i in range(1, len(inverse)):  # slowest first, equal ones as they come
        speed, position = order[i], i
        while position and inverse[order[position - 1]] < inverse[speed]:
            order[position] = order[position - 1]
            position -= 1
        order[position] = speed
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
            cross_product = (energy[b] - energy[a]) * (inverse[b] - inverse[k])
            if cross_product < (energy[k] - energy[b]) * (inverse[a] - inverse[b]):
                break
            count -= 1
        vertices[count] = k
        count += 1
    return count


@register_jitable
def solve_profile(curve: Curve, speeds: Speeds, deadline: float, hull: Hull) -> Any:
    """Least expected energy within a deadline in seconds.

    Fills the hull's vertices and changes; returns the status, the number of edges and the
    multiplier of the deadline. Complexity: O(K log K + K log n) for K speeds and n segments, the
    latter for each halving of the multiplier.
    """
    inverse = speeds.inverse
    edges = lower_hull(speeds, hull.vertices) - 1
    work = curve.knots[-1] - curve.knots[0]
    fastest = work * inverse[hull.vertices[edges]]
    if fastest > deadline + ROUNDING * max(fastest, deadline):
        return INFEASIBLE, edges, np.inf
    if work * inverse[hull.vertices[0]] <= deadline:
        for e in range(edges):
            hull.changes[e] = curve.knots[-1]
        return SLACK, edges, 0.0
    fill_slopes(speeds, hull, edges)
    status, multiplier = meet_deadline(curve, speeds, deadline, hull, 0, edges)
    return status, edges, multiplier


@register_jitable
def fill_slopes(speeds: Speeds, hull: Hull, edges: int) -> None:
    """Phi_e of each edge; rounding must not make them fall from edge to edge."""
    inverse, energy = speeds.inverse, speeds.energy
    for e in range(edges):
        a, b = hull.vertices[e], hull.vertices[e + 1]
        hull.slopes[e] = (energy[b] - energy[a]) / (inverse[a] - inverse[b])
        if e:
            hull.slopes[e] = max(hull.slopes[e], hull.slopes[e - 1])


@register_jitable
def meet_deadline(
    curve: Curve, speeds: Speeds, deadline: float, hull: Hull, first: int, edges: int
) -> tuple[int, float]:
    """Fill the changes at which speeds from vertex `first` on take the deadline; (25) of sts.

    Returns the status and the multiplier. SLACK: the deadline is met where F^c is 0, at no cost.
    """
    slopes, changes, slower = hull.slopes, hull.changes, hull.slower
    slow, fast = 0.0, curve.high[0] * slopes[edges - 1] if edges else 0.0
    if first == edges:  # the greatest speed alone
        return BINDING, fast
    fill_changes(curve, slopes, first, edges, slow, changes)
    if time_of(curve, speeds, hull.vertices, first, edges, changes) <= deadline:
        return SLACK, 0.0
    for _ in range(BISECTIONS):
        middle = (slow + fast) / 2
        if middle <= slow or middle >= fast:
            break
        fill_changes(curve, slopes, first, edges, middle, changes)
        if time_of(curve, speeds, hull.vertices, first, edges, changes) <= deadline:
            fast = middle
        else:
            slow = middle
    fill_changes(curve, slopes, first, edges, slow, slower)
    fill_changes(curve, slopes, first, edges, fast, changes)
    slow_seconds = time_of(curve, speeds, hull.vertices, first, edges, slower)
    fast_seconds = time_of(curve, speeds, hull.vertices, first, edges, changes)
    if fast_seconds < deadline < slow_seconds:
        share = (deadline - fast_seconds) / (slow_seconds - fast_seconds)
        for e in range(first, edges):
            changes[e] += share * (slower[e] - changes[e])
    return BINDING, fast


@kernel
def profile_of_curve(curve: Curve, speeds: Speeds, deadline: float, hull: Hull) -> Any:
    """`solve_profile`, called from Python."""
    return solve_profile(curve, speeds, deadline, hull)


@register_jitable
def fill_changes(
    curve: Curve, slopes: Any, first: int, edges: int, multiplier: float, changes: Any
) -> None:
    """(24): y_e = inf{w : F^c(w) Phi_e <= multiplier} for e >= first."""
    knots, high, low = curve.knots, curve.high, curve.low
    for e in range(first, edges):
        left, right = 0, len(low)
        while left < right:  # the first segment that ends at or below the multiplier
            middle = (left + right) // 2
            if low[middle] * slopes[e] <= multiplier:
                right = middle
            else:
                left = middle + 1
        changes[e] = knots[left]
        if left < len(low):
            top, bottom = high[left] * slopes[e], low[left] * slopes[e]
            if top > multiplier:
                share = (top - multiplier) / (top - bottom)
                changes[e] += share * (knots[left + 1] - knots[left])


@register_jitable
def time_of(
    curve: Curve, speeds: Speeds, vertices: Any, first: int, edges: int, changes: Any
) -> float:
    """Seconds of the profile that passes edge e at changes[e], from vertex `first` on."""
    total, before = 0.0, curve.knots[0]
    for e in range(first, edges):
        total += (changes[e] - before) * speeds.inverse[vertices[e]]
        before = changes[e]
    return total + (curve.knots[-1] - before) * speeds.inverse[vertices[edges]]


@register_jitable
def curve_of(curves: Curves, j: int) -> Curve:
    a, b = curves.start[j], curves.start[j + 1]
    return Curve(curves.knots[a + j : b + j + 1], curves.high[a:b], curves.low[a:b])


@register_jitable
def first_piece(
    curve: Curve, speeds: Speeds, deadline: float, min_seconds: float, hull: Hull
) -> tuple[int, float, float]:
    """The first piece of a job's profile: its speed, its length and the energy of the profile.

    The speed is -1 where the deadline cannot be met, the length infinite where the first piece is
    the last. First pieces shorter than `min_seconds`, or than rounding, are skipped.
    """
    knots = curve.knots
    status, edges, _ = solve_profile(curve, speeds, deadline, hull)
    if status == INFEASIBLE:
        return -1, np.inf, np.inf
    speed, length = hull.vertices[edges], np.inf
    before, total, has_first_piece = knots[0], 0.0, False
    for e in range(edges + 1):
        k, after = hull.vertices[e], hull.changes[e] if e < edges else knots[-1]
        is_nonempty = after - before > ROUNDING * (knots[-1] - knots[0])
        last = after >= knots[-1]
        if (
            not has_first_piece
            and is_nonempty
            and (last or (after - before) * speeds.inverse[k] >= min_seconds)
        ):
            has_first_piece = True
            speed = k
            length = np.inf if last else after - knots[0]
        total += speeds.energy[k] * _area(curve, before, after)
        before = max(before, after)
    return speed, length, total


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
