"""From solver answers to outcomes, with the better assignment and a valid bound.

Solvers' tolerances are absolute in the model's unit, the mean cost of postponing. A very late job
or a large penalty makes other cost differences smaller than the tolerance, and any assignment is
then called optimal. Therefore `solved_in_finer_units` solves again: it subtracts each job's minimum
cost, caps each role at twice the remaining value, and uses the remaining value as the unit.
Assignments as cheap as the incumbent keep their order.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from optsched.backends.solver_result import SolverResult
from optsched.deadline import OutOfTimeError
from optsched.progress import Progress
from optsched.result import (
    ARITHMETIC_RTOL,
    Outcome,
    Settings,
    Termination,
    is_proved,
    termination_of,
)
from optsched.selection.assignment import Assignment, expected_cost, solution_of
from optsched.selection.bounds.dual_search import quick_bound
from optsched.selection.cost import TARDINESS, Tables
from optsched.selection.exact.incumbents import cheaper
from optsched.selection.solution import Certificate

RESCALE_BELOW = 0.02
"""Open cost, in the model's unit, below which a model in a finer unit is solved as well: HiGHS's
tolerances have shifted a bound by 1e-7 of an open cost of 0.002 units."""

Solve = Callable[[Tables, Assignment, Settings], tuple[Assignment | None, float | None]]
"""An assignment and a bound in the tables' dollars, from an incumbent."""


def model_outcome(
    tables: Tables,
    answer: SolverResult,
    incumbent: Assignment | None,
    solver_assignment: Assignment | None,
    unit: float,
    settings: Settings,
) -> Outcome:
    if answer.termination is Termination.INFEASIBLE and incumbent is None:
        return infeasible_outcome(tables, answer)
    bound, source = tables.unavoidable_cost, TARDINESS
    if answer.bound is not None and answer.bound * unit > bound:
        bound, source = answer.bound * unit, answer.solver
    outcome = Outcome(
        None,
        Termination.TIME_LIMIT,
        bound=bound,
        bound_source=source,
        build_time=answer.build_time,
        solve_time=answer.solve_time,
        solver=answer.solver,
        trace=answer.scaled_trace(unit),
    )
    assignment = cheaper(tables, incumbent, solver_assignment)
    if assignment is None:
        return outcome
    limited = answer.termination is Termination.TIME_LIMIT
    rounding = ARITHMETIC_RTOL * unit
    return with_assignment(tables, assignment, outcome, settings, None, rounding, limited)


def with_assignment(
    tables: Tables,
    assignment: Assignment,
    outcome: Outcome,
    settings: Settings,
    certificate: Certificate | None = None,
    rounding: float = 0.0,
    limited: bool | None = None,
) -> Outcome:
    """Complete an outcome with an assignment, optimal if the bound proves it at the gap."""
    value = expected_cost(tables, assignment)
    bound = None if outcome.bound is None else min(outcome.bound, value)
    limited = settings.deadline.is_over if limited is None else limited
    proved = bound is not None and (
        is_proved(value, bound, settings.gap) or value - bound <= max(rounding, tables.rounding)
    )
    return replace(
        outcome,
        solution=solution_of(tables, assignment, certificate),
        termination=termination_of(proved, limited),
        bound=bound,
        claimed=value,
    )


def infeasible_outcome(tables: Tables, answer: SolverResult | None = None) -> Outcome:
    """The outcome where no assignment opens the nodes that (16) requires as printed."""
    required = f"min(|J|, |N|) = {tables.max_open_nodes} nodes"
    message = f"no selection opens exactly {required}, as (16) is printed"
    return Outcome(
        None,
        Termination.INFEASIBLE,
        build_time=0.0 if answer is None else answer.build_time,
        solve_time=0.0 if answer is None else answer.solve_time,
        solver=None if answer is None else answer.solver,
        details={"message": message},
    )


def outcome_without_model(
    tables: Tables, incumbent: Assignment | None, settings: Settings
) -> Outcome:
    """The outcome where the limit leaves no time for a model: the incumbent, and a quick bound."""
    if incumbent is None:
        return infeasible_outcome(tables)
    bound, source = quick_bound(tables.instance, tables.options, settings.deadline)
    message = "time limit too short to build the model; returned the best heuristic solution"
    outcome = Outcome(
        None,
        Termination.TIME_LIMIT,
        bound=bound,
        bound_source=source,
        details={"message": message},
        solve_time=settings.deadline.spent,
    )
    return with_assignment(tables, incumbent, outcome, settings, limited=True)


def solved_in_finer_units(
    tables: Tables,
    outcome: Outcome,
    incumbent: Assignment | None,
    settings: Settings,
    solve: Solve,
) -> Outcome:
    """The outcome, or that of solving again until the unit is fine enough."""
    unit, certificate = tables.money_unit, getattr(outcome.solution, "certificate", None)
    silent = replace(settings, progress=Progress())
    while incumbent is not None:
        finer_unit = in_finer_unit(tables, expected_cost(tables, incumbent), unit)
        if finer_unit is None:
            break
        finer, paid = finer_unit
        bound, source = paid, TARDINESS
        if certificate is not None and certificate.bound > bound:
            bound, source = certificate.bound, "price certificate"
        if not settings.deadline.is_over:
            try:
                assignment, open_bound = solve(finer, incumbent, silent)
            except OutOfTimeError:
                assignment = open_bound = None
            if open_bound is not None and paid + open_bound > bound:
                bound, source = paid + open_bound, str(outcome.solver)
            incumbent = cheaper(tables, incumbent, assignment) or incumbent
        unit = finer.money_unit
        # the coarse model's last bounds may exceed the optimum by its solver's tolerance
        trace = tuple(
            replace(point, bound=min(point.bound, bound)) if point.bound is not None else point
            for point in outcome.trace
        )
        outcome = replace(outcome, bound=bound, bound_source=source, trace=trace)
        outcome = with_assignment(
            tables, incumbent, outcome, settings, certificate, ARITHMETIC_RTOL * unit
        )
        if settings.deadline.is_over:
            break
    return outcome


def in_finer_unit(tables: Tables, value: float, unit: float) -> tuple[Tables, float] | None:
    """Tables of the open cost, and the dollars paid in any case; None if the unit is fine."""
    paid = tables.unavoidable_cost
    open_cost = value - paid
    if open_cost >= RESCALE_BELOW * unit or open_cost <= max(tables.rounding, 1e-13 * value):
        return None
    tardiness_cost = np.minimum(
        tables.tardiness_cost - tables.min_cost[:, None, None], 2 * open_cost
    )
    finer = tables.with_costs(
        tardiness_cost=np.where(np.isfinite(tables.tardiness_cost), tardiness_cost, np.inf),
        postponement_cost=np.minimum(tables.postponement_cost - tables.min_cost, 2 * open_cost),
        money_unit=open_cost,
    )
    return finer, paid
