"""The next decision of a policy on a cluster at one time.

The pass over the queue is the event loop's own, on the servers that running jobs leave.
Guarantee: called at each event of a run (submissions, ends, `wake`), with the memory of the last
call, it starts the jobs that the simulator starts; with maintenance windows if the predictions are
right, since it cannot know when jobs end. Complexity: that of one pass, and O(m log m) for the m
jobs submitted since the last call.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from optsched.arrays import Floats, Ints
from optsched.errors import InputError, MethodError, OptschedError, shown
from optsched.external import scheduler_of
from optsched.files import read_document
from optsched.online.data.jobs import Jobs, prepare_jobs
from optsched.online.data.workload import Workload
from optsched.online.policies.by_name import POLICIES, Policy, PolicyOptions, find_policy
from optsched.online.simulator import event_loop
from optsched.online.simulator.engine import STEPS_PER_JOB, event_loop_input, idle_runs
from optsched.online.simulator.iteration_times import compute_and_cache_time, empty_table
from optsched.online.simulator.limits import next_windows
from optsched.online.simulator.offers import GPU_BITS, all_free, set_free
from optsched.online.simulator.own_policy import OwnPolicy, QueuedJob, RunningJob, View
from optsched.online.simulator.queues import SENTINEL
from optsched.online.state import ActiveJob, Delay, JobStart, Memory, OnlineDecision, OnlineState

Entries = Sequence[Any]
"""Waiting and running jobs in order of their submission: `WaitingJob` or `ActiveJob`."""


def decide(
    state: OnlineState | Mapping[str, object] | str | Path,
    policy: str | OwnPolicy | type = "a-srpt",
    *,
    options: PolicyOptions | Mapping[str, object] | None = None,
) -> OnlineDecision:
    """Return what a policy starts now, and on which servers.

    Call it whenever a job is submitted or ends, and at the last decision's `wake`.

    Parameters
    ----------
    state : OnlineState, mapping, str or Path
        The cluster, its waiting and its running jobs, and the `memory` of the last decision; or the
        JSON object of such a file, or its path.
    policy : str, object or class
        A policy that does not preempt jobs, other than fair-share, by name; an object with
        ``schedule(view)``; or its import path, ``"module:name"``.
    options : PolicyOptions or mapping, optional
        tau, comm_heavy, offer, hold, slot.

    Returns
    -------
    OnlineDecision
        Starts, the time of the next decision, and the memory for it.

    Raises
    ------
    InputError
        For an invalid state, an unknown policy, one that preempts jobs, fair-share, or an option
        that the policy does not allow.
    MethodError
        If a policy of your own raises.

    Examples
    --------
    >>> import optsched
    >>> small = optsched.load("online/small-400x40")
    >>> job = {"job_id": "a", "submit_time": 0, "gpus": 9, "model": "any", "predicted": 50}
    >>> models = {"any": next(iter(small.catalogue.models.values()))}
    >>> catalogue = small.catalogue.with_(models=models)
    >>> state = optsched.OnlineState(
    ...     now=0, cluster=small.cluster, catalogue=catalogue, queue=[job], running=[]
    ... )
    >>> optsched.decide(state, "fifo").starts[0].servers
    {'0': 8, '1': 1}
    """
    if isinstance(state, str | Path):
        state = OnlineState.from_dict(read_document(state), str(state))
    elif not isinstance(state, OnlineState):
        state = OnlineState.from_dict(state)
    if not isinstance(options, PolicyOptions):
        options = PolicyOptions.from_dict(options or {})
    entries = sorted((*state.queue, *state.running), key=lambda job: float(job.submit_time))
    predicted = np.array([job.predicted for job in entries], dtype=np.float64)
    jobs = _prepared(state, entries, predicted)
    if isinstance(policy, str) and ":" not in policy:
        row = _policy_of(policy)
        return _decide(state, entries, jobs, predicted, row, options.for_policy(row))
    return _decide_own(state, entries, jobs, predicted, policy, options)


def _policy_of(name: str) -> Policy:
    try:
        policy = find_policy(name)
    except InputError as error:
        raise error.at("decide", "policy") from None
    if not _is_known(policy):
        names = [policy.name for policy in POLICIES.values() if _is_known(policy)]
        expected = f"a policy that does not preempt jobs or count usage: {', '.join(names)}"
        raise InputError("decide", "policy", shown(name), expected)
    return policy


def _is_known(policy: Policy) -> bool:
    """Whether a state has all that the policy goes by: none has the usage of past jobs."""
    return policy.preempts == "never" and policy.order != "usage"


def _prepared(state: OnlineState, entries: Entries, predicted: Floats) -> Jobs:
    """Return the jobs, with the times of the state and predicted for true iterations."""
    workload = Workload.of(
        submit_time=[job.submit_time for job in entries],
        gpus=[job.gpus for job in entries],
        iterations=[1.0] * len(entries),
        model=[job.model for job in entries],
        user=[job.user for job in entries],
        group=[job.group for job in entries],
        job_id=[job.job_id for job in entries],
        walltime=[job.walltime for job in entries],
        name="state",
    )
    # a job above its quota waits, or runs since before the quota
    jobs = prepare_jobs(workload, state.catalogue, state.cluster.without_limits())
    workload = jobs.workload
    return replace(
        jobs,
        cluster=state.cluster,
        workload=replace(workload, iterations=predicted),
        submit=workload.submit_time,
    )


def _decide(
    state: OnlineState,
    entries: Entries,
    jobs: Jobs,
    predicted: Floats,
    policy: Policy,
    options: PolicyOptions,
) -> OnlineDecision:
    rules, data = event_loop_input(jobs, policy, options, predicted)
    now, memory, slot = float(state.now), state.memory or Memory(), float(options.slot)
    acts_at = event_loop.next_multiple(now, slot) if slot > 0 else now
    running = [row for row, job in enumerate(entries) if isinstance(job, ActiveJob)]
    waiting = [row for row, job in enumerate(entries) if not isinstance(job, ActiveJob)]
    virtual_queue, clock = [(np.inf, SENTINEL)], float(memory.clock)
    if policy.virtual:
        waiting, virtual_queue, clock = _released(state, entries, data.work, slot)
    order = np.array([*waiting, *running], dtype=np.int64)
    runs = idle_runs(len(order), policy)
    runs.start[len(waiting) :] = [entries[row].start for row in running]
    for i, row in enumerate(waiting if policy.delays else ()):
        if (delay := memory.delayed.get(entries[row].job_id)) is not None:
            runs.kappa[i] = delay.alpha
            runs.window[i] = np.inf if delay.until is None else delay.until
    starts: list[JobStart] = []  # none before the next multiple of the slot
    if waiting and acts_at == now:
        data = _rows(data, order, len(waiting), now)
        starts = _pass(jobs, [entries[row] for row in order], rules, data, runs)
    delayed, released, started = {}, [], {job.job_id for job in starts}
    for i, row in enumerate(waiting):
        if (name := entries[row].job_id) not in started:
            released.append(name)
            if policy.delays and not np.isnan(runs.kappa[i]):
                until = None if runs.window[i] == np.inf else float(runs.window[i])
                delayed[name] = Delay(alpha=float(runs.kappa[i]), until=until)
    ends = [delay.until for delay in delayed.values() if delay.until is not None]
    if delayed or any(entries[row].job_id not in started for row in waiting):
        ends += data.limits.window_ends.tolist()
    later = [time for time in (acts_at, clock + virtual_queue[0][0], *ends) if now < time < np.inf]
    wake = min(later, default=None)
    if slot > 0 and wake is not None:
        wake = event_loop.next_multiple(wake, slot)
    return OnlineDecision(
        policy=policy.name,
        now=state.now,
        starts=starts,
        wake=wake,
        memory=Memory(
            clock=clock,
            virtual={entries[row].job_id: left for left, row in sorted(virtual_queue)[:-1]},
            released=released if policy.virtual else [],
            delayed=delayed,
        ),
    )


def _released(
    state: OnlineState, entries: Entries, work: Floats, slot: float
) -> tuple[list[int], list[tuple[float, int]], float]:
    """Run the virtual machine until now.

    Return the waiting jobs that it has completed, in that order, its queue and its clock. Without
    a memory it is idle before the first submission, of jobs that run as well.
    """
    row_of = {job.job_id: row for row, job in enumerate(entries)}
    memory = state.memory or Memory(clock=min((j.submit_time for j in entries), default=state.now))
    released = dict.fromkeys(row_of[name] for name in memory.released if name in row_of)
    known = {row_of[name]: left for name, left in memory.virtual.items() if name in row_of}
    queue = [(float(left), row) for row, left in known.items() if row not in released]
    queue.append((np.inf, SENTINEL))
    heapq.heapify(queue)
    completed, submitted = list(released), {*released, *known}
    clock = float(memory.clock)
    for row, job in enumerate(entries):
        if row in submitted or (state.memory is not None and isinstance(job, ActiveJob)):
            continue
        time = max(float(job.submit_time), clock)
        time = event_loop.next_multiple(time, slot) if slot > 0 else time
        if time > state.now:  # acts at a later multiple of the slot
            continue
        if time > clock:
            clock = event_loop.complete_virtually(queue, clock, time, completed)
        if work[row] == 0.0:
            completed.append(row)
        else:
            clock = event_loop.submit_virtually(queue, clock, time, work[row], row)
    clock = event_loop.complete_virtually(queue, clock, float(state.now), completed)
    waiting = [row for row in completed if not isinstance(entries[row], ActiveJob)]
    return waiting, queue, clock


def _rows(data: event_loop.JobData, order: Ints, waiting: int, now: float) -> event_loop.JobData:
    """Return the data of some rows, of which the first `waiting` are all submitted now."""
    rank, limits = data.rank[order[:waiting]] if len(data.rank) else data.rank, data.limits
    return data._replace(
        submit=np.full(waiting, now),
        iterations=data.iterations[order],
        predicted=data.predicted[order],
        work=data.work[order],
        walltime=data.walltime[order] if len(data.walltime) else data.walltime,
        least_length=data.least_length[order],
        configuration=data.configuration[order],
        rank=np.argsort(np.argsort(rank)),
        limits=limits._replace(
            priority_class=limits.priority_class[order],
            user=limits.user[order],
            group=limits.group[order],
            window_ends=limits.window_ends[limits.window_ends > now],
        ),
    )


def _pass(
    jobs: Jobs,
    entries: Entries,
    rules: event_loop.Rules,
    data: event_loop.JobData,
    runs: event_loop.Runs,
) -> list[JobStart]:
    """Make one pass of the event loop over entries in the order of `data`; it writes to `runs`."""
    packed, waiting = jobs.configurations.packed, len(data.submit)
    cluster = jobs.cluster
    servers, table = all_free(cluster.server_gpus), empty_table(cluster.largest_server)
    allocations: list[int] = []
    for i, job in enumerate(entries[waiting:], waiting):
        held, c = [*job.servers.values()], int(data.configuration[i])
        runs.first_allocation[i], runs.num_allocations[i] = len(allocations), len(held)
        for server, gpus in job.servers.items():
            set_free(servers, int(server), int(servers.free[int(server)]) - gpus)
            allocations.append(int(server) << GPU_BITS | gpus)
        runs.alpha[i] = packed.estimate[c]
        if len(held) > 1 and rules.overtaking == event_loop.EASY:
            counts = np.bincount(held, minlength=cluster.largest_server + 1)
            runs.alpha[i] = compute_and_cache_time(table, packed, c, counts)
    stop, progress = np.zeros(1, dtype=np.bool_), np.zeros(1, dtype=np.int64)
    rules, data = (
        rules._replace(virtual=False),
        data._replace(allocations=np.array(allocations, int)),
    )
    loop = event_loop.simulate.for_size(STEPS_PER_JOB * len(entries))
    packed_servers = loop(data, packed, rules, servers, table, runs, 1, stop, progress)
    rows = np.flatnonzero(~np.isnan(runs.start[:waiting]))
    starts = []
    for i in rows[np.argsort(runs.first_allocation[rows])]:
        first = runs.first_allocation[i]
        held = packed_servers[first : first + runs.num_allocations[i]].tolist()
        offer = [divmod(int(each), 1 << GPU_BITS) for each in held]
        starts.append(_start(entries[i].job_id, offer, runs.alpha[i]))
    return starts


def _start(name: str, servers: Iterable[tuple[int, int]], alpha: float) -> JobStart:
    by_server = {str(server): gpus for server, gpus in servers}
    return JobStart(job_id=name, servers=by_server, alpha=float(alpha))


class _StateView(View):
    """The view of a policy of one's own at the time of a state."""

    def __init__(
        self, state: OnlineState, entries: Entries, jobs: Jobs, predicted: Floats, options: Any
    ) -> None:
        super().__init__(jobs, predicted, options)
        self._now = float(state.now)
        for row, entry in enumerate(entries):
            job = self._queued(row)
            if not isinstance(entry, ActiveJob):
                self._queue[row] = job
                self._arrived += [job] if job.submit == self._now else []
                continue
            servers = MappingProxyType({int(m): gpus for m, gpus in entry.servers.items()})
            self._add_free(row, servers, -1)
            start, alpha = float(entry.start), self.iteration_time(job, servers)
            self._running[row] = RunningJob(job, start, alpha, servers, start, job.predicted)
        self._boundary = next_windows(self._limits, self._until, self._now)

    def preempt(self, job: QueuedJob) -> None:
        expected = "a policy that does not preempt jobs"
        raise InputError("decide", f"job {job.job_id}", "a preemption", expected)


def _decide_own(
    state: OnlineState,
    entries: Entries,
    jobs: Jobs,
    predicted: Floats,
    policy: Any,
    options: PolicyOptions,
) -> OnlineDecision:
    name, scheduler = scheduler_of(policy)
    view = _StateView(state, entries, jobs, predicted, options)
    try:
        scheduler.schedule(view)
    except (OptschedError, MemoryError):
        raise
    except Exception as error:
        raise MethodError(name, f"raised {type(error).__name__}: {error}") from error
    events = [*view._wakes]
    if view.queue:
        events += [time for time in view._limits.window_ends.tolist() if time > view.now]
    return OnlineDecision(
        policy=name,
        now=state.now,
        starts=[_start(entries[row].job_id, s.servers, s.alpha) for row, s in view._segments],
        wake=min(events, default=None),
        memory=state.memory or Memory(),
    )
