"""SJF-BCO and the paper's baselines: jobs start in a given order on GPUs chosen one by one.

The paper's algorithms share one forward simulation (Algorithms 1-3 and section 7 of sjf-bco). Jobs
start strictly head of line on idle GPUs whose accumulated time plus the job's estimate stays within
theta; while the next job finds too few, time moves on to the next completion. Methods differ in the
order and in how a job chooses among these GPUs:

- `sjf-bco`: smallest jobs first; up to kappa GPUs the least used GPUs (FA-FFP), beyond that GPUs of
  the least busy servers (LBSGF).
- `first-fit`: the first GPUs. `list-scheduling`: the least used. Both in the file's order.
- `random`: drawn, with theta at the horizon.

Theta is bisected over [1, horizon]. Readings: an infeasible (theta, kappa) counts as the horizon;
the makespan is not monotone in theta, so the best schedule seen is kept; only kappa in {1} and the
job sizes matters; u = 1; ties go by name. Guarantee: none. Theorem 5 of the paper is false
(erratum in models/makespan/README.md). Complexity: O(K log T) simulations for K distinct sizes and
horizon T (random: one), each O(n (GPUs + S log S) + completions).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable

from optsched.deadline import Deadline, OutOfTimeError
from optsched.kernels import kernel
from optsched.makespan.bounds.durations import durations_of
from optsched.makespan.contention import (
    Bools,
    Floats,
    Ints,
    Jobs,
    Running,
    Schedule,
    ScheduleArrays,
    empty_schedule,
    jobs_of,
    next_end,
    none_running,
    refresh,
    remove_ended,
    schedule_from,
    start,
)
from optsched.makespan.heuristics.random_numbers import RandomState, draw, random_state
from optsched.makespan.incumbent import Incumbent, SearchResult
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.options import MakespanOptions
from optsched.result import Outcome, Settings

FIRST, LEAST_USED, LEAST_BUSY_SERVERS, RANDOM = 0, 1, 2, 3


class Choice(NamedTuple):
    """How each job chooses among the idle GPUs within theta.

    Attributes
    ----------
    picks : (n,) int
        One of the four constants above.
    estimate : (n,) float
        rho^_j in slots, what a job adds to the accumulated time of its GPUs.
    theta : float
        In slots.
    spread : float
        Least busy servers are taken until they have lambda times the job's GPUs.
    random : (1,) uint64
        State of the generator.
    """

    picks: Ints
    estimate: Floats
    theta: float
    spread: float
    random: RandomState


class Gpus(NamedTuple):
    """The cluster's GPUs, server by server.

    By GPU: its server, its accumulated time in slots, whether it is idle. By server: the sum of
    these times, and whether the present job may use it. ``chosen`` starts with the present job's
    GPUs; ``taken`` holds the GPUs of each started job from its offset ``Jobs.first`` on.
    """

    server: Ints
    busy_time: Floats
    idle: Bools
    server_time: Floats
    allowed: Bools
    chosen: Ints
    taken: Ints


@register_jitable
def _all_idle(jobs: Jobs) -> Gpus:
    servers = len(jobs.capacity)
    server = np.repeat(np.arange(servers), jobs.capacity)
    return Gpus(
        server,
        np.zeros(len(server)),
        np.ones(len(server), np.bool_),
        np.zeros(servers),
        np.ones(servers, np.bool_),
        np.empty(len(server), np.int64),
        np.empty(jobs.first[len(jobs.gpus)], np.int64),
    )


@register_jitable
def _allow_least_busy(jobs: Jobs, gpus: Gpus, wanted: float) -> None:
    """Allow the servers with least time per GPU until they hold `wanted` GPUs."""
    held = 0.0
    for s in np.argsort(gpus.server_time / jobs.capacity, kind="mergesort"):
        gpus.allowed[s] = held < wanted
        held += jobs.capacity[s]


@register_jitable
def _pick(jobs: Jobs, choice: Choice, gpus: Gpus, j: int) -> bool:
    """Put job j's GPUs at the front of `chosen`; False when too few qualify."""
    how, size, chosen = choice.picks[j], jobs.gpus[j], gpus.chosen
    limit = choice.theta - choice.estimate[j]
    if how == LEAST_BUSY_SERVERS:
        _allow_least_busy(jobs, gpus, choice.spread * size)
    count = 0
    for g in range(len(gpus.idle)):
        if not gpus.idle[g] or gpus.busy_time[g] > limit:
            continue
        if how == LEAST_BUSY_SERVERS and not gpus.allowed[gpus.server[g]]:
            continue
        chosen[count] = g
        count += 1
        if how == FIRST and count == size:
            return True
    if count < size:
        return False
    if how == RANDOM:
        for i in range(size):
            k = i + int(draw(choice.random) * (count - i))
            chosen[i], chosen[k] = chosen[k], chosen[i]
    elif count > size:  # the least used, of equally used ones the first
        times = np.empty(count)
        for i in range(count):
            times[i] = gpus.busy_time[chosen[i]]
        candidates = chosen[:count].copy()
        by_time = np.argsort(times, kind="mergesort")
        for i in range(size):
            chosen[i] = candidates[by_time[i]]
    return True


@register_jitable
def _start_on_chosen(
    jobs: Jobs, running: Running, schedule: ScheduleArrays, gpus: Gpus, j: int, now: float
) -> bool:
    """Start job j on the chosen GPUs unless no running job would then make progress."""
    base = jobs.first[j]
    schedule.used[j] = 0
    for i in range(jobs.gpus[j]):
        g = gpus.chosen[i]
        gpus.taken[base + i] = g
        k, end = base, base + schedule.used[j]
        while k < end and schedule.where[k] != gpus.server[g]:
            k += 1
        if k == end:
            schedule.where[k] = gpus.server[g]
            schedule.held[k] = 0
            schedule.used[j] += 1
        schedule.held[k] += 1
    return start(jobs, running, schedule, j, now)


@kernel
def _schedule_in_order(
    jobs: Jobs,
    order: Ints,
    choice: Choice,
    cutoff: float,
    schedule: ScheduleArrays,
) -> float:
    """Schedule all jobs in order; fills the schedule and returns the makespan in slots.

    Returns infinity when a job finds no place though nothing runs, or when the makespan reaches
    `cutoff`.
    """
    n = len(order)
    gpus = _all_idle(jobs)
    running = none_running(jobs)
    now, idle_gpus = 0.0, len(gpus.idle)
    for position in range(n + 1):
        while True:  # until the job has started; after the last one, until all have ended
            if position < n:
                j = order[position]
                if (
                    idle_gpus >= jobs.gpus[j]
                    and _pick(jobs, choice, gpus, j)
                    and _start_on_chosen(jobs, running, schedule, gpus, j, now)
                ):
                    idle_gpus -= jobs.gpus[j]
                    for i in range(jobs.gpus[j]):
                        g = gpus.chosen[i]
                        gpus.idle[g] = False
                        gpus.busy_time[g] += choice.estimate[j]
                        gpus.server_time[gpus.server[g]] += choice.estimate[j]
                    break
            if running.length[0] == 0:
                if position == n:
                    return now
                return np.inf
            now = next_end(running, schedule, np.inf)
            if now >= cutoff:
                return np.inf
            ended = remove_ended(jobs, running, schedule, now)
            for r in range(running.length[0], running.length[0] + ended):
                j = running.job[r]
                idle_gpus += jobs.gpus[j]
                for i in range(jobs.first[j], jobs.first[j + 1]):
                    gpus.idle[gpus.taken[i]] = True
            refresh(jobs, running, schedule, now)
    return np.inf


@dataclass(frozen=True)
class Greedy:
    """An instance as arrays for many simulations."""

    instance: MakespanInstance
    jobs: Jobs
    estimate: Floats

    @property
    def least_theta(self) -> float:
        """Theta below which no schedule keeps every GPU's accumulated estimates."""
        work = float(self.estimate @ self.jobs.gpus)
        return max(work / self.instance.gpus, float(self.estimate.max()))

    def run(
        self,
        order: Ints,
        picks: Ints,
        theta: float,
        spread: float = 1.0,
        cutoff: float = np.inf,
        seed: int = 0,
    ) -> tuple[float, Schedule | None]:
        """Makespan and schedule, or infinity and None."""
        choice = Choice(picks, self.estimate, float(theta), float(spread), random_state(seed))
        arrays = empty_schedule(self.jobs)
        simulate = _schedule_in_order.for_size(2 * len(order) * self.instance.gpus)
        makespan = float(simulate(self.jobs, order, choice, float(cutoff), arrays))
        return makespan, None if makespan == np.inf else schedule_from(self.jobs, arrays)


def prepare(instance: MakespanInstance) -> Greedy:
    """Arrays of an instance for the simulation."""
    return Greedy(instance, jobs_of(instance), durations_of(instance).estimate)


def best_theta(
    greedy: Greedy, order: Ints, choices: Sequence[Ints], spread: float, deadline: Deadline
) -> SearchResult:
    """Bisect theta over [1, horizon] as Algorithm 1 does; the best schedule seen and its theta.

    Each theta tries every one of `choices`. A simulation stops as soon as it cannot beat the best
    schedule: the bisection needs no more of it. The clock is read between simulations; if the time
    is up before any schedule is found, the widest theta is tried once. Theta has the horizon's
    tolerance, so that a horizon met exactly is within reach.
    """
    horizon, latest = greedy.instance.horizon, greedy.instance.latest_end
    tolerance = latest / horizon
    best: Schedule | None = None
    best_value, best_at = np.nextafter(latest, np.inf), None
    cut = False
    left, right = 1, horizon
    try:
        while left <= right and not cut:
            theta = (left + right) // 2
            improved = False
            for picks in choices if theta * tolerance >= greedy.least_theta else ():
                if deadline.is_over:
                    cut = True
                    break
                value, schedule = greedy.run(order, picks, theta * tolerance, spread, best_value)
                if schedule is not None and value < best_value:
                    best, best_value, best_at, improved = schedule, value, theta, True
            if improved:
                right = theta - 1
            else:
                left = theta + 1
        for picks in reversed(choices) if cut else ():
            if best is None:
                best_at = horizon
                _, best = greedy.run(order, picks, latest, spread, best_value)
    except OutOfTimeError:
        cut = True
    return SearchResult(best, cut, {"theta": best_at})


def smallest_first(gpus: Ints, names: Sequence[str]) -> Ints:
    """Jobs by size, ties by name."""
    order = sorted(range(len(names)), key=lambda j: (gpus[j], names[j]))
    return np.array(order, dtype=np.int64)


def kappas_of(gpus: Ints) -> list[int]:
    """Values of kappa that differ: 1 and every job size."""
    return sorted({1, *gpus.tolist()})


def by_sjf_bco(
    instance: MakespanInstance, options: MakespanOptions, deadline: Deadline
) -> SearchResult:
    """Best schedule of SJF-BCO, over all kappa unless one is given."""
    greedy = prepare(instance)
    gpus = greedy.jobs.gpus
    order = smallest_first(gpus, [job.name for job in instance.jobs])
    kappas = kappas_of(gpus) if options.kappa is None else [options.kappa]
    choices = [
        np.where(gpus <= kappa, LEAST_USED, LEAST_BUSY_SERVERS).astype(np.int64) for kappa in kappas
    ]
    return best_theta(greedy, order, choices, options.lambda_, deadline)


def by_baseline(
    instance: MakespanInstance, options: MakespanOptions, picks: int, deadline: Deadline
) -> SearchResult:
    """Best schedule of First-Fit (FIRST) or List-Scheduling (LEAST_USED)."""
    greedy = prepare(instance)
    order = _order(instance, options, greedy)
    choices = [np.full(len(order), picks, dtype=np.int64)]
    return best_theta(greedy, order, choices, 1.0, deadline)


def at_random(instance: MakespanInstance, options: MakespanOptions, seed: int) -> SearchResult:
    """A schedule on GPUs drawn at random.

    Only the horizon limits theta: accumulated estimates are below what jobs take.
    """
    greedy = prepare(instance)
    order = _order(instance, options, greedy)
    picks = np.full(len(order), RANDOM, dtype=np.int64)
    _, schedule = greedy.run(order, picks, instance.latest_end, seed=seed)
    return SearchResult(schedule)


def sjf_bco(instance: MakespanInstance, options: MakespanOptions, settings: Settings) -> Outcome:
    """Schedule by SJF-BCO."""
    incumbent = Incumbent(instance, settings)
    return incumbent.heuristic(lambda stop: by_sjf_bco(instance, options, stop))


def first_fit(instance: MakespanInstance, options: MakespanOptions, settings: Settings) -> Outcome:
    """Schedule by First-Fit: the first idle GPUs, server by server."""
    incumbent = Incumbent(instance, settings)
    return incumbent.heuristic(lambda stop: by_baseline(instance, options, FIRST, stop))


def list_scheduling(
    instance: MakespanInstance, options: MakespanOptions, settings: Settings
) -> Outcome:
    """Schedule by List-Scheduling: the least used idle GPUs, wherever they are."""
    incumbent = Incumbent(instance, settings)
    return incumbent.heuristic(lambda stop: by_baseline(instance, options, LEAST_USED, stop))


def random_placement(
    instance: MakespanInstance, options: MakespanOptions, settings: Settings
) -> Outcome:
    """Schedule on idle GPUs drawn at random."""
    incumbent = Incumbent(instance, settings)
    return incumbent.heuristic(lambda _: at_random(instance, options, settings.seed))


def _order(instance: MakespanInstance, options: MakespanOptions, greedy: Greedy) -> Ints:
    if options.order == "smallest-first":
        return smallest_first(greedy.jobs.gpus, [job.name for job in instance.jobs])
    return np.arange(len(instance.jobs), dtype=np.int64)
