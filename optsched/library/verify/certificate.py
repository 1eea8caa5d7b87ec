"""Parts of all kinds of certificate: refusals, numbers, trees."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

COMPARISON_RTOL = 1e-12
"""Relative tolerance when two sums of a few terms are compared; equality proves nothing."""
ROUNDING_RTOL = 1e-10
"""Share of the sum of absolute terms by which a bound is lowered, for the rounding of its sum."""
MAX_PRICE, MAX_SLOTS = 10**9, 20_000
Document = Mapping[str, Any]


class RefusedError(ValueError):
    """A certificate that proves nothing; `shortfall` is the amount missing for a proof."""

    def __init__(self, message: str, shortfall: float = 1) -> None:
        super().__init__(message)
        self.shortfall = shortfall


def numbers(values: Any, count: int, what: str, minimum: float = -math.inf) -> np.ndarray:
    """Read a list of `count` finite numbers, each at least `minimum`."""
    if not isinstance(values, list) or len(values) != count:
        length = len(values) if isinstance(values, list) else "no list of"
        raise RefusedError(f"{length} {what}, expected {count}")
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise RefusedError(f"{what} that are not numbers")
        if not (math.isfinite(value) and value >= minimum):
            raise RefusedError(f"{what} out of range: {value}")
    return np.array(values, dtype=float)


def integers(values: Any, count: int, what: str, minimum: int = 0) -> list[int]:
    """Read a list of `count` integers, small enough that their sums are exact."""
    numbers(values, count, what, minimum)
    if any(type(value) is not int or value > MAX_PRICE for value in values):
        raise RefusedError(f"{what} that are not whole numbers up to {MAX_PRICE}")
    return list(values)


Path = list[tuple[int, Any, int]]
"""The rows on the path to a leaf: (sign, counted, b) means sign * count <= b."""


def leaves(
    nodes: Sequence[Document], parse_count: Callable[[Document], Any]
) -> Iterator[tuple[Document, Path]]:
    """Yield the leaves of a tree with their paths; raises RefusedError for unreachable nodes."""
    if not 0 < len(nodes) <= MAX_SLOTS:
        raise RefusedError("no tree, or too many nodes")
    visited, stack = 0, [(0, Path())]
    while stack and visited < len(nodes):
        number, path = stack.pop()
        node, visited = nodes[number], visited + 1
        if "count" not in node:
            yield node, path
            continue
        counted, limit = parse_count(node["count"]), node["most"]
        at_most, more = node["children"]
        if type(limit) is not int or not number < min(at_most, more):
            raise RefusedError(f"node {number}: an invalid limit or child")
        stack.append((at_most, [*path, (1, counted, limit)]))
        stack.append((more, [*path, (-1, counted, -limit - 1)]))
    if stack or visited < len(nodes):
        raise RefusedError(f"{len(nodes)} nodes do not form a tree")
