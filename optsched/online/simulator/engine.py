"""Running a policy on jobs: event driven, deterministic, compiled.

Guarantee: the records follow models/online/README.md, including tie-breaking; a second, naive
simulator in the tests gives the same ones. Complexity: see `event_loop` and `preemptive_loop`.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import numpy as np

from optsched import interrupts
from optsched.arrays import Bools, Floats, Ints
from optsched.errors import InputError
from optsched.kernels import Kernel
from optsched.online.data.jobs import Jobs
from optsched.online.policies.by_name import Policy, PolicyOptions, find_policy
from optsched.online.records import Records, Segments
from optsched.online.simulator import event_loop, preemptive_loop
from optsched.online.simulator.iteration_times import empty_table
from optsched.online.simulator.limits import limits_of
from optsched.online.simulator.offers import GPU_BITS, RULES, all_free, count_servers, rule_for
from optsched.placement.heuristics.heavy_edge import graph_arrays, heavy_edge_counts

SECONDS_BETWEEN_REPORTS = 0.1
"""Seconds between progress reports and interrupt checks."""
MAX_STEPS = 2**62
"""Event times of a run."""
STEPS_PER_JOB = 200
"""Estimated inner-loop steps per job, which decide between Python and compiled code: 400 jobs take
Python about 60 ms."""
ROUNDING = 1e-9
"""Relative rounding of a length."""

Progress = Callable[[int, int], None]


def simulate_online(
    jobs: Jobs,
    policy: str | Policy,
    predicted: Floats | None = None,
    options: PolicyOptions | None = None,
    *,
    progress: Progress | None = None,
) -> Records:
    """Run one policy.

    Parameters
    ----------
    jobs : Jobs
        From `prepare_jobs`.
    policy : str or Policy
        A name of `POLICIES`, or a `Policy` row.
    predicted : (n,) float, optional
        n~ by row; by default, and for policies with perfect knowledge, the true n.
    options : PolicyOptions, optional
        tau, comm_heavy, offer rule, hold, slot.
    progress : callable, optional
        Callback (done, total): started jobs, or completed jobs for preemptive policies. A
        KeyboardInterrupt ends the run: the records of the jobs that have started come back with
        ``complete=False``.

    Returns
    -------
    Records
        One record per job, in row order.

    Raises
    ------
    InputError
        For an unknown policy, an option that it does not allow, or an invalid prediction.

    Examples
    --------
    >>> import optsched
    >>> from optsched.online import compute_metrics, prepare_jobs
    >>> small = optsched.load("online/small-400x40")
    >>> jobs = prepare_jobs(small.workload, small.catalogue, small.cluster)
    >>> round(compute_metrics(simulate_online(jobs, "spjf")).mean_flow_time)
    2889
    """
    policy = find_policy(policy) if isinstance(policy, str) else policy
    options = (options or PolicyOptions()).for_policy(policy)
    perfect = policy.perfect or predicted is None
    predicted = np.require(jobs.iterations if perfect else predicted, np.float64, "W")
    _check_predictions(jobs, predicted)
    _check_slices_fit(jobs, policy, options)
    run = _run if policy.preempts == "never" else _run_preemptive
    return run(jobs, policy, options, predicted, progress)


def _run(
    jobs: Jobs, policy: Policy, options: PolicyOptions, predicted: Floats, report: Progress | None
) -> Records:
    rules, data = event_loop_input(jobs, policy, options, predicted)
    runs = idle_runs(len(jobs), policy)
    complete, allocations = _run_loop(event_loop.simulate, jobs, data, rules, runs, report)
    started_rows = np.flatnonzero(~np.isnan(runs.start))
    rows = slice(None) if len(started_rows) == len(jobs) else started_rows
    first, count = runs.first_allocation[rows], runs.num_allocations[rows]
    return Records.of(
        jobs,
        rows,
        policy=policy.name,
        options=options,
        start=runs.start[rows],
        end=runs.end[rows],
        alpha=runs.alpha[rows],
        predicted=predicted[rows],
        **_server_columns(allocations, first, count),
        complete=complete,
    )


def event_loop_input(
    jobs: Jobs, policy: Policy, options: PolicyOptions, predicted: Floats
) -> tuple[event_loop.Rules, event_loop.JobData]:
    """Return what the event loop takes of a policy and of the jobs, by row."""
    configurations = jobs.configurations
    overtaking_rule = event_loop.EASY if policy.reserves else event_loop.BACKFILL
    if not policy.backfills:
        overtaking_rule = event_loop.SCAN if policy.scans_on else event_loop.HEAD_ONLY
    if policy.order == "usage":
        overtaking_rule = event_loop.FAIR
    rules = event_loop.Rules(
        virtual=policy.virtual,
        overtaking=overtaking_rule,
        delays=policy.delays,
        hold=event_loop.HOLDS[options.hold or "none"],
        offer=RULES[options.offer or policy.offer],
        tau=float(options.tau),
        max_ratio=max(float(options.comm_heavy), 1.0 + event_loop.IMPROVEMENT_RTOL),
        slot=float(options.slot),
        gpus=jobs.cluster.gpus,
    )
    heavy = configurations.worst / configurations.estimate >= options.comm_heavy
    bucket, bucket_gpus, bucket_configuration = _buckets(jobs, rules, heavy)
    walltime = jobs.workload.walltime
    expected = predicted * configurations.alpha_lower_bound[jobs.configuration]
    if walltime is not None:
        expected = np.where(np.isnan(walltime), expected, walltime)
    data = event_loop.JobData(
        submit=jobs.submit,
        iterations=jobs.iterations,
        predicted=predicted,
        work=jobs.gpus / jobs.cluster.gpus * predicted * jobs.estimate,
        walltime=np.empty(0) if walltime is None else walltime,
        least_length=expected * (1 - ROUNDING),
        configuration=jobs.configuration,
        rank=_ranks(jobs, policy, predicted),
        bucket=bucket,
        bucket_gpus=bucket_gpus,
        bucket_configuration=bucket_configuration,
        heavy=heavy,
        allocations=np.empty(0, dtype=np.int64),
        limits=limits_of(jobs),
    )
    return rules, data


def idle_runs(n: int, policy: Policy) -> event_loop.Runs:
    num_delayed = n if policy.delays else 0
    return event_loop.Runs(
        start=np.full(n, np.nan),
        end=np.full(n, np.nan),
        alpha=np.full(n, np.nan),
        first_allocation=np.zeros(n, dtype=np.int64),
        num_allocations=np.zeros(n, dtype=np.int64),
        kappa=np.full(num_delayed, np.nan),
        window=np.full(num_delayed, np.inf),
    )


def _run_preemptive(
    jobs: Jobs, policy: Policy, options: PolicyOptions, predicted: Floats, report: Progress | None
) -> Records:
    n, configurations = len(jobs), jobs.configurations
    rules = preemptive_loop.Rules(
        order=preemptive_loop.ORDERS[policy.order],
        offer=RULES[options.offer or policy.offer],
        checkpoint=float(options.restore),
        round=float(options.round or 0.0),
        slot=float(options.slot),
    )
    heavy = configurations.worst / configurations.estimate >= options.comm_heavy
    data = preemptive_loop.JobData(
        jobs.submit, jobs.iterations, predicted, jobs.configuration, heavy, limits_of(jobs)
    )
    state = preemptive_loop.JobState(
        remaining=np.zeros(n),
        predicted_remaining=np.zeros(n),
        worked_seconds=np.zeros(n),
        compute_start=np.zeros(n),
        end=np.full(n, np.inf),
        alpha=np.ones(n),
        key=np.zeros(n),
        segment=np.full(n, -1),
    )
    complete, log = _run_loop(preemptive_loop.simulate, jobs, data, rules, state, report)
    row, start, end, alpha, last, allocations = log
    row, last = row.astype(np.int64), last.astype(np.int64)  # empty arrays from Python are float
    # jobs that run or have ended: all unless the run was interrupted
    started_rows = np.flatnonzero(state.end < np.inf)
    order = np.argsort(row, kind="stable")
    order = order[state.end[row[order]] < np.inf]
    begin = np.concatenate(([0], last[:-1])).astype(np.int64)[order]
    segments = Segments(
        job=np.searchsorted(started_rows, row[order]),
        start=start[order],
        end=end[order],
        alpha=alpha[order],
        **_server_columns(allocations, begin, last[order] - begin),
    )
    rows = slice(None) if len(started_rows) == n else started_rows
    return Records.of(
        jobs,
        rows,
        policy=policy.name,
        options=options,
        predicted=predicted[rows],
        segments=segments,
        complete=complete,
    )


def _server_columns(allocations: Ints, begin: Ints, count: Ints) -> dict[str, Ints]:
    first = np.cumsum([0, *count], dtype=np.int64)
    order = np.arange(first[-1]) + np.repeat(begin - first[:-1], count)
    packed = allocations.astype(np.int64)[order]
    return {"first": first, "server": packed >> GPU_BITS, "taken": packed & ((1 << GPU_BITS) - 1)}


def _run_loop(
    loop: Kernel, jobs: Jobs, data: Any, rules: Any, state: Any, report: Progress | None
) -> tuple[bool, Any]:
    """Run a loop in a thread of its own; return whether it ran to its end, and its result."""
    cluster, stop, progress = jobs.cluster, np.zeros(1, np.bool_), np.zeros(1, np.int64)
    servers, table = all_free(cluster.server_gpus), empty_table(cluster.largest_server)
    packed = jobs.configurations.packed
    arguments = (data, packed, rules, servers, table, state, MAX_STEPS, stop, progress)
    run = loop.for_size(STEPS_PER_JOB * len(jobs))
    if run is loop:
        loop.prepare(*arguments)
    with ThreadPoolExecutor(1) as executor, interrupts.deferred() as interrupt:
        result = executor.submit(run, *arguments)
        try:
            has_ended = False
            while not has_ended:
                has_ended = len(wait([result], SECONDS_BETWEEN_REPORTS).done) > 0
                if report is not None:
                    report(int(progress[0]), len(jobs))
                stop[0] |= interrupt.received and not has_ended
        except BaseException as error:
            stop[0] = True
            if not isinstance(error, KeyboardInterrupt):
                raise
    return not stop[0], result.result()


def _ranks(jobs: Jobs, policy: Policy, predicted: Floats) -> Ints:
    """Return each row's place in the order of the queue; empty for first in, first out."""
    if policy.order == "duration":
        key = predicted * jobs.estimate
    elif policy.order == "workload":
        key = jobs.gpus * predicted * jobs.estimate
    else:
        return np.empty(0, dtype=np.int64)
    rank = np.empty(len(jobs), dtype=np.int64)
    rank[np.argsort(key, kind="stable")] = np.arange(len(jobs))
    return rank


def _buckets(jobs: Jobs, rules: event_loop.Rules, heavy: Bools) -> tuple[Ints, Ints, Ints]:
    """Return each configuration's bucket, and by bucket g and `JobData.bucket_configuration`.

    Jobs of equal g share a bucket unless the offer decides whether they start.
    """
    configurations, cluster = jobs.configurations, jobs.cluster
    if rules.overtaking == event_loop.HEAD_ONLY:
        return np.zeros(len(heavy), np.int64), np.zeros(1, np.int64), np.full(1, -1)
    separate = np.array([job.has_tensor_slices for job in configurations.jobs], dtype=bool)
    if rules.delays:
        separate |= heavy | (rules.overtaking == event_loop.SCAN)
    if rules.overtaking == event_loop.EASY or {"maintenance", "quotas"} & {*cluster.limits}:
        separate[:] = False  # jobs are examined one by one
    # (g, configuration), or (g, -1) for the configurations that share a bucket
    own_bucket = np.where(separate, np.arange(len(separate)), -1)
    key = np.stack((configurations.gpus, own_bucket), axis=1)
    distinct, bucket = np.unique(key.reshape(-1, 2), axis=0, return_inverse=True)
    gpus, own = distinct.T.copy()
    return bucket.reshape(-1).astype(np.int64), gpus, own


def _check_slices_fit(jobs: Jobs, policy: Policy, options: PolicyOptions) -> None:
    """Raise InputError if an empty cluster of unequal servers offers a job too small pieces."""
    configurations, cluster = jobs.configurations, jobs.cluster
    servers, counts = all_free(cluster.server_gpus), np.zeros(cluster.largest_server + 1, np.int64)
    heavy = configurations.worst / configurations.estimate >= options.comm_heavy
    for job, is_heavy in zip(configurations.jobs, heavy, strict=True):
        if cluster.is_equal or not job.has_tensor_slices:
            continue
        count_servers(
            servers, rule_for(RULES[options.offer or policy.offer], is_heavy), job.gpus, counts
        )
        offer = tuple(np.repeat(np.arange(len(counts)), counts)[::-1].tolist())
        if heavy_edge_counts(graph_arrays(job), offer).sum() < job.replicas:
            pieces = ", ".join(map(str, offer))
            found = f"slices that do not fit {pieces} GPUs, its offer on an empty cluster"
            raise InputError("simulate", f"model {job.model}", found, "offer=most")


def _check_predictions(jobs: Jobs, predicted: Floats) -> None:
    if predicted.shape != (len(jobs),):
        expected = f"one per job, ({len(jobs)},)"
        raise InputError("simulate", "predicted", f"{predicted.shape}", expected)
    valid = (predicted >= 0) & (predicted <= 1e18)
    if not valid.all():
        row = int(np.argmin(valid))
        found, expected = f"{predicted[row]}", "a number of iterations from 0 up"
        raise InputError("simulate", f"predicted[{row}]", found, expected)
