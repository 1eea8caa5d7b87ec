"""The shapes that patterns and arcs are made of: partitions of GPUs, and fills of one GPU."""

from fractions import Fraction
from functools import cache

from optsched.errors import NotApplicableError
from optsched.selection.cost import GpuKind

MAX_FILLS = 2_000
"""More fills of one GPU are refused: the models grow with them."""

Counts = tuple[int, ...]


def encode_counts(counts: Counts) -> str:
    """Counts as one index of a model: (2, 1) is "2+1", () is "-"."""
    return "+".join(str(count) for count in counts) or "-"


@cache
def decode_counts(text: str) -> Counts:
    """Inverse of `encode_counts`."""
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


def maximal_fills(fractions: tuple[Fraction, ...], max_fills: int) -> list[Counts] | None:
    """Maximal multisets of fractions with sum <= 1, as counts by fraction."""
    if not fractions:
        return []
    fills: list[Counts] = []
    smallest = min(fractions)

    def extend(index: int, room: Fraction, counts: Counts) -> bool:
        if index == len(fractions):
            if room < smallest:
                fills.append(counts)
            return len(fills) <= max_fills
        fit = int(room / fractions[index])
        return all(
            extend(index + 1, room - n * fractions[index], (*counts, n)) for n in range(fit, -1, -1)
        )

    return fills if extend(0, Fraction(1), ()) else None


def fills_of(kind: GpuKind) -> list[Counts] | None:
    """The maximal fills of a GPU of a type; None if there are too many."""
    fractions = tuple(kind.configurations[c].fraction for c in kind.fractions)
    return maximal_fills(fractions, MAX_FILLS)


def fills_by_leader(kind: GpuKind, method: str) -> list[tuple[str, int]]:
    """Every (fill, lf): lf is the configuration of a leader on the GPU, or -1 for none."""
    fills = fills_of(kind)
    if fills is None:
        what = f"too many fills of a GPU of {kind.name}"
        raise NotApplicableError(method, what, f"at most {MAX_FILLS}")
    pairs = []
    for fill in fills:
        leaders = [c for c, count in zip(kind.fractions, fill, strict=True) if count]
        pairs += [(encode_counts(fill), leader) for leader in (-1, *leaders)]
    return pairs
