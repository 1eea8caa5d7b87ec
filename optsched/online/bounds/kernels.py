"""Compiled loops of the flow bounds: one fast machine, and the Lagrangian duals over time."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
from numba.extending import register_jitable

from optsched.arrays import Floats
from optsched.kernels import kernel


@kernel
def srpt_completions(release: Any, work: Any) -> Floats:
    """Return the completion time of each job under preemptive SRPT on one machine."""
    jobs, clock = len(release), 0.0
    completion = release.copy()
    waiting = [(np.inf, jobs)]  # by remaining work; the first one runs
    for arriving in range(jobs + 1):
        now = release[arriving] if arriving < jobs else np.inf
        while len(waiting) > 1 and clock + waiting[0][0] <= now:
            remaining, job = heapq.heappop(waiting)
            clock += remaining
            completion[job] = clock
        if arriving < jobs and work[arriving] > 0.0:
            if len(waiting) > 1:
                remaining, job = waiting[0]
                heapq.heapreplace(waiting, (max(0.0, remaining - (now - clock)), job))
            clock = now
            heapq.heappush(waiting, (work[arriving], arriving))
    return completion


@kernel
def mean_busy_times(release: Any, work: Any) -> Floats:
    """Mean time at which each job's work is done under preemptive shortest-work-first."""
    jobs, clock = len(release), 0.0
    mean, remaining, moment = release.copy(), work.copy(), np.zeros(len(release))
    waiting = [(np.inf, jobs)]  # by work; the first one runs
    for arriving in range(jobs + 1):
        now = release[arriving] if arriving < jobs else np.inf
        while len(waiting) > 1 and clock < now:
            job = waiting[0][1]
            end = min(now, clock + remaining[job])
            moment[job] += (end - clock) * (clock + end) / 2
            if clock + remaining[job] <= now:
                mean[job] = moment[job] / work[job]
                heapq.heappop(waiting)
            else:
                remaining[job] -= end - clock
            clock = end
        if arriving < jobs:
            clock = max(clock, now)
            if work[arriving] > 0.0:
                heapq.heappush(waiting, (work[arriving], arriving))
    return mean


@kernel
def lagrangian_value(
    edges: Any,
    dual: Any,
    no_wait_dual: Any,
    submit: Any,
    length: Any,
    gpus: Any,
    used: Any,
    run: Any,
) -> float:
    """Lagrangian value: sum over jobs of the minimum priced flow; fills `used` with GPU-seconds.

    `no_wait_dual`, if not empty, is a second dual, on every second that a job runs before submit +
    length; `run` is filled with those seconds by cell. A job's candidate starts are its submission,
    with a second dual submit + length, and the starts that put its start or end on an edge: in
    between its cost is linear. They are enumerated in ascending order until the flow alone is no
    better than the best cost so far.
    """
    cells, has_no_wait = len(dual), len(no_wait_dual) > 0
    integral, no_wait_integral = np.zeros(cells + 1), np.zeros(cells + 1)
    for k in range(cells):
        width = edges[k + 1] - edges[k]
        integral[k + 1] = integral[k] + dual[k] * width
        if has_no_wait:
            no_wait_integral[k + 1] = no_wait_integral[k] + no_wait_dual[k] * width
    used[:] = 0.0
    run[:] = 0.0
    total = 0.0
    for i in range(len(submit)):
        r, d, g = submit[i], length[i], gpus[i]
        early_until, no_wait_total = r + d, 0.0
        if has_no_wait:
            no_wait_total = _integral_until(edges, no_wait_integral, no_wait_dual, early_until)
        start_edge, end_edge = _upper_bound(edges, r), _upper_bound(edges, early_until)
        best, best_start, t = np.inf, r, r
        while t + d - r < best:
            cost = d if t == r else t + d - r
            cost += g * (
                _integral_until(edges, integral, dual, t + d)
                - _integral_until(edges, integral, dual, t)
            )
            if has_no_wait and t < early_until:
                cost += no_wait_total - _integral_until(edges, no_wait_integral, no_wait_dual, t)
            if cost < best:
                best, best_start = cost, t
            by_start = edges[start_edge] if start_edge <= cells else np.inf
            by_end = edges[end_edge] - d if end_edge <= cells else np.inf
            if has_no_wait and t < early_until <= min(by_start, by_end):
                t = early_until
                continue
            if by_start <= by_end:
                start_edge += 1
            else:
                end_edge += 1
            t = max(min(by_start, by_end), r)
        total += best
        _add_usage(edges, used, best_start, best_start + d, g)
        if has_no_wait:
            _add_usage(edges, run, best_start, early_until, 1.0)
    return total


@register_jitable
def _integral_until(edges: Any, integral: Any, dual: Any, time: float) -> float:
    edge = _upper_bound(edges, time)
    if edge == 0:
        return 0.0
    if edge >= len(edges):
        return integral[-1]
    return integral[edge - 1] + dual[edge - 1] * (time - edges[edge - 1])


@register_jitable
def _upper_bound(edges: Any, time: float) -> int:
    """The first edge after a time: numpy's search takes a second to compile."""
    low, high = 0, len(edges)
    while low < high:
        middle = (low + high) // 2
        if time < edges[middle]:
            high = middle
        else:
            low = middle + 1
    return low


@register_jitable
def _add_usage(edges: Any, used: Any, start: float, end: float, gpus: float) -> None:
    k = max(_upper_bound(edges, start) - 1, 0)
    while k < len(used) and edges[k] < end:
        used[k] += gpus * max(0.0, min(end, edges[k + 1]) - max(start, edges[k]))
        k += 1
