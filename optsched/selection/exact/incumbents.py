"""The incumbent before a model is built: a heuristic's assignment, or one that opens enough nodes.

Every exact method starts here, so that any time limit gives a solution.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from optsched.result import Settings
from optsched.selection.assignment import Assignment, Placement, assignment_from, expected_cost
from optsched.selection.cost import Tables
from optsched.selection.heuristics.dp import dp_jobs, fastest_assignment
from optsched.selection.heuristics.sts import sts_assignment
from optsched.selection.models.arcs import ArcFlow, Ints

MAX_PAIRS = 10**8
"""Largest table of avg-dp (jobs x GPUs); above it avg-dp takes seconds and gigabytes."""


def starting_assignment(tables: Tables, settings: Settings) -> Assignment | None:
    """Report and return the cheapest of the heuristics' assignments and the start, if any."""
    start = None if settings.start is None else assignment_from(tables, settings.start)
    incumbent = cheaper(tables, start, *heuristic_assignments(tables))
    report_start(tables, incumbent, settings)
    return incumbent


def cheaper(tables: Tables, *assignments: Assignment | None) -> Assignment | None:
    """The assignment of least expected cost; the first of equals, None if there is none."""
    existing = [assignment for assignment in assignments if assignment is not None]
    return min(existing, key=lambda one: expected_cost(tables, one), default=None)


def heuristic_assignments(tables: Tables) -> list[Assignment]:
    """STS and, where it is quick, avg-dp; under node_opening=printed one that satisfies (16)."""
    if tables.options.opens_exactly:
        assignment = opening_assignment(tables)
        return [] if assignment is None else [assignment]
    assignments: list[Assignment] = [sts_assignment(tables)]
    gpus = sum(node.gpus for node in tables.instance.nodes)
    if tables.jobs * gpus <= MAX_PAIRS:
        assignments.append(fastest_assignment(tables, dp_jobs(tables, tables.expected)))
    return assignments


def report_start(tables: Tables, incumbent: Assignment | None, settings: Settings) -> None:
    value = None if incumbent is None else expected_cost(tables, incumbent)
    settings.progress.report(value, tables.unavoidable_cost)


def opening_assignment(tables: Tables) -> Assignment | None:
    """One job alone on each of min(|J|, |N|) nodes, the others postponed; None where impossible."""
    # A maximum flow from jobs over types to nodes: a job can open a node of a type whose single
    # GPU it can use, so whole GPUs decide.
    kinds, nodes = len(tables.kinds), tables.instance.nodes
    fits = np.isfinite(tables.tardiness_cost[:, :, 0])
    flow = largest_flow(
        np.ones(tables.jobs, np.int64), fits, np.bincount(tables.kind_of, minlength=kinds)
    )
    if flow.sum() < tables.max_open_nodes:
        return None
    # The cheapest nodes of each type are opened.
    rates = [node.cost_rate[0] for node in nodes]
    free = [
        sorted(np.flatnonzero(tables.kind_of == t), key=lambda n: -rates[n]) for t in range(kinds)
    ]
    assignment = {}
    for job, kind in np.argwhere(flow > 0).tolist():
        assignment[job] = _cheapest_alone(tables, job, int(free[kind].pop()))
    return assignment


def largest_flow(supply: Ints, usable: NDArray[np.bool_], demand: Ints) -> NDArray[np.int32]:
    """The largest flow from suppliers (rows) to consumers (columns) that can use them."""
    count, sink = len(supply), len(supply) + len(demand) + 1
    a, b = np.nonzero(usable)
    rows = np.concatenate((np.full(count, sink - 1), a, np.arange(count, sink - 1)))
    columns = np.concatenate((np.arange(count), count + b, np.full(len(demand), sink)))
    values = np.concatenate((supply, supply[a], demand)).astype(np.int32)
    graph = csr_array((values, (rows, columns)), shape=(sink + 1, sink + 1))
    flow = maximum_flow(graph, sink - 1, sink).flow[:count, count : sink - 1]
    return flow.toarray()


def opening_leaders(flow: ArcFlow) -> Ints:
    """The leaders (j, v, L, u) of `opening_assignment`, a row each; none if opening is free."""
    tables = flow.tables
    assignment = opening_assignment(tables) if tables.options.opens_exactly else None
    class_of = {n: v for v, node_class in enumerate(flow.classes) for n in node_class.nodes}
    leaders = [
        (j, class_of[placement.node], placement.configuration, len(placement.gpus))
        for j, placement in (assignment or {}).items()
    ]
    return np.array(leaders, dtype=np.int64).reshape(-1, 4)


def _cheapest_alone(tables: Tables, job: int, node: int) -> Placement:
    """The whole GPUs of a node that cost least for one job alone."""
    kind, rates = int(tables.kind_of[node]), tables.instance.nodes[node].cost_rate
    late, expected = tables.tardiness_cost[job, kind], tables.expected[job, kind]
    gpus = min(
        (k for k in range(1, len(rates) + 1) if np.isfinite(late[k - 1])),
        key=lambda k: float(late[k - 1] + expected[k - 1] * rates[k - 1]),
    )
    return Placement(node, tuple(range(gpus)), gpus - 1)
