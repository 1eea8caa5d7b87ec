"""Method ``sts``: the stochastic scheduler of sts, for one interval.

Guarantee: none; the gap to the optimum is what this package measures. One pass over the jobs in
order of pressure (27); each wants the first configuration of its single-job speed profile (P3) on
every GPU type, the types sorted by expected energy, those that meet the due date first, then the
least late; best fit on the nodes. Readings: K and costs of a type are its largest node's; for k = 1
the smallest admissible fraction that meets the due date; an overdue job takes its fastest
configuration; if the wanted k fits nowhere smaller k of the same type are tried before postponing
(option ``strict`` does not); no previous assignment, so k_0 = 0. Postprocessing (VI-C) raises
fractions, then k, on the idle GPUs of open nodes (option ``postprocessing`` leaves it out).
Complexity: O(J T (K^2 log^2 S + N)) for J jobs, T types, N nodes, S scenarios.
Source: sts, Algorithms 2 and 3, (27).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from optsched.deadline import clock
from optsched.result import Outcome, Settings, Termination
from optsched.selection.assignment import Seat, expected_cost, solution_of
from optsched.selection.cost import Tables, tables_of
from optsched.selection.heuristics.cluster_state import ClusterState, NodeState
from optsched.selection.heuristics.profiles import curves_of, first_steps
from optsched.selection.instance import SelectionInstance
from optsched.selection.options import SelectionOptions


@dataclass(frozen=True)
class Wish:
    """A job's wanted configuration of one type, and how good it is: the key of Algorithm 3."""

    kind: int
    configuration: int
    key: tuple[bool, float, int]


def sts(instance: SelectionInstance, options: SelectionOptions, settings: Settings) -> Outcome:
    """Select resources by STS.

    Raises
    ------
    NotApplicableError
        If ``node_opening`` is "printed".
    """
    options.require_free_opening("sts")
    began = clock()
    tables = tables_of(instance, options)
    seats = sts_assignment(tables)
    seconds = clock() - began
    value = expected_cost(tables, seats)
    return Outcome(
        solution_of(tables, seats), Termination.FEASIBLE, claimed=value, solve_time=seconds
    )


def sts_assignment(tables: Tables) -> dict[int, Seat]:
    """Algorithm 2: seats by job."""
    wishes = select_best_configurations(tables)
    state = ClusterState(tables)
    order = np.argsort(-pressure(tables), kind="stable")
    seats: dict[int, Seat] = {}
    for j in order:
        seat = _assign(tables, state, wishes[j])
        if seat is not None:
            seats[int(j)] = seat
    if tables.options.postprocessing == "on":
        give_idle(tables, state, seats, order)
    return seats


def pressure(tables: Tables) -> NDArray[np.float64]:
    """(27), times eta where it is positive."""
    fastest = tables.worst.reshape(tables.jobs, -1).min(axis=1)
    delta = fastest - tables.due
    weights = np.array([job.tardiness_weight for job in tables.instance.jobs])
    return np.where(delta > 0, delta * weights, delta)


def select_best_configurations(tables: Tables) -> list[list[Wish]]:
    """Algorithm 3 for every job: one wish a GPU type, best first."""
    curves = curves_of(tables)
    wishes: list[list[Wish]] = [[] for _ in range(tables.jobs)]
    for t, kind in enumerate(tables.kinds):
        steps = first_steps(tables, curves, t)
        usable = np.isfinite(tables.seconds[:, t, 0])
        for j in np.flatnonzero(usable):
            meets = steps.speed[j] >= 0
            if meets:
                c = _share(tables, int(j), t, int(steps.speed[j]))
                key = (False, float(steps.energy[j]), t)
            else:
                c = int(tables.worst[j, t, : kind.gpus].argmin())
                key = (True, float(tables.worst[j, t, c]), t)
            wishes[j].append(Wish(t, c, key))
    return [sorted(each, key=lambda wish: wish.key) for each in wishes]


def _share(tables: Tables, j: int, t: int, c: int) -> int:
    """For one GPU, the smallest fraction whose memory suffices and that meets the due date."""
    if c > 0:
        return c
    for shared in reversed(tables.kinds[t].fractions):
        if tables.worst[j, t, shared] <= tables.in_time[j]:
            return shared
    return c


def _assign(tables: Tables, state: ClusterState, wishes: list[Wish]) -> Seat | None:
    for wish in wishes:
        seat = state.seat(wish.kind, wish.configuration)
        if seat is not None:
            return seat
    for wish in wishes if tables.options.strict == "off" else ():
        wanted = tables.kinds[wish.kind].configurations[wish.configuration]
        for gpus in range(min(wanted.gpus - 1, state.most_free(wish.kind)), 0, -1):
            seat = state.seat(wish.kind, gpus - 1)
            if seat is not None:
                return seat
    return None


def give_idle(
    tables: Tables, state: ClusterState, seats: dict[int, Seat], order: NDArray[np.int64]
) -> None:
    """Give jobs what is idle beside them: first sharers more of their GPU, then others more GPUs.

    Parameters
    ----------
    tables : Tables
        What each choice costs; see `tables_of`.
    state : ClusterState
        Nodes, and what is idle on them; changed.
    seats : mapping
        Where each placed job stands, by job; changed.
    order : (n,) int
        Jobs, most pressed first.
    """
    seated = [j for j in map(int, order) if j in seats]
    for give in (_give_fraction, _give_gpus):
        for j in seated:
            seats[j] = give(tables, j, seats[j], state.nodes[seats[j].node])


def _give_fraction(tables: Tables, j: int, seat: Seat, node: NodeState) -> Seat:
    """Of a shared GPU: the least slowdown that fits."""
    kind = tables.kinds[node.kind]
    held = kind.configurations[seat.configuration]
    if not held.shares:
        return seat
    gpu = seat.gpus[0]
    room = node.shared[gpu] + held.fraction
    if room == 1:
        choices = [0, *kind.fractions]
    else:
        choices = [c for c in kind.fractions if kind.configurations[c].fraction <= room]
    best = min(choices, key=lambda c: (tables.seconds[j, node.kind, c], c))
    if tables.seconds[j, node.kind, best] >= tables.seconds[j, node.kind, seat.configuration]:
        return seat
    node.shared[gpu] = room - kind.configurations[best].fraction
    if best == 0:
        del node.shared[gpu]
    return Seat(seat.node, seat.gpus, best)


def _give_gpus(tables: Tables, j: int, seat: Seat, node: NodeState) -> Seat:
    """Whole GPUs of the node while the job gets faster."""
    if tables.kinds[node.kind].configurations[seat.configuration].shares or not node.free:
        return seat
    now = seat.configuration
    more = int(tables.seconds[j, node.kind, now : now + len(node.free) + 1].argmin())
    taken, node.free = node.free[:more], node.free[more:]
    return Seat(seat.node, (*seat.gpus, *taken), now + more)
