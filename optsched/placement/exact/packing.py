"""Whether servers can hold a job's replicas at all, whatever the time of an iteration.

Replicas of one GPU always fit. Otherwise first-fit decreasing is exact if each size divides the
next larger one (2, 4, 8). Other sizes may need an integer programme, one variable per size and
server. Guarantee: exact, unless the deadline passes first. Complexity: O(S M) and, rarely, a MILP.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from optsched.placement.cost import Ints
from optsched.placement.instance import PlacementInstance, symmetric_server_pairs
from optsched.result import Settings, Termination

Packing = tuple[Ints | None, Termination]
"""Counts on servers, None if infeasible or at the time limit; and how the search ended."""


def packing(instance: PlacementInstance, settings: Settings) -> Packing:
    """Any feasible placement of the job, stages x servers, or "infeasible"."""
    stages, free_gpus = instance.job.stages, instance.free_gpus
    replicas = np.array([stage.replicas for stage in stages], dtype=np.int64)
    sizes, size_of_stage = np.unique(
        np.array([stage.tensor_parallel for stage in stages], dtype=np.int64), return_inverse=True
    )
    demand = np.bincount(size_of_stage, weights=replicas).astype(np.int64)
    slots, termination = _first_fit_decreasing(sizes, demand, free_gpus), Termination.FEASIBLE
    if slots is None:
        divisible = all(larger % smaller == 0 for smaller, larger in pairwise(sizes.tolist()))
        if divisible or instance.job.gpus > sum(free_gpus):
            return None, Termination.INFEASIBLE
        slots, termination = _by_integer_programme(sizes, demand, free_gpus, settings)
        if slots is None:
            return None, termination
    counts = np.zeros(instance.shape, dtype=np.int64)
    for s, size in enumerate(size_of_stage.tolist()):  # the stages of a size share its slots
        counts[s] = _fill_in_order(slots[size], int(replicas[s]))
        slots[size] -= counts[s]
    return counts, termination


def _fill_in_order(room: Ints, replicas: int) -> Ints:
    """Fill servers in order up to their room until all replicas are placed."""
    return np.diff(np.minimum(np.cumsum(room), replicas), prepend=0)


def _first_fit_decreasing(sizes: Ints, demand: Ints, free_gpus: tuple[int, ...]) -> Ints | None:
    room = np.array(free_gpus, dtype=np.int64)
    counts = np.zeros((len(sizes), len(room)), dtype=np.int64)
    for size in np.argsort(-sizes, kind="stable").tolist():
        counts[size] = _fill_in_order(room // sizes[size], int(demand[size]))
        if counts[size].sum() < demand[size]:
            return None
        room -= counts[size] * sizes[size]
    return counts


def _by_integer_programme(
    sizes: Ints, demand: Ints, free_gpus: tuple[int, ...], settings: Settings
) -> Packing:
    """Solve the packing MILP in x[size, server]; symmetry rows order servers of equal GPUs."""
    from scipy.sparse import csr_array, eye_array, kron, vstack

    from optsched.backends.arrays import MilpArrays, solve_arrays

    free = np.array(free_gpus, dtype=np.int64)
    kinds, servers = len(sizes), len(free)
    pairs = np.array(symmetric_server_pairs(free_gpus), dtype=np.int64).reshape(-1, 2)
    ordered = (np.repeat(np.arange(len(pairs)), 2), (kinds - 1) * servers + pairs.ravel())
    signs = np.tile([-1.0, 1.0], len(pairs))
    matrix = vstack(
        [
            kron(eye_array(kinds), np.ones((1, servers))),  # replicas of each size
            kron(sizes[None, :].astype(float), eye_array(servers)),  # GPUs of each server
            csr_array((signs, ordered), shape=(len(pairs), kinds * servers)),
        ]
    )
    lower = np.concatenate((demand, np.full(servers + len(pairs), -np.inf)))
    upper = np.concatenate((demand, free, np.zeros(len(pairs)))).astype(float)
    capacity = np.minimum(free // sizes[:, None], demand[:, None]).ravel().astype(float)
    zeros = np.zeros(kinds * servers)
    problem = MilpArrays(zeros, csr_array(matrix), lower, upper, zeros, capacity, zeros == 0)
    answer = solve_arrays(problem, replace(settings, solver="highs"))
    if answer.values is None:
        return None, answer.termination
    counts = np.rint(answer.values).astype(np.int64).reshape(kinds, servers)
    return counts, Termination.FEASIBLE
