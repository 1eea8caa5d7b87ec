"""Compiled inner problem of the clairvoyant bound: one job at given prices of GPU time.

With completion in slot i, a multiplier mu on the work and m_h(mu) = min(0, min_c cost_ch - mu s_c),

    value_i(mu) = mu W + sum_{h < i} len_h m_h(mu) + min_x [x m_i(mu) + eta (start_i + x - d)^+]

is a lower bound on the cost of completing in slot i, concave in mu, and exact at its maximum (the
inner problem is a linear programme for every i). The minimum over i is the job's bound.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from optsched.compiled_loops import njit

STEPS = 40
CLOSE = 1e-11
EPSILON = 2.0**-53
"""Relative rounding of one operation."""


class Slots(NamedTuple):
    """Edges of the slots (H + 1,) in seconds, prices (T, H) in dollars per GPU second."""

    edges: Any
    price: Any


class Workload(NamedTuple):
    """All jobs and their configurations; those of job j are ``start[j] .. start[j + 1]``.

    Attributes
    ----------
    jobs : (J, 4) float
        Arrival, epochs to do, due date, weight; seconds, and dollars per second.
    start : (J + 1,) int
    kind, size, speed, energy : (configurations,) int, float, float, float
        GPU type, GPUs, epochs per second, dollars per second.
    least : (J,) float
        Least dollars per epoch.
    gpus : (T,) float
    """

    jobs: Any
    start: Any
    kind: Any
    size: Any
    speed: Any
    energy: Any
    least: Any
    gpus: Any


class Job(NamedTuple):
    """One row of a `Workload`; ``first`` is the slot of the arrival."""

    arrival: float
    work: float
    due: float
    weight: float
    least: float
    first: int
    kind: Any
    size: Any
    speed: Any
    energy: Any


@njit(cache=True)
def all_jobs(load: Workload, slots: Slots, first: Any, kept: Any, values: Any, use: Any) -> float:
    """`job_bound` for every job, into ``values``; their sum."""
    lows = np.zeros(len(slots.edges))
    total = 0.0
    for j in range(len(first)):
        a, b = load.start[j], load.start[j + 1]
        job = Job(
            load.jobs[j, 0], load.jobs[j, 1], load.jobs[j, 2], load.jobs[j, 3], load.least[j],
            first[j], load.kind[a:b], load.size[a:b], load.speed[a:b], load.energy[a:b],
        )  # fmt: skip
        values[j] = job_bound(job, slots, kept[j], lows, use)
        total += values[j]
    return total


@njit(cache=True)
def job_bound(job: Job, slots: Slots, kept: Any, lows: Any, use: Any) -> float:
    """A lower bound on a job's cost at given prices; adds its GPU seconds to ``use``.

    Slots whose bound at an old multiplier exceeds the least refined one are not refined: any
    multiplier is valid.
    """
    edges, first = slots.edges, job.first
    count = len(edges) - 1
    refined = np.zeros(count, np.bool_)
    values = np.empty(count)
    top, ceiling = first, np.inf
    for i in range(first, count):
        late = max(max(edges[i], job.arrival) - job.due, 0.0)
        waiting = job.weight * late + job.least * job.work
        if waiting >= ceiling:
            break
        values[i], done = _value(i, kept[i], job, slots)
        values[i] = max(values[i], waiting)
        if (done >= job.work * (1 - 1e-9) and ceiling == np.inf) or i == count - 1:
            values[i], lows[i], kept[i] = _refine(i, kept[i], np.inf, job, slots)
            values[i] = max(values[i], waiting)
            refined[i] = True
            ceiling = min(ceiling, values[i])
        top = i + 1
    while True:
        at = first
        for i in range(first, top):
            if values[i] < values[at]:
                at = i
        if refined[at]:
            break
        value, lows[at], kept[at] = _refine(at, kept[at], ceiling, job, slots)
        values[at] = max(values[at], value)
        refined[at] = True
        ceiling = min(ceiling, values[at]) if value <= ceiling else ceiling
    _, under = _value(at, lows[at], job, slots)
    _, over = _value(at, kept[at], job, slots)
    share = 1.0 if over <= under else min(max((job.work - under) / (over - under), 0.0), 1.0)
    _add_use(share, at, kept[at], job, slots, use)
    _add_use(1 - share, at, lows[at], job, slots, use)
    return values[at]


@njit(cache=True)
def _refine(i: int, guess: float, enough: float, job: Job, slots: Slots) -> Any:
    """The greatest value_i(mu) found, and multipliers on both sides of its maximiser."""
    low, high, best = 0.0, guess, -np.inf
    for _ in range(200):  # grow until the work is done, or the value shows that i is too dear
        value, done = _value(i, high, job, slots)
        best = max(best, value)
        if done >= job.work or value > enough:
            break
        low, high = high, 2 * high
    else:
        return best, low, guess  # the work cannot be done by the end of slot i
    for _ in range(STEPS):
        if best > enough or high - low <= CLOSE * high:
            break
        mu = 0.5 * (low + high)
        value, done = _value(i, mu, job, slots)
        best = max(best, value)
        if done >= job.work:
            high = mu
        else:
            low = mu
    return best, low, high


@njit(cache=True)
def _value(i: int, mu: float, job: Job, slots: Slots) -> Any:
    """value_i(mu) less the rounding of its sum, and the epochs done by the times that attain it."""
    edges = slots.edges
    total, done = mu * job.work, 0.0
    magnitude = total
    for h in range(job.first, i):
        low, c = _best_in(h, mu, job, slots.price)
        if c >= 0:
            length = edges[h + 1] - max(edges[h], job.arrival)
            total += length * low
            magnitude -= length * low
            done += length * job.speed[c]
    low, c = _best_in(i, mu, job, slots.price)
    start = max(edges[i], job.arrival)
    tail, x = _last(start, edges[i + 1] - start, low, job.due, job.weight)
    if c >= 0:
        done += x * job.speed[c]
    rounding = (i - job.first + 8) * EPSILON * (magnitude + abs(tail))
    return total + tail - rounding, done


@njit(cache=True)
def _add_use(share: float, i: int, mu: float, job: Job, slots: Slots, use: Any) -> None:
    """Add a share of the GPU seconds behind value_i(mu) to ``use``."""
    for h in range(job.first, i + 1):
        low, c = _best_in(h, mu, job, slots.price)
        if c < 0:
            continue
        start = max(slots.edges[h], job.arrival)
        length = slots.edges[h + 1] - start
        if h == i:
            _, length = _last(start, length, low, job.due, job.weight)
        use[job.kind[c], h] += share * length * job.size[c]


@njit(cache=True)
def _best_in(h: int, mu: float, job: Job, price: Any) -> Any:
    """m_h(mu), and the configuration that attains it (-1: idle)."""
    best, at = 0.0, -1
    for c in range(len(job.kind)):
        value = job.energy[c] + price[job.kind[c], h] * job.size[c] - mu * job.speed[c]
        if value < best:
            best, at = value, c
    return best, at


@njit(cache=True)
def _last(start: float, length: float, rate: float, due: float, weight: float) -> Any:
    """min over x in [0, length] of x rate + weight (start + x - due)^+, and its x."""
    best, at = weight * max(start - due, 0.0), 0.0
    for x in (length, min(max(due - start, 0.0), length)):
        value = x * rate + weight * max(start + x - due, 0.0)
        if value < best:
            best, at = value, x
    return best, at
