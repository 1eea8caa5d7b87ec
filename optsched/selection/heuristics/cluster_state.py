"""Best fit of whole GPUs (sts, VI-B): compiled, and by a class over all nodes at once."""

from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable

from optsched.selection.assignment import Placement
from optsched.selection.cost import Tables
from optsched.selection.instance import SelectionInstance


class Nodes(NamedTuple):
    """Types (N,), GPUs (N,), and dollars per second with 1..K GPUs in use (N, K)."""

    kind: Any
    gpus: Any
    rates: Any


def nodes_of(instance: SelectionInstance, kind_of: Any) -> Nodes:
    gpus = np.array([node.gpus for node in instance.nodes])
    rates = np.full((len(gpus), int(gpus.max())), np.inf)
    for n, node in enumerate(instance.nodes):
        rates[n, : node.gpus] = node.cost_rate
    return Nodes(kind_of, gpus, rates)


@register_jitable
def best_fit(kind: int, wanted: int, free: Any, nodes: Nodes) -> int:
    """The best node or -1: open nodes first, then fewest free GPUs, lowest cost, lowest index."""
    gpus, rates = nodes.gpus, nodes.rates
    best = -1
    for n in range(len(free)):
        if nodes.kind[n] != kind or free[n] < wanted:
            continue
        if best < 0:
            best = n
            continue
        empty, before = free[n] == gpus[n], free[best] == gpus[best]
        if empty != before:
            better = before
        elif free[n] != free[best]:
            better = free[n] < free[best]
        else:
            used_n, used_best = gpus[n] - free[n], gpus[best] - free[best]
            better = rates[n, used_n + wanted - 1] < rates[best, used_best + wanted - 1]
        if better:
            best = n
    return best


@register_jitable
def max_free_gpus(kind: int, free: Any, nodes: Nodes) -> int:
    """The most free GPUs on one node of a type."""
    max_free = 0
    for n in range(len(free)):
        if nodes.kind[n] == kind:
            max_free = max(max_free, free[n])
    return max_free


class ClusterState:
    """Free GPUs by node, allocated as by `best_fit`; a call is O(N), vectorised over nodes."""

    def __init__(self, tables: Tables) -> None:
        nodes, self._kind = tables.instance.nodes, tables.kind_of
        self.free = [list(range(node.gpus)) for node in nodes]
        self._of_kind = [np.flatnonzero(self._kind == t) for t in range(len(tables.kinds))]
        _, self._size, self._rates = nodes_of(tables.instance, self._kind)
        self._count = self._size.copy()
        self._nodes_by_count = [np.bincount(self._size[of]).tolist() for of in self._of_kind]

    def max_free_gpus(self, kind: int) -> int:
        nodes_by_count = self._nodes_by_count[kind]
        while len(nodes_by_count) > 1 and not nodes_by_count[-1]:  # nodes only lose free GPUs
            nodes_by_count.pop()
        return len(nodes_by_count) - 1

    def is_full(self) -> bool:
        return not any(self.max_free_gpus(t) for t in range(len(self._of_kind)))

    def allocate(self, kind: int, configuration: int) -> Placement | None:
        """Take GPUs for a configuration of a type by best fit; None when it fits nowhere."""
        gpus = configuration + 1
        if gpus > self.max_free_gpus(kind):
            return None
        node = self._best_fit(kind, gpus)
        taken = tuple(self.free[node][:gpus])
        self.take(node, taken)
        return Placement(node, taken, configuration)

    def take(self, node: int, gpus: tuple[int, ...]) -> None:
        """Take those of some GPUs of a node that are free."""
        nodes_by_count = self._nodes_by_count[int(self._kind[node])]
        nodes_by_count[self._count[node]] -= 1
        self.free[node] = [gpu for gpu in self.free[node] if gpu not in gpus]
        self._count[node] = len(self.free[node])
        nodes_by_count[self._count[node]] += 1

    def _best_fit(self, kind: int, gpus: int) -> int:
        nodes = self._of_kind[kind]
        nodes = nodes[self._count[nodes] >= gpus]
        is_open = self._count[nodes] < self._size[nodes]
        nodes = nodes[is_open] if is_open.any() else nodes
        free = self._count[nodes]
        nodes = nodes[free == free.min()]
        used = self._size[nodes] - self._count[nodes] + gpus
        return int(nodes[self._rates[nodes, used - 1].argmin()])
