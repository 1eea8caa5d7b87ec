"""Method ``ilp-relaxed``: the MILP without contention, a lower bound on the makespan.

Every spanning run takes its least duration and links are free: constraints (1)-(5) of
models/makespan/README.md. Guarantee: its optimum, and at a time limit its bound, is at most every
makespan. It is at least the area and the longest job.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import pyomo.environ as pyo

from optsched.backends import Answer, require_solver, solve_model
from optsched.makespan import formulation
from optsched.makespan.bounds import Bound, best_bound
from optsched.makespan.contention import Schedule, evaluate
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.known import known_schedule
from optsched.makespan.model_data import model_data, require_slots
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
    """Solve the relaxation; the outcome has a bound and no schedule.

    Raises
    ------
    NotApplicableError
        Under continuous progress, or where the model is too large.
    """
    require_solver(settings.solver)
    began = time.perf_counter()
    known = known_schedule(instance, settings)
    top = instance.horizon if known is None else int(evaluate(instance, known).makespan)
    bound = best_bound(instance, high=top)
    require_slots("ilp-relaxed", instance)
    low = int(bound.value)
    if low >= top:
        return _outcome(bound, Termination.OPTIMAL, None, began)
    solved = solve_slotted(instance, top, low, settings, contention=False)
    if solved.bound > bound.value:
        bound = Bound(float(min(solved.bound, top)), "relaxation")
    return _outcome(bound, solved.answer.termination, solved.answer, began)


def model(instance: MakespanInstance, options: MakespanOptions) -> pyo.ConcreteModel:
    """Build the relaxation alone."""
    return model_of(instance, contention=False)


def model_of(instance: MakespanInstance, *, contention: bool) -> pyo.ConcreteModel:
    """Build a slotted model between the combinatorial bound and the best heuristic's makespan."""
    known = known_schedule(instance, Settings())
    top = instance.horizon if known is None else int(evaluate(instance, known).makespan)
    require_slots("ilp" if contention else "ilp-relaxed", instance)
    low = min(int(best_bound(instance, high=top).value), top)
    return formulation.build(model_data(instance, top, low, contention=contention))


def solve_slotted(
    instance: MakespanInstance, horizon: int, low: int, settings: Settings, *, contention: bool
) -> Solved:
    """Build and solve a slotted model; see `formulation`."""
    began = time.perf_counter()
    data = model_data(instance, horizon, low, contention=contention)
    built = formulation.build(data)
    answer = solve_model(built, settings, build_time=time.perf_counter() - began)
    if answer.termination is Termination.INFEASIBLE:
        return Solved(horizon + 1, None, answer)
    bound = low if answer.bound is None else max(low, math.ceil(answer.bound - ROUNDING))
    schedule = formulation.read_schedule(built, data) if answer.has_solution else None
    return Solved(bound, schedule, answer)


def _outcome(
    bound: Bound, termination: Termination, answer: Answer | None, began: float
) -> Outcome:
    return Outcome(
        None,
        termination,
        bound=bound.value,
        bound_source=bound.source,
        certificate=bound.certificate,
        build_time=0.0 if answer is None else answer.build_time,
        solve_time=time.perf_counter() - began - (0.0 if answer is None else answer.build_time),
        solver=None if answer is None else answer.solver,
        trace=() if answer is None else answer.trace,
        details={"message": "a bound: the relaxation has no schedule"},
    )
