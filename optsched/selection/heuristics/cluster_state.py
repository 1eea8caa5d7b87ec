"""What is still free on every node while a heuristic hands GPUs out, with best fit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import lcm

import numpy as np

from optsched.selection.assignment import Seat
from optsched.selection.cost import Kind, Tables


@dataclass
class NodeState:
    """One node, and its unused GPUs."""

    index: int
    kind: int
    gpus: int
    free: list[int]


class ClusterState:
    """Free GPUs by node. Best fit saturates what is in use first (sts, VI-B).

    A fraction goes to the shared GPU of least sufficient room, else to a new GPU; whole GPUs go to
    the open node with the fewest free GPUs that suffice, else to the smallest unused node; ties by
    the cost of the GPUs in use afterwards, then by index. A call is O(N), vectorised over nodes.
    """

    def __init__(self, tables: Tables) -> None:
        nodes, self._kind = tables.instance.nodes, tables.kind_of
        self.nodes = [
            NodeState(n, int(self._kind[n]), node.gpus, list(range(node.gpus)))
            for n, node in enumerate(nodes)
        ]
        self._of_kind = [np.flatnonzero(self._kind == t) for t in range(len(tables.kinds))]
        self._size = np.array([node.gpus for node in nodes])
        self._free = self._size.copy()
        self._rates = np.full((len(nodes), int(self._size.max())), np.inf)
        for n, node in enumerate(nodes):
            self._rates[n, : node.gpus] = node.cost_rate
        self._count = [np.bincount(self._size[of], minlength=1).tolist() for of in self._of_kind]
        self._parts = [parts_of(kind) for kind in tables.kinds]
        self._room: list[dict[tuple[int, int], int]] = [{} for _ in tables.kinds]

    def most_free(self, kind: int) -> int:
        """The most free GPUs on one node of a type."""
        counts = self._count[kind]  # by number of free GPUs; they only ever grow fewer
        while len(counts) > 1 and not counts[-1]:
            counts.pop()
        return len(counts) - 1

    def is_full(self) -> bool:
        """Whether no configuration of any type fits any more."""
        return not any(
            self.most_free(t) or self._roomiest(t, min(parts)) is not None
            for t, (_, parts) in enumerate(self._parts)
        )

    def seat(self, kind: int, configuration: int) -> Seat | None:
        """Take GPUs for a configuration of a type by best fit; None when it fits nowhere."""
        whole, parts = self._parts[kind]
        part = parts[configuration]
        if part < whole:
            shared = self._roomiest(kind, part)
            if shared is not None:
                self._room[kind][shared] -= part
                return Seat(shared[0], (shared[1],), configuration)
        gpus = 1 if part < whole else configuration + 1
        if gpus > self.most_free(kind):
            return None
        node = self.nodes[self._best_fit(kind, gpus)]
        taken = tuple(node.free[:gpus])
        self.take(node.index, taken)
        if part < whole:
            self._room[kind][node.index, taken[0]] = whole - part
        return Seat(node.index, taken, configuration)

    def take(self, node: int, gpus: tuple[int, ...]) -> None:
        """Take those of some GPUs of a node that are free."""
        here, counts = self.nodes[node], self._count[int(self._kind[node])]
        counts[self._free[node]] -= 1
        here.free = [gpu for gpu in here.free if gpu not in gpus]
        self._free[node] = len(here.free)
        counts[self._free[node]] += 1

    def _roomiest(self, kind: int, part: int) -> tuple[int, int] | None:
        """The shared GPU of least sufficient room."""
        rooms = ((room, gpu) for gpu, room in self._room[kind].items() if room >= part)
        return min(rooms, default=(0, None))[1]

    def _best_fit(self, kind: int, gpus: int) -> int:
        nodes = self._of_kind[kind]
        nodes = nodes[self._free[nodes] >= gpus]
        is_open = self._free[nodes] < self._size[nodes]
        nodes = nodes[is_open] if is_open.any() else nodes
        free = self._free[nodes]
        nodes = nodes[free == free.min()]
        used = self._size[nodes] - self._free[nodes] + gpus
        return int(nodes[self._rates[nodes, used - 1].argmin()])


@cache
def parts_of(kind: Kind) -> tuple[int, tuple[int, ...]]:
    """A GPU in equal parts such that every fraction is a number of them; that number by
    configuration, the whole for whole GPUs."""
    whole = lcm(*(each.fraction.denominator for each in kind.configurations))
    return whole, tuple(int(each.fraction * whole) for each in kind.configurations)
