"""The methods' decisions, and their expected cost (P1.1)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from optsched.selection.cost import Tables, energy_rate
from optsched.selection.solution import Certificate, JobPlacement, SelectionSolution


@dataclass(frozen=True, slots=True)
class Seat:
    """A job's place: node, GPU indices on it, and the configuration's index in its type."""

    node: int
    gpus: tuple[int, ...]
    configuration: int


Assignment = Mapping[int, Seat]
"""Seats by job; a job left out is postponed."""


def expected_cost(tables: Tables, assignment: Assignment) -> float:
    """(P1.1) of an assignment, in dollars. Complexity: O(jobs).

    Parameters
    ----------
    tables : Tables
        What each choice costs; see `tables_of`.
    assignment : Assignment
        Each placed job's seat.

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
    >>> alone = expected_cost(tables, {0: Seat(2, (0,), 0)})
    >>> alone < expected_cost(tables, {})
    True
    """
    return sum(cost_parts(tables, assignment))


def cost_parts(tables: Tables, assignment: Assignment) -> tuple[float, float, float]:
    """(P1.1) by its parts: tardiness of the placed, of the postponed, energy.

    Parameters
    ----------
    tables : Tables
        What each choice costs; see `tables_of`.
    assignment : Assignment
        Each placed job's seat.

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
    late, energy = 0.0, 0.0
    first: dict[int, float] = {}
    used: dict[int, set[int]] = defaultdict(set)
    for j, seat in assignment.items():
        at = (j, tables.kind_of[seat.node], seat.configuration)
        late += float(tables.late[at])
        first[seat.node] = min(first.get(seat.node, float("inf")), float(tables.expected[at]))
        used[seat.node].update(seat.gpus)
    for node, seconds in first.items():
        energy += seconds * energy_rate(tables, node, len(used[node]))
    postponed = sum(float(tables.postponed[j]) for j in range(tables.jobs) if j not in assignment)
    return late, postponed, energy


def solution_of(
    tables: Tables, assignment: Assignment, certificate: Certificate | None = None
) -> SelectionSolution:
    """The assignment as a solution file's object."""
    placements = [_placement(tables, j, assignment.get(j)) for j in range(tables.jobs)]
    extra: dict[str, Any] = {} if certificate is None else {"certificate": certificate}
    return SelectionSolution(
        schema="optsched/selection-solution",
        version=1,
        instance=tables.instance.name,
        jobs=tuple(placements),
        **extra,
    )


def _placement(tables: Tables, job: int, seat: Seat | None) -> JobPlacement:
    name = tables.instance.jobs[job].name
    if seat is None:
        return JobPlacement(name=name, node=None)
    configuration = tables.kinds[tables.kind_of[seat.node]].configurations[seat.configuration]
    return JobPlacement(
        name=name,
        node=tables.instance.nodes[seat.node].name,
        gpus=tuple(sorted(seat.gpus)),
        fraction=float(configuration.fraction),
    )
