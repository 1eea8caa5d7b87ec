"""A policy of your own in plain Python: slower than the compiled ones, and exact.

Write a class with one method, ``schedule(view)``. It is called once an instant, after the ends and
arrivals of that instant, and starts jobs through the view. Example, shortest job first:

    class ShortestFirst:
        def schedule(self, view):
            for job in sorted(view.queue, key=lambda job: (job.predicted * job.estimate, job.row)):
                if job.gpus > view.free_gpus:
                    break
                view.start(job, view.offer(job, "most"))

    records = simulate_policy(jobs, ShortestFirst(), predicted)

A policy that needs to be called later without an event asks for it by ``view.wake(time)``. Rules
of the cluster (gang, capacity, no preemption) are enforced. O(servers) an offer and whatever the
policy does an event.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from optsched.errors import InputError, shown
from optsched.online.data.jobs import Jobs
from optsched.online.policies.by_name import PolicyOptions
from optsched.online.records import Records
from optsched.online.simulator.offers import RULES
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
        Seconds since the first submission.
    alpha : float
        Seconds an iteration takes where it runs.
    servers : Offer
        GPUs it holds, by server.
    """

    job: QueuedJob
    start: float
    alpha: float
    servers: Offer

    @property
    def expected_end(self) -> float:
        """When it ends if the prediction is right; may have passed."""
        return self.start + self.job.predicted * self.alpha


class OwnPolicy(Protocol):
    """What `simulate_policy` runs."""

    def schedule(self, view: View, /) -> None:
        """Start jobs now, or leave them."""


class View:
    """The cluster and the queue as a policy sees them at one instant."""

    def __init__(self, run: _Run) -> None:
        self._run = run

    @property
    def now(self) -> float:
        """Seconds since the first submission."""
        return self._run.now

    @property
    def queue(self) -> tuple[QueuedJob, ...]:
        """Submitted jobs that have not started, in row order."""
        return tuple(self._run.queue[row] for row in sorted(self._run.queue))

    @property
    def arrived(self) -> tuple[QueuedJob, ...]:
        """Those of them that were submitted at this instant, in row order."""
        return tuple(self._run.arrived)

    @property
    def running(self) -> tuple[RunningJob, ...]:
        """Jobs that have started and not ended, in row order."""
        return tuple(self._run.running[row] for row in sorted(self._run.running))

    @property
    def free(self) -> tuple[int, ...]:
        """Free GPUs by server."""
        return tuple(self._run.free)

    @property
    def free_gpus(self) -> int:
        """Free GPUs in all."""
        return self._run.total_free

    def offer(self, job: QueuedJob, rule: str) -> dict[int, int] | None:
        """GPUs by server that an offer rule gives the job now; None if it does not fit.

        A job whose slices do not fit where those GPUs are does not fit.
        """
        if rule not in RULES:
            raise InputError("policy", "offer", shown(rule), f"one of {', '.join(RULES)}")
        offer = self._run.offer(job, rule)
        return offer if offer and self._run.alpha(job.row, offer) < np.inf else None

    def iteration_time(self, job: QueuedJob, offer: Offer) -> float:
        """alpha in seconds of the job on an offer, by Heavy-Edge."""
        return self._run.alpha(job.row, offer)

    def start(self, job: QueuedJob, offer: Offer | None) -> None:
        """Start a queued job on an offer.

        Raises
        ------
        InputError
            If it is not queued, or the offer is not its GPUs or not free.
        """
        self._run.start(job, offer)

    def wake(self, time: float) -> None:
        """Ask to be called at a later time even if nothing happens then."""
        self._run.wake(time)


def simulate_policy(
    jobs: Jobs,
    policy: OwnPolicy,
    predicted: NDArray[np.float64] | None = None,
    options: PolicyOptions | None = None,
    *,
    name: str = "own",
) -> Records:
    """Run a policy of your own.

    Parameters
    ----------
    jobs : Jobs
        The workload's jobs, in time order; see `prepare_jobs`.
    policy : OwnPolicy
        An object with ``schedule(view)``, called at every event.
    predicted : (n,) float, optional
        n~; by default the true n.
    options : PolicyOptions, optional
        comm_heavy makes a job heavy; the rest is the policy's own business.
    name : str, optional
        What the records call it.

    Returns
    -------
    Records
        As `simulate_online` gives them; `audit` and `compute_metrics` take them.

    Raises
    ------
    InputError
        If the policy breaks a rule, or leaves jobs queued for ever.
    """
    options = options or PolicyOptions()
    known = jobs.iterations if predicted is None else np.asarray(predicted, dtype=np.float64)
    run = _Run(jobs, known, options)
    view = View(run)
    while run.step():
        policy.schedule(view)
    if run.queue:
        left = min(run.queue)
        raise InputError(
            f"policy {name}", "", f"job {run.queue[left].job_id} never started", "every job to run"
        )
    return run.records(name)


class _Run:
    def __init__(self, jobs: Jobs, predicted: NDArray[np.float64], options: PolicyOptions) -> None:
        self.jobs, self.predicted, self.options = jobs, predicted, options
        self.now = -np.inf
        self.free = [jobs.cluster.gpus_per_server] * jobs.cluster.servers
        self.total_free = jobs.cluster.gpus
        self.queue: dict[int, QueuedJob] = {}
        self.arrived: list[QueuedJob] = []
        self.running: dict[int, RunningJob] = {}
        self._next = 0
        self._ends: list[tuple[float, int]] = []
        self._wakes: list[float] = []
        self._alpha: dict[tuple[int, tuple[int, ...]], float] = {}
        self._start: dict[int, tuple[float, float, float, dict[int, int]]] = {}
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
            _, row = heapq.heappop(self._ends)
            del self.running[row]
            for server, gpus in self._start[row][3].items():
                self.free[server] += gpus
                self.total_free += gpus
        self.arrived = []
        while self._next < len(submit) and submit[self._next] <= self.now:
            self.arrived.append(self._queued(self._next))
            self._next += 1
        self.queue.update((job.row, job) for job in self.arrived)
        return True

    def wake(self, time: float) -> None:
        if not self.now < time < np.inf:
            raise InputError("policy", "wake", shown(time), f"a time after {self.now}")
        heapq.heappush(self._wakes, float(time))

    def offer(self, job: QueuedJob, rule: str) -> dict[int, int] | None:
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
        end = self.now + float(self.jobs.iterations[job.row]) * alpha
        for server, count in pieces.items():
            self.free[server] -= count
        self.total_free -= job.gpus
        queued, held = self.queue.pop(job.row), dict(sorted(pieces.items()))
        self.running[job.row] = RunningJob(queued, self.now, alpha, MappingProxyType(held))
        self._start[job.row] = (self.now, end, alpha, held)
        heapq.heappush(self._ends, (end, job.row))

    def records(self, name: str) -> Records:
        rows = np.arange(len(self.jobs), dtype=np.int64)
        done = [self._start[row] for row in rows.tolist()]
        return Records.of(
            self.jobs,
            rows,
            policy=name,
            options=self.options,
            start=np.array([each[0] for each in done]),
            end=np.array([each[1] for each in done]),
            alpha=np.array([each[2] for each in done]),
            predicted=self.predicted,
            pieces=[list(each[3].items()) for each in done],
        )

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
