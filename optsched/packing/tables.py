"""Arrays of a packing instance: nodes, classes of equal nodes, and types of tasks."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optsched.packing.instance import MILLI, PackingInstance
from optsched.packing.solution import PackingSolution

Ints = NDArray[np.int64]
Placement = tuple[int, int, tuple[int, ...]]
"""A placed task: its place in the arrivals, the node's index, and the indices of its GPUs."""


@dataclass(frozen=True, eq=False)
class Tables:
    """Demands by type of task and capacities by node; amounts as in the file."""

    instance: PackingInstance

    @cached_property
    def demand(self) -> Ints:
        """(T, 3): CPU, memory and milli of a task."""
        tasks = self.instance.tasks
        return np.array([(task.cpu_milli, task.memory_bytes, task.gpu_milli) for task in tasks])

    @cached_property
    def capacity(self) -> Ints:
        """(N, 3): CPU, memory and GPUs of a node."""
        nodes = self.instance.nodes
        return np.array([(node.cpu_milli, node.memory_bytes, node.gpus) for node in nodes])

    @cached_property
    def count(self) -> Ints:
        """(T,): tasks of each type."""
        return np.array([task.count for task in self.instance.tasks])

    @cached_property
    def arrivals(self) -> Ints:
        return np.array(self.instance.arrivals)

    @cached_property
    def class_of(self) -> Ints:
        """(N,): the class of each node: equal capacities and model, classes by their first node."""
        classes: dict[Any, int] = {}
        keys = [(*map(int, self.capacity[n]), m.model) for n, m in enumerate(self.instance.nodes)]
        return np.array([classes.setdefault(key, len(classes)) for key in keys])

    @cached_property
    def firsts(self) -> list[int]:
        return np.unique(self.class_of, return_index=True)[1].tolist()

    @cached_property
    def fits(self) -> NDArray[np.bool_]:
        """(T, K): whether an empty node of a class can take a task."""
        nodes = [self.instance.nodes[n] for n in self.firsts]
        return np.array([[task.fits(node) for node in nodes] for task in self.instance.tasks])

    def places(self) -> list[list[int]]:
        """Places in the arrivals of each type's tasks, the first arrival last."""
        order = np.argsort(self.arrivals, kind="stable")
        return [part[::-1].tolist() for part in np.split(order, np.cumsum(self.count)[:-1])]

    def idle_beside(self, placements: Iterable[Placement]) -> float:
        allocated = sum(int(self.demand[self.arrivals[task], 2]) for task, _, _ in placements)
        return (MILLI * self.instance.gpus - allocated) / MILLI

    def room(self, placements: Iterable[Placement]) -> Ints:
        """(N, 2): CPU and memory of each node beside placed tasks."""
        room = self.capacity[:, :2].copy()
        for task, node, _ in placements:
            room[node] -= self.demand[self.arrivals[task], :2]
        return room

    def solution(self, placements: Iterable[Placement]) -> PackingSolution:
        """Return a solution, in the order of the arrivals."""
        records = [{"task": a, "node": n, "gpus": gpus} for a, n, gpus in sorted(placements)]
        return PackingSolution(instance=self.instance.name, placements=records)
