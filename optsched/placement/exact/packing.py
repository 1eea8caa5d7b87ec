"""Whether servers can hold a job's replicas at all, whatever the time of an iteration.

Replicas of one GPU always fit. Otherwise the largest ones first, each on the first server with
room, finds a placement whenever one exists if every size divides the next larger one (2, 4, 8):
what a size leaves is then room for the same number of smaller ones wherever it stands. Other
sizes may need a programme in integers, one variable a size and server. Guarantee: exact, unless
the deadline passes first. Complexity: O(S M) and, rarely, a MILP.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from optsched.placement.cost import Ints
from optsched.placement.instance import PlacementInstance, equal_neighbours
from optsched.result import Settings, Termination


class Packing(NamedTuple):
    """Counts, stages x servers; None where there are none, or where the time ended first."""

    counts: Ints | None
    termination: Termination


def packing(instance: PlacementInstance, settings: Settings) -> Packing:
    """Some placement of the job: "feasible", or "infeasible" where there is none."""
    sizes = np.array([stage.tensor_parallel for stage in instance.job.stages], dtype=np.int64)
    replicas = np.array([stage.replicas for stage in instance.job.stages], dtype=np.int64)
    free = np.array(instance.free_gpus, dtype=np.int64)
    counts = _largest_first(sizes, replicas, free)
    if counts is not None:
        return Packing(counts, Termination.FEASIBLE)
    distinct = sorted(set(sizes.tolist()))
    if all(larger % smaller == 0 for smaller, larger in pairwise(distinct)):
        return Packing(None, Termination.INFEASIBLE)
    return _by_size(instance, sizes, replicas, settings)


def _largest_first(sizes: Ints, replicas: Ints, free: Ints) -> Ints | None:
    """Each stage in turn, the largest replicas first, on the first servers with room."""
    room = free.copy()
    counts = np.zeros((len(sizes), len(free)), dtype=np.int64)
    for s in np.argsort(-sizes, kind="stable").tolist():
        fits = room // sizes[s]
        taken = np.diff(np.minimum(np.cumsum(fits), replicas[s]), prepend=0)
        if taken.sum() < replicas[s]:
            return None
        counts[s] = taken
        room -= taken * sizes[s]
    return counts


def _by_size(
    instance: PlacementInstance, sizes: Ints, replicas: Ints, settings: Settings
) -> Packing:
    """The same decided by a programme over the replicas of each size on each server."""
    from scipy.sparse import csr_array

    from optsched.backends import MilpArrays, solve_arrays

    distinct, of_stage = np.unique(sizes, return_inverse=True)
    free = np.array(instance.free_gpus, dtype=np.int64)
    kinds, servers = len(distinct), len(free)
    total = np.bincount(of_stage, weights=replicas).astype(np.int64)
    kind = np.repeat(np.arange(kinds), servers)
    server = np.tile(np.arange(servers), kinds)
    index = np.arange(kinds * servers)
    rows, columns = [kind, kinds + server], [index, index]
    data = [np.ones(len(index)), distinct[kind].astype(float)]
    pairs = equal_neighbours(instance.free_gpus)
    for row, pair in enumerate(pairs):  # equal servers: the largest size in falling counts
        rows.append(np.full(2, kinds + servers + row))
        columns.append((kinds - 1) * servers + np.array(pair))
        data.append(np.array([-1.0, 1.0]))
    lower = np.full(kinds + servers + len(pairs), -np.inf)
    upper = np.zeros(len(lower))
    lower[:kinds] = upper[:kinds] = total
    upper[kinds : kinds + servers] = free
    matrix = csr_array(
        (np.concatenate(data), (np.concatenate(rows), np.concatenate(columns))),
        shape=(len(lower), len(index)),
    )
    most = np.minimum(free[server] // distinct[kind], total[kind]).astype(float)
    zeros = np.zeros(len(index))
    integer = np.ones(len(index), dtype=bool)
    problem = MilpArrays(zeros, matrix, lower, upper, zeros, most, integer)
    answer = solve_arrays(problem, replace(settings, solver="highs"))
    if answer.values is None:
        return Packing(None, answer.termination)
    placed = np.rint(answer.values).astype(np.int64).reshape(kinds, servers)
    return Packing(_shared(placed, of_stage, replicas), Termination.FEASIBLE)


def _shared(placed: Ints, of_stage: Ints, replicas: Ints) -> Ints:
    """The places of each size handed to the stages of that size, one after another."""
    counts = np.zeros((len(replicas), placed.shape[1]), dtype=np.int64)
    left = placed.copy()
    for s, kind in enumerate(of_stage.tolist()):
        counts[s] = np.diff(np.minimum(np.cumsum(left[kind]), replicas[s]), prepend=0)
        left[kind] -= counts[s]
    return counts
