"""Method ``ilp-relaxed``: the MILP without contention, a lower bound on the makespan.

Every spanning run takes its least duration and links are free: constraints (1)-(5) of
models/makespan/README.md. Guarantee: its optimum, and at a time limit its bound, is at most every
makespan. It is at least the area and the longest job.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import pyomo.environ as pyo

from optsched.backends import Answer, require_solver, solve_model
from optsched.deadline import clock
from optsched.makespan.bounds.best import Bound
from optsched.makespan.contention import Schedule
from optsched.makespan.exact.starting_schedules import take_starting_schedules
from optsched.makespan.incumbent import SEARCH_SHARE, Incumbent
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.models import formulation
from optsched.makespan.models.data import Plan, model_data, require_slots
from optsched.makespan.options import MakespanOptions
from optsched.result import Outcome, Settings, Termination

ROUNDING = 1e-6


@dataclass(frozen=True)
class Solved:
    """A slotted model solved: what it proves, and the schedule in it if there is one.

    Attributes
    ----------
    bound : int
        Every schedule that ends by the horizon takes at least so many slots; the horizon plus
        one when there is none.
    """

    bound: int
    schedule: Schedule | None
    answer: Answer


def ilp_relaxed(
    instance: MakespanInstance, options: MakespanOptions, settings: Settings
) -> Outcome:
    """Solve the relaxation; the outcome has a bound and no schedule."""
    require_solver(settings.solver)
    require_slots("ilp-relaxed", instance)
    found, answer, status = Incumbent(instance, settings), None, Termination.OPTIMAL
    with found.working():
        take_starting_schedules(found, settings)
        share = settings.deadline.share(SEARCH_SHARE)
        found.bounded(share, contention=False)
        top, low = int(min(found.value, instance.horizon)), int(found.bound.value)
        if low < found.value and not found.impossible:
            solved = solve_slotted(instance, top, low, settings, contention=False)
            answer, status = solved.answer, solved.answer.termination
            found.prove(Bound(float(solved.bound), "relaxation"))
    return found.bound_alone(status, "a bound: the relaxation has no schedule", answer)


def model(
    instance: MakespanInstance, options: MakespanOptions, *, pruned: bool = False
) -> pyo.ConcreteModel:
    """Build the relaxation alone."""
    return model_of(instance, contention=False, pruned=pruned)


def model_of(
    instance: MakespanInstance, *, contention: bool, pruned: bool = False
) -> pyo.ConcreteModel:
    """Build a slotted model from the combinatorial bound to the horizon.

    A pruned one ends at the best heuristic's makespan instead, and orders what is equal.
    """
    require_slots("ilp" if contention else "ilp-relaxed", instance)
    settings = Settings()
    found = Incumbent(instance, settings)
    if pruned:
        take_starting_schedules(found, settings)
    found.bounded(settings.deadline, contention=False)
    top = int(min(found.value, instance.horizon))
    low = min(int(found.bound.value), top)
    return formulation.build(model_data(instance, top, low, contention=contention, pruned=pruned))


def solve_slotted(
    instance: MakespanInstance,
    horizon: int,
    low: int,
    settings: Settings,
    *,
    contention: bool,
    plan: Plan | None = None,
) -> Solved:
    """Build and solve a slotted model; see `formulation`."""
    began = clock()
    data = model_data(
        instance, horizon, low, contention=contention, deadline=settings.deadline, plan=plan
    )
    built = formulation.build(data)
    answer = solve_model(
        built,
        settings,
        build_time=clock() - began,
        heard=lambda _, bound: settings.progress.report(None, bound),
    )
    if answer.termination is Termination.INFEASIBLE:
        return Solved(horizon + 1, None, answer)
    bound = low if answer.bound is None else max(low, math.ceil(answer.bound - ROUNDING))
    schedule = formulation.read_schedule(built, data) if answer.has_solution else None
    return Solved(bound, schedule, answer)
