"""Solving again in a finer unit of money, where the model's own is too coarse.

Solvers' tolerances are absolute in the model's unit, the mean cost of postponing. A job late for
years, or a very large penalty of postponing, leaves choices below them: any selection is then
called optimal. So the least that each job pays in any role is subtracted, roles that alone cost
more than the rest of the incumbent's value are capped at twice that rest, and the rest becomes the
unit. Selections as cheap as the incumbent keep their order.
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
from optsched.selection.exact.starting_selection import cheaper
from optsched.selection.models.outcomes import TARDINESS, judged

COARSE = 1e-4
"""Rest of the value, in the model's unit, below which the solver's tolerances (1e-9) blur it."""

Solve = Callable[[Tables, Assignment, Settings], tuple[Assignment | None, float | None]]
"""A selection and a bound in the tables' dollars, from an incumbent."""


def solved_in_finer_units(
    tables: Tables, outcome: Outcome, seats: Assignment | None, settings: Settings, solve: Solve
) -> Outcome:
    """The outcome, or that of solving again until the unit is fine enough."""
    unit, certificate = tables.dollars, getattr(outcome.solution, "certificate", None)
    quiet = replace(settings, progress=Progress())
    while seats is not None:
        finer_unit = in_finer_unit(tables, expected_cost(tables, seats), unit)
        if finer_unit is None:
            break
        finer, paid = finer_unit
        bound, source = paid, TARDINESS
        if certificate is not None and certificate.bound > bound:
            bound, source = certificate.bound, "price certificate"
        if not settings.deadline.is_over:
            try:
                found, rest = solve(finer, seats, quiet)
            except OutOfTimeError:
                found = rest = None
            if rest is not None and paid + rest > bound:
                bound, source = paid + rest, str(outcome.solver)
            seats = cheaper(tables, seats, found)
            assert seats is not None
        unit = finer.dollars
        shell = replace(outcome, bound=bound, bound_source=source, trace=())
        outcome = judged(tables, seats, shell, settings, certificate, ARITHMETIC * unit)
        if settings.deadline.is_over:
            break
    return outcome


def in_finer_unit(tables: Tables, value: float, unit: float) -> tuple[Tables, float] | None:
    """Tables of the rest of a value, and the dollars paid in any case; None if the unit will do."""
    paid = float(tables.least.sum())
    rest = value - paid
    if rest >= COARSE * unit or rest <= max(tables.rounding, 1e-13 * value):
        return None
    late = np.minimum(tables.late - tables.least[:, None, None], 2 * rest)
    finer = tables.with_costs(
        late=np.where(np.isfinite(tables.late), late, np.inf),
        postponed=np.minimum(tables.postponed - tables.least, 2 * rest),
    )
    finer.__dict__["dollars"] = rest
    return finer, paid
