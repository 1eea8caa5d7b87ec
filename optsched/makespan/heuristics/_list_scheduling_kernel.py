"""The compiled list scheduling: an order of jobs, backfilled, servers chosen as tight as can be."""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.compiled_loops import lean, njit
from optsched.makespan._contention_kernel import Jobs, any_moves, begin, refresh, share


@njit(cache=True)
def schedule_list(
    jobs: Jobs, order: Any, spans: Any, cutoff: float, starts: Any, where: Any, held: Any,
    used: Any, finish: Any,
) -> float:  # fmt: skip
    """Schedule jobs in order with backfilling; fills starts, placements and ends.

    At every completion the waiting jobs are tried in order: each takes the server with least room
    that holds it; a job no server holds, or one with ``spans[j]``, takes the fewest servers that
    do. Returns the makespan, or infinity if it reaches `cutoff` or a job can never start.
    Complexity: O(n) events, each O(waiting jobs + running jobs + S a start).
    """
    n, servers = len(order), len(jobs.capacity)
    room = jobs.capacity.copy()
    largest = jobs.capacity.max()
    total = jobs.capacity.sum()
    waiting, running = order.copy(), np.empty(n, np.int64)
    sharing = np.zeros(servers, np.int64)
    level = np.zeros(n, np.int64)
    rate, remaining, since = np.zeros(n), np.zeros(n), np.zeros(n)
    pending, count, spanning, now = n, 0, 0, 0.0
    finish[:] = np.inf
    while True:
        kept = 0
        widest = room.max()
        for i in range(pending):
            j = waiting[i]
            size = jobs.gpus[j]
            placed = False
            if size <= widest and jobs.inside[j]:
                base = jobs.first[j]
                used[j] = 1
                where[base] = _tightest(room, size)
                held[base] = size
                placed = True
            elif size <= total and size > 1 and (size > largest or spans[j]):
                placed = _spread(jobs, j, room, where, held, used)
            if placed:
                begin(jobs, j, now, where, used, sharing, level, rate, remaining, since, finish)
                running[count] = j
                if used[j] > 1:
                    refresh(
                        jobs, now, running, count, where, used, sharing,
                        level, rate, remaining, since, finish,
                    )  # fmt: skip
                    if not any_moves(running, count + 1, rate):
                        share(jobs, j, where, used, sharing, -1)
                        refresh(
                            jobs, now, running, count, where, used, sharing,
                            level, rate, remaining, since, finish,
                        )  # fmt: skip
                        placed = False
            if not placed:
                waiting[kept] = j
                kept += 1
                continue
            starts[j] = now
            count += 1
            spanning += used[j] > 1
            total -= size
            for k in range(jobs.first[j], jobs.first[j] + used[j]):
                room[where[k]] -= held[k]
            widest = room.max()
        pending = kept
        if count == 0:
            return now if pending == 0 else np.inf
        now = np.inf
        for r in range(count):
            now = min(now, finish[running[r]])
        if now >= cutoff:
            return np.inf
        left, ended = 0, 0
        for r in range(count):
            j = running[r]
            if finish[j] > now:
                running[left] = j
                left += 1
                continue
            share(jobs, j, where, used, sharing, -1)
            ended += used[j] > 1
            total += jobs.gpus[j]
            for k in range(jobs.first[j], jobs.first[j] + used[j]):
                room[where[k]] += held[k]
        count = left
        spanning -= ended
        if ended > 0 and spanning > 0:
            refresh(
                jobs, now, running, count, where, used, sharing,
                level, rate, remaining, since, finish,
            )  # fmt: skip


@lean
def _tightest(room: Any, size: int) -> int:
    best, least = -1, np.iinfo(np.int64).max
    for s in range(len(room)):
        if size <= room[s] < least:
            best, least = s, room[s]
    return best


@njit(cache=True)
def _spread(jobs: Jobs, j: int, room: Any, where: Any, held: Any, used: Any) -> bool:
    """The fewest servers: those with most room, the last one as tight as can be."""
    left = jobs.gpus[j]
    base = jobs.first[j]
    used[j] = 0
    free = room.copy()
    while left > 0:
        s = _tightest(free, left)
        if s < 0:
            s = int(np.argmax(free))
        taken = min(left, free[s])
        if taken == 0:
            return False
        if used[j] == 0 and taken == left:  # one server makes no progress: leave a worker out
            taken -= 1
        where[base + used[j]] = s
        held[base + used[j]] = taken
        used[j] += 1
        free[s] = 0
        left -= taken
    return True
