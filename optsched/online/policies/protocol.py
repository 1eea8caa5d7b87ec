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

A policy that needs to be called later without an event asks for it by ``view.wake(time)``. One
that calls ``view.preempt(job)`` stops a job, which waits from then on with what it has done; when
it resumes, its first `checkpoint` seconds (an option, 30) are lost. Least attained service, by
rounds of six minutes, which is the `las` of the command line:

    class LeastAttained:
        def schedule(self, view):
            jobs = [*view.queue, *(each.job for each in view.running)]
            room, first = view.gpus, {job.row for job in view.queue}
            for job in sorted(jobs, key=lambda job: (view.attained(job), job.row)):
                if job.gpus <= room:
                    room -= job.gpus
                elif view.now % 360 == 0 and job.row not in first:
                    view.preempt(job)
            for job in sorted(view.queue, key=lambda job: (view.attained(job), job.row)):
                if (offer := view.offer(job, "best-fit-last")) is not None:
                    view.start(job, offer)
            if view.queue:
                view.wake((view.now // 360 + 1) * 360)

Rules of the cluster (gang, capacity) are enforced. O(servers) an offer and whatever the policy does
an event.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from optsched.errors import InputError, shown
from optsched.online.data.jobs import Jobs
from optsched.online.policies.by_name import PolicyOptions
from optsched.online.policies.own_run import Offer, OwnRun, QueuedJob, RunningJob
from optsched.online.records import Records
from optsched.online.simulator.offers import RULES


class OwnPolicy(Protocol):
    """What `simulate_policy` runs."""

    def schedule(self, view: View, /) -> None:
        """Start jobs now, stop them, or leave them."""


class View:
    """The cluster and the queue as a policy sees them at one instant."""

    def __init__(self, run: OwnRun) -> None:
        self._run = run

    @property
    def now(self) -> float:
        """Seconds since the first submission."""
        return self._run.now

    @property
    def queue(self) -> tuple[QueuedJob, ...]:
        """Jobs that wait: submitted and not started, or stopped, in row order."""
        return tuple(self._run.queue[row] for row in sorted(self._run.queue))

    @property
    def arrived(self) -> tuple[QueuedJob, ...]:
        """Those of them that were submitted at this instant, in row order."""
        return tuple(self._run.arrived)

    @property
    def running(self) -> tuple[RunningJob, ...]:
        """Jobs that hold GPUs, in row order."""
        return tuple(self._run.running[row] for row in sorted(self._run.running))

    @property
    def gpus(self) -> int:
        """GPUs in all."""
        return self._run.jobs.cluster.gpus

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

    def preempt(self, job: QueuedJob) -> None:
        """Stop a job that runs: its GPUs are free at once, and it waits again.

        Raises
        ------
        InputError
            If it does not run.
        """
        self._run.preempt(job)

    def attained(self, job: QueuedJob) -> float:
        """GPU-seconds that it has worked so far, restoring not counted."""
        return job.gpus * self._run.progress(job.row)[0]

    def remaining(self, job: QueuedJob) -> float:
        """Iterations predicted to be left now; 0 once it has run for longer than predicted."""
        return self._run.progress(job.row)[1]

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
    known = jobs.iterations if predicted is None else np.asarray(predicted, dtype=np.float64)
    run = OwnRun(jobs, known, options)
    view = View(run)
    while run.step():
        policy.schedule(view)
    if run.queue:
        left = min(run.queue)
        raise InputError(
            f"policy {name}", "", f"job {run.queue[left].job_id} left waiting", "every job to run"
        )
    return run.records(name)
