"""Decode counts of patterns into nodes and GPUs.

Each pattern in the solution is realised on a free node of its class: the dedicated sizes on its
first GPUs, then the shared ones; a fraction leader's node gets a GPU filled around that fraction.
Leaders take their slot, followers any slot of their configuration. With the integers fixed the rest
is a transportation problem, so its vertices are integral; a solver's answer that is no vertex is
solved again as one.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from optsched.errors import SolverError
from optsched.selection.assignment import Assignment, Placement
from optsched.selection.cost import Tables
from optsched.selection.models.packings import decode_counts

INTEGRALITY_TOL = 1e-6
LEADER, FOLLOWER = 3, 2
"""Lengths of a role: (v, L, u) of a leader, (v, c) of a follower."""

Slot = tuple[int, tuple[int, ...]]
"""A node and GPUs of it."""


@dataclass(frozen=True)
class PatternSolution:
    """Counts of patterns (v,u,s,p,L) and fills (v,fill,lf); jobs as leaders and followers."""

    patterns: Mapping[tuple, int]
    fills: Mapping[tuple, int]
    leaders: Mapping[tuple[int, int, int, int], float]
    followers: Mapping[tuple[int, int, int], float]


def assignment_of(tables: Tables, solution: PatternSolution) -> Assignment:
    """The assignment to individual nodes; it costs at most what the counts do."""
    shares = (*solution.leaders.values(), *solution.followers.values())
    if any(abs(share - 1) >= INTEGRALITY_TOL for share in shares):
        solution = _at_a_vertex(tables, solution)
    leading, following = _lay_out(tables, solution)
    leaders = {j: _take(leading, (v, c, used), c) for j, v, c, used in solution.leaders}
    return leaders | {j: _take(following, (v, c), c) for j, v, c in solution.followers}


def _take(slots: dict, key: tuple, configuration: int) -> Placement:
    if not slots[key]:
        raise SolverError(f"inconsistent solver values: more jobs than slots at {key}")
    node, gpus = slots[key].pop(0)
    return Placement(node, gpus, configuration)


def _lay_out(tables: Tables, solution: PatternSolution) -> tuple[dict, dict]:
    """Slots of leaders by (v, L, u), and of followers by (v, c)."""
    leading: dict[tuple, list[Slot]] = defaultdict(list)
    following: dict[tuple, list[Slot]] = defaultdict(list)
    free = {v: iter(node_class.nodes) for v, node_class in enumerate(tables.classes)}
    fills: dict[tuple[int, int], list] = defaultdict(list)
    for v, fill, leader in _repeat(solution.fills):
        fills[v, leader].append(decode_counts(fill))
    for v, used, shared, sizes, leader in _repeat(solution.patterns):
        node = next(free[v], None)
        if node is None:
            raise SolverError(f"inconsistent solver values: more patterns than nodes in class {v}")
        gpu, has_leader = 0, False
        for size in decode_counts(sizes):
            slot = (node, tuple(range(gpu, gpu + size)))
            gpu += size
            if size - 1 == leader and not has_leader:
                leading[v, leader, used].append(slot)
                has_leader = True
            else:
                following[v, size - 1].append(slot)
        fractions = tables.kinds[tables.classes[v].kind].fractions
        for index in range(shared):
            fill_leader = leader if index == 0 and leader in fractions else -1
            fill = fills[v, fill_leader].pop() if fills[v, fill_leader] else (0,) * len(fractions)
            for c, count in zip(fractions, fill, strict=True):
                following[v, c] += [(node, (gpu,))] * (count - (c == fill_leader))
            if fill_leader >= 0:
                leading[v, leader, used].append((node, (gpu,)))
            gpu += 1
    return leading, following


def _repeat(counts: Mapping[tuple, int]) -> Iterator[tuple]:
    for key, count in counts.items():
        for _ in range(count):
            yield key


def _at_a_vertex(tables: Tables, solution: PatternSolution) -> PatternSolution:
    """The cheapest integral use of the slots that the counts open (Hungarian method)."""
    from scipy.optimize import linear_sum_assignment

    leading, following = _lay_out(tables, solution)
    roles = list(_roles(tables, leading, following))
    postponed = np.where(np.eye(tables.jobs) == 1, tables.postponement_cost, np.inf)
    costs = np.column_stack([*(cost for _, cost in roles), postponed])
    # a leader's slot is filled before any other cost counts
    leads = np.array([len(key) == LEADER for key, _ in roles] + [False] * tables.jobs)
    costs[:, leads] -= 1 + np.where(np.isfinite(costs), costs, 0.0).max(axis=1).sum()
    jobs, columns = linear_sum_assignment(costs)
    chosen = [(int(j), roles[k][0]) for j, k in zip(jobs, columns, strict=True) if k < len(roles)]
    return replace(
        solution,
        leaders={(j, *key): 1.0 for j, key in chosen if len(key) == LEADER},
        followers={(j, *key): 1.0 for j, key in chosen if len(key) == FOLLOWER},
    )


def _roles(tables: Tables, leading: dict, following: dict) -> Iterator[tuple[tuple, np.ndarray]]:
    """Each slot's role and every job's cost in it, infinite where the job cannot run so."""
    for (v, c, used), slots in leading.items():
        node_class = tables.classes[v]
        cost = tables.tardiness_cost[:, node_class.kind, c]
        energy = np.where(np.isfinite(cost), tables.expected[:, node_class.kind, c], 0.0)
        yield from [((v, c, used), cost + energy * node_class.cost_rate[used - 1])] * len(slots)
    for (v, c), slots in following.items():
        cost = tables.tardiness_cost[:, tables.classes[v].kind, c]
        yield from [((v, c), cost)] * len(slots)
