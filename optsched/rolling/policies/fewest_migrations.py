"""Keep jobs where they are when a new assignment would do as well there (sts, VI-C).

Nodes of one class are alike, so their contents may change places at no cost. Which content goes to
which node is a linear assignment that keeps the most jobs on their node in their configuration. On
its node a job keeps its GPUs where they are free.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from optsched.kernels import kernel
from optsched.rolling.simulator.assignment import Assignment
from optsched.selection.assignment import Placement
from optsched.selection.cost import Tables

Ints = NDArray[np.int64]
STAYS = 1e-3
"""Value of leaving a node's contents there: breaks ties."""
OTHER_CONFIGURATION = 0.25
"""Value of a job on its node in another configuration, in jobs that keep theirs."""


class Placed(NamedTuple):
    """Seats in the order in which they were given: ``job``, ``node``, ``first`` GPU, ``size`` in
    GPUs and ``configuration``, (n,) each. Jobs of one node and first GPU share that GPU."""

    job: Ints
    node: Ints
    first: Ints
    size: Ints
    configuration: Ints


class Before(NamedTuple):
    """The seats those jobs had: ``node`` (n,), -1 for none, ``configuration`` and ``size`` (n,),
    and the GPUs, increasing, in front in ``gpus`` (n, G)."""

    node: Ints
    configuration: Ints
    size: Ints
    gpus: Ints


def placed_of(seats: Mapping[int, Placement]) -> Placed:
    """Return seats as arrays."""
    rows = [(j, s.node, min(s.gpus), len(s.gpus), s.configuration) for j, s in seats.items()]
    return Placed(*np.ascontiguousarray(np.array(rows, dtype=np.int64).reshape(-1, 5).T))


def with_fewest_migrations(
    tables: Tables, placed: Placed, before: Mapping[int, Placement]
) -> Assignment:
    """The same assignment on nodes of the same classes, with the fewest jobs moved."""
    if isinstance(before, Assignment):
        jobs = len(before.node)
    else:
        jobs = 1 + max([*placed.job.tolist(), *before], default=-1)
    held = Assignment.of(before, jobs, max(kind.gpus for kind in tables.kinds))
    theirs, new = held.of_jobs(placed.job), Assignment.waiting(jobs, held.gpus.shape[1])
    old = Before(theirs.node, theirs.configuration, theirs.sizes, theirs.gpus)
    target = _target_nodes(tables, placed, old)
    gpus = new.gpus[placed.job]
    choose_gpus.for_size(8 * gpus.size)(target, placed, old, gpus)
    new.gpus[placed.job], new.node[placed.job] = gpus, target[placed.node]
    new.configuration[placed.job] = placed.configuration
    return new


def _target_nodes(tables: Tables, placed: Placed, before: Before) -> Ints:
    """The node that each node's contents go to."""
    target = np.arange(len(tables.kind_of))
    position = np.full(len(target) + 1, -1)  # in its class; the last is that of node -1
    for each in tables.classes:
        if len(each.nodes) == 1:
            continue
        position[:] = -1
        position[each.node_array] = np.arange(len(each.node_array))
        row, column = position[placed.node], position[before.node]
        used = np.unique(row[row >= 0])
        stays = np.zeros((len(each.node_array), len(each.node_array)))
        stays[used, used] = STAYS
        both = (row >= 0) & (column >= 0)
        kept = before.configuration[both] == placed.configuration[both]
        np.add.at(stays, (row[both], column[both]), np.where(kept, 1.0, OTHER_CONFIGURATION))
        stays = stays[used]
        if (stays.max(axis=1, initial=0.0) <= stays[np.arange(len(used)), used]).all():
            continue
        from scipy.optimize import linear_sum_assignment

        rows, columns = linear_sum_assignment(stays, maximize=True)
        target[each.node_array[used[rows]]] = each.node_array[columns]
    return target


@kernel
def choose_gpus(target: Any, placed: Placed, before: Before, gpus: Any) -> None:
    """Fill the GPUs of each job: its own where they are free, else the first free ones."""
    count = len(placed.node)
    leader = np.full((len(target), gpus.shape[1]), -1)  # the first job on a node's GPU
    taken = np.zeros((len(target), gpus.shape[1]), np.bool_)
    group, is_done = np.empty(count, np.int64), np.zeros(count, np.bool_)
    for i in range(count):
        if leader[placed.node[i], placed.first[i]] < 0:
            leader[placed.node[i], placed.first[i]] = i
        group[i] = leader[placed.node[i], placed.first[i]]
    # jobs that share a GPU move together: the first of them whose GPUs are free decides
    for i in np.argsort(group, kind="mergesort"):  # stable: group after group
        n, g, size = target[placed.node[i]], group[i], placed.size[i]
        if before.node[i] != n or before.size[i] != size or is_done[g]:
            continue
        is_free = True
        for k in range(size):
            is_free = is_free and not taken[n, before.gpus[i, k]]
        if is_free:
            is_done[g] = True
            for k in range(size):
                taken[n, before.gpus[i, k]] = True
                gpus[g, k] = before.gpus[i, k]
    following = np.zeros(len(target), np.int64)
    for i in range(count):
        if group[i] == i and not is_done[i]:
            n = target[placed.node[i]]
            for k in range(placed.size[i]):
                while taken[n, following[n]]:
                    following[n] += 1
                gpus[i, k] = following[n]
                following[n] += 1
    for i in range(count):
        for k in range(placed.size[i]):
            gpus[i, k] = gpus[group[i], k]
