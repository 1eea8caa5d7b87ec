"""The contention model: what every schedule's completions are, and its levels over time.

Starts and placements are decided once, ends follow: a job that spans servers is slowed by every
other one on its most contended link, each time one starts or ends; (6)-(9) of sjf-bco.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from optsched.makespan._contention_kernel import Jobs, ScheduleArrays, completions
from optsched.makespan.instance import MakespanInstance, iterations_per_slot
from optsched.makespan.solution import MakespanSolution

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Schedule:
    """Decisions: job j starts at ``starts[j]`` on ``placed[j]``, GPUs by server.

    The order of jobs is the instance's.
    """

    starts: tuple[float, ...]
    placed: tuple[dict[int, int], ...]


@dataclass(frozen=True)
class Evaluation:
    """What follows from a schedule.

    Attributes
    ----------
    ends : array
        T_j in slots; infinity for a job that never ends.
    """

    instance: MakespanInstance
    schedule: Schedule
    ends: Floats

    @property
    def makespan(self) -> float:
        """The last end, in slots."""
        return float(self.ends.max())

    @property
    def mean_completion_time(self) -> float:
        """Mean of the ends, in slots."""
        return float(self.ends.mean())

    @cached_property
    def times(self) -> Floats:
        """Starts and ends in order: between two neighbours nothing changes."""
        ends = self.ends[np.isfinite(self.ends)]
        return np.unique(np.concatenate((np.asarray(self.schedule.starts), ends)))

    @cached_property
    def active(self) -> NDArray[np.bool_]:
        """Intervals x jobs: which jobs run from ``times[i]`` to ``times[i + 1]``."""
        since = self.times[:-1, None]
        return (np.asarray(self.schedule.starts) <= since) & (since < self.ends)

    @cached_property
    def levels(self) -> Ints:
        """Intervals x jobs: p_j (6); 0 when a job does not run or sits in one server."""
        spans = self.placed_matrix > 0
        spans[spans.sum(axis=1) < 2] = False
        found = np.zeros(self.active.shape, dtype=np.int64)
        for i, active in enumerate(self.active):
            sharing = spans[active].sum(axis=0)
            found[i, active] = (spans[active] * sharing).max(axis=1)
        return found

    @cached_property
    def gpu_use(self) -> Ints:
        """Intervals x servers: GPUs in use."""
        return self.active.astype(np.int64) @ self.placed_matrix

    @property
    def fits(self) -> bool:
        """Whether no server ever gives more GPUs than it has."""
        return bool((self.gpu_use <= np.asarray(self.instance.servers)).all())

    @cached_property
    def placed_matrix(self) -> Ints:
        """Jobs x servers: y_js."""
        counts = np.zeros((len(self.ends), len(self.instance.servers)), dtype=np.int64)
        for j, placed in enumerate(self.schedule.placed):
            for server, gpus in placed.items():
                counts[j, server] = gpus
        return counts


def jobs_of(instance: MakespanInstance) -> Jobs:
    """Lay an instance out as arrays for the compiled loops."""

    def column(values: Sequence[float]) -> Floats:
        return np.array(values, dtype=np.float64)

    jobs, network = instance.jobs, instance.network
    gpus = np.array([job.gpus for job in jobs], dtype=np.int64)
    return Jobs(
        capacity=np.array(instance.servers, dtype=np.int64),
        gpus=gpus,
        iterations=column([job.iterations for job in jobs]),
        volume=column([2 * job.gradient_bytes * (job.gpus - 1) for job in jobs]),
        reduction=column(
            [
                job.gradient_bytes * (job.gpus - 1) / (job.gpus * instance.compute_rate)
                for job in jobs
            ]
        ),
        forward=column([job.forward_time_per_sample * job.batch_size for job in jobs]),
        backward=column([job.backward_time for job in jobs]),
        first=np.concatenate(([0], np.cumsum(gpus))),
        inside=np.array([iterations_per_slot(instance, job, 1, 0) > 0 for job in jobs]),
        inter_bandwidth=float(network.inter_bandwidth),
        intra_bandwidth=float(network.intra_bandwidth),
        contention_share=float(network.contention_share),
        degradation=float(network.degradation),
        overhead=float(network.overhead_per_server),
        one_server_pays=network.overhead_on_one_server,
        slot=float(instance.slot),
        slotted=instance.slotted,
    )


def empty_schedule(jobs: Jobs) -> ScheduleArrays:
    """Arrays for the compiled loops to write a schedule into."""
    n, workers = len(jobs.gpus), int(jobs.first[-1])
    where, held = np.zeros((2, workers), dtype=np.int64)
    return ScheduleArrays(np.zeros(n), np.zeros(n), where, held, np.zeros(n, dtype=np.int64))


def schedule_from(jobs: Jobs, arrays: ScheduleArrays) -> Schedule:
    """The schedule in a compiled loop's arrays."""
    placed = []
    for base, used in zip(jobs.first.tolist(), arrays.used.tolist(), strict=False):
        span = slice(base, base + used)
        placed.append(
            dict(zip(arrays.where[span].tolist(), arrays.held[span].tolist(), strict=True))
        )
    return Schedule(tuple(arrays.starts.tolist()), tuple(placed))


def evaluate(instance: MakespanInstance, schedule: Schedule) -> Evaluation:
    """Ends of all jobs under contention, event by event.

    Complexity: O(n) events, each O(running jobs x their servers).

    Parameters
    ----------
    instance : MakespanInstance
        The instance.
    schedule : Schedule
        Starts and servers of all jobs.

    Returns
    -------
    Evaluation
        T_j of every job in slots, as `ends`.

    Examples
    --------
    >>> import optsched
    >>> fig2 = optsched.load("makespan/fig2")
    >>> across = {0: 1, 1: 1}
    >>> evaluate(fig2, Schedule((0.0, 5.0), (across, across))).ends
    array([15., 20.])
    """
    jobs = jobs_of(instance)
    arrays = empty_schedule(jobs)
    arrays.starts[:] = schedule.starts
    for j, placed in enumerate(schedule.placed):
        arrays.used[j] = len(placed)
        arrays.where[jobs.first[j] : jobs.first[j] + len(placed)] = sorted(placed)
    completions(jobs, np.argsort(arrays.starts, kind="stable"), arrays)
    return Evaluation(instance, schedule, arrays.finish)


def schedule_of(instance: MakespanInstance, solution: MakespanSolution) -> Schedule:
    """The schedule of a checked solution, in the instance's order of jobs."""
    runs = {run.name: run for run in solution.jobs}
    chosen = [runs[job.name] for job in instance.jobs]
    return Schedule(
        tuple(float(run.start) for run in chosen),
        tuple({int(s): count for s, count in run.gpus.items() if count} for run in chosen),
    )


def solution_of(evaluation: Evaluation) -> MakespanSolution:
    """The solution file of an evaluated schedule, with its ends claimed."""
    schedule = evaluation.schedule
    names = [job.name for job in evaluation.instance.jobs]
    return MakespanSolution.of(
        evaluation.instance.name,
        zip(names, schedule.starts, schedule.placed, evaluation.ends.tolist(), strict=True),
    )
