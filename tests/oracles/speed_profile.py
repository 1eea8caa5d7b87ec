"""Oracles for speed profiles, written from (P3) alone; they share no code with optsched.

Discrete W: a linear programme in the epochs of every piece at every speed. Piecewise linear F^c:
the Lagrangian dual, whose integral is exact on every segment, maximised by golden section; the
problem is convex, so the dual's maximum is the optimum.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.optimize import linprog


def least_energy(instance: dict) -> float | None:
    """Least expected energy; None when the deadline cannot be met."""
    speeds, power = np.array(instance["speeds"]), np.array(instance["power"])
    done, work = instance.get("completed", 0), instance["work"]
    most = max(work["values"] if "values" in work else work["points"])
    if (most - done) / speeds[-1] > instance["deadline"] * (1 + 1e-12):
        return None
    if "values" in work:
        return _programme(speeds, power, instance["deadline"], *_pieces(work, done))
    return _dual(speeds, power, instance["deadline"], *_segments(work, done))


def _pieces(work: dict, done: float) -> tuple[np.ndarray, np.ndarray]:
    """Lengths of the pieces, and P(W > w | W > done) on each."""
    pairs = sorted(
        (w, p) for w, p in zip(work["values"], work["probabilities"], strict=True) if w > done
    )
    knots = [done, *sorted({w for w, _ in pairs})]
    total = sum(p for _, p in pairs)
    survival = [sum(p for w, p in pairs if w > a) / total for a in knots[:-1]]
    return np.diff(knots), np.array(survival)


def _programme(speeds, power, deadline, lengths, survival) -> float:
    pieces, kinds = len(lengths), len(speeds)
    cost = np.outer(survival, power / speeds).ravel()
    rows = np.zeros((pieces, pieces * kinds))
    for i in range(pieces):
        rows[i, i * kinds : (i + 1) * kinds] = 1
    time = np.tile(1 / speeds, pieces)
    scale = max(cost.max(), 1e-300)
    found = linprog(
        cost / scale,
        A_ub=[time / deadline],
        b_ub=[1 + 1e-13],
        A_eq=rows,
        b_eq=lengths,
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    return float(found.fun * scale)


def _segments(work: dict, done: float):
    points, survival = np.array(work["points"], float), np.array(work["survival"], float)
    knots = np.array([done, *[w for w in points if w > done]])
    return knots, np.interp(knots, points, survival) / np.interp(done, points, survival)


def _dual(speeds, power, deadline, knots, survival) -> float:
    energy, inverse = power / speeds, 1 / speeds
    deadline = deadline * (1 + 1e-12)  # or rounding alone makes the dual unbounded

    def value(multiplier: float) -> float:
        total = -multiplier * deadline
        for a, b, f, g in zip(knots, knots[1:], survival, survival[1:], strict=False):
            lines = [
                (f * q + multiplier * x, (g - f) / (b - a) * q)
                for q, x in zip(energy, inverse, strict=True)
            ]
            cuts = {0.0, b - a}
            for i, (c, m) in enumerate(lines):
                for c2, m2 in lines[:i]:
                    if m != m2 and 0 < (c2 - c) / (m - m2) < b - a:
                        cuts.add((c2 - c) / (m - m2))
            ends = sorted(cuts)
            for start, end in pairwise(ends):
                middle = (start + end) / 2
                total += (end - start) * min(c + m * middle for c, m in lines)
        return total

    low, high = 0.0, 1.0
    while high < 1e30 and value(2 * high) > value(high):
        high *= 2
    high *= 2
    ratio = (5**0.5 - 1) / 2
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    fa, fb = value(a), value(b)
    best = max(value(0.0), fa, fb)
    for _ in range(90):
        if fa > fb:
            high, b, fb = b, a, fa
            a = high - ratio * (high - low)
            fa = value(a)
        else:
            low, a, fa = a, b, fb
            b = low + ratio * (high - low)
            fb = value(b)
        best = max(best, fa, fb)
    return best
