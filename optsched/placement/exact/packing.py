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
    """Counts on servers; None where there are none, or where the time ended first."""

    counts: Ints | None
    termination: Termination


def packing(instance: PlacementInstance, settings: Settings) -> Packing:
    """Some placement of the job, stages x servers, or "infeasible"."""
    sizes = np.array([stage.tensor_parallel for stage in instance.job.stages], dtype=np.int64)
    replicas = np.array([stage.replicas for stage in instance.job.stages], dtype=np.int64)
    distinct, of_stage = np.unique(sizes, return_inverse=True)
    total = np.bincount(of_stage, weights=replicas).astype(np.int64)
    found = pack(distinct, total, instance.free_gpus, settings)
    if found.counts is None:
        return found
    counts = np.zeros(instance.shape, dtype=np.int64)
    left = found.counts.copy()
    for s, size in enumerate(of_stage.tolist()):  # stages of a size share its places
        counts[s] = _first(left[size], int(replicas[s]))
        left[size] -= counts[s]
    return Packing(counts, found.termination)


def pack(sizes: Ints, wanted: Ints, free_gpus: tuple[int, ...], settings: Settings) -> Packing:
    """Replicas of distinct sizes on servers: counts are sizes x servers."""
    counts = _largest_first(sizes, wanted, free_gpus)
    if counts is not None:
        return Packing(counts, Termination.FEASIBLE)
    needed = sorted(sizes[wanted > 0].tolist())
    divisible = all(larger % smaller == 0 for smaller, larger in pairwise(needed))
    if divisible or int(sizes @ wanted) > sum(free_gpus):
        return Packing(None, Termination.INFEASIBLE)
    return _in_integers(sizes, wanted, free_gpus, settings)


def _first(room: Ints, most: int) -> Ints:
    """Fill servers in order up to their room until `most` replicas are placed."""
    return np.diff(np.minimum(np.cumsum(room), most), prepend=0)


def _largest_first(sizes: Ints, wanted: Ints, free_gpus: tuple[int, ...]) -> Ints | None:
    room = np.array(free_gpus, dtype=np.int64)
    counts = np.zeros((len(sizes), len(room)), dtype=np.int64)
    for size in np.argsort(-sizes, kind="stable").tolist():
        counts[size] = _first(room // sizes[size], int(wanted[size]))
        if counts[size].sum() < wanted[size]:
            return None
        room -= counts[size] * sizes[size]
    return counts


def _in_integers(
    sizes: Ints, wanted: Ints, free_gpus: tuple[int, ...], settings: Settings
) -> Packing:
    """Rows: replicas by size, GPUs by server, and equal servers in order of the last size."""
    from scipy.sparse import csr_array

    from optsched.backends import MilpArrays, solve_arrays

    free = np.array(free_gpus, dtype=np.int64)
    kinds, servers = len(sizes), len(free)
    kind = np.repeat(np.arange(kinds), servers)
    server = np.tile(np.arange(servers), kinds)
    index = np.arange(kinds * servers)
    rows, columns = [kind, kinds + server], [index, index]
    data = [np.ones(len(index)), sizes[kind].astype(float)]
    pairs = equal_neighbours(free_gpus)
    for row, pair in enumerate(pairs):
        rows.append(np.full(2, kinds + servers + row))
        columns.append((kinds - 1) * servers + np.array(pair))
        data.append(np.array([-1.0, 1.0]))
    lower = np.full(kinds + servers + len(pairs), -np.inf)
    upper = np.zeros(len(lower))
    lower[:kinds] = upper[:kinds] = wanted
    upper[kinds : kinds + servers] = free
    matrix = csr_array(
        (np.concatenate(data), (np.concatenate(rows), np.concatenate(columns))),
        shape=(len(lower), len(index)),
    )
    most = np.minimum(free[server] // sizes[kind], wanted[kind]).astype(float)
    zeros = np.zeros(len(index))
    integer = np.ones(len(index), dtype=bool)
    problem = MilpArrays(zeros, matrix, lower, upper, zeros, most, integer)
    answer = solve_arrays(problem, replace(settings, solver="highs"))
    if answer.values is None:
        return Packing(None, answer.termination)
    counts = np.rint(answer.values).astype(np.int64).reshape(kinds, servers)
    return Packing(counts, Termination.FEASIBLE)
