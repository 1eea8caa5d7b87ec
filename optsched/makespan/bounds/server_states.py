"""What a server can hold at once, and what a job is cut into, at given prices of GPUs.

Prices of pieces are levels x (GPUs + 1), row n - 1 for a server of at most n pieces; prices inside
are (GPUs + 1). All are at least 0, those of no GPUs are 0. Exact in int64 where prices are.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class State:
    """GPUs of a server's pieces, n at most, and of the jobs inside it; what all of them pay."""

    n: int
    pieces: tuple[int, ...]
    inside: tuple[int, ...]
    worth: Any


def best_states(prices: Any, most: int, n: int, inside: Inside, capacities: Any) -> list[State]:
    """The dearest state of a server of each capacity, with so many pieces at most."""
    tables = _piece_tables(prices, most)
    found = []
    for capacity in capacities:
        worth = tables[-1][: capacity + 1] + inside.tables[-1][: capacity + 1][::-1]
        held = int(worth.argmax())
        pieces = _pieces_in(prices, tables, held)
        found.append(State(n, pieces, inside.within(capacity - held), worth[held]))
    return found


class Inside:
    """The dearest jobs inside a server, each size at most as often as there are jobs of it."""

    def __init__(self, prices: Any, sizes: Counter[int]) -> None:
        capacity = len(prices) - 1
        fitting = [g for g in sorted(sizes) if g <= capacity]
        self.items = [g for g in fitting for _ in range(min(sizes[g], capacity // g))]
        self.tables = [np.zeros(capacity + 1, prices.dtype)]
        for g in self.items:
            before, after = self.tables[-1], self.tables[-1].copy()
            after[g:] = np.maximum(after[g:], before[: capacity + 1 - g] + prices[g])
            self.tables.append(after)

    def within(self, gpus: int) -> tuple[int, ...]:
        """Sizes of the dearest jobs in so many GPUs."""
        found = []
        for at in range(len(self.items), 0, -1):
            if self.tables[at][gpus] > self.tables[at - 1][gpus]:
                found.append(self.items[at - 1])
                gpus -= self.items[at - 1]
        return tuple(found)


def in_pieces(prices: Any, widest: int) -> tuple[Any, Any]:
    """By level and GPUs: the least price of so many in one piece or more, and in two or more."""
    piece = np.minimum.accumulate(prices, axis=0)
    capacity = piece.shape[1] - 1
    least = np.zeros((len(piece), widest + 1), piece.dtype)
    for gpus in range(1, widest + 1):
        y = min(gpus, capacity)
        least[:, gpus] = (piece[:, 1 : y + 1] + least[:, gpus - y : gpus][:, ::-1]).min(axis=1)
    several = least.copy()
    for gpus in range(2, min(capacity, widest) + 1):
        several[:, gpus] = (piece[:, 1:gpus] + least[:, 1:gpus][:, ::-1]).min(axis=1)
    return least, several


def cut_up(prices: Any, least: Any, level: int, gpus: int) -> tuple[tuple[int, int], ...]:
    """(n, GPUs) of the two pieces or more that cost least; `least` as of `in_pieces`."""
    piece = prices[:level].min(axis=0)
    found, most = [], gpus - 1
    while gpus:
        y = min(most, len(piece) - 1)
        total = piece[1 : y + 1] + least[level - 1, gpus - y : gpus][::-1]
        taken = 1 + int(total.argmin())
        found.append((1 + int(prices[:level, taken].argmin()), taken))
        gpus -= taken
        most = gpus
    return tuple(found)


def _piece_tables(prices: Any, most: int) -> list[Any]:
    """By pieces at most, by GPUs at most: the highest price; the last is that of `most`."""
    capacity = len(prices) - 1
    tables = [np.zeros(capacity + 1, prices.dtype)]
    for _ in range(most):
        before, after = tables[-1], tables[-1].copy()
        for y in range(1, capacity + 1):
            after[y:] = np.maximum(after[y:], before[: capacity + 1 - y] + prices[y])
        if (after == before).all():
            break
        tables.append(after)
    return tables


def _pieces_in(prices: Any, tables: list[Any], gpus: int) -> tuple[int, ...]:
    found = []
    for before, after in zip(tables[-2::-1], tables[:0:-1], strict=True):
        if after[gpus] > before[gpus]:
            taken = 1 + int((prices[1 : gpus + 1] + before[:gpus][::-1]).argmax())
            found.append(taken)
            gpus -= taken
    return tuple(found)
