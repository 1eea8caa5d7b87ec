"""Method ``ilp-schedules``: the paper's reformulation (10)-(13) over a generated set of schedules.

Its constraint (12) makes all jobs follow one and the same schedule, so all it does is select the
best of an enumerated set: here the heuristics over their parameters. Guarantee: the best of that
set, nothing about the optimum. The paper's set of all feasible schedules is exponential.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import pyomo.environ as pyo

from optsched.backends import require_solver, solve_model
from optsched.makespan.baselines import first_fit, list_scheduling, random_placement
from optsched.makespan.contention import Evaluation, Schedule, evaluate, schedule_of
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.known import candidates
from optsched.makespan.options import ORDERS, MakespanOptions
from optsched.makespan.outcome import outcome_of
from optsched.makespan.sjf_bco import kappas_of, sjf_bco
from optsched.result import Outcome, Settings

SPREADS = (1.0, 2.0, 4.0, 8.0)
RANDOM_SEEDS = 5


def ilp_schedules(
    instance: MakespanInstance, options: MakespanOptions, settings: Settings
) -> Outcome:
    """Select the best of the generated schedules by the paper's ILP."""
    require_solver(settings.solver)
    began = time.perf_counter()
    generated = [evaluate(instance, schedule) for schedule in _generated(instance, settings)]
    if not generated:
        return outcome_of(instance, None, solve_time=time.perf_counter() - began)
    built = _build(instance, generated)
    answer = solve_model(built, settings, build_time=time.perf_counter() - began)
    schedule = None
    if answer.has_solution:
        first = built.JOBS.first()
        chosen = max(built.SCHEDULES, key=lambda k: pyo.value(built.follows[first, k]))
        schedule = generated[chosen].schedule
    return outcome_of(
        instance,
        schedule,
        details={"schedules": len(generated)},
        build_time=answer.build_time,
        solve_time=answer.solve_time,
        solver=answer.solver,
        trace=answer.trace,
    )


def model(instance: MakespanInstance, options: MakespanOptions) -> pyo.ConcreteModel:
    """Build the model over the generated schedules alone."""
    schedules = _generated(instance, Settings())
    return _build(instance, [evaluate(instance, schedule) for schedule in schedules])


def _generated(instance: MakespanInstance, settings: Settings) -> list[Schedule]:
    """Different schedules within the horizon: every heuristic over its parameters."""
    found = list(candidates(instance, settings).values())
    for outcome in _outcomes(instance, settings):
        if outcome.solution is not None:
            found.append(schedule_of(instance, outcome.solution))
    different: dict[str, Schedule] = {repr(schedule): schedule for schedule in found}
    return list(different.values())


def _outcomes(instance: MakespanInstance, settings: Settings) -> Iterator[Outcome]:
    import numpy as np

    for kappa in kappas_of(np.array([job.gpus for job in instance.jobs])):
        for spread in SPREADS:
            yield sjf_bco(instance, MakespanOptions(kappa, spread), settings)
    for order in ORDERS:
        for run in (first_fit, list_scheduling):
            yield run(instance, MakespanOptions(order=order), settings)
        for seed in range(RANDOM_SEEDS):
            again = replace(settings, seed=settings.seed + seed)
            yield random_placement(instance, MakespanOptions(order=order), again)


def _build(instance: MakespanInstance, generated: list[Evaluation]) -> pyo.ConcreteModel:
    model = pyo.ConcreteModel(name="makespan-schedules")
    # A solver's tolerances are absolute, real ends of any size.
    unit = 1.0 if instance.slotted else min(each.makespan for each in generated)
    model.JOBS = pyo.RangeSet(0, len(instance.jobs) - 1, doc="j")
    model.SCHEDULES = pyo.RangeSet(0, len(generated) - 1, doc="k")
    model.follows = pyo.Var(
        model.JOBS, model.SCHEDULES, domain=pyo.Binary, doc="x: job j follows schedule k"
    )
    model.last_end = pyo.Var(domain=pyo.NonNegativeReals, doc="max over j of (a + rho) x")
    model.makespan = pyo.Objective(expr=model.last_end, doc="(10) min max (a + rho) x")

    @model.Constraint(model.JOBS, doc="(10) the makespan is no earlier than any end")
    def ends(model: pyo.ConcreteModel, j: int) -> pyo.Expression:
        return model.last_end >= sum(
            float(generated[k].ends[j]) / unit * model.follows[j, k] for k in model.SCHEDULES
        )

    @model.Constraint(model.JOBS, doc="(11) each job follows one schedule")
    def one_schedule(model: pyo.ConcreteModel, j: int) -> pyo.Expression:
        return sum(model.follows[j, k] for k in model.SCHEDULES) == 1

    @model.Constraint(model.JOBS, model.SCHEDULES, doc="(12) all jobs follow the same one")
    def same_schedule(model: pyo.ConcreteModel, j: int, k: int) -> pyo.Expression:
        if j == 0:
            return pyo.Constraint.Skip
        return model.follows[j, k] == model.follows[j - 1, k]

    return model
