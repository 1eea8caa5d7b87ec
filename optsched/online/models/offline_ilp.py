"""Method ``offline-ilp``: problem (8) of a-srpt with the whole future known, by a MILP.

1. Every occupancy of a job gets its best placement by placement's `exact`. 2. The policies run with
true lengths; the best schedule is the incumbent, and leaves out runs that no better schedule has.
3. The MILP is solved. Guarantee: optimal among schedules that start jobs at multiples of the slot
when it ends as "optimal"; its bound holds for these schedules only. Complexity: a binary variable
for each job, occupancy and slot, so it is for about a dozen jobs. Source: a-srpt (8);
models/online/README.md.
"""

from dataclasses import replace

import numpy as np
import pyomo.environ as pyo

from optsched.backends.models import build_and_solve
from optsched.backends.pyomo_solvers import require_solver
from optsched.backends.sizes import refuse_many_nonzeros
from optsched.deadline import OutOfTimeError, clock
from optsched.errors import InputError, NotApplicableError
from optsched.online.data.jobs import Jobs
from optsched.online.instance import OnlineInstance
from optsched.online.metrics import compute_metrics
from optsched.online.models.data import OfflineData, Run, best_placements, name_of
from optsched.online.models.formulation import Part, build, read_plan, set_start
from optsched.online.options import OnlineOptions
from optsched.online.policies.by_name import OFFLINE, POLICIES
from optsched.online.records import Record, Records
from optsched.online.runs import Run as PolicyRun
from optsched.online.runs import outcome_of_run, simulated_jobs
from optsched.online.simulator.engine import simulate_online
from optsched.online.solution import JobRun, OnlineSolution
from optsched.result import Outcome, Settings, Termination

Plan = list[tuple[Run, list[Part]]]
"""Run and parts of each job."""
FEWER = "fewer jobs, shorter jobs, earlier and shorter windows, or a longer slot"


def offline_ilp(instance: OnlineInstance, options: OnlineOptions, settings: Settings) -> Outcome:
    """Schedule the jobs with the whole future known."""
    require_solver(settings.solver)
    began, jobs = clock(), simulated_jobs(instance, options)
    policy_runs = _policy_runs(jobs, options)
    try:
        data = OfflineData(jobs, options.policy.slot, best_placements(jobs, settings))
    except OutOfTimeError:
        records = min(policy_runs, key=lambda records: records.flow.sum())
        records = replace(records, policy=OFFLINE, options=options.policy)
        run = PolicyRun(records, compute_metrics(records), jobs, 0.0)
        outcome = outcome_of_run(instance, options, settings, run)
        return replace(outcome, termination=Termination.TIME_LIMIT)
    plans = [_plan_of(data, records) for records in policy_runs]
    if settings.start is not None:
        plans.append(_plan_of_solution(data, settings.start))
    best = min(plans, key=lambda plan: _total_flow(data, plan))
    settings.progress.report(_total_flow(data, best))
    data = replace(data, incumbent=_total_flow(data, best))
    refuse_many_nonzeros(OFFLINE, data.nonzeros, FEWER)

    def build_with_start() -> pyo.ConcreteModel:
        model = build(data, settings.deadline)
        set_start(model, data, best)
        return model

    answer, model = build_and_solve(
        build_with_start,
        data.nonzeros,
        settings,
        began=began,
        start=True,
        listener=settings.progress.of_model(data.slot),
    )
    if model is not None and answer.has_solution:
        best = min(best, read_plan(model), key=lambda plan: _total_flow(data, plan))
    records = records_of_plan(data, options, best)
    run = PolicyRun(records, compute_metrics(records), jobs, answer.solve_time)
    termination, bound = answer.termination, answer.bound
    return replace(
        outcome_of_run(instance, options, settings, run),
        termination=termination,
        bound=None if bound is None else bound * data.slot,
        bound_source=None if bound is None else OFFLINE,
        build_time=answer.build_time,
        solver=answer.solver,
        trace=answer.scaled_trace(data.slot),
    )


def model(
    instance: OnlineInstance, options: OnlineOptions, *, pruned: bool = False
) -> pyo.ConcreteModel:
    """Build the model: every schedule within the horizon is a solution of it.

    A pruned one has only schedules that may beat the best policy's, with servers in order.
    """
    jobs, settings = simulated_jobs(instance, options), Settings()
    data = OfflineData(jobs, options.policy.slot, best_placements(jobs, settings))
    if pruned:
        plans = (_plan_of(data, records) for records in _policy_runs(jobs, options))
        data = replace(data, incumbent=min(_total_flow(data, plan) for plan in plans))
    refuse_many_nonzeros(OFFLINE, data.nonzeros, FEWER)
    built = build(data)
    built.reader = lambda solved: OnlineSolution.of(
        records_of_plan(data, options, read_plan(solved)),
        instance.name,
        options=options.to_dict(),
    )
    return built


def records_of_plan(data: OfflineData, options: OnlineOptions, plan: Plan) -> Records:
    """Records of a schedule; a job's larger parts get the larger parts of the best placement."""
    jobs = data.jobs
    placed = [data.placement(run.job, run.occupancy) for run, _ in plan]
    replicas, parts_by_server = [], []
    for best, (_, parts) in zip(placed, plan, strict=True):
        by_size = sorted(parts, key=lambda part: -part[1])
        by_server = sorted(zip(by_size, best.replicas, strict=True))
        parts_by_server.append([part for part, _ in by_server])
        replicas.append(tuple(counts for _, counts in by_server))
    start = np.array([run.start * data.slot for run, _ in plan])
    return Records.of(
        jobs,
        slice(None),
        policy=OFFLINE,
        options=options.policy,
        start=start,
        end=np.array([data.end(run) for run, _ in plan]),
        alpha=np.array([best.alpha for best in placed]),
        predicted=jobs.iterations,
        first=np.cumsum([0, *map(len, parts_by_server)]),
        server=np.array([m for parts in parts_by_server for m, _ in parts], dtype=np.int64),
        taken=np.array([gpus for parts in parts_by_server for _, gpus in parts], dtype=np.int64),
        replicas=tuple(replicas),
    )


def _total_flow(data: OfflineData, plan: Plan) -> float:
    return data.slot * sum(data.flow(run) for run, _ in plan)


def _policy_runs(jobs: Jobs, options: OnlineOptions) -> list[Records]:
    """Records of every policy without preemption that the options allow, with true lengths.

    Raises InputError if the options, or slices on unequal servers, allow none.
    """
    runs, refusals = [], []
    for policy in POLICIES.values():
        if policy.preempts == "never":
            try:
                runs.append(simulate_online(jobs, policy, None, options.policy))
            except InputError as refusal:
                refusals.append(refusal)
    if not runs:
        raise refusals[0]
    return runs


def _plan_of(data: OfflineData, records: Records) -> Plan:
    return [_choice(data, row, record) for row, record in enumerate(records)]


def _choice(data: OfflineData, row: int, record: Record | JobRun) -> tuple[Run, list[Part]]:
    parts = [(int(m), gpus) for m, gpus in dict(record.servers).items()]
    occupancy = name_of(tuple(sorted((gpus for _, gpus in parts), reverse=True)))
    return Run(row, occupancy, round(record.start / data.slot)), parts


def _plan_of_solution(data: OfflineData, solution: OnlineSolution) -> Plan:
    if any(job.segments for job in solution.jobs):
        raise NotApplicableError(OFFLINE, "a start that preempts jobs", "one without preemption")
    by_name = {job.job_id: job for job in solution.jobs}
    names = data.jobs.workload.job_id.tolist()
    return [_choice(data, row, by_name[name]) for row, name in enumerate(names)]
