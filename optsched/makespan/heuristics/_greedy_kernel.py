"""The compiled forward simulation behind SJF-BCO and the paper's baselines: GPU by GPU, one by one.

Jobs start in a given order, strictly head of line, at the current time; while the next one finds
too few GPUs, time moves to the next completion. Every start and every completion changes the
rates of the jobs that span.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.compiled_loops import lean, njit
from optsched.makespan._contention_kernel import Jobs, any_moves, begin, refresh, share

FIRST, LEAST_USED, LEAST_BUSY_SERVERS, RANDOM = 0, 1, 2, 3


@njit(cache=True)
def simulate(
    jobs: Jobs, order: Any, picks: Any, estimate: Any, theta: float, spread: float, cutoff: float,
    tail: Any, random: Any, starts: Any, where: Any, held: Any, used: Any,
) -> float:  # fmt: skip
    """Schedule all jobs; fills starts and placements and returns the makespan.

    ``picks[j]`` says how job j chooses among the idle GPUs whose accumulated time plus its own
    stays within theta; ``tail[i]`` is the least time that the jobs from place i of the order on
    still take (none of them starts before the one at i); `random` is the generator's state. Returns
    infinity when a job finds no place though nothing runs, or when the makespan would reach
    `cutoff`.
    """
    n, servers = len(order), len(jobs.capacity)
    server_of = np.repeat(np.arange(servers), jobs.capacity)
    busy_time = np.zeros(len(server_of))
    idle = np.ones(len(server_of), np.bool_)
    server_time = np.zeros(servers)
    taken = np.empty(jobs.first[n], np.int64)
    running = np.empty(n, np.int64)
    sharing = np.zeros(servers, np.int64)
    level = np.zeros(n, np.int64)
    rate, remaining = np.zeros(n), np.zeros(n)
    since, finish = np.zeros(n), np.zeros(n)
    allowed = np.ones(servers, np.bool_)
    chosen = np.empty(len(server_of), np.int64)
    count, now, idle_gpus = 0, 0.0, len(server_of)
    for position in range(n + 1):
        while True:  # until the job has started; after the last one, until all have ended
            if position < n:
                j = order[position]
                size = jobs.gpus[j]
                enough = False
                if idle_gpus >= size:
                    limit = theta - estimate[j]
                    if picks[j] == LEAST_BUSY_SERVERS:
                        _least_busy(server_time, jobs.capacity, spread * size, allowed)
                    enough = _pick(
                        picks[j], size, limit, busy_time, idle, server_of, allowed, random, chosen
                    )
                if enough:
                    _occupy(jobs, j, chosen, server_of, taken, where, held, used)
                    begin(jobs, j, now, where, used, sharing, level, rate, remaining, since, finish)
                    running[count] = j
                    refresh(
                        jobs, now, running, count, where, used, sharing,
                        level, rate, remaining, since, finish,
                    )  # fmt: skip
                    if any_moves(running, count + 1, rate):
                        starts[j] = now
                        count += 1
                        idle_gpus -= size
                        for i in range(size):
                            g = chosen[i]
                            idle[g] = False
                            busy_time[g] += estimate[j]
                            server_time[server_of[g]] += estimate[j]
                        break
                    share(jobs, j, where, used, sharing, -1)
                    refresh(
                        jobs, now, running, count, where, used, sharing,
                        level, rate, remaining, since, finish,
                    )  # fmt: skip
            if count == 0:
                if position == n:
                    return now
                return np.inf
            now = np.inf
            for r in range(count):
                now = min(now, finish[running[r]])
            if now + tail[position] >= cutoff:
                return np.inf
            kept = 0
            for r in range(count):
                j = running[r]
                if finish[j] > now:
                    running[kept] = j
                    kept += 1
                    continue
                share(jobs, j, where, used, sharing, -1)
                idle_gpus += jobs.gpus[j]
                for i in range(jobs.first[j], jobs.first[j] + jobs.gpus[j]):
                    idle[taken[i]] = True
            count = kept
            refresh(
                jobs, now, running, count, where, used, sharing,
                level, rate, remaining, since, finish,
            )  # fmt: skip
    return np.inf


@lean
def _pick(
    how: int, size: int, limit: float, busy_time: Any, idle: Any, server_of: Any, allowed: Any,
    random: Any, chosen: Any,
) -> bool:  # fmt: skip
    """Choose GPUs into the front of `chosen`; false when too few qualify."""
    found = 0
    for g in range(len(idle)):
        if not idle[g] or busy_time[g] > limit:
            continue
        if how == LEAST_BUSY_SERVERS and not allowed[server_of[g]]:
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
            k = i + int(draw(random) * (found - i))
            chosen[i], chosen[k] = chosen[k], chosen[i]
    return found >= size


@lean
def draw(state: Any) -> float:
    """The next number in [0, 1) of an xorshift64* generator; advances `state`."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return ((x * np.uint64(2685821657736338717)) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@lean
def _after(a: int, b: int, busy_time: Any) -> bool:
    """Whether GPU a is less wanted than b: busier, or as busy and of higher index."""
    return busy_time[a] > busy_time[b] or (busy_time[a] == busy_time[b] and a > b)


@lean
def _sift_up(heap: Any, child: int, busy_time: Any) -> None:
    while child > 0:
        parent = (child - 1) // 2
        if not _after(heap[child], heap[parent], busy_time):
            return
        heap[child], heap[parent] = heap[parent], heap[child]
        child = parent


@lean
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


@njit(cache=True)
def _least_busy(server_time: Any, capacity: Any, wanted: float, allowed: Any) -> None:
    """Allow the servers of least time per GPU until they hold as many GPUs as wanted."""
    order = np.argsort(server_time / capacity, kind="mergesort")
    held = 0.0
    for s in order:
        allowed[s] = held < wanted
        held += capacity[s]


@lean
def _occupy(
    jobs: Jobs, j: int, chosen: Any, server_of: Any, taken: Any, where: Any, held: Any, used: Any
) -> None:
    """Write job j's GPUs and its servers, each once, with their counts."""
    base = jobs.first[j]
    used[j] = 0
    for i in range(jobs.gpus[j]):
        g = chosen[i]
        taken[base + i] = g
        k = base
        while k < base + used[j] and where[k] != server_of[g]:
            k += 1
        if k == base + used[j]:
            where[k] = server_of[g]
            held[k] = 0
            used[j] += 1
        held[k] += 1
