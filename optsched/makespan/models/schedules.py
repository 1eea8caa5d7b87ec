"""Method ``ilp-schedules``: the paper's reformulation (10)-(13) over a generated set of schedules.

Its constraint (12) makes all jobs follow the same schedule, so it only selects the best of an
enumerated set: here the heuristics over their parameters. Guarantee: the best of that set, nothing
about the optimum. The paper's set of all feasible schedules is exponential.
"""

from collections.abc import Iterator

import pyomo.environ as pyo

from optsched.backends.models import solve_model
from optsched.backends.pyomo_solvers import require_solver
from optsched.backends.relations import stated
from optsched.backends.sizes import require_time
from optsched.deadline import Deadline, clock
from optsched.makespan.contention import Evaluation, evaluate, solution_from_evaluation
from optsched.makespan.exact.starting_schedules import candidates
from optsched.makespan.heuristics.sjf_bco import distinct_kappas, search_by_name
from optsched.makespan.incumbent import SEARCH_TIME_SHARE, Incumbent, SearchResult
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.options import ORDERS, MakespanOptions
from optsched.result import Outcome, Settings, Termination

LAMBDAS = (1.0, 2.0, 4.0, 8.0)
RANDOM_SEEDS = 5


def ilp_schedules(
    instance: MakespanInstance, options: MakespanOptions, settings: Settings
) -> Outcome:
    """Select the best of the generated schedules by the paper's ILP."""
    require_solver(settings.solver)
    incumbent = Incumbent(instance, settings)
    generated: list[Evaluation] = []
    with incumbent.until_deadline():
        share = settings.deadline.share(SEARCH_TIME_SHARE)
        for evaluation in _distinct_schedules(instance, settings, share):
            incumbent.update_schedule(evaluation.schedule)
            generated.append(evaluation)
        incumbent.timed_out = share.is_over
        incumbent.compute_bound(settings.deadline.share(SEARCH_TIME_SHARE))
        if generated:
            require_time(settings.deadline, 4 * len(instance.jobs) * len(generated))
            began = clock()
            built = _build(instance, generated)
            answer = solve_model(built, settings, build_time=clock() - began)
            incumbent.record_answer(answer)
            incumbent.timed_out |= answer.termination is Termination.TIME_LIMIT
            if answer.termination is Termination.OPTIMAL:
                incumbent.best = generated[_chosen_schedule(built)]
    return incumbent.outcome({"schedules": len(generated)})


def model(
    instance: MakespanInstance, options: MakespanOptions, *, pruned: bool = False
) -> pyo.ConcreteModel:
    """Build the model over the generated schedules alone. Nothing in it is pruned."""
    generated = list(_distinct_schedules(instance, Settings(), Deadline()))
    built = _build(instance, generated)
    built.reader = lambda solved: solution_from_evaluation(generated[_chosen_schedule(solved)])
    return built


def _chosen_schedule(model: pyo.ConcreteModel) -> int:
    first = model.JOBS.first()
    chosen = [int(k) for k in model.SCHEDULES if pyo.value(model.follows[first, k]) > 0.5]
    return chosen[0]


def _distinct_schedules(
    instance: MakespanInstance, settings: Settings, deadline: Deadline
) -> Iterator[Evaluation]:
    """Different schedules within the horizon: every heuristic over its parameters."""
    seen: set[str] = set()
    for result in _heuristic_results(instance, settings, deadline):
        if result.schedule is not None and repr(result.schedule) not in seen:
            seen.add(repr(result.schedule))
            evaluation = evaluate(instance, result.schedule)
            if evaluation.makespan <= instance.latest_end:
                yield evaluation


def _heuristic_results(
    instance: MakespanInstance, settings: Settings, deadline: Deadline
) -> Iterator[SearchResult]:
    """Results of all heuristics over their parameters, as long as there is time."""
    for _, result in candidates(instance, settings, deadline):
        yield result
    kappas = distinct_kappas(instance)
    runs = [("sjf-bco", MakespanOptions(kappa, x), 0) for kappa in kappas for x in LAMBDAS]
    for options in (MakespanOptions(order=order) for order in ORDERS):
        runs += [("first-fit", options, 0), ("list-scheduling", options, 0)]
        runs += [("random", options, settings.seed + seed) for seed in range(RANDOM_SEEDS)]
    for method, options, seed in runs:
        if deadline.is_over:
            return
        yield search_by_name(method, instance, options, deadline, seed)


def _build(instance: MakespanInstance, generated: list[Evaluation]) -> pyo.ConcreteModel:
    model = pyo.ConcreteModel(name="makespan-schedules")
    # Scale ends: solver tolerances are absolute.
    positive = [schedule.makespan for schedule in generated if schedule.makespan > 0]
    unit = 1.0 if instance.slotted else min(positive, default=1.0)
    model.JOBS = pyo.RangeSet(0, len(instance.jobs) - 1, doc="j: jobs")
    model.SCHEDULES = pyo.RangeSet(0, len(generated) - 1, doc="h: generated schedules")
    model.follows = pyo.Var(
        model.JOBS, model.SCHEDULES, domain=pyo.Binary, doc="x: job j follows schedule h"
    )
    model.last_end = pyo.Var(domain=pyo.NonNegativeReals, doc=f"C_max: makespan, {unit!r} slots")
    model.makespan = pyo.Objective(expr=model.last_end, doc=f"min C_max, in {unit!r} slots")

    @model.Constraint(model.JOBS, doc="(S1) the makespan is no earlier than any end")
    def ends(model: pyo.ConcreteModel, j: int) -> pyo.Expression:
        # C_max >= sum_h e_jh x_jh
        return model.last_end >= sum(
            float(generated[k].ends[j]) / unit * model.follows[j, k] for k in model.SCHEDULES
        )

    @model.Constraint(model.JOBS, doc="(S2) each job follows one schedule")
    def one_schedule(model: pyo.ConcreteModel, j: int) -> pyo.Expression:
        # sum_h x_jh = 1
        return stated(model, sum(model.follows[j, k] for k in model.SCHEDULES) == 1)

    @model.Constraint(model.JOBS, model.SCHEDULES, doc="(S3) all jobs follow the same one")
    def same_schedule(model: pyo.ConcreteModel, j: int, k: int) -> pyo.Expression:
        # x_jh = x_{j-1,h}
        if j == 0:
            return pyo.Constraint.Skip
        return model.follows[j, k] == model.follows[j - 1, k]

    return model
