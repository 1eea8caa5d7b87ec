"""Compiled best fit: which node gives whole GPUs (sts, VI-B)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable

from optsched.selection.instance import SelectionInstance


class Nodes(NamedTuple):
    """Types (N,), GPUs (N,), and dollars per second with 1.. GPUs in use (N, K)."""

    kind: Any
    gpus: Any
    rates: Any


def nodes_of(instance: SelectionInstance, kind_of: Any) -> Nodes:
    """An instance's nodes, of the types given."""
    gpus = np.array([node.gpus for node in instance.nodes])
    rates = np.full((len(gpus), int(gpus.max())), np.inf)
    for n, node in enumerate(instance.nodes):
        rates[n, : node.gpus] = node.cost_rate
    return Nodes(kind_of, gpus, rates)


@register_jitable
def best_fit(kind: int, wanted: int, free: Any, nodes: Nodes) -> int:
    """An open node before an empty one, the fewest free GPUs, the least cost, the first; or -1."""
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
            used, held = gpus[n] - free[n], gpus[best] - free[best]
            better = rates[n, used + wanted - 1] < rates[best, held + wanted - 1]
        if better:
            best = n
    return best


@register_jitable
def most_free(kind: int, free: Any, nodes: Nodes) -> int:
    """The most free GPUs on one node of a type."""
    most = 0
    for n in range(len(free)):
        if nodes.kind[n] == kind:
            most = max(most, free[n])
    return most
