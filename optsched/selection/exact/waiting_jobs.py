"""Methods ``fewest-waiting`` and ``same-jobs``: least (P1.1) with the postponed jobs given.

(20) charges a postponed job rho times its worst lateness, which outweighs tardiness and energy. Two
optima leave that charge out of the choice. ``fewest-waiting`` is lexicographic: as many jobs run as
possible ("as many submitted jobs as possible are executed", sts), then at least cost. ``same-jobs``
runs exactly the jobs that ``sts`` runs, at least cost.

Guarantee: both are optimal at the gap asked when their details say "proved"; neither is a bound on
(P1.1). Both are the model of `patterns` with every follower let in, since one may now be dearer
than waiting, and with a row on the z_j or with z fixed: z stays the flow from the jobs to one sink,
so that leaders and followers come out whole as before. Sizes as of `patterns`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pyomo.environ as pyo

from optsched.backends import require_solver
from optsched.backends.sizes import refuse_many_nonzeros, require_time
from optsched.deadline import OutOfTimeError, clock
from optsched.progress import Progress
from optsched.result import ARITHMETIC, Outcome, Settings, Termination
from optsched.selection.assignment import Assignment, expected_cost, solution_of
from optsched.selection.cost import Tables, tables_of
from optsched.selection.exact.starting_selection import known_selections, report_start
from optsched.selection.heuristics.sts import sts_assignment
from optsched.selection.instance import SelectionInstance
from optsched.selection.models.finer_units import in_finer_unit
from optsched.selection.models.outcomes import infeasible_outcome
from optsched.selection.models.pattern_decode import assignment_of
from optsched.selection.models.patterns import build, nonzeros, pattern_data, read_counted
from optsched.selection.models.sifting import solve_sifted
from optsched.selection.options import SelectionOptions

INTEGRALITY_TOL = 1e-6


@dataclass(frozen=True)
class Stages:
    """The incumbent, and the rule on the postponed jobs.

    In `tables` a job that must wait can run nowhere; `paid` dollars are taken off their costs.
    """

    method: str
    tables: Tables
    known: Assignment | None
    restrict: Callable[[pyo.ConcreteModel, Settings], bool]
    """Adds the rule; returns whether it is proved. May raise OutOfTimeError."""
    paid: float = 0.0


def fewest_waiting(
    instance: SelectionInstance, options: SelectionOptions, settings: Settings
) -> Outcome:
    """As few postponed jobs as possible, then least (P1.1); NotApplicableError as `patterns`."""
    tables = tables_of(instance, options)
    found = known_selections(tables)
    known = _best(tables, found) if found else None
    return _solve(tables, Stages("fewest-waiting", tables, known, _wait_least), settings)


def same_jobs(
    instance: SelectionInstance, options: SelectionOptions, settings: Settings
) -> Outcome:
    """Least (P1.1) that places the jobs that `sts` places and no others."""
    tables = tables_of(instance, options)
    known = sts_assignment(tables)

    def restrict(model: pyo.ConcreteModel, _: Settings) -> bool:
        for j in known:
            model.postponed[j].fix(0)
        return True

    waiting = [j for j in range(tables.jobs) if j not in known]
    alone = tables.with_costs(late=tables.late.copy(), expected=tables.expected.copy())
    alone.late[waiting] = alone.expected[waiting] = np.inf
    return _solve(tables, Stages("same-jobs", alone, known, restrict), settings)


def _wait_least(model: pyo.ConcreteModel, settings: Settings) -> bool:
    """Find the least sum of z, and hold it there."""
    model.cost.deactivate()
    model.waiting = pyo.Objective(expr=pyo.quicksum(model.postponed.values()), doc="(4): jobs wait")
    answer = solve_sifted(model, replace(settings, gap=0.0), build_time=0.0)
    if answer.termination is Termination.INFEASIBLE:
        return True  # the second stage finds it too
    if answer.objective is None:
        raise OutOfTimeError
    least = round(answer.objective)
    model.waiting.deactivate()
    model.cost.activate()
    model.fewest = pyo.Constraint(
        expr=pyo.quicksum(model.postponed.values()) <= least, doc="(4): no more wait"
    )
    return answer.bound is not None and math.ceil(answer.bound - INTEGRALITY_TOL) >= least


def _solve(tables: Tables, stages: Stages, settings: Settings) -> Outcome:
    require_solver(settings.solver)
    began = clock()
    size = nonzeros(tables)
    refuse_many_nonzeros(stages.method, size, "use columns")
    report_start(tables, stages.known, settings)
    data = replace(pattern_data(stages.tables), every_follower=True)
    seats, answer, proved, built = stages.known, None, False, 0.0
    try:
        require_time(settings.deadline, size)
        model = build(data, settings.deadline)
        built = clock() - began
        proved = stages.restrict(model, settings)
        answer = solve_sifted(model, settings, build_time=built)
    except OutOfTimeError:
        built = built or clock() - began
    if answer is not None and answer.termination is Termination.INFEASIBLE:
        return infeasible_outcome(tables, answer)
    if answer is not None and answer.has_solution:
        free = float(tables.late[np.isfinite(tables.late)].max()) * tables.jobs
        dear = stages.tables.with_costs(
            postponed=tables.postponed + free
        )  # every job that can run does
        found = assignment_of(dear, read_counted(model))
        seats = _best(tables, [found] if seats is None else [seats, found])
    shell = Outcome(
        None,
        Termination.TIME_LIMIT,
        build_time=built,
        solve_time=clock() - began - built,
        solver=None if answer is None else answer.solver,
    )
    if seats is None:
        return shell
    bound = answer.bound if proved and answer is not None else None
    if bound is None:
        return _judged(tables, seats, shell, None, data.unit, settings)
    left = in_finer_unit(stages.tables, expected_cost(tables, seats) - stages.paid, data.unit)
    if left is None:
        return _judged(tables, seats, shell, stages.paid + bound * data.unit, data.unit, settings)
    paid = stages.paid + left[1]
    finer = replace(stages, tables=left[0], known=seats, paid=paid)
    return _solve(tables, finer, replace(settings, progress=Progress()))


def _best(tables: Tables, found: list[Assignment]) -> Assignment:
    """The cheapest of those that run most jobs."""
    return min(found, key=lambda seats: (-len(seats), expected_cost(tables, seats)))


def _judged(
    tables: Tables,
    seats: Assignment,
    shell: Outcome,
    least: float | None,
    unit: float,
    settings: Settings,
) -> Outcome:
    """The outcome, with the bound that is proved."""
    value = expected_cost(tables, seats)
    room = max(settings.gap * abs(value), tables.rounding, ARITHMETIC * unit)
    proved, late = least is not None and value - least <= room, settings.deadline.is_over
    # the solver's tolerance is absolute in its unit: what it leaves open is not claimed
    bound = None if least is None else min(max(least - ARITHMETIC * unit, 0.0), value)
    return replace(
        shell,
        solution=solution_of(tables, seats),
        termination=Termination.TIME_LIMIT if not proved and late else Termination.FEASIBLE,
        claimed=value,
        details={"proved": proved, "least_cost_bound": bound},
    )
