"""The event loop under contention: rates of the running jobs, and when each of them ends.

Every compiled method starts jobs by `start` and moves on by `next_end`, `take_out` and `refresh`;
`completions` is the loop where all starts are known. Times are in slots.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from optsched.compiled_loops import njit, njit_borrowing, njit_inner


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


class ScheduleArrays(NamedTuple):
    """When and where every job runs; the loops fill it in.

    Attributes
    ----------
    starts, finish : (n,) float
        In slots; a job that never ends finishes at infinity.
    where, held : (sum of G_j,) int
        Job j's servers and its GPUs there, from ``first[j]`` to ``first[j] + used[j]``.
    used : (n,) int
        Servers of each job.
    """

    starts: Any
    finish: Any
    where: Any
    held: Any
    used: Any


class Running(NamedTuple):
    """The jobs that run, and how each has done since its rate last changed.

    Attributes
    ----------
    job : (n,) int
        The first ``count[0]`` of these run, in the order of their starts.
    count : (1,) int
    sharing : (S,) int
        Jobs on each server that span servers.
    level, rate, remaining, since : (n,) int, float, float, float
        By job: p_j, iterations per slot, iterations left at `since`.
    """

    job: Any
    count: Any
    sharing: Any
    level: Any
    rate: Any
    remaining: Any
    since: Any


@njit(cache=True)
def none_running(jobs: Jobs) -> Running:
    """The state in which no job runs."""
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


@njit_inner
def start(jobs: Jobs, running: Running, schedule: ScheduleArrays, j: int, now: float) -> bool:
    """Start job j where it is placed, unless no running job would make progress then."""
    _begin(jobs, running, schedule, j, now)
    spans = schedule.used[j] > 1
    if spans:
        refresh(jobs, running, schedule, now)
    if running.rate[j] > 0.0 or _any_moves(running):
        schedule.starts[j] = now
        return True
    running.count[0] -= 1
    _share(jobs, running, schedule, j, -1)
    if spans:
        refresh(jobs, running, schedule, now)
    return False


@njit_inner
def next_end(running: Running, schedule: ScheduleArrays, until: float) -> float:
    """When the next running job ends, `until` at the latest."""
    for r in range(running.count[0]):
        until = min(until, schedule.finish[running.job[r]])
    return until


@njit_inner
def take_out(jobs: Jobs, running: Running, schedule: ScheduleArrays, now: float) -> int:
    """Take out the jobs that have ended, so many, and list them behind those that run.

    The others need `refresh`.
    """
    count, left = running.count[0], 0
    for r in range(count):
        j = running.job[r]
        if schedule.finish[j] > now:
            running.job[r] = running.job[left]
            running.job[left] = j
            left += 1
        else:
            _share(jobs, running, schedule, j, -1)
    running.count[0] = left
    return count - left


@njit_inner
def refresh(jobs: Jobs, running: Running, schedule: ScheduleArrays, now: float) -> None:
    """Give every running job whose level changed its new rate and finish, from `now` on."""
    for r in range(running.count[0]):
        j = running.job[r]
        if schedule.used[j] <= 1:
            continue
        level = _level(jobs, running, schedule, j)
        if level != running.level[j]:
            running.remaining[j] -= running.rate[j] * (now - running.since[j])
            _progress(jobs, running, schedule, j, level, now)


@njit(cache=True)
def completions(jobs: Jobs, order: Any, schedule: ScheduleArrays) -> None:
    """Ends of all jobs, given starts and placements: from event to event; edits `finish`.

    `order` (n,) lists the jobs by their starts. Complexity: O(n) events, each O(running jobs x
    their servers).
    """
    n = len(order)
    running = none_running(jobs)
    schedule.finish[:] = np.inf
    upcoming = 0
    while upcoming < n or running.count[0] > 0:
        next_start = schedule.starts[order[upcoming]] if upcoming < n else np.inf
        now = next_end(running, schedule, next_start)
        if now == np.inf:
            return
        take_out(jobs, running, schedule, now)
        while upcoming < n and schedule.starts[order[upcoming]] <= now:
            _begin(jobs, running, schedule, order[upcoming], now)
            upcoming += 1
        refresh(jobs, running, schedule, now)


@njit_borrowing
def _begin(jobs: Jobs, running: Running, schedule: ScheduleArrays, j: int, now: float) -> None:
    """Count job j in and give it the rate of its level; the others need `refresh`."""
    _share(jobs, running, schedule, j, 1)
    running.job[running.count[0]] = j
    running.count[0] += 1
    running.remaining[j] = jobs.iterations[j]
    _progress(jobs, running, schedule, j, _level(jobs, running, schedule, j), now)


@njit_borrowing
def _progress(
    jobs: Jobs, running: Running, schedule: ScheduleArrays, j: int, level: int, now: float
) -> None:
    """Let job j go on at a level from now."""
    running.since[j] = now
    running.level[j] = level
    running.rate[j] = _speed(jobs, j, schedule.used[j], level)
    schedule.finish[j] = now + _slots_left(jobs, running.remaining[j], running.rate[j])


@njit_borrowing
def _share(jobs: Jobs, running: Running, schedule: ScheduleArrays, j: int, change: int) -> None:
    """Count job j in or out of the jobs that span and use its servers."""
    if schedule.used[j] > 1:
        base = jobs.first[j]
        for i in range(base, base + schedule.used[j]):
            running.sharing[schedule.where[i]] += change


@njit_borrowing
def _level(jobs: Jobs, running: Running, schedule: ScheduleArrays, j: int) -> int:
    """p_j: most spanning jobs on any server of job j; 0 inside one server (6)."""
    if schedule.used[j] <= 1:
        return 0
    most = 0
    base = jobs.first[j]
    for i in range(base, base + schedule.used[j]):
        most = max(most, running.sharing[schedule.where[i]])
    return most


@njit_borrowing
def _any_moves(running: Running) -> bool:
    """Whether any running job makes progress."""
    fastest = 0.0
    for r in range(running.count[0]):
        fastest = max(fastest, running.rate[running.job[r]])
    return fastest > 0.0


@njit_borrowing
def _speed(jobs: Jobs, j: int, servers: int, level: int) -> float:
    """phi: iterations per slot of job j on so many servers at contention level p; (6)-(8)."""
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


@njit_borrowing
def _slots_left(jobs: Jobs, remaining: float, rate: float) -> float:
    """Slots until so many iterations are done."""
    if rate <= 0.0:
        return np.inf
    return np.ceil(remaining / rate) if jobs.slotted else remaining / rate
