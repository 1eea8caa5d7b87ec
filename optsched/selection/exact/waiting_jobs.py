"""Methods ``fewest-waiting`` and ``same-jobs``: minimise (P1.1) under a rule on which jobs are
postponed.

``fewest-waiting`` is lexicographic: as many jobs run as possible, then at least cost; ``same-jobs``
runs exactly the jobs that ``sts`` runs, at least cost. Guarantee: both are optimal at the requested
gap when their details say "proved"; neither is a bound on (P1.1). Both are the model of `patterns`
with all followers and a rule on z; roles stay integral (models/selection/README.md, "Who waits").
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pyomo.environ as pyo

from optsched.backends.models import solve_model
from optsched.backends.pyomo_solvers import require_solver
from optsched.backends.sizes import refuse_many_nonzeros, require_time
from optsched.deadline import OutOfTimeError, clock
from optsched.progress import Progress
from optsched.result import ARITHMETIC_RTOL, Outcome, Settings, Termination
from optsched.selection.assignment import Assignment, expected_cost, solution_of
from optsched.selection.cost import Tables, tables_of
from optsched.selection.exact.incumbents import heuristic_assignments, report_start
from optsched.selection.exact.outcomes import in_finer_unit, infeasible_outcome
from optsched.selection.heuristics.sts import sts_assignment
from optsched.selection.instance import SelectionInstance
from optsched.selection.models.pattern_decode import assignment_of
from optsched.selection.models.patterns import build, nonzeros, pattern_data, read_solution
from optsched.selection.options import SelectionOptions

INTEGRALITY_TOL = 1e-6


@dataclass(frozen=True)
class RestrictedProblem:
    """The incumbent, and tables where a waiting job cannot run, less `constant` dollars."""

    method: str
    tables: Tables
    incumbent: Assignment | None
    restrict: Callable[[pyo.ConcreteModel, Settings], bool]
    """Adds the rule; returns whether it is proved. May raise OutOfTimeError."""
    constant: float = 0.0


def fewest_waiting(
    instance: SelectionInstance, options: SelectionOptions, settings: Settings
) -> Outcome:
    """As few postponed jobs as possible, then least (P1.1); NotApplicableError as `patterns`."""
    tables = tables_of(instance, options)
    assignments = heuristic_assignments(tables)
    incumbent = _best(tables, assignments) if assignments else None
    problem = RestrictedProblem("fewest-waiting", tables, incumbent, _fix_min_postponed)
    return _solve(tables, problem, settings)


def same_jobs(
    instance: SelectionInstance, options: SelectionOptions, settings: Settings
) -> Outcome:
    """Least (P1.1) that places the jobs that `sts` places and no others."""
    tables = tables_of(instance, options)
    incumbent = sts_assignment(tables)

    def restrict(model: pyo.ConcreteModel, _: Settings) -> bool:
        for j in incumbent:
            model.postponed[j].fix(0)
        return True

    waiting = [j for j in range(tables.jobs) if j not in incumbent]
    restricted = tables.with_costs(
        tardiness_cost=tables.tardiness_cost.copy(), expected=tables.expected.copy()
    )
    restricted.tardiness_cost[waiting] = restricted.expected[waiting] = np.inf
    return _solve(tables, RestrictedProblem("same-jobs", restricted, incumbent, restrict), settings)


def _fix_min_postponed(model: pyo.ConcreteModel, settings: Settings) -> bool:
    """Minimise the number of postponed jobs and fix it by a constraint."""
    model.cost.deactivate()
    model.waiting = pyo.Objective(expr=pyo.quicksum(model.postponed.values()), doc="(4): jobs wait")
    answer = solve_model(model, replace(settings, gap=0.0), build_time=0.0)
    if answer.termination is Termination.INFEASIBLE:
        return True  # the second stage finds it too
    if answer.objective is None:
        raise OutOfTimeError
    min_postponed = round(answer.objective)
    model.waiting.deactivate()
    model.cost.activate()
    model.fewest = pyo.Constraint(
        expr=pyo.quicksum(model.postponed.values()) <= min_postponed, doc="(4): no more wait"
    )
    return answer.bound is not None and math.ceil(answer.bound - INTEGRALITY_TOL) >= min_postponed


def _solve(tables: Tables, problem: RestrictedProblem, settings: Settings) -> Outcome:
    require_solver(settings.solver)
    started = clock()
    size = nonzeros(tables)
    refuse_many_nonzeros(problem.method, size, "use columns")
    report_start(tables, problem.incumbent, settings)
    data = replace(pattern_data(problem.tables), every_follower=True)
    unit = problem.tables.money_unit
    assignment, answer, proved, build_time = problem.incumbent, None, False, 0.0
    try:
        require_time(settings.deadline, size)
        model = build(data, settings.deadline)
        build_time = clock() - started
        proved = problem.restrict(model, settings)
        answer = solve_model(model, settings, build_time=build_time)
    except OutOfTimeError:
        build_time = build_time or clock() - started
    if answer is not None and answer.termination is Termination.INFEASIBLE:
        return infeasible_outcome(tables, answer)
    if answer is not None and answer.has_solution:
        # postponing costs more than any tardiness, so that every job that can run does
        max_tardiness = tables.tardiness_cost[np.isfinite(tables.tardiness_cost)].max()
        run_all_costs = tables.postponement_cost + max_tardiness * tables.jobs
        run_all_tables = problem.tables.with_costs(postponement_cost=run_all_costs)
        solver_assignment = assignment_of(run_all_tables, read_solution(model))
        assignment = _best(tables, [*([assignment] if assignment else []), solver_assignment])
    outcome = Outcome(
        None,
        Termination.TIME_LIMIT,
        build_time=build_time,
        solve_time=clock() - started - build_time,
        solver=None if answer is None else answer.solver,
    )
    if assignment is None:
        return outcome
    bound = None
    if proved and answer is not None and answer.bound is not None:
        bound = problem.constant + answer.bound * unit
        open_value = expected_cost(tables, assignment) - problem.constant
        rescaled = in_finer_unit(problem.tables, open_value, unit)
        if rescaled is not None:
            constant = problem.constant + rescaled[1]
            finer = replace(problem, tables=rescaled[0], incumbent=assignment, constant=constant)
            return _solve(tables, finer, replace(settings, progress=Progress()))
    value = expected_cost(tables, assignment)
    solver_tolerance = ARITHMETIC_RTOL * unit
    tolerance = max(settings.gap * abs(value), tables.rounding, solver_tolerance)
    proved = bound is not None and value - bound <= tolerance
    out_of_time = not proved and settings.deadline.is_over
    if bound is not None:
        bound = min(max(bound - solver_tolerance, 0.0), value)
    return replace(
        outcome,
        solution=solution_of(tables, assignment),
        termination=Termination.TIME_LIMIT if out_of_time else Termination.FEASIBLE,
        claimed=value,
        details={"proved": proved, "least_cost_bound": bound},
    )


def _best(tables: Tables, assignments: list[Assignment]) -> Assignment:
    """The cheapest of those that run most jobs."""
    return min(assignments, key=lambda one: (-len(one), expected_cost(tables, one)))
