"""Many distinct nodes: groups of similar cost for the search, then the best node for each packing.

The packings found on groups at their mean costs are whole nodes' contents; which node of the type
and size takes which content is a linear assignment at the true costs, and exact.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np

from optsched.selection.assignment import Assignment, Seat
from optsched.selection.cost import NodeClass, Tables

MOST_CLASSES = 150
GROUPS = 10


def grouped_classes(tables: Tables) -> tuple[NodeClass, ...]:
    """The true classes while they are few, else `GROUPS` quantiles of cost for each (t, K)."""
    if len(tables.classes) <= MOST_CLASSES:
        return tables.classes
    alike: dict[tuple[int, int], list[tuple[tuple[float, ...], int]]] = defaultdict(list)
    for each in tables.classes:
        alike[each.kind, each.gpus] += [(each.cost_rate, node) for node in each.nodes]
    made = []
    for (kind, gpus), nodes in alike.items():
        ranked = sorted(nodes, key=lambda pair: (sum(pair[0]), pair[1]))
        for part in np.array_split(np.arange(len(ranked)), min(GROUPS, len(ranked))):
            rates = np.mean([ranked[i][0] for i in part], axis=0)
            rates = np.maximum.accumulate(rates)
            members = tuple(ranked[i][1] for i in part)
            made.append(NodeClass(kind, gpus, tuple(float(c) for c in rates), members))
    return tuple(made)


def reassigned(tables: Tables, seats: Assignment) -> dict[int, Seat]:
    """Move whole nodes' contents to the nodes of their type and size where they cost least."""
    from scipy.optimize import linear_sum_assignment

    contents = _contents(tables, seats)
    moved: dict[int, int] = {}
    alike: dict[tuple[int, int], list[int]] = defaultdict(list)
    for n, node in enumerate(tables.instance.nodes):
        alike[int(tables.kind_of[n]), node.gpus].append(n)
    for nodes in alike.values():
        opened = [n for n in nodes if n in contents]
        if not opened:
            continue
        rates = np.array([tables.instance.nodes[n].cost_rate for n in nodes])
        used = np.array([contents[n][1] for n in opened])
        seconds = np.array([contents[n][0] for n in opened])
        rows, columns = linear_sum_assignment(seconds[:, None] * rates[:, used - 1].T)
        moved.update({opened[r]: nodes[c] for r, c in zip(rows, columns, strict=True)})
    return {j: replace(seat, node=moved[seat.node]) for j, seat in seats.items()}


def _contents(tables: Tables, seats: Assignment) -> dict[int, tuple[float, int]]:
    """By open node: expected seconds of its first job to end, and GPUs in use."""
    seconds: dict[int, float] = {}
    used: dict[int, set[int]] = defaultdict(set)
    for j, seat in seats.items():
        here = float(tables.expected[j, tables.kind_of[seat.node], seat.configuration])
        seconds[seat.node] = min(seconds.get(seat.node, np.inf), here)
        used[seat.node].update(seat.gpus)
    return {n: (seconds[n], len(used[n])) for n in seconds}
