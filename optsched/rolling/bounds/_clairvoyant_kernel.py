"""Compiled inner problem of the clairvoyant bound: one job at given prices of GPU time.

With completion in slot i, a multiplier mu on the work and m_h(mu) = min(0, min_c cost_ch - mu s_c),

    value_i(mu) = mu W + sum_{h < i} len_h m_h(mu) + min_x [x m_i(mu) + eta (start_i + x - d)^+]

is a lower bound on the cost of completing in slot i, concave in mu, and exact at its maximum (the
inner problem is a linear programme for every i). The minimum over i is the job's bound.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.compiled_loops import njit

STEPS = 40
CLOSE = 1e-11


@njit(cache=True)
def _slot(h: Any, mu: Any, price: Any, kind: Any, size: Any, speed: Any, energy: Any) -> Any:
    """m_h(mu), and the configuration that attains it (-1: idle)."""
    best, at = 0.0, -1
    for c in range(len(kind)):
        value = energy[c] + price[kind[c], h] * size[c] - mu * speed[c]
        if value < best:
            best, at = value, c
    return best, at


@njit(cache=True)
def _last(start: Any, length: Any, rate: Any, due: Any, weight: Any) -> Any:
    """min over x in [0, length] of x rate + weight (start + x - due)^+, and its x."""
    best, at = weight * max(start - due, 0.0), 0.0
    for x in (length, min(max(due - start, 0.0), length)):
        value = x * rate + weight * max(start + x - due, 0.0)
        if value < best:
            best, at = value, x
    return best, at


@njit(cache=True)
def _value(
    i: Any, mu: Any, first: Any, job: Any, edges: Any, price: Any,
    kind: Any, size: Any, speed: Any, energy: Any,
) -> Any:  # fmt: skip
    """value_i(mu), and the epochs done by the times that attain it."""
    arrival, work, due, weight = job
    total, done = mu * work, 0.0
    for h in range(first, i):
        low, c = _slot(h, mu, price, kind, size, speed, energy)
        if c >= 0:
            length = edges[h + 1] - max(edges[h], arrival)
            total += length * low
            done += length * speed[c]
    low, c = _slot(i, mu, price, kind, size, speed, energy)
    start = max(edges[i], arrival)
    tail, x = _last(start, edges[i + 1] - start, low, due, weight)
    if c >= 0:
        done += x * speed[c]
    return total + tail, done


@njit(cache=True)
def _add_use(
    share: Any, i: Any, mu: Any, first: Any, job: Any, edges: Any, price: Any,
    kind: Any, size: Any, speed: Any, energy: Any, use: Any,
) -> Any:  # fmt: skip
    """Add a share of the GPU-seconds behind value_i(mu) to ``use``."""
    arrival, _, due, weight = job
    for h in range(first, i + 1):
        low, c = _slot(h, mu, price, kind, size, speed, energy)
        if c < 0:
            continue
        start = max(edges[h], arrival)
        length = edges[h + 1] - start
        if h == i:
            _, length = _last(start, length, low, due, weight)
        use[kind[c], h] += share * length * size[c]


@njit(cache=True)
def _refine(
    i: Any, guess: Any, enough: Any, first: Any, job: Any, edges: Any, price: Any,
    kind: Any, size: Any, speed: Any, energy: Any,
) -> Any:  # fmt: skip
    """The greatest value_i(mu) found, and multipliers on both sides of its maximiser."""
    low, high, best = 0.0, guess, -np.inf
    for _ in range(200):  # grow until the work is done, or the value shows that i is too dear
        value, done = _value(i, high, first, job, edges, price, kind, size, speed, energy)
        best = max(best, value)
        if done >= job[1] or value > enough:
            break
        low, high = high, 2 * high
    for _ in range(STEPS):
        if best > enough or high - low <= CLOSE * high:
            break
        mu = 0.5 * (low + high)
        value, done = _value(i, mu, first, job, edges, price, kind, size, speed, energy)
        best = max(best, value)
        if done >= job[1]:
            high = mu
        else:
            low = mu
    return best, low, high


@njit(cache=True)
def job_bound(
    job: Any, first: Any, edges: Any, price: Any, kind: Any, size: Any, speed: Any, energy: Any,
    least: Any, kept: Any, lows: Any, use: Any,
) -> Any:  # fmt: skip
    """A lower bound on a job's cost at given prices; adds its GPU-seconds to ``use``.

    Parameters: ``job`` = (arrival, work, due date, weight); ``first`` the slot of the arrival;
    ``edges`` of the slots; ``price[t, h]``; by configuration its type, size, speed and energy per
    second; ``least``, the least energy of an epoch; ``kept[i]``, multipliers from before, updated;
    ``lows``, work space. Slots whose bound at an old multiplier exceeds the least refined one are
    not refined: any multiplier is valid.
    """
    slots = len(edges) - 1
    refined = np.zeros(slots, np.bool_)
    values = np.empty(slots)
    top, ceiling = first, np.inf
    for i in range(first, slots):
        waiting = job[3] * max(max(edges[i], job[0]) - job[2], 0.0) + least * job[1]
        if waiting >= ceiling:
            break
        values[i], done = _value(i, kept[i], first, job, edges, price, kind, size, speed, energy)
        values[i] = max(values[i], waiting)
        if (done >= job[1] * (1 - 1e-9) and ceiling == np.inf) or i == slots - 1:
            values[i], lows[i], kept[i] = _refine(
                i, kept[i], np.inf, first, job, edges, price, kind, size, speed, energy
            )
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
        value, lows[at], kept[at] = _refine(
            at, kept[at], ceiling, first, job, edges, price, kind, size, speed, energy
        )
        values[at] = max(values[at], value)
        refined[at] = True
        ceiling = min(ceiling, values[at]) if value <= ceiling else ceiling
    _, under = _value(at, lows[at], first, job, edges, price, kind, size, speed, energy)
    _, over = _value(at, kept[at], first, job, edges, price, kind, size, speed, energy)
    share = 1.0 if over <= under else min(max((job[1] - under) / (over - under), 0.0), 1.0)
    _add_use(share, at, kept[at], first, job, edges, price, kind, size, speed, energy, use)
    _add_use(1 - share, at, lows[at], first, job, edges, price, kind, size, speed, energy, use)
    return values[at]


@njit(cache=True)
def all_jobs(
    jobs: Any, first: Any, edges: Any, price: Any, start: Any, kind: Any, size: Any, speed: Any,
    energy: Any, least: Any, kept: Any, values: Any, use: Any,
) -> Any:  # fmt: skip
    """`job_bound` for every job; configurations of job j are start[j] .. start[j + 1]."""
    lows = np.zeros(len(edges))
    total = 0.0
    for j in range(len(first)):
        a, b = start[j], start[j + 1]
        job = (jobs[j, 0], jobs[j, 1], jobs[j, 2], jobs[j, 3])
        values[j] = job_bound(
            job, first[j], edges, price, kind[a:b], size[a:b], speed[a:b], energy[a:b],
            least[j], kept[j], lows, use,
        )  # fmt: skip
        total += values[j]
    return total
