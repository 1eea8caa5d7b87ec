"""The cluster under a policy of a caller's: what happens when, and what is free."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from optsched.errors import InputError, shown
from optsched.online.data.jobs import Jobs
from optsched.online.policies.by_name import PolicyOptions
from optsched.online.records import Records, Segment, Segments
from optsched.placement.cost import cost_tables, placement_time
from optsched.placement.heuristics.heavy_edge import graph_arrays, heavy_edge_counts
from optsched.placement.options import PlacementOptions

Offer = Mapping[int, int]
"""GPUs by server."""


@dataclass(frozen=True)
class QueuedJob:
    """What a policy may know of a job: never its true iterations.

    Attributes
    ----------
    row : int
        Its place in (submit_time, row) order: breaks ties.
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


@dataclass(frozen=True)
class RunningJob:
    """What a policy may know of a job that runs.

    Attributes
    ----------
    job : QueuedJob
        As it was queued.
    start : float
        When it started here: seconds since the first submission.
    alpha : float
        Seconds an iteration takes where it runs.
    servers : Offer
        GPUs it holds, by server.
    works_from, remaining : float
        When iterations begin, later than `start` where a checkpoint is restored, and how many were
        predicted to be left then.
    """

    job: QueuedJob
    start: float
    alpha: float
    servers: Offer
    works_from: float
    remaining: float

    @property
    def expected_end(self) -> float:
        """When it ends if the prediction is right and it is not stopped; may have passed."""
        return self.works_from + self.remaining * self.alpha


class OwnRun:
    """One run: the clock, the queue, the running jobs and the free GPUs."""

    def __init__(self, jobs: Jobs, predicted: NDArray[np.float64], options: PolicyOptions) -> None:
        self.jobs, self.predicted, self.options = jobs, predicted, options
        self.now = -np.inf
        self.free = [jobs.cluster.gpus_per_server] * jobs.cluster.servers
        self.total_free = jobs.cluster.gpus
        self.queue: dict[int, QueuedJob] = {}
        self.arrived: list[QueuedJob] = []
        self.running: dict[int, RunningJob] = {}
        self._next = 0
        self._ends: list[tuple[float, int, int]] = []
        self._wakes: list[float] = []
        self._alpha: dict[tuple[int, tuple[int, ...]], float] = {}
        self._segments: list[tuple[int, Segment]] = []
        self._segment_of: dict[int, int] = {}  # the last of each row that has started
        self._left = [*zip(jobs.iterations.tolist(), predicted.tolist(), strict=True)]
        self._worked = [0.0] * len(jobs)
        made = jobs.configurations
        self._heavy = made.worst / made.estimate >= options.comm_heavy

    def step(self) -> bool:
        """Go on to the next instant; False when nothing is left to happen."""
        submit = self.jobs.submit
        times = [float(submit[self._next])] if self._next < len(submit) else []
        times += [self._ends[0][0]] if self._ends else []
        times += self._wakes[:1]
        if not times:
            return False
        self.now = min(times)
        while self._wakes and self._wakes[0] <= self.now:
            heapq.heappop(self._wakes)
        while self._ends and self._ends[0][0] <= self.now:
            self._release(heapq.heappop(self._ends)[1])
            self._forget_stopped()
        self.arrived = []
        while self._next < len(submit) and submit[self._next] <= self.now:
            self.arrived.append(self._queued(self._next))
            self._next += 1
        self.queue.update((job.row, job) for job in self.arrived)
        return True

    def wake(self, time: float) -> None:
        """Note a time to be called at."""
        if not self.now < time < np.inf:
            raise InputError("policy", "wake", shown(time), f"a time after {self.now}")
        heapq.heappush(self._wakes, float(time))

    def offer(self, job: QueuedJob, rule: str) -> dict[int, int] | None:
        """GPUs by server that a rule gives a job now; None where too few are free."""
        if job.gpus > self.total_free:
            return None
        if rule == "adaptive":
            rule = "most" if job.heavy else "least"
        sign = {"least": 1, "first-fit": 0}.get(rule, -1)
        order = sorted((sign * count, server) for server, count in enumerate(self.free) if count)
        pieces: dict[int, int] = {}
        left = job.gpus
        for _, server in order:
            if rule == "best-fit-last" and self.free[server] >= left:
                enough = (m for _, m in order if m not in pieces and self.free[m] >= left)
                server = min(enough, key=lambda m: (self.free[m], m))
            pieces[server] = min(left, self.free[server])
            left -= pieces[server]
            if left == 0:
                break
        return pieces

    def alpha(self, row: int, offer: Offer) -> float:
        """Seconds an iteration takes on an offer; infinite where its slices do not fit."""
        configuration = int(self.jobs.configuration[row])
        key = (configuration, tuple(sorted(offer.values(), reverse=True)))
        if key not in self._alpha:
            job = self.jobs.configurations.jobs[configuration]
            counts = heavy_edge_counts(graph_arrays(job), key[1])
            tables = cost_tables(job, self.jobs.cluster.hardware, key[1][0])
            fits = counts.sum() == job.replicas
            options = PlacementOptions()
            self._alpha[key] = placement_time(tables, counts, options) if fits else np.inf
        return self._alpha[key]

    def start(self, job: QueuedJob, offer: Offer | None) -> None:
        """Start a job that waits, or let it resume."""
        if job.row not in self.queue:
            raise InputError("policy", f"job {job.job_id}", "not queued", "a queued job")
        pieces = dict(offer or {})
        fits = all(
            0 <= server < len(self.free) and 0 < count <= self.free[server]
            for server, count in pieces.items()
        )
        if not fits or sum(pieces.values()) != job.gpus:
            raise InputError(
                "policy", f"job {job.job_id}", shown(pieces), f"{job.gpus} GPUs that are free"
            )
        alpha = self.alpha(job.row, pieces)
        if alpha == np.inf:
            raise InputError(
                "policy", f"job {job.job_id}", shown(pieces), "GPUs that its slices fit on"
            )
        left, known = self._left[job.row]
        resumes = job.row in self._segment_of
        begin = self.now + self.options.restore if resumes else self.now
        end = begin + left * alpha
        for server, count in pieces.items():
            self.free[server] -= count
        self.total_free -= job.gpus
        queued, held = self.queue.pop(job.row), dict(sorted(pieces.items()))
        shown_held = MappingProxyType(held)
        self.running[job.row] = RunningJob(queued, self.now, alpha, shown_held, begin, known)
        self._segment_of[job.row] = len(self._segments)
        heapq.heappush(self._ends, (end, job.row, len(self._segments)))
        self._segments.append((job.row, Segment(self.now, end, alpha, tuple(held.items()))))

    def preempt(self, job: QueuedJob) -> None:
        """Stop a job that runs."""
        if job.row not in self.running:
            raise InputError("policy", f"job {job.job_id}", "not running", "a running job")
        running = self.running[job.row]
        ran = max(0.0, self.now - running.works_from)
        left, known = self._left[job.row]
        made = ran / running.alpha
        self._left[job.row] = max(0.0, left - made), max(0.0, known - made)
        self._worked[job.row] += ran
        at = self._segment_of[job.row]
        self._segments[at] = (job.row, replace(self._segments[at][1], end=self.now))
        self._release(job.row)
        self.queue[job.row] = running.job
        self._forget_stopped()

    def progress(self, row: int) -> tuple[float, float]:
        """Seconds worked, and iterations predicted to be left, now."""
        worked, known = self._worked[row], self._left[row][1]
        if row not in self.running:
            return worked, known
        running = self.running[row]
        ran = max(0.0, self.now - running.works_from)
        return worked + ran, max(0.0, known - ran / running.alpha)

    def records(self, name: str) -> Records:
        """What ran, once nothing waits."""
        in_order = sorted(self._segments, key=lambda each: each[0])  # stable
        return Records.of(
            self.jobs,
            np.arange(len(self.jobs), dtype=np.int64),
            policy=name,
            options=self.options,
            predicted=self.predicted,
            segments=Segments.of([row for row, _ in in_order], [each for _, each in in_order]),
        )

    def _release(self, row: int) -> None:
        for server, gpus in self.running.pop(row).servers.items():
            self.free[server] += gpus
            self.total_free += gpus

    def _forget_stopped(self) -> None:
        """Let the next end be that of a job that runs."""
        while self._ends:
            _, row, segment = self._ends[0]
            if row in self.running and self._segment_of[row] == segment:
                return
            heapq.heappop(self._ends)

    def _queued(self, row: int) -> QueuedJob:
        table = self.jobs.workload
        configuration = self.jobs.configuration[row]
        return QueuedJob(
            row,
            str(table.job_id[row]),
            float(self.jobs.submit[row]),
            int(table.gpus[row]),
            float(self.predicted[row]),
            float(self.jobs.configurations.estimate[configuration]),
            bool(self._heavy[configuration]),
            table.user.values[table.user.codes[row]],
            table.group.values[table.group.codes[row]],
        )
