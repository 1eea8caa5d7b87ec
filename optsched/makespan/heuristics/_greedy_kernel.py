"""The compiled forward simulation behind SJF-BCO and the paper's baselines: GPU by GPU, one by one.

Jobs start in a given order, strictly head of line, at the current time; while the next one finds
too few GPUs, time moves to the next completion. Every start and every completion changes the
rates of the jobs that span.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from optsched.compiled_loops import njit, njit_borrowing, njit_owning
from optsched.makespan._contention_kernel import (
    Jobs,
    Running,
    ScheduleArrays,
    next_end,
    none_running,
    refresh,
    start,
    take_out,
)
from optsched.makespan.heuristics._random_kernel import draw

FIRST, LEAST_USED, LEAST_BUSY_SERVERS, RANDOM = 0, 1, 2, 3


class Choice(NamedTuple):
    """How each job chooses among the idle GPUs whose accumulated time plus its own is within theta.

    Attributes
    ----------
    picks : (n,) int
        One of the four constants above.
    estimate : (n,) float
        rho^_j in slots, what a job adds to the accumulated time of its GPUs.
    theta : float
        In slots.
    spread : float
        Least busy servers are taken until they have so many times the job's GPUs (lambda).
    random : (1,) uint64
        The generator's state.
    """

    picks: Any
    estimate: Any
    theta: float
    spread: float
    random: Any


class Gpus(NamedTuple):
    """The cluster's N GPUs, server by server.

    Attributes
    ----------
    server, busy_time, idle : (N,) int, float, bool
        Where each stands, its accumulated time in slots, whether no job has it.
    server_time, allowed : (S,) float, bool
        Sum of a server's accumulated times; whether the present job may use it.
    chosen : (N,) int
        The present job's GPUs come first.
    taken : (sum of G_j,) int
        The GPUs of each job that has started.
    """

    server: Any
    busy_time: Any
    idle: Any
    server_time: Any
    allowed: Any
    chosen: Any
    taken: Any


@njit(cache=True)
def schedule_in_order(
    jobs: Jobs, order: Any, choice: Choice, least_left: Any, cutoff: float, schedule: ScheduleArrays
) -> float:
    """Schedule all jobs in order; fills the schedule and returns the makespan in slots.

    Returns infinity when a job finds no place though nothing runs, or when the makespan would reach
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
                    and _starts(jobs, running, schedule, gpus, j, now)
                ):
                    idle_gpus -= jobs.gpus[j]
                    _occupy(gpus, jobs.gpus[j], choice.estimate[j])
                    break
            if running.count[0] == 0:
                if position == n:
                    return now
                return np.inf
            now = next_end(running, schedule, np.inf)
            if now + least_left[position] >= cutoff:
                return np.inf
            ended = take_out(jobs, running, schedule, now)
            for r in range(running.count[0], running.count[0] + ended):
                j = running.job[r]
                idle_gpus += jobs.gpus[j]
                for i in range(jobs.first[j], jobs.first[j + 1]):
                    gpus.idle[gpus.taken[i]] = True
            refresh(jobs, running, schedule, now)
    return np.inf


@njit(cache=True)
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


@njit_borrowing
def _pick(jobs: Jobs, choice: Choice, gpus: Gpus, j: int) -> bool:
    """Choose job j's GPUs into the front of `chosen`; false when too few qualify."""
    how, size, chosen, busy_time = choice.picks[j], jobs.gpus[j], gpus.chosen, gpus.busy_time
    limit = choice.theta - choice.estimate[j]
    if how == LEAST_BUSY_SERVERS:
        _allow_least_busy(jobs, gpus, choice.spread * size)
    found = 0
    for g in range(len(gpus.idle)):
        if not gpus.idle[g] or busy_time[g] > limit:
            continue
        if how == LEAST_BUSY_SERVERS and not gpus.allowed[gpus.server[g]]:
            continue
        if how == RANDOM:
            chosen[found] = g
        elif how == FIRST:
            chosen[found] = g
            if found + 1 == size:
                return True
        elif found < size:
            chosen[found] = g
            _sift_up(chosen, found, busy_time)
        elif busy_time[g] < busy_time[chosen[0]]:
            chosen[0] = g
            _sift_down(chosen, size, busy_time)
        found += 1
    if found >= size and how == RANDOM:
        for i in range(size):
            k = i + int(draw(choice.random) * (found - i))
            chosen[i], chosen[k] = chosen[k], chosen[i]
    return found >= size


@njit_borrowing
def _after(a: int, b: int, busy_time: Any) -> bool:
    """Whether GPU a is less wanted than b: busier, or as busy and of higher index."""
    return busy_time[a] > busy_time[b] or (busy_time[a] == busy_time[b] and a > b)


@njit_borrowing
def _sift_up(heap: Any, child: int, busy_time: Any) -> None:
    while child > 0:
        parent = (child - 1) // 2
        if not _after(heap[child], heap[parent], busy_time):
            return
        heap[child], heap[parent] = heap[parent], heap[child]
        child = parent


@njit_borrowing
def _sift_down(heap: Any, size: int, busy_time: Any) -> None:
    parent = 0
    while True:
        child = 2 * parent + 1
        if child >= size:
            return
        if child + 1 < size and _after(heap[child + 1], heap[child], busy_time):
            child += 1
        if not _after(heap[child], heap[parent], busy_time):
            return
        heap[child], heap[parent] = heap[parent], heap[child]
        parent = child


@njit_owning
def _allow_least_busy(jobs: Jobs, gpus: Gpus, wanted: float) -> None:
    """Allow the servers of least time per GPU until they hold as many GPUs as wanted."""
    held = 0.0
    for s in np.argsort(gpus.server_time / jobs.capacity, kind="mergesort"):
        gpus.allowed[s] = held < wanted
        held += jobs.capacity[s]


@njit_borrowing
def _starts(
    jobs: Jobs, running: Running, schedule: ScheduleArrays, gpus: Gpus, j: int, now: float
) -> bool:
    """Start job j on the chosen GPUs, its servers each once with their counts, if any job moves."""
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


@njit_borrowing
def _occupy(gpus: Gpus, size: int, time: float) -> None:
    """Give the chosen GPUs to a job that adds so many slots to each."""
    for i in range(size):
        g = gpus.chosen[i]
        gpus.idle[g] = False
        gpus.busy_time[g] += time
        gpus.server_time[gpus.server[g]] += time
