"""Decode counts of patterns into nodes and GPUs.

For each pattern counted, a free node of its class is laid out: the dedicated sizes on its first
GPUs, then the shared ones; a fraction leader's node gets a GPU filled around that fraction. Leaders
take their slot, followers any slot of their configuration. With the integers fixed the rest is a
transportation problem, so its vertices are integral; a solver's answer that is no vertex is solved
again as one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from optsched.errors import SolverError
from optsched.selection.assignment import Assignment, Seat
from optsched.selection.cost import Tables
from optsched.selection.models.packings import read

Slot = tuple[int, tuple[int, ...]]
"""A node and GPUs of it."""


@dataclass(frozen=True)
class Counted:
    """Counts of patterns (v,u,s,p,L) and fills (v,fill,lf); jobs as leaders and followers."""

    patterns: Mapping[tuple, int]
    fills: Mapping[tuple, int]
    leaders: Mapping[tuple[int, int, int, int], float]
    followers: Mapping[tuple[int, int, int], float]


def assignment_of(tables: Tables, counted: Counted) -> Assignment:
    """Seats on real nodes; costs at most what the counts do."""
    if not _is_integral(counted):
        counted = _at_a_vertex(tables, counted)
    seats: dict[int, Seat] = {}
    leading, following = _lay_out(tables, counted)
    for j, v, c, used in counted.leaders:
        seats[j] = _take(leading, (v, c, used), c)
    for j, v, c in counted.followers:
        seats[j] = _take(following, (v, c), c)
    return seats


def _take(slots: dict, key: tuple, configuration: int) -> Seat:
    if not slots[key]:
        raise SolverError(f"a pattern solution seats more jobs than slots at {key}")
    node, gpus = slots[key].pop(0)
    return Seat(node, gpus, configuration)


def _lay_out(tables: Tables, counted: Counted) -> tuple[dict, dict]:
    """Slots of leaders by (v, L, u), and of followers by (v, c)."""
    leading: dict[tuple, list[Slot]] = defaultdict(list)
    following: dict[tuple, list[Slot]] = defaultdict(list)
    free = {v: iter(each.nodes) for v, each in enumerate(tables.classes)}
    fills = _fills_by_leader(counted)
    for v, used, shared, sizes, leader in _each(counted.patterns):
        node = next(free[v], None)
        if node is None:
            raise SolverError(f"a pattern solution cuts more nodes than class {v} has")
        gpu, led = 0, False
        for size in read(sizes):
            slot = (node, tuple(range(gpu, gpu + size)))
            gpu += size
            if size - 1 == leader and not led:
                leading[v, leader, used].append(slot)
                led = True
            else:
                following[v, size - 1].append(slot)
        fractions = tables.kinds[tables.classes[v].kind].fractions
        for index in range(shared):
            here = leader if index == 0 and leader in fractions else -1
            fill = fills[v, here].pop() if fills[v, here] else (0,) * len(fractions)
            for c, count in zip(fractions, fill, strict=True):
                following[v, c] += [(node, (gpu,))] * (count - (c == here))
            if here >= 0:
                leading[v, leader, used].append((node, (gpu,)))
            gpu += 1
    return leading, following


def _fills_by_leader(counted: Counted) -> dict:
    fills: dict[tuple[int, int], list] = defaultdict(list)
    for v, fill, leader in _each(counted.fills):
        fills[v, leader].append(read(fill))
    return fills


def _each(counts: Mapping[tuple, int]) -> Iterator[tuple]:
    for key, count in counts.items():
        for _ in range(count):
            yield key


def _is_integral(counted: Counted) -> bool:
    shares = [*counted.leaders.values(), *counted.followers.values()]
    return all(abs(share - 1) < 1e-6 for share in shares)


def _at_a_vertex(tables: Tables, counted: Counted) -> Counted:
    """The cheapest integral seating of the slots that the counts open (Hungarian method)."""
    from scipy.optimize import linear_sum_assignment

    leading, following = _lay_out(tables, counted)
    roles = [(key, cost) for key, cost in _roles(tables, leading, following)]
    postponed = np.diag(tables.postponed) + np.where(np.eye(tables.jobs) == 1, 0.0, _NEVER)
    matrix = np.column_stack([*(cost for _, cost in roles), postponed])
    matrix[~np.isfinite(matrix)] = _NEVER
    jobs, columns = linear_sum_assignment(matrix)
    chosen = [(int(j), roles[k][0]) for j, k in zip(jobs, columns, strict=True) if k < len(roles)]
    return replace(
        counted,
        leaders={(j, *key): 1.0 for j, key in chosen if len(key) == 3},
        followers={(j, *key): 1.0 for j, key in chosen if len(key) == 2},
    )


_NEVER = 1e15


def _roles(tables: Tables, leading: dict, following: dict) -> Iterator[tuple[tuple, np.ndarray]]:
    must = -1e9  # a leader's slot is filled before any other cost counts
    for (v, c, used), slots in leading.items():
        each = tables.classes[v]
        energy = tables.expected[:, each.kind, c] * each.cost_rate[used - 1]
        for _ in slots:
            yield (v, c, used), tables.late[:, each.kind, c] + energy + must
    for (v, c), slots in following.items():
        for _ in slots:
            yield (v, c), tables.late[:, tables.classes[v].kind, c]
