"""Permute equivalent nodes so that as few jobs as possible migrate (sts, VI-C).

Nodes of one class are interchangeable. A linear assignment of contents to nodes maximises the jobs
that stay on their node in their configuration. On its node a job keeps its GPUs if they are free.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from optsched.arrays import Ints
from optsched.kernels import kernel
from optsched.rolling.simulator.assignment import Assignment
from optsched.selection.assignment import Placement
from optsched.selection.cost import Tables

TIE_BREAK_BONUS = 1e-3
"""Weight of leaving a node's contents on the node."""
SAME_NODE_WEIGHT = 0.25
"""Weight of a job that stays on its node with another configuration (1 = same configuration)."""


class Placed(NamedTuple):
    """New placements in the order of assignment: ``job``, ``node``, ``first`` GPU, ``size`` in GPUs
    and ``configuration``, (n,) each. Jobs with the same node and first GPU share that GPU."""

    job: Ints
    node: Ints
    first: Ints
    size: Ints
    configuration: Ints


class Previous(NamedTuple):
    """Previous placements of the same jobs: ``node`` (n,), -1 for none, ``configuration`` and
    ``size`` (n,), and the GPUs, increasing, first in ``gpus`` (n, G)."""

    node: Ints
    configuration: Ints
    size: Ints
    gpus: Ints


def placed_of(placements: Mapping[int, Placement]) -> Placed:
    rows = [(j, s.node, min(s.gpus), len(s.gpus), s.configuration) for j, s in placements.items()]
    return Placed(*np.ascontiguousarray(np.array(rows, dtype=np.int64).reshape(-1, 5).T))


def with_fewest_migrations(
    tables: Tables, placed: Placed, before: Mapping[int, Placement]
) -> Assignment:
    """The same assignment on nodes of the same classes, with the fewest migrations."""
    if isinstance(before, Assignment):
        jobs = len(before.node)
    else:
        jobs = 1 + max([*placed.job.tolist(), *before], default=-1)
    previous = Assignment.of(before, jobs, max(kind.gpus for kind in tables.kinds))
    of_placed, new = previous.of_jobs(placed.job), Assignment.waiting(jobs, previous.gpus.shape[1])
    old = Previous(of_placed.node, of_placed.configuration, of_placed.sizes, of_placed.gpus)
    target = _target_nodes(tables, placed, old)
    gpus = new.gpus[placed.job]
    choose_gpus.for_size(8 * gpus.size)(target, placed, old, gpus)
    new.gpus[placed.job], new.node[placed.job] = gpus, target[placed.node]
    new.configuration[placed.job] = placed.configuration
    return new


def _target_nodes(tables: Tables, placed: Placed, before: Previous) -> Ints:
    target = np.arange(len(tables.kind_of))
    position = np.full(len(target) + 1, -1)  # index within the class; last entry: no node
    for node_class in tables.classes:
        if len(node_class.nodes) == 1:
            continue
        position[:] = -1
        position[node_class.node_array] = np.arange(len(node_class.node_array))
        row, column = position[placed.node], position[before.node]
        used = np.unique(row[row >= 0])
        weights = np.zeros((len(node_class.node_array), len(node_class.node_array)))
        weights[used, used] = TIE_BREAK_BONUS
        both = (row >= 0) & (column >= 0)
        same_configuration = before.configuration[both] == placed.configuration[both]
        weight = np.where(same_configuration, 1.0, SAME_NODE_WEIGHT)
        np.add.at(weights, (row[both], column[both]), weight)
        weights = weights[used]
        if (weights.max(axis=1, initial=0.0) <= weights[np.arange(len(used)), used]).all():
            continue
        from scipy.optimize import linear_sum_assignment

        rows, columns = linear_sum_assignment(weights, maximize=True)
        target[node_class.node_array[used[rows]]] = node_class.node_array[columns]
    return target


@kernel
def choose_gpus(target: Any, placed: Placed, before: Previous, gpus: Any) -> None:
    """Fill the GPUs of each job: its previous GPUs if free, otherwise the lowest free indices."""
    count = len(placed.node)
    first_job_on_gpu = np.full((len(target), gpus.shape[1]), -1)  # the first job on a node's GPU
    taken = np.zeros((len(target), gpus.shape[1]), np.bool_)
    group, is_done = np.empty(count, np.int64), np.zeros(count, np.bool_)
    for i in range(count):
        if first_job_on_gpu[placed.node[i], placed.first[i]] < 0:
            first_job_on_gpu[placed.node[i], placed.first[i]] = i
        group[i] = first_job_on_gpu[placed.node[i], placed.first[i]]
    # jobs that share a GPU take the previous GPUs of the first of them whose GPUs are free
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
    # the others take the lowest free GPUs
    next_free_gpu = np.zeros(len(target), np.int64)
    for i in range(count):
        if group[i] == i and not is_done[i]:
            n = target[placed.node[i]]
            for k in range(placed.size[i]):
                while taken[n, next_free_gpu[n]]:
                    next_free_gpu[n] += 1
                gpus[i, k] = next_free_gpu[n]
                next_free_gpu[n] += 1
    for i in range(count):
        for k in range(placed.size[i]):
            gpus[i, k] = gpus[group[i], k]
