"""Running a policy on jobs: event driven, deterministic, compiled.

Guarantee: the records follow models/online/README.md to the tie; a second, naive simulator in the
tests gives the same ones. Complexity: see `event_loop` and `preemptive_loop`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optsched import interrupts
from optsched.errors import InputError
from optsched.online.data.jobs import Jobs
from optsched.online.policies.by_name import Policy, PolicyOptions, find_policy
from optsched.online.records import Records, Segments
from optsched.online.simulator import event_loop, preemptive_loop
from optsched.online.simulator.iteration_times import empty_table
from optsched.online.simulator.offers import GPU_BITS, RULES, all_free

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
STEPS = 20_000
"""Instants between two calls of `progress`, and two looks for an interrupt."""
STEPS_OF_A_JOB = 200
"""Rounds of the innermost loops for each job: 400 jobs take Python about 60 ms."""

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
        A name of `POLICIES`, or a policy of your own making.
    predicted : (n,) float, optional
        n~ by row; by default, and for policies with perfect knowledge, the true n.
    options : PolicyOptions, optional
        tau, comm_heavy, offer rule, hold, slot.
    progress : callable, optional
        Called with (jobs started, jobs) from time to time; jobs ended, for policies that preempt.
        A KeyboardInterrupt ends the run: the records of the jobs that have started come back with
        ``complete=False``.

    Returns
    -------
    Records
        One a job, in row order.

    Raises
    ------
    InputError
        For an unknown policy, a setting it refuses, or a prediction that is no number.

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
    known = jobs.iterations if policy.perfect or predicted is None else predicted
    _check_predictions(jobs, known)
    run = _run if policy.preempts == "never" else _run_preemptive
    return run(jobs, policy, options, np.asarray(known, dtype=np.float64), progress)


def _run(
    jobs: Jobs, policy: Policy, options: PolicyOptions, predicted: Floats, report: Progress | None
) -> Records:
    n, made = len(jobs), jobs.configurations
    behind_head = event_loop.EASY if policy.reserves else event_loop.BACKFILL
    if not policy.backfills:
        behind_head = event_loop.SCAN if policy.scans_on else event_loop.HEAD_ONLY
    rules = event_loop.Rules(
        virtual=policy.virtual,
        behind_head=behind_head,
        delays=policy.delays,
        hold=event_loop.HOLDS[options.hold or "none"],
        offer=RULES[options.offer or policy.offer],
        tau=float(options.tau),
        comm_heavy=float(options.comm_heavy),
        slot=float(options.slot),
    )
    heavy = made.worst / made.estimate >= options.comm_heavy
    bucket, bucket_gpus, bucket_offer = _buckets(jobs, policy, heavy)
    walltime = jobs.workload.walltime
    data = event_loop.JobData(
        submit=jobs.submit,
        iterations=jobs.iterations,
        predicted=predicted,
        work=jobs.gpus / jobs.cluster.gpus * predicted * jobs.estimate,
        walltime=np.empty(0) if walltime is None else walltime,
        configuration=jobs.configuration,
        rank=_ranks(jobs, policy, predicted),
        bucket=bucket,
        bucket_gpus=bucket_gpus,
        bucket_offer=bucket_offer,
        heavy=heavy,
    )
    delayed = n if policy.delays else 0
    runs = event_loop.Runs(
        start=np.full(n, np.nan),
        end=np.full(n, np.nan),
        alpha=np.full(n, np.nan),
        first=np.zeros(n, dtype=np.int64),
        pieces=np.zeros(n, dtype=np.int64),
        kappa=np.full(delayed, np.nan),
        window=np.full(delayed, np.inf),
    )
    complete, (piece,) = _to_the_end(event_loop.simulate, jobs, (data, rules, runs), report)
    kept = np.flatnonzero(~np.isnan(runs.start))
    rows = slice(None) if len(kept) == n else kept
    return Records.of(
        jobs,
        rows,
        policy=policy.name,
        options=options,
        start=runs.start[rows],
        end=runs.end[rows],
        alpha=runs.alpha[rows],
        predicted=predicted[rows],
        **_pieces(piece, runs.first[kept], runs.pieces[kept]),
        complete=complete,
    )


def _run_preemptive(
    jobs: Jobs, policy: Policy, options: PolicyOptions, predicted: Floats, report: Progress | None
) -> Records:
    n, made = len(jobs), jobs.configurations
    rules = preemptive_loop.Rules(
        order=preemptive_loop.ORDERS[policy.order],
        offer=RULES[options.offer or policy.offer],
        checkpoint=float(options.restore),
        round=float(options.round or 0.0),
        slot=float(options.slot),
    )
    heavy = made.worst / made.estimate >= options.comm_heavy
    data = preemptive_loop.JobData(
        jobs.submit, jobs.iterations, predicted, jobs.configuration, heavy
    )
    state = preemptive_loop.Progress(
        left=np.zeros(n),
        known=np.zeros(n),
        worked=np.zeros(n),
        begin=np.zeros(n),
        end=np.full(n, np.inf),
        alpha=np.ones(n),
        key=np.zeros(n),
        segment=np.full(n, -1),
    )
    complete, log = _to_the_end(preemptive_loop.simulate, jobs, (data, rules, state), report)
    row, start, end, alpha, last, piece = log
    row, last = row.astype(np.int64), last.astype(np.int64)  # Python makes floats of no segment
    kept = np.flatnonzero(state.end < np.inf)  # of an interrupted run: jobs that run or have ended
    order = np.argsort(row, kind="stable")
    order = order[state.end[row[order]] < np.inf]
    begin = np.concatenate(([0], last[:-1])).astype(np.int64)[order]
    segments = Segments(
        job=np.searchsorted(kept, row[order]),
        start=start[order],
        end=end[order],
        alpha=alpha[order],
        **_pieces(piece, begin, last[order] - begin),
    )
    rows = slice(None) if len(kept) == n else kept
    return Records.of(
        jobs,
        rows,
        policy=policy.name,
        options=options,
        predicted=predicted[rows],
        segments=segments,
        complete=complete,
    )


def _pieces(piece: Ints, begin: Ints, count: Ints) -> dict[str, Ints]:
    """Return the columns of a run's pieces: `count` of each job or segment, from `begin` on."""
    first = np.concatenate(([0], np.cumsum(count))).astype(np.int64)
    order = np.arange(first[-1]) + np.repeat(begin - first[:-1], count)
    piece = piece.astype(np.int64)[order]
    return {"first": first, "server": piece >> GPU_BITS, "taken": piece & ((1 << GPU_BITS) - 1)}


def _to_the_end(
    loop: Any, jobs: Jobs, parts: tuple[Any, Any, Any], report: Progress | None
) -> tuple[bool, list[Any]]:
    """Run a loop; return whether it was not interrupted, and the last arrays that it yields."""
    data, rules, state = parts
    cluster, stop = jobs.cluster, np.zeros(1, dtype=np.bool_)
    servers = all_free(cluster.servers, cluster.gpus_per_server)
    table = empty_table(cluster.gpus_per_server)
    call = loop.for_size(STEPS_OF_A_JOB * len(jobs))
    run: Iterator[Any] = call(
        data, jobs.configurations.packed, rules, servers, table, state, stop, STEPS
    )
    last: list[Any] = []
    with interrupts.deferred() as interrupt:  # a generator of Python does not survive an exception
        for done, *last in run:  # noqa: B007 - kept after the loop
            try:
                if report is not None:
                    report(int(done), len(jobs))
            except KeyboardInterrupt:
                stop[0] = True
            stop[0] |= interrupt.came
    return not stop[0], [np.asarray(column) for column in last]


def _ranks(jobs: Jobs, policy: Policy, predicted: Floats) -> Ints:
    """Return each row's place in the order of the queue; nothing for first in, first out."""
    if policy.order == "duration":
        key = predicted * jobs.estimate
    elif policy.order == "workload":
        key = jobs.gpus * predicted * jobs.estimate
    else:
        return np.empty(0, dtype=np.int64)
    rank = np.empty(len(jobs), dtype=np.int64)
    rank[np.argsort(key, kind="stable")] = np.arange(len(jobs))
    return rank


def _buckets(jobs: Jobs, policy: Policy, heavy: Bools) -> tuple[Ints, Ints, Ints]:
    """Return each configuration's bucket, and by bucket the GPUs and whether offers are checked.

    Jobs of equal g share a bucket unless the offer decides whether they start.
    """
    made = jobs.configurations
    alone = np.array([job.is_sliced for job in made.jobs], dtype=bool)
    if policy.delays:
        alone |= heavy | policy.scans_on
    if policy.reserves:  # each job is looked at by itself
        alone[:] = False
    key = np.stack((made.gpus, np.where(alone, np.arange(len(alone)), -1)), axis=1)
    distinct, bucket = np.unique(key.reshape(-1, 2), axis=0, return_inverse=True)
    gpus, first = distinct.T
    _, offer = np.unique(2 * gpus + heavy[first], return_inverse=True)
    return bucket.reshape(-1).astype(np.int64), gpus.copy(), np.where(first < 0, -1, offer)


def _check_predictions(jobs: Jobs, predicted: Floats) -> None:
    values = np.asarray(predicted, dtype=np.float64)
    if values.shape != (len(jobs),):
        raise InputError("simulate", "predicted", f"{values.shape}", f"one a job, ({len(jobs)},)")
    valid = (values >= 0) & (values <= 1e18)
    if not valid.all():
        row = int(np.argmin(valid))
        raise InputError(
            "simulate", f"predicted[{row}]", f"{values[row]}", "a number of iterations from 0 up"
        )
