"""The greedy passes of `edf` and `rg`, one job and one node after another, on `PlainCluster`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from optsched.selection.assignment import Placement
from optsched.selection.cost import Tables, type_rates
from oracles.plain_cluster import PlainCluster

SWAP_PROBABILITY, CANDIDATES = 0.2, 3


class PlainGreedy:
    """One job after another: the cheapest configuration in time, else the fastest."""

    def __init__(self, tables: Tables) -> None:
        self.tables, self.times = tables, tables.expected
        self.rates = [type_rates(tables, t) for t in range(len(tables.kinds))]
        self.ranked = [self.ranking(j) for j in range(tables.jobs)]

    def run(
        self, order: Sequence[int], rng: np.random.Generator | None = None
    ) -> dict[int, Placement]:
        """Place jobs in order; with a generator the choice is randomised."""
        state, assignment = PlainCluster(self.tables), {}
        for j in order:
            fitting = [(t, c) for t, c in self.ranked[j] if c < state.max_free_gpus(t)]
            if fitting:
                draws = rng is not None
                index = int(rng.integers(min(CANDIDATES, len(fitting)))) if draws else 0
                assignment[int(j)] = state.allocate(*fitting[index])
        return assignment

    def ranking(self, j: int) -> list[tuple[int, int]]:
        """(type, configuration), best first: in time by cost, then late by completion time."""
        keys = []
        for t, kind in enumerate(self.tables.kinds):
            for c in range(kind.gpus):
                seconds = float(self.times[j, t, c])
                if seconds < np.inf:
                    late = seconds > self.tables.latest_on_time[j]
                    value = seconds if late else seconds * float(self.rates[t][c])
                    keys.append((late, value, seconds, t, c))
        return [(t, c) for _, _, _, t, c in sorted(keys)]


def shuffled(order: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Swap neighbours with probability `SWAP_PROBABILITY`."""
    order = order.copy()
    for index in range(len(order) - 1):
        if rng.random() < SWAP_PROBABILITY:
            order[index], order[index + 1] = order[index + 1], order[index]
    return order
