"""Greedy seating by gain: step 5 of the price policy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from optsched.rolling.policies._same_gpus_kernel import Placed
from optsched.rolling.policies._seating_kernel import Offers, ask, seat_jobs
from optsched.selection.cost import Tables
from optsched.selection.heuristics._best_fit_kernel import nodes_of
from optsched.selection.heuristics._sts_kernel import FIRST, GIVEN, NODE
from optsched.selection.heuristics.sts import kinds_of

Floats = NDArray[np.float64]


class Seating:
    """A cluster to be filled, decision after decision."""

    def __init__(self, tables: Tables) -> None:
        self.kinds, self.nodes = kinds_of(tables), nodes_of(tables.instance, tables.kind_of)
        self.sizes = sizes_of(tables)

    def by_gain(self, gain: Floats, prices: Floats, urgency: Floats) -> Placed:
        """Seats in the order in which they were given.

        Jobs take their best configuration, the largest gain first; the others the best that fits of
        positive gain; then jobs get more GPUs of their node while that gains most. O(J (N + T C)).
        """
        jobs = len(gain)
        wish, value = np.empty(jobs, dtype=np.int64), np.empty(jobs)
        ask(prices, self.sizes, gain, wish, value)
        turns = (np.argsort(-each, kind="stable") for each in (value, urgency))
        seats, order = np.full((6, jobs), -1), np.empty(jobs, dtype=np.int64)
        count = seat_jobs(Offers(gain, wish, value, *turns), self.kinds, self.nodes, seats, order)
        seated = order[:count]
        node, first, given = np.ascontiguousarray(seats[[NODE, FIRST, GIVEN]][:, seated])
        whole = self.kinds.gpus[self.nodes.kind[node]]
        return Placed(seated, node, first, np.where(given < whole, given + 1, 1), given)


def sizes_of(tables: Tables) -> Floats:
    """GPUs, or part of one, by type and configuration."""
    sizes = np.zeros(tables.seconds.shape[1:])
    for t, kind in enumerate(tables.kinds):
        for c, each in enumerate(kind.configurations):
            sizes[t, c] = each.gpus * float(each.fraction)
    return sizes
