"""Best fit by looking at every node: as `ClusterState` does over all at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from optsched.selection.assignment import Placement
from optsched.selection.cost import Tables


@dataclass
class PlainNode:
    """One node: its unused GPUs, and the room left on each shared one."""

    index: int
    kind: int
    gpus: int
    free: list[int]
    shared: dict[int, Fraction] = field(default_factory=dict)

    @property
    def is_open(self) -> bool:
        """True when some GPU is in use."""
        return len(self.free) < self.gpus


class PlainCluster:
    """Free GPUs by node. Best fit saturates what is in use first (sts, VI-B).

    A fraction goes to the shared GPU of least sufficient room, else to a new GPU; whole GPUs go to
    the open node with the fewest free GPUs that suffice, else to the smallest unused node; ties by
    the cost of the GPUs in use afterwards, then by index. Each call is O(nodes of the type).
    """

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.nodes = [
            PlainNode(n, int(tables.kind_of[n]), node.gpus, list(range(node.gpus)))
            for n, node in enumerate(tables.instance.nodes)
        ]
        self.of_kind = [
            [node for node in self.nodes if node.kind == t] for t in range(len(tables.kinds))
        ]

    def max_free_gpus(self, kind: int) -> int:
        """The most free GPUs on one node of a type."""
        return max(len(node.free) for node in self.of_kind[kind])

    def allocate(self, kind: int, configuration: int) -> Placement | None:
        """Take GPUs for a configuration of a type by best fit; None when it fits nowhere."""
        wanted = self.tables.kinds[kind].configurations[configuration]
        if wanted.shares:
            found = self._room(kind, wanted.fraction)
            if found is not None:
                sharing, gpu = found
                sharing.shared[gpu] -= wanted.fraction
                return Placement(sharing.index, (gpu,), configuration)
        node = self._best_fit(kind, wanted.gpus)
        if node is None:
            return None
        taken, node.free = tuple(node.free[: wanted.gpus]), node.free[wanted.gpus :]
        if wanted.shares:
            node.shared[taken[0]] = 1 - wanted.fraction
        return Placement(node.index, taken, configuration)

    def _room(self, kind: int, fraction: Fraction) -> tuple[PlainNode, int] | None:
        rooms = [
            (room, node.index, gpu)
            for node in self.of_kind[kind]
            for gpu, room in node.shared.items()
            if room >= fraction
        ]
        if not rooms:
            return None
        _, index, gpu = min(rooms)
        return self.nodes[index], gpu

    def _best_fit(self, kind: int, gpus: int) -> PlainNode | None:
        fitting = [node for node in self.of_kind[kind] if len(node.free) >= gpus]
        if not fitting:
            return None
        nodes = self.tables.instance.nodes

        def key(node: PlainNode) -> tuple[bool, int, float, int]:
            rate = nodes[node.index].cost_rate[node.gpus - len(node.free) + gpus - 1]
            return (not node.is_open, len(node.free) - gpus, rate, node.index)

        return min(fitting, key=key)
