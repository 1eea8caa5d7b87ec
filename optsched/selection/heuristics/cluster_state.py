"""What is still free on every node while a heuristic hands GPUs out, with best fit."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from heapq import heappop, heappush
from math import lcm

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
    the cost of the GPUs in use afterwards, then by index. Nodes lie in heaps by class and number of
    free GPUs; entries that are out of date are dropped when they come up. A call is O(K x classes
    of the type + log N). What is taken past `seat` must be told by `moved`.
    """

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.nodes = [
            NodeState(n, int(tables.kind_of[n]), node.gpus, list(range(node.gpus)))
            for n, node in enumerate(tables.instance.nodes)
        ]
        self._classes: list[list[int]] = [[] for _ in tables.kinds]
        self._class_of: dict[int, int] = {}
        self._heaps: dict[tuple[int, int], list[int]] = defaultdict(list)
        self._count = [[0] * (kind.gpus + 1) for kind in tables.kinds]
        self._sharing = [False] * len(tables.kinds)
        self._most = [kind.gpus for kind in tables.kinds]
        self._parts = [parts_of(kind) for kind in tables.kinds]
        self._rooms: list[dict[int, list[tuple[int, int]]]] = [{} for _ in tables.kinds]
        self._room_on: dict[tuple[int, int], int] = {}
        self._full = False
        self._free: dict[int, int] = {}
        for v, each in enumerate(tables.classes):
            self._classes[each.kind].append(v)
            self._heaps[v, each.gpus] = sorted(each.nodes)
            self._count[each.kind][each.gpus] += len(each.nodes)
            for n in each.nodes:
                self._class_of[n], self._free[n] = v, each.gpus

    def most_free(self, kind: int) -> int:
        """The most free GPUs on one node of a type; they only ever grow fewer."""
        most, counts = self._most[kind], self._count[kind]
        while most and not counts[most]:
            most -= 1
        self._most[kind] = most
        return most

    def is_full(self) -> bool:
        """Whether no configuration of any type fits any more."""
        if not self._full:
            kinds = range(len(self.tables.kinds))
            self._full = not any(self.most_free(t) or self._least_fits(t) for t in kinds)
        return self._full

    def seat(self, kind: int, configuration: int) -> Seat | None:
        """Take GPUs for a configuration of a type by best fit; None when it fits nowhere."""
        whole, parts = self._parts[kind]
        part = parts[configuration]
        if part < whole:
            found = self._roomiest(kind, part)
            if found is not None:
                self._leave(kind, found, self._room_on[found] - part)
                return Seat(found[0], (found[1],), configuration)
        gpus = 1 if part < whole else configuration + 1
        node = self._best_fit(kind, gpus)
        if node is None:
            return None
        taken, node.free = tuple(node.free[:gpus]), node.free[gpus:]
        if part < whole:
            self._sharing[kind] = True
            self._leave(kind, (node.index, taken[0]), whole - part)
        self.moved(node.index)
        return Seat(node.index, taken, configuration)

    def moved(self, node: int) -> None:
        """Note that a node's free GPUs have changed."""
        now, before = len(self.nodes[node].free), self._free[node]
        if now == before:
            return
        kind = self.nodes[node].kind
        self._count[kind][before] -= 1
        self._count[kind][now] += 1
        self._free[node] = now
        if now:
            heappush(self._heaps[self._class_of[node], now], node)

    def _least_fits(self, kind: int) -> bool:
        return self._sharing[kind] and self._roomiest(kind, min(self._parts[kind][1])) is not None

    def _leave(self, kind: int, gpu: tuple[int, int], room: int) -> None:
        self._room_on[gpu] = room
        heappush(self._rooms[kind].setdefault(room, []), gpu)

    def _roomiest(self, kind: int, part: int) -> tuple[int, int] | None:
        """The shared GPU of least sufficient room."""
        rooms = self._rooms[kind]  # only those there are: a GPU may have a million parts
        for room in sorted(room for room in rooms if room >= part):
            held = rooms[room]
            while held and self._room_on[held[0]] != room:
                heappop(held)
            if held:
                return held[0]
            del rooms[room]
        return None

    def _best_fit(self, kind: int, gpus: int) -> NodeState | None:
        if gpus > self.most_free(kind):
            return None
        best: tuple[bool, int, float, int] | None = None
        for v in self._classes[kind]:
            each = self.tables.classes[v]
            for free in range(gpus, each.gpus + 1):
                key = (free == each.gpus, free - gpus)
                if best is not None and key > best[:2]:
                    if not best[0]:
                        break
                    continue
                node = self._top(v, free)
                if node is not None:
                    full = (*key, each.cost_rate[each.gpus - free + gpus - 1], node)
                    best = full if best is None else min(best, full)
                    break
        return None if best is None else self.nodes[best[3]]

    def _top(self, v: int, free: int) -> int | None:
        heap = self._heaps[v, free]
        while heap and self._free[heap[0]] != free:
            heappop(heap)
        return heap[0] if heap else None


@cache
def parts_of(kind: Kind) -> tuple[int, tuple[int, ...]]:
    """A GPU in equal parts such that every fraction is a number of them; that number by
    configuration, the whole for whole GPUs."""
    whole = lcm(*(each.fraction.denominator for each in kind.configurations))
    return whole, tuple(int(each.fraction * whole) for each in kind.configurations)
