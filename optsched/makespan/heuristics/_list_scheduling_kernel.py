"""The compiled list scheduling: an order of jobs, backfilled, servers chosen as tight as can be."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from optsched.compiled_loops import njit, njit_borrowing
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

ANY = np.iinfo(np.int64).max
LIMITS = 4
"""Limits on sharing that are told apart: any, then at most 1, 2, 3 jobs on a link."""


class Ways(NamedTuple):
    """How each job takes its servers.

    Attributes
    ----------
    spans : (n,) bool
        Whether it may span servers though one could hold it.
    limit : (n,) int
        A spanning job that has one waits for its fewest servers with at most so many spanning jobs
        on each, itself counted, and lets no more come while it runs; 0: it takes what there is.
    fills : (n,) bool
        Whether one with a limit takes what is left of a server that another spans first.
    fewest : (n,) int
        The fewest servers that hold it, two at least.
    """

    spans: Any
    limit: Any
    fills: Any
    fewest: Any


@njit(cache=True)
def schedule_list(
    jobs: Jobs, order: Any, ways: Ways, cutoff: float, schedule: ScheduleArrays
) -> float:
    """Schedule jobs in `order` with backfilling; fills the schedule.

    At every completion the waiting jobs are tried in order: each takes the server with least room
    that holds it; a job no server holds, or one that may span, takes the fewest servers that do,
    as its way allows. Returns the makespan in slots, or infinity if it reaches `cutoff` or a job
    can never start. Complexity: O(n) events, each O(waiting jobs + running jobs + S a start).
    """
    room = jobs.capacity.copy()
    largest, total = room[_largest(room)], room.sum()
    patient = ways.limit[_largest(ways.limit)] > 0
    links = np.full(len(room), ANY)
    tried = np.zeros((LIMITS, jobs.gpus[_largest(jobs.gpus)] + 1 if patient else 1), np.int64)
    event = 0
    waiting, pending = order.copy(), len(order)
    running = none_running(jobs)
    now = 0.0
    schedule.finish[:] = np.inf
    while True:
        event += 1
        kept = 0
        widest = room[_largest(room)]
        for i in range(pending):
            j = waiting[i]
            size = jobs.gpus[j]
            placed = False
            if size <= widest and jobs.inside[j]:
                base = jobs.first[j]
                schedule.used[j] = 1
                schedule.where[base] = _tightest(room, size)
                schedule.held[base] = size
                placed = True
            elif size <= total and size > 1 and (size > largest or ways.spans[j]):
                if not patient:
                    placed = _spread(jobs, j, room.copy(), schedule, -1)
                elif tried[ways.limit[j], size] < event:
                    placed = _wait_or_share(jobs, ways, j, room, links, running, schedule)
                    if not placed:  # nor will it later on, when there is less room
                        tried[ways.limit[j], size] = event
            if not placed or not start(jobs, running, schedule, j, now):
                waiting[kept] = j
                kept += 1
                continue
            total -= size
            for k in range(jobs.first[j], jobs.first[j] + schedule.used[j]):
                room[schedule.where[k]] -= schedule.held[k]
            if patient:
                _close(jobs, ways, j, links, schedule)
            widest = room[_largest(room)]
        pending = kept
        if running.count[0] == 0:
            return now if pending == 0 else np.inf
        now = next_end(running, schedule, np.inf)
        if now >= cutoff:
            return np.inf
        ended = take_out(jobs, running, schedule, now)
        any_spanned = False
        for r in range(running.count[0], running.count[0] + ended):
            j = running.job[r]
            any_spanned |= schedule.used[j] > 1
            total += jobs.gpus[j]
            for k in range(jobs.first[j], jobs.first[j] + schedule.used[j]):
                room[schedule.where[k]] += schedule.held[k]
        if any_spanned:
            refresh(jobs, running, schedule, now)
            if patient:
                links[:] = ANY
                for r in range(running.count[0]):
                    _close(jobs, ways, running.job[r], links, schedule)


@njit_borrowing
def _tightest(room: Any, size: int) -> int:
    best, least = -1, np.iinfo(np.int64).max
    for s in range(len(room)):
        if size <= room[s] < least:
            best, least = s, room[s]
    return best


@njit_borrowing
def _largest(values: Any) -> int:
    """Where the first of the largest is."""
    best = 0
    for i in range(len(values)):
        if values[i] > values[best]:
            best = i
    return best


@njit_borrowing
def _close(jobs: Jobs, ways: Ways, j: int, links: Any, schedule: ScheduleArrays) -> None:
    """Let no more jobs on the links of a spanning job than its limit."""
    if schedule.used[j] > 1 and ways.limit[j] > 0:
        for k in range(jobs.first[j], jobs.first[j] + schedule.used[j]):
            links[schedule.where[k]] = min(links[schedule.where[k]], ways.limit[j])


@njit(cache=True)
def _wait_or_share(
    jobs: Jobs,
    ways: Ways,
    j: int,
    room: Any,
    links: Any,
    running: Running,
    schedule: ScheduleArrays,
) -> bool:
    """Place a spanning job as its way allows; false if it has to wait."""
    limit, fewest = ways.limit[j], ways.fewest[j]
    free = room.copy()
    most = 0
    for s in range(len(free)):
        if running.sharing[s] >= links[s] or (limit > 0 and running.sharing[s] >= limit):
            free[s] = 0
        most = max(most, free[s])
    if limit == 0:
        return _spread(jobs, j, free, schedule, -1)
    if ways.fills[j]:
        fullest, short = -1, jobs.gpus[j] - (fewest - 1) * most
        for s in range(len(free)):
            shared = running.sharing[s] > 0 and max(1, short) <= free[s] < jobs.gpus[j]
            if shared and (fullest < 0 or free[s] > free[fullest]):
                fullest = s
        placed = fullest >= 0 and _spread(jobs, j, free.copy(), schedule, fullest)
        if placed and schedule.used[j] <= fewest:
            return True
    return _spread(jobs, j, free, schedule, -1) and schedule.used[j] <= fewest


@njit(cache=True)
def _spread(jobs: Jobs, j: int, free: Any, schedule: ScheduleArrays, first: int) -> bool:
    """The fewest servers: those with most room, the last one as tight as can be; edits `free`.

    Server `first` comes before them, if it is one.
    """
    left = jobs.gpus[j]
    base = jobs.first[j]
    schedule.used[j] = 0
    while left > 0:
        s = _tightest(free, left) if first < 0 else first
        first = -1
        if s < 0:
            s = _largest(free)
        taken = min(left, free[s])
        if taken == 0:
            return False
        if schedule.used[j] == 0 and taken == left:
            taken -= 1  # one server makes no progress: leave a worker out
        schedule.where[base + schedule.used[j]] = s
        schedule.held[base + schedule.used[j]] = taken
        schedule.used[j] += 1
        free[s] = 0
        left -= taken
    return True
