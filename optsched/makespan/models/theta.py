"""Method ``theta``: the paper's feasibility ILP (14)-(16), as a lower bound on the makespan.

It asks whether jobs can be given GPUs so that no GPU's estimated times sum to more than theta; the
least such theta bounds every makespan from below, because estimates here are least durations.
Minimising theta is the paper's bisection in one step. Its linear relaxation is the area bound (or
the longest job). Guarantee: a bound, no schedule. Its GPUs are all alike, so large instances prove
slowly: the column bound is the one to use.
"""

from __future__ import annotations

import math

import pyomo.environ as pyo

from optsched.backends import require_solver, solve_model
from optsched.backends.sizes import refuse_many_nonzeros, require_time
from optsched.deadline import Deadline, clock
from optsched.makespan.bounds.best import Bound, simple_bound
from optsched.makespan.bounds.durations import Durations, durations_of
from optsched.makespan.incumbent import Incumbent
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.options import MakespanOptions
from optsched.result import Outcome, Settings, Termination

ROUNDING = 1e-6


def theta(instance: MakespanInstance, options: MakespanOptions, settings: Settings) -> Outcome:
    """The least theta, or what is proven of it at the time limit."""
    require_solver(settings.solver)
    durations = durations_of(instance)
    found, status = Incumbent(instance, settings), Termination.TIME_LIMIT
    with found.working():
        began = clock()
        built = _build(durations, found.bound.value, settings.deadline)
        answer = solve_model(built, settings, build_time=clock() - began)
        found.note(answer)
        status = answer.termination
        if answer.bound is not None:
            value = _unit(durations) * answer.bound * (1 - 1e-9)
            value = float(math.ceil(value - ROUNDING)) if instance.slotted else value
            found.prove(Bound(value, "theta"))
    return found.bound_alone(status, "a bound: theta has no schedule")


def model(
    instance: MakespanInstance, options: MakespanOptions, *, pruned: bool = False
) -> pyo.ConcreteModel:
    """Build the model alone. Nothing in it is pruned."""
    durations = durations_of(instance)
    return _build(durations, simple_bound(durations).value, Deadline())


def _build(durations: Durations, low: float, deadline: Deadline) -> pyo.ConcreteModel:
    jobs, gpus = len(durations.gpus), durations.instance.gpus
    require_time(deadline, 2 * jobs * gpus)
    refuse_many_nonzeros("theta", 2 * jobs * gpus, "fewer jobs or GPUs")
    model = pyo.ConcreteModel(name="makespan-theta")
    model.JOBS = pyo.RangeSet(0, jobs - 1, doc="j")
    model.GPUS = pyo.RangeSet(0, gpus - 1, doc="g")
    model.takes = pyo.Var(model.JOBS, model.GPUS, domain=pyo.Binary, doc="job j takes GPU g")
    unit = _unit(durations)
    model.theta = pyo.Var(bounds=(low / unit, None), doc="theta")
    model.least_theta = pyo.Objective(expr=model.theta, doc="min theta")

    @model.Constraint(model.JOBS, doc="(T1) every job gets G_j GPUs")
    def all_gpus(model: pyo.ConcreteModel, j: int) -> pyo.Expression:
        # sum_g x_jg = G_j
        return sum(model.takes[j, g] for g in model.GPUS) == int(durations.gpus[j])

    @model.Constraint(model.GPUS, doc="(T2) a GPU's estimated times stay within theta")
    def within_theta(model: pyo.ConcreteModel, g: int) -> pyo.Expression:
        # sum_j rho_j x_jg <= theta
        load = sum(float(durations.least[j]) / unit * model.takes[j, g] for j in model.JOBS)
        return load <= model.theta

    return model


def _unit(durations: Durations) -> float:
    """Slots that count as 1: a solver's tolerances are absolute, real durations of any size."""
    return 1.0 if durations.instance.slotted else float(durations.least.max()) or 1.0
