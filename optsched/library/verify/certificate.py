"""Parts of all kinds of certificate: refusals, numbers, trees."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

COMPARISON_RTOL = 1e-12
"""Relative tolerance when two sums of a few terms are compared; equality proves nothing."""
ROUNDING_RTOL = 1e-10
"""Share of the sum of all terms' sizes by which a bound is lowered: rounding of the sum."""
MAX_PRICE, MAX_SLOTS = 10**9, 20_000
Document = Mapping[str, Any]


class RefusedError(ValueError):
    """A certificate that proves nothing; `shortfall` is the amount that its prices lack."""

    def __init__(self, message: str, shortfall: float = 1) -> None:
        super().__init__(message)
        self.shortfall = shortfall


def numbers(values: Any, count: int, what: str, least: float = -math.inf) -> np.ndarray:
    """Read a list of `count` finite numbers, each at least `least`."""
    if not isinstance(values, list) or len(values) != count:
        length = len(values) if isinstance(values, list) else "no list of"
        raise RefusedError(f"{length} {what}, expected {count}")
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise RefusedError(f"{what} that are no numbers")
        if not (math.isfinite(value) and value >= least):
            raise RefusedError(f"{what} out of range: {value}")
    return np.array(values, dtype=float)


def integers(values: Any, count: int, what: str, least: int = 0) -> list[int]:
    """Read a list of `count` integers, small enough that their sums are exact."""
    numbers(values, count, what, least)
    if any(type(value) is not int or value > MAX_PRICE for value in values):
        raise RefusedError(f"{what} that are not whole numbers up to {MAX_PRICE}")
    return list(values)


Path = list[tuple[int, Any, int]]
"""The rows on the path to a leaf: a sign, what is counted, the upper bound on sign x count."""


def leaves(
    nodes: Sequence[Document], read: Callable[[Document], Any]
) -> Iterator[tuple[Document, Path]]:
    """Yield the leaves of a tree with their paths; raises RefusedError for unreachable nodes."""
    if not 0 < len(nodes) <= MAX_SLOTS:
        raise RefusedError("no tree, or one too large")
    reached, waiting = 0, [(0, Path())]
    while waiting and reached < len(nodes):
        at, path = waiting.pop()
        node, reached = nodes[at], reached + 1
        if "count" not in node:
            yield node, path
            continue
        counted, limit = read(node["count"]), node["most"]
        at_most, more = node["children"]
        if type(limit) is not int or not at < min(at_most, more):
            raise RefusedError(f"node {at} of the tree")
        waiting.append((at_most, [*path, (1, counted, limit)]))
        waiting.append((more, [*path, (-1, counted, -limit - 1)]))
    if waiting or reached < len(nodes):
        raise RefusedError(f"{len(nodes)} nodes that are no tree")
