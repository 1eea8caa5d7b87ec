"""Compiled loops of `same_gpus`: who would stay on which node, and new numbers of GPUs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from optsched.compiled_loops import njit

NO_RENAMING = 1e-3
"""Of ties: a node's contents rather stay."""
OTHERWISE_CONFIGURED = 0.25
"""What a job on its node in another configuration counts."""


class Placed(NamedTuple):
    """Seats in the order in which they were given, jobs of one node and first GPU share it.

    ``job``, ``node``, ``first`` GPU, ``size`` in GPUs and ``configuration``, (n,) each.
    """

    job: Any
    node: Any
    first: Any
    size: Any
    configuration: Any


class Before(NamedTuple):
    """The seats those jobs had: ``node`` (n,), -1 for none, ``configuration`` and ``size`` (n,) in
    GPUs, and which, increasing, in front in ``gpus`` (n, G)."""

    node: Any
    configuration: Any
    size: Any
    gpus: Any


@njit(cache=True)
def count_stays(alike: Any, placed: Placed, before: Before, column: Any, stays: Any) -> bool:
    """Fill ``stays``: what of an open node's contents stays if they go to another node.

    Returns whether all stays at most where it is.
    """
    for i in range(len(alike)):
        column[alike[i]] = i
    used = np.zeros(len(alike), np.bool_)
    for i in range(len(placed.node)):
        if column[placed.node[i]] >= 0:
            used[column[placed.node[i]]] = True
    row, rows = np.zeros(len(alike), np.int64), 0
    for i in range(len(alike)):
        if used[i]:
            row[i] = rows
            stays[rows, i] += NO_RENAMING
            rows += 1
    for i in range(len(placed.node)):
        at, old = column[placed.node[i]], before.node[i]
        if at >= 0 and old >= 0 and column[old] >= 0:
            kept = before.configuration[i] == placed.configuration[i]
            stays[row[at], column[old]] += 1.0 if kept else OTHERWISE_CONFIGURED
    for i in range(len(alike)):
        column[alike[i]] = -1
    for i in range(len(alike)):
        for c in range(len(alike) if used[i] else 0):
            if stays[row[i], c] > stays[row[i], i]:
                return False
    return True


@njit(cache=True)
def rename(target: Any, placed: Placed, before: Before, gpus: Any) -> None:
    """Fill new numbers of each job's GPUs."""
    count = len(placed.node)
    leader = np.full((len(target), gpus.shape[1]), -1)  # who was first given a node's GPU
    taken = np.zeros((len(target), gpus.shape[1]), np.bool_)
    group, named = np.empty(count, np.int64), np.zeros(count, np.bool_)
    for i in range(count):
        if leader[placed.node[i], placed.first[i]] < 0:
            leader[placed.node[i], placed.first[i]] = i
        group[i] = leader[placed.node[i], placed.first[i]]
    for i in _members_in_turn(group):
        n, g, size = target[placed.node[i]], group[i], placed.size[i]
        if before.node[i] != n or before.size[i] != size or named[g]:
            continue
        free = True
        for k in range(size):
            free = free and not taken[n, before.gpus[i, k]]
        if free:
            named[g] = True
            for k in range(size):
                taken[n, before.gpus[i, k]] = True
                gpus[g, k] = before.gpus[i, k]
    following = np.zeros(len(target), np.int64)
    for i in range(count):
        if group[i] == i and not named[i]:
            n = target[placed.node[i]]
            for k in range(placed.size[i]):
                while taken[n, following[n]]:
                    following[n] += 1
                gpus[i, k] = following[n]
                following[n] += 1
    for i in range(count):
        for k in range(placed.size[i]):
            gpus[i, k] = gpus[group[i], k]


@njit(cache=True)
def _members_in_turn(group: Any) -> Any:
    """All jobs, group after group, the groups in the order of their first jobs."""
    count = len(group)
    following, last, turn = np.full(count, -1), np.arange(count), np.empty(count, np.int64)
    for i in range(count):
        if group[i] != i:
            following[last[group[i]]] = i
            last[group[i]] = i
    at = 0
    for i in range(count):
        j = i if group[i] == i else -1
        while j >= 0:
            turn[at], at, j = j, at + 1, following[j]
    return turn
