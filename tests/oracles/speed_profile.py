"""Speed profiles by Lagrangian duality in 60-digit decimals, and by a linear programme.

minimise sum_k Q_k int F^c(w | W > w_c) [speed k at w] dw,  time <= d,  Q_k = P_k / s_k (sts (P2)).

The problem is a linear programme in infinitely many variables with one coupling row, so its value
is max over lam >= 0 of  g(lam) = int min_k (F^c(w) Q_k + lam / s_k) dw - lam d.  On a segment where
F^c is linear the minimum is piecewise linear in w, so the integral is exact. g is concave, and
quadratic between neighbouring values of lam at which some F^c at a segment's end ties two speeds.
"""

from decimal import Context, Decimal, localcontext
from fractions import Fraction
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

DIGITS = Context(prec=60)
ZERO = Decimal(0)
SAME = Decimal("1e-40")
"""Relative; ties closer than this are one tie, put apart by the last digits."""

MET = Decimal("1e-9")
"""Relative; a deadline is met, and an energy the least, where no more than this is left."""
SUMS = Decimal("1e-13")
"""Relative; what adding up in float64 may change of a time or an energy: not judged."""


class Segment(NamedTuple):
    """Epochs ``start``..``end``, over which F^c goes linearly from ``first`` to ``last``."""

    start: Decimal
    end: Decimal
    first: Decimal
    last: Decimal


def min_time(instance: dict) -> Decimal:
    """Seconds of all the work at the greatest speed."""
    with localcontext(DIGITS):
        segments = segments_of(instance)
        return (segments[-1].end - segments[0].start) / max(_speeds(instance)[0])


def optimum(instance: dict) -> Decimal | None:
    """The smallest expected energy, exact but for the last of 60 digits; None if always late."""
    with localcontext(DIGITS):
        deadline = Decimal(instance["deadline"])
        if min_time(instance) > deadline:
            return None
        return _dual_maximum(segments_of(instance), *_speeds(instance), deadline)


def energy_and_time(instance: dict, pieces: list[dict]) -> tuple[Decimal, Decimal]:
    with localcontext(DIGITS):
        segments = segments_of(instance)
        speeds, energies = _speeds(instance)
        energy, time = ZERO, ZERO
        for piece in pieces:
            low, high = Decimal(piece["from"]), Decimal(piece["to"])
            time += (high - low) / speeds[piece["speed"]]
            for part in segments:
                start, end = max(low, part.start), min(high, part.end)
                if start < end:
                    middle = _at(part, (start + end) / 2)
                    energy += energies[piece["speed"]] * middle * (end - start)
        return energy, time


def max_energy(instance: dict) -> float:
    """Joules if all the work were sure to be done, at the dearest speed."""
    segments = segments_of(instance)
    return float((segments[-1].end - segments[0].start) * max(_speeds(instance)[1]))


def violated_rule(instance: dict, solution: dict) -> tuple[str, float] | None:
    """The rule a solution breaks and by how much, relative to what the rule compares."""
    with localcontext(DIGITS):
        segments = segments_of(instance)
        start, end = segments[0].start, segments[-1].end
        work, pieces = end - start, solution["pieces"]
        deadline = Decimal(instance["deadline"])
        if solution["status"] == "infeasible":
            late = min_time(instance) - deadline
            if pieces or late <= 0 or _in_time_as_written(instance):
                return "status", 1.0
            # float64's work / speed may be in time where the numbers' last bits are late
            return ("status", 0.0) if late <= deadline * Decimal("1e-12") else None
        if not pieces:
            return "cover", 1.0
        if any(not 0 <= piece["speed"] < len(instance["speeds"]) for piece in pieces):
            return "speed", 1.0
        edges = [start]
        gap = ZERO
        for piece in pieces:
            low, high = Decimal(piece["from"]), Decimal(piece["to"])
            gap = max(gap, abs(low - edges[-1]), low - high)
            edges.append(high)
        gap = max(gap, abs(edges[-1] - end))
        if gap > 0:
            return "cover", float(gap / work)
        late = energy_and_time(instance, pieces)[1] - deadline
        if late > 0:
            return "deadline", float(late / deadline) if deadline else 1.0
        if solution["status"] == "slack" and -late <= deadline * (MET + SUMS):
            # met: "slack" only where the deadline costs nothing
            energy = energy_and_time(instance, pieces)[0]
            needed = sum((p.first + p.last) / 2 * (p.end - p.start) for p in segments)
            dearer = energy - min(_speeds(instance)[1]) * needed
            if dearer > energy * (MET - SUMS):
                sure = -late <= deadline * (MET - SUMS) and dearer > energy * (MET + SUMS)
                return "status", 1.0 if sure else 0.0
        if solution["status"] == "binding" and late < 0:
            return "status", float(-late / deadline)
        return None


def _in_time_as_written(instance: dict) -> bool:
    """Whether the greatest speed meets the deadline, in the decimals that the file shows."""
    work = instance["work"]
    most, done, speed, deadline = (
        Fraction(repr(float(number)))
        for number in (
            max(work.get("values") or work["points"]),
            instance.get("completed", 0),
            max(instance["speeds"]),
            instance["deadline"],
        )
    )
    return most - done <= deadline * speed


def segments_of(instance: dict) -> list[Segment]:
    """F^c given that more than ``completed`` epochs are needed, segment by segment."""
    with localcontext(DIGITS):
        done, work = Decimal(instance.get("completed", 0)), instance["work"]
        found = []
        if "points" in work:
            points = [Decimal(p) for p in work["points"]]
            survival = [Decimal(f) for f in work["survival"]]
            for i in range(len(points) - 1):
                part = Segment(points[i], points[i + 1], survival[i], survival[i + 1])
                if part.end > done:
                    start = max(part.start, done)
                    found.append(part._replace(start=start, first=_at(part, start)))
        else:
            chances: dict[Decimal, Decimal] = {}
            for value, chance in zip(work["values"], work["probabilities"], strict=True):
                chances[Decimal(value)] = chances.get(Decimal(value), ZERO) + Decimal(chance)
            start, values = done, sorted(value for value in chances if value > done)
            for i, value in enumerate(values):
                left = sum((chances[v] for v in values[i:]), ZERO)
                found.append(Segment(start, value, left, left))
                start = value
        scale = found[0].first
        return [part._replace(first=part.first / scale, last=part.last / scale) for part in found]


def linear_programme(instance: dict) -> float | None:
    """The optimum of a discrete instance by HiGHS over (piece, speed); None when infeasible."""
    segments = segments_of(instance)
    speeds, energies = (np.array(column, dtype=float) for column in _speeds(instance))
    length = np.array([float(part.end - part.start) for part in segments])
    chance = np.array([float(part.first) for part in segments])
    cost = np.outer(chance * length, energies)
    time = np.outer(length, 1 / speeds)
    scale = max(cost.max(), 1e-300)
    longest = instance["deadline"] or time.max()
    answer = linprog(
        (cost / scale).ravel(),
        A_ub=time.reshape(1, -1) / longest,
        b_ub=[instance["deadline"] / longest],
        A_eq=np.kron(np.eye(len(segments)), np.ones(len(speeds))),
        b_eq=np.ones(len(segments)),
        method="highs",
    )
    return None if answer.status == 2 else float(answer.fun * scale)


def _dual_maximum(
    segments: list[Segment], speeds: list[Decimal], energies: list[Decimal], deadline: Decimal
) -> Decimal:
    """max over lam >= 0 of g(lam), by its breakpoints."""
    ties = {ZERO}
    for (s, q), (t, r) in combinations(zip(speeds, energies, strict=True), 2):
        price = (r - q) / (1 / s - 1 / t)
        if price > 0:
            ties.update(end * price for part in segments for end in (part.first, part.last))
    grid = [ZERO]
    for tie in sorted(ties):
        if tie - grid[-1] > tie * SAME:
            grid.append(tie)
    # one step beyond the last tie every piece runs at full speed: g no longer grows
    grid.append(grid[-1] * 2 + 1)
    values: dict[int, Decimal] = {}

    def value(i: int) -> Decimal:
        if i not in values:
            values[i] = _dual(grid[i], segments, speeds, energies, deadline)
        return values[i]

    low, high = 0, len(grid) - 1
    while low < high:
        middle = (low + high) // 2
        if value(middle + 1) > value(middle):
            low = middle + 1
        else:
            high = middle
    best = value(low)
    for i in (low - 1, low):
        if 0 <= i < len(grid) - 1:
            best = max(best, _vertex(grid[i], grid[i + 1], segments, speeds, energies, deadline))
    return best


def _vertex(
    left: Decimal,
    right: Decimal,
    segments: list[Segment],
    speeds: list[Decimal],
    energies: list[Decimal],
    deadline: Decimal,
) -> Decimal:
    """The largest value of g, quadratic between left and right."""
    middle = (left + right) / 2
    a, b, c = (_dual(x, segments, speeds, energies, deadline) for x in (left, middle, right))
    curvature = a - 2 * b + c
    if curvature >= 0:
        return max(a, c)
    top = middle + (middle - left) * (a - c) / (2 * curvature)
    return _dual(min(max(top, left), right), segments, speeds, energies, deadline)


def _dual(
    price: Decimal,
    segments: list[Segment],
    speeds: list[Decimal],
    energies: list[Decimal],
    deadline: Decimal,
) -> Decimal:
    total = -price * deadline
    lines = [(q, price / s) for s, q in zip(speeds, energies, strict=True)]
    for part in segments:
        ends = {part.first, part.last}
        if part.first > part.last:
            for (q, c), (r, e) in combinations(lines, 2):
                if q != r and part.last < (tie := (e - c) / (q - r)) < part.first:
                    ends.add(tie)
        steps = sorted(ends, reverse=True)
        if len(steps) == 1:
            total += (part.end - part.start) * min(steps[0] * q + c for q, c in lines)
            continue
        density = (part.end - part.start) / (part.first - part.last)
        for upper, lower in pairwise(steps):
            middle = (upper + lower) / 2
            total += (upper - lower) * density * min(middle * q + c for q, c in lines)
    return total


def _at(part: Segment, epoch: Decimal) -> Decimal:
    share = (epoch - part.start) / (part.end - part.start)
    return part.first + share * (part.last - part.first)


def _speeds(instance: dict) -> tuple[list[Decimal], list[Decimal]]:
    speeds = [Decimal(s) for s in instance["speeds"]]
    return speeds, [Decimal(p) / s for p, s in zip(instance["power"], speeds, strict=True)]
