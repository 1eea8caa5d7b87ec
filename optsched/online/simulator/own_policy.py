"""Custom policies in Python: slower than the compiled ones.

Write a class with one method, ``schedule(view)``. It is called once per event time, after the ends
and arrivals of that time, and starts jobs through the view. Call ``view.wake(time)`` to be called
again at a later time. ``view.preempt(job)`` stops a job, which keeps its completed iterations and
returns to the queue; when it resumes, its first `checkpoint` seconds (an option, 30) are lost.
docs/how-to/own-policy.md has shortest job first, and `las`, as examples.

Rules of the cluster (gang, capacity, limits) are enforced. O(servers) per offer.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Protocol

import numpy as np

from optsched.arrays import Floats
from optsched.errors import InputError, shown
from optsched.online.data.jobs import Jobs
from optsched.online.policies.by_name import PolicyOptions
from optsched.online.records import Records, Segment, Segments
from optsched.online.simulator import limits, offers
from optsched.placement.cost import cost_tables, placement_time
from optsched.placement.heuristics.heavy_edge import graph_arrays, heavy_edge_counts
from optsched.placement.options import PlacementOptions

Offer = Mapping[int, int]
"""GPUs by server."""


@dataclass(frozen=True)
class QueuedJob:
    """A waiting job as a policy sees it, without the true iterations.

    Attributes
    ----------
    row : int
        Index in the order of submission: breaks ties.
    submit : float
        Seconds since the first submission.
    gpus : int
        g.
    predicted, estimate : float
        n~, and alpha~ in seconds.
    heavy : bool
        alpha^max/alpha~ >= comm_heavy.
    user, group : str
        As in the workload.
    walltime : float or None
        The user's estimate, seconds.
    """

    row: int
    job_id: str
    submit: float
    gpus: int
    predicted: float
    estimate: float
    heavy: bool
    user: str
    group: str
    walltime: float | None = None


@dataclass(frozen=True)
class RunningJob:
    """A running job as a policy sees it.

    Attributes
    ----------
    job : QueuedJob
        The job as it was queued.
    start : float
        Start of this segment: seconds since the first submission.
    alpha : float
        Seconds per iteration on its GPUs.
    servers : Offer
        GPUs that it holds, by server.
    compute_start, remaining : float
        When iterations begin, later than `start` if a checkpoint is restored, and the iterations
        predicted to remain then.
    """

    job: QueuedJob
    start: float
    alpha: float
    servers: Offer
    compute_start: float
    remaining: float

    @property
    def expected_end(self) -> float:
        """End if the prediction is right and the job is not preempted; may be in the past."""
        return self.compute_start + self.remaining * self.alpha

    def seconds_computed(self, now: float) -> float:
        """Seconds of this segment spent on iterations until now."""
        return max(0.0, now - self.compute_start)


class OwnPolicy(Protocol):
    """A policy that `simulate_policy` runs."""

    def schedule(self, view: View, /) -> None:
        """Start or preempt jobs at the current time."""


class View:
    """The cluster and the queue as a policy sees them at one time."""

    def __init__(self, jobs: Jobs, predicted: Floats, options: PolicyOptions) -> None:
        self._jobs, self._predicted, self._options = jobs, predicted, options
        self._now = -np.inf
        self._servers = offers.all_free(jobs.cluster.server_gpus)
        self._queue: dict[int, QueuedJob] = {}
        self._arrived: list[QueuedJob] = []
        self._running: dict[int, RunningJob] = {}
        self._next = 0
        self._wakes: list[float] = []
        self._ends: dict[int, float] = {}  # planned end of each running job
        self._alpha: dict[tuple[int, tuple[int, ...]], float] = {}
        self._segments: list[tuple[int, Segment]] = []
        self._segment_of: dict[int, int] = {}  # last segment of each row that has started
        # true and predicted iterations that remain
        self._remaining = [*zip(jobs.iterations.tolist(), predicted.tolist(), strict=True)]
        self._worked = [0.0] * len(jobs)
        worst, estimate = jobs.configurations.worst, jobs.configurations.estimate
        self._heavy = worst / estimate >= options.comm_heavy
        self._limits = limits.limits_of(jobs)
        self._held = limits.none_held(self._limits)
        # next window of each server, -inf inside one, and the first time at which that changes
        self._until = np.full(jobs.cluster.num_servers, np.inf)
        self._boundary = -np.inf

    @property
    def now(self) -> float:
        """Seconds since the first submission."""
        return self._now

    @property
    def queue(self) -> tuple[QueuedJob, ...]:
        """Waiting jobs by priority, then row: submitted and not started, or preempted."""
        rows = sorted(self._queue)
        if self._limits.priority_class.any():
            rows.sort(key=self._limits.priority_class.__getitem__)
        return tuple(self._queue[row] for row in rows)

    @property
    def arrived(self) -> tuple[QueuedJob, ...]:
        """Waiting jobs that were submitted at this time, in row order."""
        return tuple(self._arrived)

    @property
    def running(self) -> tuple[RunningJob, ...]:
        """Jobs that hold GPUs, in row order."""
        return tuple(self._running[row] for row in sorted(self._running))

    @property
    def gpus(self) -> int:
        return self._jobs.cluster.gpus

    @property
    def free(self) -> tuple[int, ...]:
        """Free GPUs by server."""
        return tuple(self._servers.free.tolist())

    @property
    def free_gpus(self) -> int:
        return int(self._servers.total[0])

    def over_quota(self, job: QueuedJob) -> bool:
        """Return whether a start of the job would exceed a quota of its user or group."""
        return bool(limits.is_over_quota(self._limits, self._held, job.row, job.gpus))

    def offer(self, job: QueuedJob, rule: str) -> dict[int, int] | None:
        """Return the GPUs by server that an offer rule gives the job now; None if it does not fit.

        Its tensor slices must fit on those GPUs, too. A job over quota does not fit, and no server
        of an offer has a maintenance window before the job would end.
        """
        if rule not in offers.RULES:
            raise InputError("policy", "offer", shown(rule), f"one of {', '.join(offers.RULES)}")
        if job.gpus > self.free_gpus or self.over_quota(job):
            return None
        horizon = self._now
        while True:
            servers = self._servers
            if self._boundary < np.inf:  # windows are ahead
                servers = offers.all_free(np.where(self._until >= horizon, servers.free, 0))
            if job.gpus > servers.total[0]:
                return None
            allocations: list[int] = []
            job_rule = offers.rule_for(offers.RULES[rule], job.heavy)
            offers.take(servers, job_rule, job.gpus, allocations)
            for allocation in allocations:
                offers.release(servers, allocation)
            offer = dict(divmod(allocation, 1 << offers.GPU_BITS) for allocation in allocations)
            alpha, began = self.iteration_time(job, offer), horizon
            if alpha == np.inf:
                return None
            horizon = self._plan(job, alpha)[2]
            if not ((self._until >= began) & (self._until < horizon)).any():
                return offer

    def iteration_time(self, job: QueuedJob, offer: Offer) -> float:
        """Return alpha on an offer by Heavy-Edge, seconds; infinite if slices do not fit."""
        configuration = int(self._jobs.configuration[job.row])
        key = (configuration, tuple(sorted(offer.values(), reverse=True)))
        if key not in self._alpha:
            placed = self._jobs.configurations.jobs[configuration]
            counts = heavy_edge_counts(graph_arrays(placed), key[1])
            tables = cost_tables(placed, self._jobs.cluster.hardware, key[1][0])
            fits = counts.sum() == placed.replicas
            self._alpha[key] = (
                placement_time(tables, counts, PlacementOptions()) if fits else np.inf
            )
        return self._alpha[key]

    def start(self, job: QueuedJob, offer: Offer | None) -> None:
        """Start or resume a queued job on an offer.

        Raises
        ------
        InputError
            If it is not queued or over quota, or the offer is not its GPUs, not free, or on a
            server with a maintenance window before the job would end.
        """
        row, place = job.row, f"job {job.job_id}"
        if row not in self._queue:
            raise InputError("policy", place, "not queued", "a queued job")
        servers, free = dict(sorted((offer or {}).items())), self.free
        fits = all(
            0 <= server < len(free) and 0 < count <= free[server]
            for server, count in servers.items()
        )
        if not fits or sum(servers.values()) != job.gpus:
            raise InputError("policy", place, shown(servers), f"{job.gpus} GPUs that are free")
        alpha = self.iteration_time(job, servers)
        if alpha == np.inf:
            raise InputError("policy", place, shown(servers), "GPUs that its slices fit on")
        if self.over_quota(job):
            raise InputError("policy", place, "over quota", "a job within its quotas")
        begin, end, until = self._plan(job, alpha)
        if closed := [server for server in servers if self._until[server] < until]:
            found = f"server {closed[0]} with a maintenance window before the job would end"
            raise InputError("policy", place, found, "servers without one")
        predicted = self._remaining[row][1]
        self._add_free(row, servers, -1)
        self._running[row] = RunningJob(
            self._queue.pop(row), self._now, alpha, MappingProxyType(servers), begin, predicted
        )
        self._segment_of[row] = len(self._segments)
        self._ends[row] = end
        self._segments.append((row, Segment(self._now, end, alpha, tuple(servers.items()))))

    def preempt(self, job: QueuedJob) -> None:
        """Stop a running job: its GPUs are free at once, and it returns to the queue.

        Raises
        ------
        InputError
            If it does not run.
        """
        row = job.row
        if row not in self._running:
            raise InputError("policy", f"job {job.job_id}", "not running", "a running job")
        running = self._running[row]
        ran = running.seconds_computed(self._now)
        iterations_done = ran / running.alpha
        remaining, predicted = (max(0.0, n - iterations_done) for n in self._remaining[row])
        self._remaining[row] = remaining, predicted
        self._worked[row] += ran
        segment = self._segment_of[row]
        self._segments[segment] = (row, replace(self._segments[segment][1], end=self._now))
        self._release(row)
        self._queue[row] = running.job

    def attained(self, job: QueuedJob) -> float:
        """Return the GPU-seconds of work done so far, without restoring checkpoints."""
        running = self._running.get(job.row)
        ran = 0.0 if running is None else running.seconds_computed(self._now)
        return job.gpus * (self._worked[job.row] + ran)

    def remaining(self, job: QueuedJob) -> float:
        """Return the predicted remaining iterations; 0 once it has run longer than predicted."""
        predicted, running = self._remaining[job.row][1], self._running.get(job.row)
        if running is None:
            return predicted
        return max(0.0, predicted - running.seconds_computed(self._now) / running.alpha)

    def wake(self, time: float) -> None:
        """Schedule a call at a later time."""
        if not self._now < time < np.inf:
            raise InputError("policy", "wake", shown(time), f"a time after {self._now}")
        heapq.heappush(self._wakes, float(time))

    def _step(self) -> bool:
        """Advance to the next event; return False if there is none."""
        submit = self._jobs.submit
        times = [float(submit[self._next])] if self._next < len(submit) else []
        times += [min(self._ends.values())] if self._ends else []
        times += self._wakes[:1]
        if self._queue or self._ends or self._next < len(submit):
            window_ends = self._limits.window_ends
            window = np.searchsorted(window_ends, self._now, side="right")
            times += window_ends[window : window + 1].tolist()
        if not times:
            return False
        self._now = min(times)
        if self._now >= self._boundary:
            self._boundary = limits.next_windows(self._limits, self._until, self._now)
        while self._wakes and self._wakes[0] <= self._now:
            heapq.heappop(self._wakes)
        for row in [row for row, end in self._ends.items() if end <= self._now]:
            self._release(row)
        self._arrived = []
        while self._next < len(submit) and submit[self._next] <= self._now:
            self._arrived.append(self._queued(self._next))
            self._next += 1
        self._queue.update((job.row, job) for job in self._arrived)
        return True

    def _records(self, name: str) -> Records:
        in_order = sorted(self._segments, key=lambda entry: entry[0])  # stable
        return Records.of(
            self._jobs,
            np.arange(len(self._jobs), dtype=np.int64),
            policy=name,
            options=self._options,
            predicted=self._predicted,
            segments=Segments.of([row for row, _ in in_order], [part for _, part in in_order]),
        )

    def _plan(self, job: QueuedJob, alpha: float) -> tuple[float, float, float]:
        """Return when a segment from now on computes and ends, and until when it needs servers."""
        resumes = job.row in self._segment_of
        begin = self._now + (self._options.restore if resumes else 0.0)
        end = begin + self._remaining[job.row][0] * alpha
        walltime = 0.0 if resumes or job.walltime is None else job.walltime
        return begin, end, max(end, self._now + walltime)

    def _release(self, row: int) -> None:
        del self._ends[row]
        self._add_free(row, self._running.pop(row).servers, 1)

    def _add_free(self, row: int, servers: Offer, sign: int) -> None:
        limits.add_held(self._limits, self._held, row, -sign * sum(servers.values()))
        for server, gpus in servers.items():
            offers.set_free(self._servers, server, int(self._servers.free[server]) + sign * gpus)

    def _queued(self, row: int) -> QueuedJob:
        table = self._jobs.workload
        configuration = self._jobs.configuration[row]
        walltime = np.nan if table.walltime is None else float(table.walltime[row])
        return QueuedJob(
            row,
            str(table.job_id[row]),
            float(self._jobs.submit[row]),
            int(table.gpus[row]),
            float(self._predicted[row]),
            float(self._jobs.configurations.estimate[configuration]),
            bool(self._heavy[configuration]),
            table.user.values[table.user.codes[row]],
            table.group.values[table.group.codes[row]],
            None if np.isnan(walltime) else walltime,
        )


def simulate_policy(
    jobs: Jobs,
    policy: OwnPolicy,
    predicted: Floats | None = None,
    options: PolicyOptions | None = None,
    *,
    name: str = "own",
) -> Records:
    """Run a custom policy.

    Parameters
    ----------
    jobs : Jobs
        The workload's jobs, in time order; see `prepare_jobs`.
    policy : OwnPolicy
        An object with ``schedule(view)``, called at every event time.
    predicted : (n,) float, optional
        n~; by default the true n.
    options : PolicyOptions, optional
        comm_heavy defines heavy jobs; the policy may use the other options.
    name : str, optional
        Policy name in the records.

    Returns
    -------
    Records
        As `simulate_online` gives them; `audit` and `compute_metrics` take them.

    Raises
    ------
    InputError
        If the policy violates a rule, or never starts a job.

    Examples
    --------
    >>> import optsched
    >>> from optsched.online import compute_metrics, prepare_jobs
    >>> class First:
    ...     def schedule(self, view):
    ...         for job in view.queue:
    ...             if job.gpus > view.free_gpus:
    ...                 break
    ...             view.start(job, view.offer(job, "most"))
    ...
    >>> small = optsched.load("online/small-400x40")
    >>> jobs = prepare_jobs(small.workload, small.catalogue, small.cluster)
    >>> round(compute_metrics(simulate_policy(jobs, First())).mean_flow_time)
    2805
    """
    options = options or PolicyOptions()
    if predicted is None:
        predicted = jobs.iterations
    view = View(jobs, np.asarray(predicted, dtype=np.float64), options)
    while view._step():
        policy.schedule(view)
    if view.queue:
        found = f"job {view.queue[0].job_id} never started"
        raise InputError(f"policy {name}", "", found, "every job to run")
    return view._records(name)
