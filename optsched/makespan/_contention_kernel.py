"""Compiled arithmetic of contention: rates of the running jobs, and when each of them ends.

`Jobs` is the instance as arrays. A placement is a ragged table: job j's servers stand in
``where[first[j] : first[j] + used[j]]``, its GPUs there in ``held``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from optsched.compiled_loops import lean, njit


class Jobs(NamedTuple):
    """An instance as arrays; units as in `optsched.makespan.instance`.

    ``volume`` = 2 m (G - 1) bytes, ``reduction`` = m (G - 1) / (G C) seconds, ``first`` = offsets
    of the ragged tables, G_j wide; ``inside``: whether a job makes progress in one server.
    """

    capacity: Any
    gpus: Any
    iterations: Any
    volume: Any
    reduction: Any
    forward: Any
    backward: Any
    first: Any
    inside: Any
    inter_bandwidth: float
    intra_bandwidth: float
    contention_share: float
    degradation: float
    overhead: float
    one_server_pays: bool
    slot: float
    slotted: bool


@lean
def speed(jobs: Jobs, j: int, servers: int, level: int) -> float:
    """phi: iterations a slot of job j on so many servers at contention level p; (6)-(8)."""
    if servers == 1:
        bandwidth = jobs.intra_bandwidth
    else:
        contending = jobs.contention_share * level
        bandwidth = jobs.inter_bandwidth / max(
            1.0, contending + jobs.degradation * (contending - 1)
        )
    pays = servers > 1 or jobs.one_server_pays
    tau = (
        jobs.volume[j] / (jobs.gpus[j] * bandwidth)
        + jobs.reduction[j]
        + (jobs.overhead * servers if pays else 0.0)
        + jobs.forward[j]
        + jobs.backward[j]
    )
    if not jobs.slotted:
        return jobs.slot / tau
    return np.floor(min(jobs.slot / tau + 1e-9, jobs.iterations[j]))


@lean
def slots_left(jobs: Jobs, remaining: float, rate: float) -> float:
    """Slots until so many iterations are done."""
    if rate <= 0.0:
        return np.inf
    return np.ceil(remaining / rate) if jobs.slotted else remaining / rate


@lean
def level_of(jobs: Jobs, j: int, where: Any, used: Any, sharing: Any) -> int:
    """p_j: most spanning jobs on any server of job j; 0 inside one server (6)."""
    if used[j] <= 1:
        return 0
    most = 0
    base = jobs.first[j]
    for i in range(base, base + used[j]):
        most = max(most, sharing[where[i]])
    return most


@lean
def share(jobs: Jobs, j: int, where: Any, used: Any, sharing: Any, change: int) -> None:
    """Count job j in or out of the jobs that span and use its servers."""
    if used[j] > 1:
        base = jobs.first[j]
        for i in range(base, base + used[j]):
            sharing[where[i]] += change


@lean
def refresh(
    jobs: Jobs, now: float, running: Any, count: int, where: Any, used: Any, sharing: Any,
    level: Any, rate: Any, remaining: Any, since: Any, finish: Any,
) -> None:  # fmt: skip
    """Give every running job whose level changed its new rate and finish, from `now` on."""
    for r in range(count):
        j = running[r]
        if used[j] <= 1:
            continue
        p = level_of(jobs, j, where, used, sharing)
        if p != level[j]:
            remaining[j] -= rate[j] * (now - since[j])
            since[j] = now
            level[j] = p
            rate[j] = speed(jobs, j, used[j], p)
            finish[j] = now + slots_left(jobs, remaining[j], rate[j])


@lean
def begin(
    jobs: Jobs, j: int, now: float, where: Any, used: Any, sharing: Any,
    level: Any, rate: Any, remaining: Any, since: Any, finish: Any,
) -> None:  # fmt: skip
    """Start job j: count it in, then give it the rate of its level; others need `refresh`."""
    share(jobs, j, where, used, sharing, 1)
    remaining[j] = jobs.iterations[j]
    since[j] = now
    level[j] = level_of(jobs, j, where, used, sharing)
    rate[j] = speed(jobs, j, used[j], level[j])
    finish[j] = now + slots_left(jobs, remaining[j], rate[j])


@lean
def any_moves(running: Any, count: int, rate: Any) -> bool:
    """Whether any running job makes progress."""
    fastest = 0.0
    for r in range(count):
        fastest = max(fastest, rate[running[r]])
    return fastest > 0.0


@njit(cache=True)
def completions(jobs: Jobs, starts: Any, order: Any, where: Any, used: Any, finish: Any) -> None:
    """Ends of all jobs, given starts and placements: from event to event; edits `finish`.

    `order` lists the jobs by their starts. A job that never ends gets infinity. Complexity: O(n)
    events, each O(running jobs x their servers).
    """
    n = len(starts)
    running = np.empty(n, np.int64)
    sharing = np.zeros(len(jobs.capacity), np.int64)
    level = np.zeros(n, np.int64)
    rate, remaining, since = np.zeros(n), np.zeros(n), np.zeros(n)
    finish[:] = np.inf
    count = upcoming = 0
    while upcoming < n or count > 0:
        now = starts[order[upcoming]] if upcoming < n else np.inf
        for r in range(count):
            now = min(now, finish[running[r]])
        if now == np.inf:
            return
        kept = 0
        for r in range(count):
            j = running[r]
            if finish[j] <= now:
                share(jobs, j, where, used, sharing, -1)
            else:
                running[kept] = j
                kept += 1
        count = kept
        while upcoming < n and starts[order[upcoming]] <= now:
            j = order[upcoming]
            begin(jobs, j, now, where, used, sharing, level, rate, remaining, since, finish)
            running[count] = j
            count += 1
            upcoming += 1
        refresh(
            jobs, now, running, count, where, used, sharing, level, rate, remaining, since, finish
        )
