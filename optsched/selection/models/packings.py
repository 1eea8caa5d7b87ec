"""The shapes that patterns and arcs are made of: partitions of GPUs, and fills of one GPU."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

Counts = tuple[int, ...]


def written(counts: Counts) -> str:
    """Counts as one index of a model: (2, 1) is "2+1", () is "-"."""
    return "+".join(str(count) for count in counts) or "-"


@cache
def read(text: str) -> Counts:
    """The counts that `written` wrote."""
    return () if text == "-" else tuple(int(part) for part in text.split("+"))


@cache
def partitions(total: int, largest: int | None = None) -> tuple[Counts, ...]:
    """Ways to write `total` as a sum of positive sizes, each way in descending order."""
    if total == 0:
        return ((),)
    top = total if largest is None else min(total, largest)
    return tuple(
        (size, *rest) for size in range(top, 0, -1) for rest in partitions(total - size, size)
    )


def partition_count(total: int) -> int:
    """How many partitions `total` has, without listing them."""
    ways = [1] + [0] * total
    for size in range(1, total + 1):
        for reached in range(size, total + 1):
            ways[reached] += ways[reached - size]
    return ways[total]


def maximal_fills(fractions: tuple[Fraction, ...], most: int) -> list[Counts] | None:
    """Multisets of fractions with sum <= 1 to which none can be added, as counts by fraction."""
    if not fractions:
        return []
    found: list[Counts] = []
    smallest = min(fractions)

    def extend(index: int, room: Fraction, counts: Counts) -> bool:
        if index == len(fractions):
            if room < smallest:
                found.append(counts)
            return len(found) <= most
        fit = int(room / fractions[index])
        return all(
            extend(index + 1, room - n * fractions[index], (*counts, n)) for n in range(fit, -1, -1)
        )

    return found if extend(0, Fraction(1), ()) else None
