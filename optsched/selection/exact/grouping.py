"""Groups of nodes of similar cost, and the best node for each packing found on them.

A packing on a group, at the group's mean costs, is the content of a whole node. Which node of the
type and size takes which content is a linear assignment at the true costs, solved exactly while
such nodes are few, else in parts.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np

from optsched.selection.assignment import Assignment, Seat
from optsched.selection.cost import NodeClass, Tables

MAX_CLASSES = 150
GROUPS = 10
MAX_ASSIGNED = 400
"""Nodes of one linear assignment: it takes time by the cube of their number."""


def grouped_classes(tables: Tables) -> tuple[NodeClass, ...]:
    """The true classes while they are few, else groups of them."""
    return tables.classes if len(tables.classes) <= MAX_CLASSES else quantile_classes(tables)


def quantile_classes(tables: Tables) -> tuple[NodeClass, ...]:
    """At most `GROUPS` quantiles of cost for each type and number of GPUs; the true ones if few."""
    alike: dict[tuple[int, int], list[NodeClass]] = defaultdict(list)
    for each in tables.classes:
        alike[each.kind, each.gpus].append(each)
    groups: list[NodeClass] = []
    for (kind, gpus), classes in alike.items():
        if len(classes) <= GROUPS:
            groups += classes
            continue
        nodes = [(each.cost_rate, node) for each in classes for node in each.nodes]
        ranked = sorted(nodes, key=lambda pair: (sum(pair[0]), pair[1]))
        for part in np.array_split(np.arange(len(ranked)), GROUPS):
            rates = np.mean([ranked[i][0] for i in part], axis=0)
            rates = np.maximum.accumulate(rates)
            members = tuple(ranked[i][1] for i in part)
            groups.append(NodeClass(kind, gpus, tuple(float(c) for c in rates), members))
    return tuple(groups)


def reassigned(tables: Tables, seats: Assignment) -> dict[int, Seat]:
    """Move whole nodes' contents to nodes of their type and size where they cost less.

    To where they cost least while such nodes are few; of more, among every `MAX_ASSIGNED` in the
    order of their costs, and once more among those between the middles of these.
    """
    contents = _contents(tables, seats)
    at = {n: n for n in contents}
    alike: dict[tuple[int, int], list[int]] = defaultdict(list)
    for n, node in enumerate(tables.instance.nodes):
        alike[int(tables.kind_of[n]), node.gpus].append(n)
    for nodes in alike.values():
        ranked = sorted(nodes, key=lambda n: (sum(tables.instance.nodes[n].cost_rate), n))
        for first in (0, -(MAX_ASSIGNED // 2))[: 1 + (len(nodes) > MAX_ASSIGNED)]:
            for begin in range(first, len(nodes), MAX_ASSIGNED):
                _assign(tables, contents, at, ranked[max(begin, 0) : begin + MAX_ASSIGNED])
    moved = {origin: n for n, origin in at.items()}
    return {j: replace(seat, node=moved[seat.node]) for j, seat in seats.items()}


def _assign(
    tables: Tables, contents: dict[int, tuple[float, int]], at: dict[int, int], nodes: list[int]
) -> None:
    """Assign the contents of some nodes to these nodes at least cost."""
    from scipy.optimize import linear_sum_assignment

    opened = [at.pop(n) for n in nodes if n in at]
    if opened:
        rates = np.array([tables.instance.nodes[n].cost_rate for n in nodes])
        seconds, used = np.array([contents[n] for n in opened]).T
        cost = seconds[:, None] * rates[:, used.astype(np.int64) - 1].T
        for row, column in zip(*linear_sum_assignment(cost), strict=True):
            at[nodes[column]] = opened[row]


def _contents(tables: Tables, seats: Assignment) -> dict[int, tuple[float, int]]:
    """By open node: expected seconds of its first job to end, and GPUs in use."""
    seconds: dict[int, float] = {}
    used: dict[int, set[int]] = defaultdict(set)
    for j, seat in seats.items():
        here = float(tables.expected[j, tables.kind_of[seat.node], seat.configuration])
        seconds[seat.node] = min(seconds.get(seat.node, np.inf), here)
        used[seat.node].update(seat.gpus)
    return {n: (seconds[n], len(used[n])) for n in seconds}
