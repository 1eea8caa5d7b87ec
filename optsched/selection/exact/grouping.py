"""Groups of nodes of similar cost, and assignment of grouped solutions to individual nodes.

A packing on a group, at the group's mean costs, is the content of a whole node. Which node of the
type and size takes which content is a linear assignment at the true costs, solved exactly while
such nodes are few, else in parts.
"""

from collections import defaultdict
from dataclasses import replace

import numpy as np

from optsched.selection.assignment import Assignment, Placement, open_nodes
from optsched.selection.cost import NodeClass, Tables

MAX_CLASSES = 150
"""More classes are only solved in groups: the MILP has a column per class and pair of use."""
GROUPS = 10
"""Groups of each type and size; more barely raise the bound."""
MAX_ASSIGNED = 400
"""Largest linear assignment (cubic time)."""


def grouped_classes(tables: Tables) -> tuple[NodeClass, ...]:
    """The true classes while they are few, else groups of them."""
    return tables.classes if len(tables.classes) <= MAX_CLASSES else quantile_classes(tables)


def quantile_classes(tables: Tables) -> tuple[NodeClass, ...]:
    """At most `GROUPS` quantiles of cost for each type and number of GPUs; the true ones if few."""
    by_type_and_size: dict[tuple[int, int], list[NodeClass]] = defaultdict(list)
    for node_class in tables.classes:
        by_type_and_size[node_class.kind, node_class.gpus].append(node_class)
    groups: list[NodeClass] = []
    for (kind, gpus), classes in by_type_and_size.items():
        if len(classes) <= GROUPS:
            groups += classes
            continue
        nodes = [
            (node_class.cost_rate, node) for node_class in classes for node in node_class.nodes
        ]
        ranked = sorted(nodes, key=lambda pair: (sum(pair[0]), pair[1]))
        for part in np.array_split(np.arange(len(ranked)), GROUPS):
            rates = np.mean([ranked[i][0] for i in part], axis=0)
            rates = np.maximum.accumulate(rates)
            members = tuple(ranked[i][1] for i in part)
            groups.append(NodeClass(kind, gpus, tuple(float(c) for c in rates), members))
    return tuple(groups)


def reassigned(tables: Tables, assignment: Assignment) -> dict[int, Placement]:
    """Move whole nodes' contents to nodes of their type and size where they cost less."""
    contents = open_nodes(tables, assignment)
    content_at = {n: n for n in contents}
    by_type_and_size: dict[tuple[int, int], list[int]] = defaultdict(list)
    for n, node in enumerate(tables.instance.nodes):
        by_type_and_size[int(tables.kind_of[n]), node.gpus].append(n)
    for nodes in by_type_and_size.values():
        ranked = sorted(nodes, key=lambda n: (sum(tables.instance.nodes[n].cost_rate), n))
        # Blocks of nodes of similar cost, then once more shifted by half a block.
        for first in (0, -(MAX_ASSIGNED // 2))[: 1 + (len(nodes) > MAX_ASSIGNED)]:
            for begin in range(first, len(nodes), MAX_ASSIGNED):
                _assign(tables, contents, content_at, ranked[max(begin, 0) : begin + MAX_ASSIGNED])
    new_node = {origin: n for n, origin in content_at.items()}
    return {j: replace(one, node=new_node[one.node]) for j, one in assignment.items()}


def _assign(
    tables: Tables,
    contents: dict[int, tuple[float, int]],
    content_at: dict[int, int],
    nodes: list[int],
) -> None:
    """Assign the contents of some nodes to these nodes at least cost."""
    from scipy.optimize import linear_sum_assignment

    opened = [content_at.pop(n) for n in nodes if n in content_at]
    if opened:
        rates = np.array([tables.instance.nodes[n].cost_rate for n in nodes])
        seconds, used = np.array([contents[n] for n in opened]).T
        cost = seconds[:, None] * rates[:, used.astype(np.int64) - 1].T
        for row, column in zip(*linear_sum_assignment(cost), strict=True):
            content_at[nodes[column]] = opened[row]
