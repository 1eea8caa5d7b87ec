"""Method ``theta``: the paper's feasibility ILP (14)-(16), as a lower bound on the makespan.

Assign GPUs to jobs so that the load of every GPU is at most theta; the minimum theta is a lower
bound on every makespan, because estimates here are minimum durations. Minimising theta is the
paper's bisection in one step. Its linear relaxation is the area bound (or the longest job).
Guarantee: a bound, no schedule. GPU symmetry makes large instances slow; prefer the column bound.
"""

import math

import pyomo.environ as pyo

from optsched.backends.models import solve_model
from optsched.backends.pyomo_solvers import require_solver
from optsched.backends.sizes import refuse_many_nonzeros, require_time
from optsched.deadline import Deadline, clock
from optsched.makespan.bounds.best import Bound, simple_bound
from optsched.makespan.bounds.durations import Durations, durations_of
from optsched.makespan.incumbent import Incumbent
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.models.data import ROUNDING
from optsched.makespan.options import MakespanOptions
from optsched.result import Outcome, Settings, Termination


def theta(instance: MakespanInstance, options: MakespanOptions, settings: Settings) -> Outcome:
    """The minimum theta, or the proven bound at the time limit."""
    require_solver(settings.solver)
    durations = durations_of(instance)
    incumbent, status = Incumbent(instance, settings), Termination.TIME_LIMIT
    with incumbent.until_deadline():
        began = clock()
        built = _build(durations, incumbent.bound.value, settings.deadline)
        answer = solve_model(built, settings, build_time=clock() - began)
        incumbent.record_answer(answer)
        status = answer.termination
        if answer.bound is not None:
            value = _unit(durations) * answer.bound * (1 - 1e-9)
            value = float(math.ceil(value - ROUNDING)) if instance.slotted else value
            incumbent.update_bound(Bound(value, "theta"))
    return incumbent.bound_outcome(status, "theta gives a lower bound only, no schedule")


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
    model.JOBS = pyo.RangeSet(0, jobs - 1, doc="j: jobs")
    model.GPUS = pyo.RangeSet(0, gpus - 1, doc="g: GPUs of the cluster")
    model.takes = pyo.Var(model.JOBS, model.GPUS, domain=pyo.Binary, doc="x: job j takes GPU g")
    unit = _unit(durations)
    model.theta = pyo.Var(bounds=(low / unit, None), doc=f"theta: largest load, in {unit!r} slots")
    model.least_theta = pyo.Objective(expr=model.theta, doc=f"min theta, in {unit!r} slots")

    @model.Constraint(model.JOBS, doc="(T1) every job gets G_j GPUs")
    def all_gpus(model: pyo.ConcreteModel, j: int) -> pyo.Expression:
        # sum_g x_jg = G_j
        return sum(model.takes[j, g] for g in model.GPUS) == int(durations.gpus[j])

    @model.Constraint(model.GPUS, doc="(T2) the load of a GPU is at most theta")
    def within_theta(model: pyo.ConcreteModel, g: int) -> pyo.Expression:
        # sum_j rho_j x_jg <= theta
        load = sum(float(durations.minimum[j]) / unit * model.takes[j, g] for j in model.JOBS)
        return load <= model.theta

    return model


def _unit(durations: Durations) -> float:
    """Slots that count as 1, since solver tolerances are absolute."""
    return 1.0 if durations.instance.slotted else float(durations.minimum.max()) or 1.0
