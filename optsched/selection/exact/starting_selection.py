"""The incumbent before any model is stated: a heuristic's selection, or one with enough nodes.

Every exact method starts here, so that it has an answer however short its limit. The first bound is
the least tardiness of each job; where no model is stated, that of a few rounds of prices.
"""

from __future__ import annotations

from optsched.result import Outcome, Settings, Termination
from optsched.selection.assignment import Assignment, expected_cost
from optsched.selection.cost import Tables
from optsched.selection.heuristics.cluster_state import ClusterState
from optsched.selection.heuristics.dp import dp_jobs, fastest_seats
from optsched.selection.heuristics.sts import sts_assignment
from optsched.selection.models.node_opening import opening
from optsched.selection.models.outcomes import (
    infeasible_outcome,
    judged,
    tardiness_bound,
)

MAX_PAIRS = 10**8
"""Jobs x GPUs of avg-dp's table, beyond which it takes seconds and gigabytes."""


def starting_seats(tables: Tables) -> Assignment | None:
    """The better of STS's and avg-dp's selections; with (16) as printed, one that keeps to it.

    None where no selection does. Each takes milliseconds, at most a second for thousands of jobs.
    """
    return cheaper(tables, *known_selections(tables))


def cheaper(tables: Tables, *found: Assignment | None) -> Assignment | None:
    """The selection of least expected cost; the first of equals, None if there is none."""
    known = [seats for seats in found if seats is not None]
    return min(known, key=lambda seats: expected_cost(tables, seats), default=None)


def known_selections(tables: Tables) -> list[Assignment]:
    """STS's, and avg-dp's where it is quick; with (16) as printed one that keeps to it, or none."""
    if tables.options.opens_exactly:
        found = opening(tables)
        return [] if found is None else [found]
    selections: list[Assignment] = [sts_assignment(tables)]
    gpus = sum(node.gpus for node in tables.instance.nodes)
    if tables.jobs * gpus <= MAX_PAIRS:
        order = dp_jobs(tables, tables.expected)
        selections.append(fastest_seats(tables, ClusterState(tables), order))
    return selections


def report_start(tables: Tables, known: Assignment | None, settings: Settings) -> None:
    """Report the incumbent and the first bound."""
    value = None if known is None else expected_cost(tables, known)
    settings.progress.report(value, tardiness_bound(tables))


def without_model(tables: Tables, known: Assignment | None, settings: Settings) -> Outcome:
    """The outcome where the limit leaves no time for a model: the incumbent, and a quick bound."""
    from optsched.selection.bounds.price_search import quick_bound

    if known is None:
        return infeasible_outcome(tables)
    bound, source = quick_bound(tables.instance, tables.options, settings.deadline)
    message = "the limit leaves no time to state a model: the best heuristic stands"
    shell = Outcome(
        None,
        Termination.TIME_LIMIT,
        bound=bound,
        bound_source=source,
        details={"message": message},
        solve_time=settings.deadline.spent,
    )
    return judged(tables, known, shell, settings, limited=True)
