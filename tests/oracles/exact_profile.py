"""An oracle for speed profiles of a discrete W in exact arithmetic, from (P3) alone.

The Lagrangian dual of the deadline is concave and piecewise linear in the multiplier; its maximum,
which is the optimum, lies at 0 or where some piece is indifferent between two speeds. Fractions
take the instance's floats as they are, so that the value is the optimum to the last bit.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, pairwise


def exact_energy(instance: dict) -> Fraction | None:
    """Least expected energy; None when the deadline cannot be met, by a hair excepted."""
    inverse = [1 / Fraction(s) for s in instance["speeds"]]
    energy = [Fraction(p) * x for p, x in zip(instance["power"], inverse, strict=True)]
    pieces = _pieces(instance["work"], Fraction(instance.get("completed", 0)))
    fastest = sum(length for length, _ in pieces) * min(inverse)
    deadline = Fraction(instance["deadline"])
    if fastest > deadline * (1 + Fraction(1, 10**12)):
        return None
    deadline = max(deadline, fastest)

    def best(multiplier: Fraction, survival: Fraction) -> tuple[Fraction, Fraction]:
        """Least cost of an epoch at the multiplier's price of time, and its least time."""
        return min((survival * q + multiplier * x, x) for q, x in zip(energy, inverse, strict=True))

    def seconds(multiplier: Fraction) -> Fraction:
        return sum(length * best(multiplier, survival)[1] for length, survival in pieces)

    slopes = {
        (energy[b] - energy[a]) / (inverse[a] - inverse[b])
        for a, b in combinations(range(len(inverse)), 2)
    }
    places = sorted({Fraction(0), *(s * f for s in slopes if s > 0 for _, f in pieces)})
    left, right = 0, len(places) - 1  # the first multiplier in time
    while left < right:
        middle = (left + right) // 2
        if seconds(places[middle]) <= deadline:
            right = middle
        else:
            left = middle + 1
    multiplier = places[left]
    cost = sum(length * best(multiplier, survival)[0] for length, survival in pieces)
    return cost - multiplier * deadline


def _pieces(work: dict, done: Fraction) -> list[tuple[Fraction, Fraction]]:
    """Length of each piece, and P(W > w | W > done) on it."""
    chances: dict[Fraction, Fraction] = {}
    for w, p in zip(work["values"], work["probabilities"], strict=True):
        if Fraction(w) > done:
            chances[Fraction(w)] = chances.get(Fraction(w), Fraction(0)) + Fraction(p)
    total, made = sum(chances.values()), []
    for a, b in pairwise([done, *sorted(chances)]):
        made.append((b - a, sum(p for w, p in chances.items() if w > a) / total))
    return made
