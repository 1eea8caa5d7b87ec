"""The compiled knapsack of the column bound."""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.compiled_loops import njit


@njit(cache=True)
def best_column(size: Any, price: Any, capacity: int, members: Any) -> float:
    """Largest total price of jobs whose sizes sum to at most `capacity`; 0/1 knapsack.

    Complexity: O(n R).
    """
    n = len(size)
    best = np.zeros(capacity + 1, price.dtype)
    taken = np.zeros((n, capacity + 1), np.bool_)
    for j in range(n):
        members[j] = False
        if size[j] < 0 or size[j] > capacity or price[j] <= 0:
            continue
        for r in range(capacity, size[j] - 1, -1):
            value = best[r - size[j]] + price[j]
            if value > best[r]:
                best[r] = value
                taken[j, r] = True
    room = capacity
    for j in range(n - 1, -1, -1):
        if taken[j, room]:
            members[j] = True
            room -= size[j]
    return best[capacity]


@njit(cache=True)
def best_value(size: Any, price: Any, capacity: int) -> Any:
    """As `best_column`, the value alone; exact in int64 when the prices are."""
    best = np.zeros(capacity + 1, price.dtype)
    for j in range(len(size)):
        if size[j] < 0 or size[j] > capacity or price[j] <= 0:
            continue
        for r in range(capacity, size[j] - 1, -1):
            value = best[r - size[j]] + price[j]
            if value > best[r]:
                best[r] = value
    return best[capacity]
