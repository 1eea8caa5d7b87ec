"""What is left to decide, where the model's unit of money is too coarse to tell it.

Solvers' tolerances are absolute in the model's unit, the mean cost of postponing. A job late for
years, or one that postponing makes very dear, leaves choices below them: "optimal" is then said of
any. So the least that each job pays in any role is taken off, and a role dearer than all that is
then left of the value known, which no better selection has, costs twice that instead. Selections
as cheap as the one known keep their order, and the unit is what is left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from optsched.deadline import OutOfTimeError
from optsched.progress import Progress
from optsched.result import ARITHMETIC, Outcome, Settings
from optsched.selection.assignment import Assignment, expected_cost
from optsched.selection.cost import Tables
from optsched.selection.models.outcomes import TARDINESS, judged

TELLING = 1e-4
"""What is left, in the model's unit, that its solver's tolerances (1e-9) still tell well."""

Solve = Callable[[Tables, Assignment, Settings], tuple[Assignment | None, float | None]]
"""A selection and a bound in the tables' dollars, from one that is known."""


def told_apart(
    tables: Tables, outcome: Outcome, seats: Assignment | None, settings: Settings, solve: Solve
) -> Outcome:
    """The outcome, or that of solving again what its unit could not tell."""
    unit, certificate = tables.dollars, getattr(outcome.solution, "certificate", None)
    quiet = replace(settings, progress=Progress())
    while seats is not None:
        left = what_is_left(tables, expected_cost(tables, seats), unit)
        if left is None:
            break
        finer, bound = left
        source: str | None = TARDINESS
        if certificate is not None and certificate.bound > bound:
            bound, source = certificate.bound, "price certificate"
        if not settings.deadline.is_over:
            try:
                found, least = solve(finer, seats, quiet)
            except OutOfTimeError:
                found = least = None
            if least is not None and left[1] + least > bound:
                bound, source = left[1] + least, outcome.solver
            if found is not None:
                seats = min(seats, found, key=lambda each: expected_cost(tables, each))
        unit = finer.dollars
        shell = replace(outcome, bound=bound, bound_source=source, trace=())
        outcome = judged(tables, seats, shell, settings, certificate, ARITHMETIC * unit)
        if settings.deadline.is_over:
            break
    return outcome


def nothing_more(*_: object) -> tuple[None, None]:
    """Of a model that cannot be stated in other costs: its word is not taken."""
    return None, None


def what_is_left(tables: Tables, value: float, unit: float) -> tuple[Tables, float] | None:
    """Tables of what is left to decide below a value, and the dollars paid in any case."""
    paid = float(tables.least.sum())
    left = value - paid
    if left >= TELLING * unit or left <= max(tables.rounding, 1e-13 * value):
        return None
    late = np.minimum(tables.late - tables.least[:, None, None], 2 * left)
    finer = tables.with_costs(
        late=np.where(np.isfinite(tables.late), late, np.inf),
        postponed=np.minimum(tables.postponed - tables.least, 2 * left),
    )
    finer.__dict__["dollars"] = left
    return finer, paid
