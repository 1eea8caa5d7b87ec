"""The compiled list scheduling: an order of jobs, backfilled, servers chosen as tight as can be."""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.compiled_loops import njit, njit_borrowing
from optsched.makespan._contention_kernel import (
    Jobs,
    ScheduleArrays,
    next_end,
    none_running,
    refresh,
    start,
    take_out,
)


@njit(cache=True)
def schedule_list(
    jobs: Jobs, order: Any, spans: Any, cutoff: float, schedule: ScheduleArrays
) -> float:
    """Schedule jobs in `order` (n,) with backfilling; fills the schedule.

    At every completion the waiting jobs are tried in order: each takes the server with least room
    that holds it; a job no server holds, or one with ``spans[j]`` (n,), takes the fewest servers
    that do. Returns the makespan in slots, or infinity if it reaches `cutoff` or a job can never
    start. Complexity: O(n) events, each O(waiting jobs + running jobs + S a start).
    """
    room = jobs.capacity.copy()
    largest, total = room.max(), room.sum()
    waiting, pending = order.copy(), len(order)
    running = none_running(jobs)
    now = 0.0
    schedule.finish[:] = np.inf
    while True:
        kept = 0
        widest = room.max()
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
            elif size <= total and size > 1 and (size > largest or spans[j]):
                placed = _spread(jobs, j, room, schedule)
            if not placed or not start(jobs, running, schedule, j, now):
                waiting[kept] = j
                kept += 1
                continue
            total -= size
            for k in range(jobs.first[j], jobs.first[j] + schedule.used[j]):
                room[schedule.where[k]] -= schedule.held[k]
            widest = room.max()
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


@njit_borrowing
def _tightest(room: Any, size: int) -> int:
    best, least = -1, np.iinfo(np.int64).max
    for s in range(len(room)):
        if size <= room[s] < least:
            best, least = s, room[s]
    return best


@njit(cache=True)
def _spread(jobs: Jobs, j: int, room: Any, schedule: ScheduleArrays) -> bool:
    """The fewest servers: those with most room, the last one as tight as can be."""
    left = jobs.gpus[j]
    base = jobs.first[j]
    schedule.used[j] = 0
    free = room.copy()
    while left > 0:
        s = _tightest(free, left)
        if s < 0:
            s = int(np.argmax(free))
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
