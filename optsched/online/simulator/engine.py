"""Running a policy on jobs: event driven, deterministic, compiled.

Guarantee: the records follow models/online/README.md to the tie; a second, naive simulator in the
tests gives the same ones. Complexity: see `engine_kernel`. Memory: about 150 bytes per job.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from optsched.errors import InputError
from optsched.online.data.jobs import Jobs
from optsched.online.policies.by_name import Policy, PolicyOptions, find_policy
from optsched.online.records import Records
from optsched.online.simulator.bits import BITS, MASK
from optsched.online.simulator.offers import RULES
from optsched.online.simulator.preemption import PreemptiveRun
from optsched.online.simulator.state import (
    BACKFILL,
    HOLDS,
    RESERVE,
    SCAN_ON,
    STARTED,
    STOP_AT_MISFIT,
    Queue,
    Rows,
    Rules,
    State,
    new_state,
    with_more_room,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Narrow = NDArray[np.int32]
"""Halves what a run looks up at random: most of its time goes into waiting for memory."""
STEPS = 20_000
"""Instants between two looks at the clock, the progress bar and the keyboard."""

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
        Called with (jobs started, jobs) from time to time. A KeyboardInterrupt ends the run: the
        records of the jobs that have started come back with ``complete=False``.

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
    simulator = _Run if policy.preempts == "never" else PreemptiveRun
    run = simulator(jobs, policy, options, np.asarray(known, dtype=np.float64))
    complete = run.until_done(STEPS, progress)
    return run.records(complete)


class _Run:
    def __init__(
        self, jobs: Jobs, policy: Policy, options: PolicyOptions, predicted: Floats
    ) -> None:
        self.jobs, self.policy, self.options, self.predicted = jobs, policy, options, predicted
        self.rules = _rules(policy, options)
        self.rows, self.queue = _rows_and_queue(jobs, policy, options, predicted)
        cluster = jobs.cluster
        self.state: State = new_state(
            len(jobs), cluster.servers, cluster.gpus_per_server, self.rules
        )

    def until_done(self, steps: int, progress: Progress | None) -> bool:
        from optsched.online.simulator._engine_kernel import DONE, NEEDS_ROOM, advance

        packed = self.jobs.configurations.packed
        try:
            while True:
                status = advance(self.rows, packed, self.rules, self.queue, self.state, steps)
                if progress is not None:
                    progress(int(self.state.index[STARTED]), len(self.jobs))
                if status == DONE:
                    return True
                if status == NEEDS_ROOM:
                    self.state = with_more_room(self.state)
        except KeyboardInterrupt:
            return False

    def records(self, complete: bool) -> Records:
        state, jobs = self.state, self.jobs
        has_started = ~np.isnan(state.start)
        kept = slice(None) if has_started.all() else np.flatnonzero(has_started)
        first, server, taken = self._pieces(np.flatnonzero(has_started))
        return Records.of(
            jobs,
            kept,
            policy=self.policy.name,
            options=self.options,
            start=state.start[kept],
            end=state.end[kept],
            alpha=state.alpha[kept],
            predicted=self.predicted[kept],
            first=first,
            server=server,
            taken=taken,
            complete=complete,
        )

    def _pieces(self, kept: Ints) -> tuple[Ints, NDArray[np.int32], NDArray[np.int32]]:
        """`first`, `server` and `taken` of the jobs that are kept, as in `Records`."""
        from optsched.online.simulator.pieces import lay_out_pieces

        state = self.state
        first = np.empty(len(kept) + 1, dtype=np.int64)
        server, taken = np.empty((2, int(state.pieces[kept].sum())), dtype=np.int32)
        heap = np.empty(len(state.servers.free), dtype=np.int64)
        columns = first, server, taken
        lay_out_pieces(kept, state.first_piece, state.pieces, state.piece, heap, columns)
        return columns


def _rules(policy: Policy, options: PolicyOptions) -> Rules:
    backfill = RESERVE if policy.reserves else BACKFILL
    scan = backfill if policy.backfills else SCAN_ON if policy.scans_on else STOP_AT_MISFIT
    return Rules(
        virtual=policy.virtual,
        fifo=policy.order == "release",
        scan=scan,
        delays=policy.delays and not policy.scans_on,
        hold=HOLDS[options.hold or "none"],
        offer=RULES[options.offer or policy.offer],
        tau=float(options.tau),
        comm_heavy=float(options.comm_heavy),
        slot=float(options.slot),
    )


def _rows_and_queue(
    jobs: Jobs, policy: Policy, options: PolicyOptions, predicted: Floats
) -> tuple[Rows, Queue]:
    made, walltime = jobs.configurations, jobs.workload.walltime
    heavy = made.worst / made.estimate >= options.comm_heavy
    order = _queue_order(jobs, policy, predicted)
    rank = np.empty(len(jobs), dtype=np.int32)
    if policy.order in ("duration", "workload"):
        rank[order] = np.arange(len(jobs), dtype=np.int32)
    elif policy.order != "release":  # where it is said by the run
        rank[:] = order
    bucket, sizes, gpus, configuration = _buckets(jobs, policy, heavy)
    begin = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    distinct, size_of = np.unique(gpus, return_inverse=True)
    skip = [np.arange(size, dtype=np.int32) for size in sizes if policy.backfills]
    rows = Rows(
        submit=jobs.submit,
        iterations=jobs.iterations,
        predicted=predicted,
        work=jobs.gpus / jobs.cluster.gpus * predicted * jobs.estimate,
        gpus=jobs.gpus.astype(np.int32),
        configuration=jobs.configuration.astype(np.int32),
        rank=rank,
        bucket=bucket,
        heavy=heavy,
        walltime=np.full(len(jobs), np.nan) if walltime is None else walltime,
    )
    queue = Queue(
        row_at=order,
        heap=np.empty(len(jobs), dtype=np.int32),
        begin=begin,
        size=np.zeros(len(sizes), dtype=np.int64),
        gpus=gpus,
        configuration=configuration,
        skip=np.concatenate([order[:0], *skip]),
        newest=np.full(len(sizes), -1),
        front=np.zeros(len(sizes), dtype=np.int64),
        waiting=np.zeros(len(sizes), dtype=np.int64),
        some=np.zeros((len(sizes) + MASK) >> BITS, dtype=np.int64),
        size_of=size_of.reshape(-1).astype(np.int64),
        offered=np.zeros((len(distinct), jobs.cluster.gpus_per_server + 1), dtype=np.int64),
        refused=np.full(len(sizes), -1, dtype=np.int64),
        fitting=np.empty(len(sizes), dtype=np.int64),
        upcoming=np.empty(len(sizes), dtype=np.int64),
        failed=np.full(len(sizes), -1, dtype=np.int64),
    )
    return rows, queue


def _queue_order(jobs: Jobs, policy: Policy, predicted: Floats) -> Narrow:
    """Rows by the queue's key, ties by row."""
    if policy.order == "duration":
        key = predicted * jobs.estimate
    elif policy.order == "workload":
        key = jobs.gpus * predicted * jobs.estimate
    else:
        return np.arange(len(jobs), dtype=np.int32)
    return np.argsort(key, kind="stable").astype(np.int32)


def _buckets(
    jobs: Jobs, policy: Policy, heavy: NDArray[np.bool_]
) -> tuple[Narrow, Ints, Ints, Ints]:
    """Bucket of each row; size, GPUs and configuration of each bucket, in order of GPUs."""
    made = jobs.configurations
    every, alone = np.arange(len(heavy)), np.full(len(heavy), -1, dtype=np.int64)
    if policy.backfills and not policy.reserves:
        key = np.stack((made.gpus, np.where(heavy, every, -1)), axis=1)
    elif policy.backfills:
        key = np.stack((made.gpus, alone), axis=1)
    elif policy.scans_on:
        sliced = np.array([job.is_sliced for job in made.jobs], dtype=bool)
        key = np.stack((made.gpus, np.where(sliced | policy.delays, every, -1)), axis=1)
    else:
        key = np.stack((alone, alone), axis=1)
    distinct, bucket_of = np.unique(key, axis=0, return_inverse=True)
    bucket = bucket_of.reshape(-1).astype(np.int32)[jobs.configuration]
    sizes = np.bincount(bucket, minlength=max(len(distinct), 1)).astype(np.int64)
    if not len(distinct):
        return bucket, sizes, np.zeros(1, dtype=np.int64), np.full(1, -1, dtype=np.int64)
    return bucket, sizes, distinct[:, 0].copy(), distinct[:, 1].copy()


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
