"""What is known before any model is stated: a heuristic's selection, and whether a model fits.

Every exact method starts here, so that it has an answer however short its limit; the bound is that
of each job by itself until a better one is proved.
"""

from __future__ import annotations

from optsched.deadline import Deadline
from optsched.errors import NotApplicableError
from optsched.result import Outcome, Settings, Termination
from optsched.selection.assignment import Assignment, expected_cost
from optsched.selection.cluster_state import ClusterState
from optsched.selection.cost import Tables
from optsched.selection.dp import dp_jobs, fastest_seats
from optsched.selection.outcomes import TARDINESS, judged, tardiness_bound
from optsched.selection.sts import sts_assignment

MOST_NONZEROS = 3_000_000
"""Entries of a model's rows: in Pyomo and the solver together some 2 GB and half a minute."""
BUILT_PER_SECOND = 60_000
"""Entries stated, and handed to the solver, in a second on a slow core."""


def known_seats(tables: Tables) -> Assignment | None:
    """The better of STS's and avg-dp's selections; None where exactly so many nodes must open.

    Neither knows of (16) as it is printed. Both take milliseconds, seconds for thousands of jobs.
    """
    if tables.options.opens_exactly:
        return None
    order = dp_jobs(tables, tables.expected)
    found = [sts_assignment(tables), fastest_seats(tables, ClusterState(tables), order)]
    return min(found, key=lambda seats: expected_cost(tables, seats))


def without_model(tables: Tables, known: Assignment | None, settings: Settings) -> Outcome:
    """The outcome where the limit leaves no time for a model: what is known, and a plain bound."""
    message = "the limit leaves no time to state a model: the best heuristic stands"
    shell = Outcome(
        None,
        Termination.TIME_LIMIT,
        bound=tardiness_bound(tables),
        bound_source=TARDINESS,
        details={"message": message},
        solve_time=settings.deadline.spent,
    )
    if known is None:
        return shell
    return judged(tables, known, shell, settings, limited=True)


def fits(deadline: Deadline, nonzeros: int) -> bool:
    """Whether a model of so many entries can be stated in the time left."""
    return deadline.has(nonzeros / BUILT_PER_SECOND)


def refuse_many_nonzeros(method: str, nonzeros: int, instead: str) -> None:
    """Refuse a model that would not fit in memory.

    Raises
    ------
    NotApplicableError
        Above `MOST_NONZEROS`, in the method's name.
    """
    if nonzeros > MOST_NONZEROS:
        found = f"about {nonzeros} nonzeros"
        raise NotApplicableError(method, found, f"at most {MOST_NONZEROS}: use {instead}")
