"""The contention model: rates of running jobs, ends of schedules, levels over time.

A schedule fixes starts and placements; ends follow. A job that spans servers is slowed by the most
contended of its servers' links, so rates change whenever a spanning job starts or ends; equations
(6)-(9) of sjf-bco. Every compiled method starts jobs by `start` and moves on by `next_end`,
`remove_ended` and `refresh`; `evaluate` is the loop for known starts.

Times are in slots. `_speed` repeats `instance.iteration_time` operation by operation.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable

from optsched.arrays import Bools as Bools
from optsched.arrays import Floats as Floats
from optsched.arrays import Ints as Ints
from optsched.kernels import kernel
from optsched.makespan.instance import (
    FLOOR_TOLERANCE,
    MakespanInstance,
    iterations_per_slot,
    slowdown,
)
from optsched.makespan.solution import MakespanSolution


class Jobs(NamedTuple):
    """Job arrays of an instance, and its constants; ``capacity`` is by server."""

    capacity: Ints
    gpus: Ints
    iterations: Floats
    volume: Floats  # 2 m (G - 1), bytes
    reduction: Floats  # m (G - 1) / (G C), seconds
    forward: Floats
    backward: Floats
    offset: Ints  # into arrays with G_j entries for job j
    runs_on_one_server: Bools  # whether it makes progress there
    inter_bandwidth: float
    intra_bandwidth: float
    slowdown: Floats  # f by level p, from p = 1 on
    overhead: float
    overhead_on_one_server: bool
    slot: float
    slotted: bool


class ScheduleArrays(NamedTuple):
    """When and where every job runs; filled in by the compiled loops.

    Job j's servers and its GPUs there are ``server`` and ``gpus_on_server`` from ``offset[j]`` to
    ``offset[j] + num_servers[j]``. A job that never completes finishes at infinity.
    """

    starts: Floats
    finish: Floats
    server: Ints
    gpus_on_server: Ints
    num_servers: Ints


class Running(NamedTuple):
    """Running jobs: the first ``num_running[0]`` of ``jobs``, in the order of their starts."""

    jobs: Ints
    num_running: Ints  # (1,)
    spanning_jobs: Ints  # by server
    level: Ints  # p_j, by job like all that follow
    rate: Floats  # iterations per slot
    remaining: Floats  # iterations at slot `last_update`
    last_update: Floats


@register_jitable
def none_running(jobs: Jobs) -> Running:
    n = len(jobs.gpus)
    return Running(
        np.empty(n, np.int64),
        np.zeros(1, np.int64),
        np.zeros(len(jobs.capacity), np.int64),
        np.zeros(n, np.int64),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
    )


@register_jitable
def _count_spanning(
    jobs: Jobs, running: Running, schedule: ScheduleArrays, j: int, change: int
) -> None:
    """Add `change` to the spanning jobs on job j's servers."""
    if schedule.num_servers[j] > 1:
        base = jobs.offset[j]
        for i in range(base, base + schedule.num_servers[j]):
            running.spanning_jobs[schedule.server[i]] += change


@register_jitable
def _level(jobs: Jobs, running: Running, schedule: ScheduleArrays, j: int) -> int:
    """p_j (6): largest number of spanning jobs on a server of job j; 0 inside one server."""
    level = 0
    if schedule.num_servers[j] > 1:
        base = jobs.offset[j]
        for i in range(base, base + schedule.num_servers[j]):
            level = max(level, running.spanning_jobs[schedule.server[i]])
    return level


@register_jitable
def _speed(jobs: Jobs, j: int, servers: int, level: int) -> float:
    """phi_j of (6)-(8): iterations per slot on a number of servers at a contention level."""
    bandwidth = jobs.intra_bandwidth
    if servers > 1:
        bandwidth = jobs.inter_bandwidth / jobs.slowdown[level - 1]
    overhead = 0.0
    if servers > 1 or jobs.overhead_on_one_server:
        overhead = jobs.overhead * servers
    tau = (
        jobs.volume[j] / (jobs.gpus[j] * bandwidth)
        + jobs.reduction[j]
        + overhead
        + jobs.forward[j]
        + jobs.backward[j]
    )
    if not jobs.slotted:
        return jobs.slot / tau
    return np.floor(min(jobs.slot / tau + FLOOR_TOLERANCE, jobs.iterations[j]))


@register_jitable
def _run_at_level(
    jobs: Jobs, running: Running, schedule: ScheduleArrays, j: int, level: int, now: float
) -> None:
    """Set job j's rate for a contention level and update its completion time."""
    running.last_update[j] = now
    running.level[j] = level
    rate = _speed(jobs, j, schedule.num_servers[j], level)
    running.rate[j] = rate
    if rate <= 0.0:
        schedule.finish[j] = np.inf
    elif jobs.slotted:
        schedule.finish[j] = now + np.ceil(running.remaining[j] / rate)
    else:
        schedule.finish[j] = now + running.remaining[j] / rate


@register_jitable
def _begin(jobs: Jobs, running: Running, schedule: ScheduleArrays, j: int, now: float) -> None:
    """Add job j to the running ones; the others need `refresh`."""
    _count_spanning(jobs, running, schedule, j, 1)
    running.jobs[running.num_running[0]] = j
    running.num_running[0] += 1
    running.remaining[j] = jobs.iterations[j]
    _run_at_level(jobs, running, schedule, j, _level(jobs, running, schedule, j), now)


@register_jitable
def refresh(jobs: Jobs, running: Running, schedule: ScheduleArrays, now: float) -> None:
    """Update the rate and the end of every running job whose level has changed."""
    for r in range(running.num_running[0]):
        j = running.jobs[r]
        if schedule.num_servers[j] <= 1:
            continue
        level = _level(jobs, running, schedule, j)
        if level != running.level[j]:
            running.remaining[j] -= running.rate[j] * (now - running.last_update[j])
            _run_at_level(jobs, running, schedule, j, level, now)


@register_jitable
def start(jobs: Jobs, running: Running, schedule: ScheduleArrays, j: int, now: float) -> bool:
    """Start job j on its servers; undo and return False if no running job would make progress."""
    _begin(jobs, running, schedule, j, now)
    spans = schedule.num_servers[j] > 1
    if spans:
        refresh(jobs, running, schedule, now)
    fastest = running.rate[j]
    for r in range(running.num_running[0]):
        fastest = max(fastest, running.rate[running.jobs[r]])
    if fastest > 0.0:
        schedule.starts[j] = now
        return True
    running.num_running[0] -= 1
    _count_spanning(jobs, running, schedule, j, -1)
    if spans:
        refresh(jobs, running, schedule, now)
    return False


@register_jitable
def next_end(running: Running, schedule: ScheduleArrays, until: float) -> float:
    """Earliest end of a running job, at most `until`."""
    for r in range(running.num_running[0]):
        until = min(until, schedule.finish[running.jobs[r]])
    return until


@register_jitable
def remove_ended(jobs: Jobs, running: Running, schedule: ScheduleArrays, now: float) -> int:
    """Move completed jobs behind the running ones, which then need `refresh`; return how many."""
    count, left = running.num_running[0], 0
    for r in range(count):
        j = running.jobs[r]
        if schedule.finish[j] > now:
            running.jobs[r] = running.jobs[left]
            running.jobs[left] = j
            left += 1
        else:
            _count_spanning(jobs, running, schedule, j, -1)
    running.num_running[0] = left
    return count - left


@kernel
def _completions(jobs: Jobs, order: Ints, schedule: ScheduleArrays) -> None:
    """Fill in the ends of all jobs, given their placements and their `order` by start."""
    n = len(order)
    running = none_running(jobs)
    schedule.finish[:] = np.inf
    next_index = 0
    while next_index < n or running.num_running[0] > 0:
        next_start = schedule.starts[order[next_index]] if next_index < n else np.inf
        now = next_end(running, schedule, next_start)
        if now == np.inf:
            return  # the running jobs stall for ever
        remove_ended(jobs, running, schedule, now)
        while next_index < n and schedule.starts[order[next_index]] <= now:
            _begin(jobs, running, schedule, order[next_index], now)
            next_index += 1
        refresh(jobs, running, schedule, now)


@dataclass(frozen=True)
class Schedule:
    """Decisions in the instance's order of jobs: starts, and GPUs by server."""

    starts: tuple[float, ...]
    placed: tuple[dict[int, int], ...]


@dataclass(frozen=True)
class Evaluation:
    """Completion times T_j of a schedule (slots; inf: never) as ``ends``, and derived measures."""

    instance: MakespanInstance
    schedule: Schedule
    ends: Floats

    @property
    def makespan(self) -> float:
        """Last end, in slots."""
        return float(self.ends.max())

    @property
    def mean_completion_time(self) -> float:
        return float(self.ends.mean())

    @property
    def mean_run_time(self) -> float:
        return float((self.ends - self.schedule.starts).mean())

    @cached_property
    def times(self) -> Floats:
        """Starts and ends in order; rates are constant between consecutive times."""
        ends = self.ends[np.isfinite(self.ends)]
        return np.unique(np.concatenate((np.asarray(self.schedule.starts), ends)))

    @cached_property
    def active(self) -> Bools:
        """Intervals x jobs: which jobs run from ``times[i]`` to ``times[i + 1]``."""
        since = self.times[:-1, None]
        return (np.asarray(self.schedule.starts) <= since) & (since < self.ends)

    @cached_property
    def levels(self) -> Ints:
        """Intervals x jobs: p_j (6); 0 when a job does not run or runs inside one server."""
        spans = self.placed_matrix > 0
        spans[spans.sum(axis=1) < 2] = False
        levels = np.zeros(self.active.shape, dtype=np.int64)
        for i, active in enumerate(self.active):
            sharing = spans[active].sum(axis=0)
            levels[i, active] = (spans[active] * sharing).max(axis=1)
        return levels

    @cached_property
    def gpu_use(self) -> Ints:
        """Intervals x servers: GPUs in use."""
        return self.active.astype(np.int64) @ self.placed_matrix

    @property
    def fits(self) -> bool:
        return bool((self.gpu_use <= np.asarray(self.instance.servers)).all())

    @cached_property
    def placed_matrix(self) -> Ints:
        """Jobs x servers: y_js."""
        counts = np.zeros((len(self.ends), len(self.instance.servers)), dtype=np.int64)
        for j, placed in enumerate(self.schedule.placed):
            for server, gpus in placed.items():
                counts[j, server] = gpus
        return counts


def job_arrays(instance: MakespanInstance) -> Jobs:
    def column(values: Sequence[float]) -> Floats:
        return np.array(values, dtype=np.float64)

    jobs, network, rate = instance.jobs, instance.network, instance.compute_rate
    gpus = np.array([job.gpus for job in jobs], dtype=np.int64)
    spanners = int((gpus > 1).sum())
    return Jobs(
        capacity=np.array(instance.servers, dtype=np.int64),
        gpus=gpus,
        iterations=column([job.iterations for job in jobs]),
        volume=column([2 * job.gradient_bytes * (job.gpus - 1) for job in jobs]),
        reduction=column([job.gradient_bytes * (job.gpus - 1) / (job.gpus * rate) for job in jobs]),
        forward=column([job.forward_time_per_sample * job.batch_size for job in jobs]),
        backward=column([job.backward_time for job in jobs]),
        offset=np.concatenate(([0], np.cumsum(gpus))),
        runs_on_one_server=np.array([iterations_per_slot(instance, job, 1, 0) > 0 for job in jobs]),
        inter_bandwidth=float(network.inter_bandwidth),
        intra_bandwidth=float(network.intra_bandwidth),
        slowdown=column([slowdown(network, level) for level in range(1, spanners + 1)]),
        overhead=float(network.overhead_per_server),
        overhead_on_one_server=network.overhead_on_one_server,
        slot=float(instance.slot),
        slotted=instance.slotted,
    )


def empty_schedule(jobs: Jobs) -> ScheduleArrays:
    n, workers = len(jobs.gpus), int(jobs.offset[-1])
    server, gpus = np.zeros((2, workers), dtype=np.int64)
    return ScheduleArrays(np.zeros(n), np.zeros(n), server, gpus, np.zeros(n, dtype=np.int64))


def schedule_from_arrays(jobs: Jobs, arrays: ScheduleArrays) -> Schedule:
    placed = []
    for base, count in zip(jobs.offset.tolist(), arrays.num_servers.tolist(), strict=False):
        servers = arrays.server[base : base + count].tolist()
        gpus = arrays.gpus_on_server[base : base + count].tolist()
        placed.append(dict(zip(servers, gpus, strict=True)))
    return Schedule(tuple(arrays.starts.tolist()), tuple(placed))


def evaluate(instance: MakespanInstance, schedule: Schedule) -> Evaluation:
    """Compute the ends of all jobs under contention, from event to event.

    Complexity: O(n) events, each O(running jobs x their servers).

    Parameters
    ----------
    instance : MakespanInstance
        Jobs and servers.
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
    jobs = job_arrays(instance)
    arrays = empty_schedule(jobs)
    arrays.starts[:] = schedule.starts
    for j, placed in enumerate(schedule.placed):
        arrays.num_servers[j] = len(placed)
        arrays.server[jobs.offset[j] : jobs.offset[j] + len(placed)] = sorted(placed)
    order = np.argsort(arrays.starts, kind="stable")
    steps = 2 * len(order) * int(arrays.num_servers.sum())
    _completions.for_size(steps)(jobs, order, arrays)
    return Evaluation(instance, schedule, arrays.finish)


def schedule_from_solution(instance: MakespanInstance, solution: MakespanSolution) -> Schedule:
    """Schedule of a checked solution, in the instance's order of jobs."""
    runs = {run.name: run for run in solution.jobs}
    chosen = [runs[job.name] for job in instance.jobs]
    return Schedule(
        tuple(float(run.start) for run in chosen),
        tuple({int(s): count for s, count in run.gpus.items() if count} for run in chosen),
    )


def solution_from_evaluation(evaluation: Evaluation) -> MakespanSolution:
    """Solution file of an evaluated schedule, including the completion times."""
    schedule = evaluation.schedule
    names = [job.name for job in evaluation.instance.jobs]
    return MakespanSolution.of(
        evaluation.instance.name,
        zip(names, schedule.starts, schedule.placed, evaluation.ends.tolist(), strict=True),
    )
