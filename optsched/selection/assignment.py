"""Assignment of jobs to nodes and GPUs, and its expected cost (P1.1)."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from optsched.selection.cost import Tables, energy_rate
from optsched.selection.solution import Certificate, JobPlacement, SelectionSolution


@dataclass(frozen=True, slots=True)
class Placement:
    """Node, GPU indices on it, and configuration (an index in its type) of one job."""

    node: int
    gpus: tuple[int, ...]
    configuration: int


Assignment = Mapping[int, Placement]
"""Placements by job; jobs that are missing are postponed."""


def expected_cost(tables: Tables, assignment: Assignment) -> float:
    """(P1.1) of an assignment, in dollars. Complexity: O(jobs).

    Parameters
    ----------
    tables : Tables
        Cost tables of the instance; see `tables_of`.
    assignment : Assignment
        Each placed job's placement.

    Returns
    -------
    float
        Dollars.

    Examples
    --------
    >>> import optsched
    >>> from optsched.selection.cost import tables_of
    >>> from optsched.selection.options import SelectionOptions
    >>> tables = tables_of(optsched.load("selection/3x6"), SelectionOptions())
    >>> alone = expected_cost(tables, {0: Placement(2, (0,), 0)})
    >>> alone < expected_cost(tables, {})
    True
    """
    return sum(cost_parts(tables, assignment))


def cost_parts(tables: Tables, assignment: Assignment) -> tuple[float, float, float]:
    """Return the terms of (P1.1): tardiness of placed and of postponed jobs, and energy.

    Parameters
    ----------
    tables : Tables
        Cost tables of the instance; see `tables_of`.
    assignment : Assignment
        Each placed job's placement.

    Returns
    -------
    three floats
        Dollars, in that order.

    Examples
    --------
    >>> import optsched
    >>> from optsched.selection.cost import tables_of
    >>> from optsched.selection.options import SelectionOptions
    >>> tables = tables_of(optsched.load("selection/3x6"), SelectionOptions())
    >>> [round(part, 2) for part in cost_parts(tables, {})]
    [0.0, 35860.79, 0.0]
    """
    tardiness, energy = 0.0, 0.0
    for j, placement in assignment.items():
        kind = tables.kind_of[placement.node]
        tardiness += float(tables.tardiness_cost[j, kind, placement.configuration])
    for node, (seconds, used) in open_nodes(tables, assignment).items():
        energy += seconds * energy_rate(tables, node, used)
    postponed = [j for j in range(tables.jobs) if j not in assignment]
    return tardiness, sum(float(tables.postponement_cost[j]) for j in postponed), energy


def open_nodes(tables: Tables, assignment: Assignment) -> dict[int, tuple[float, int]]:
    """By open node: expected seconds of its first job to complete, and GPUs in use."""
    seconds: dict[int, float] = {}
    used: dict[int, set[int]] = defaultdict(set)
    for j, placement in assignment.items():
        n = placement.node
        completion = float(tables.expected[j, tables.kind_of[n], placement.configuration])
        seconds[n] = min(seconds.get(n, float("inf")), completion)
        used[n].update(placement.gpus)
    return {n: (seconds[n], len(used[n])) for n in seconds}


def assignment_from(tables: Tables, solution: SelectionSolution) -> dict[int, Placement]:
    node_of = {node.name: n for n, node in enumerate(tables.instance.nodes)}
    job_of = {job.name: j for j, job in enumerate(tables.instance.jobs)}
    assignment = {}
    for placed in solution.jobs:
        if placed.node is not None:
            node = node_of[placed.node]
            kind = tables.kinds[tables.kind_of[node]]
            index = kind.configuration_of(len(placed.gpus), placed.fraction)
            assignment[job_of[placed.name]] = Placement(node, tuple(placed.gpus), index)
    return assignment


def solution_of(
    tables: Tables, assignment: Assignment, certificate: Certificate | None = None
) -> SelectionSolution:
    placements = []
    for j, job in enumerate(tables.instance.jobs):
        placement = assignment.get(j)
        if placement is None:
            placements.append(JobPlacement(name=job.name, node=None))
            continue
        node = tables.instance.nodes[placement.node]
        kind = tables.kinds[tables.kind_of[placement.node]]
        share, gpus = kind.configurations[placement.configuration].share, sorted(placement.gpus)
        placed = JobPlacement(name=job.name, node=node.name, gpus=tuple(gpus), fraction=share)
        placements.append(placed)
    extra: dict[str, Any] = {} if certificate is None else {"certificate": certificate}
    return SelectionSolution(
        schema="optsched/selection-solution",
        version=1,
        instance=tables.instance.name,
        jobs=tuple(placements),
        **extra,
    )
