"""Compiled loops of the flow bounds: one fast machine, and the Lagrangian duals over time."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from optsched.kernels import kernel


@kernel
def srpt_completions(release: Any, work: Any) -> NDArray[np.float64]:
    """Return the completion time of each job under preemptive SRPT on one machine."""
    jobs, clock = len(release), 0.0
    completion = release.copy()
    waiting = [(np.inf, jobs)]  # by work left; the first one runs
    for arriving in range(jobs + 1):
        now = release[arriving] if arriving < jobs else np.inf
        while len(waiting) > 1 and clock + waiting[0][0] <= now:
            left, job = heapq.heappop(waiting)
            clock += left
            completion[job] = clock
        if arriving < jobs and work[arriving] > 0.0:
            if len(waiting) > 1:
                left, job = waiting[0]
                heapq.heapreplace(waiting, (max(0.0, left - (now - clock)), job))
            clock = now
            heapq.heappush(waiting, (work[arriving], arriving))
    return completion


@kernel
def mean_busy_times(release: Any, work: Any) -> NDArray[np.float64]:
    """Mean time at which each job's work is done under preemptive shortest-work-first."""
    jobs, clock = len(release), 0.0
    mean, left, moment = release.copy(), work.copy(), np.zeros(len(release))
    waiting = [(np.inf, jobs)]  # by work; the first one runs
    for arriving in range(jobs + 1):
        now = release[arriving] if arriving < jobs else np.inf
        while len(waiting) > 1 and clock < now:
            job = waiting[0][1]
            end = min(now, clock + left[job])
            moment[job] += (end - clock) * (clock + end) / 2
            if clock + left[job] <= now:
                mean[job] = moment[job] / work[job]
                heapq.heappop(waiting)
            else:
                left[job] -= end - clock
            clock = end
        if arriving < jobs:
            clock = max(clock, now)
            if work[arriving] > 0.0:
                heapq.heappush(waiting, (work[arriving], arriving))
    return mean


@kernel
def dual_value(edges: Any, price: Any, submit: Any, length: Any, gpus: Any, used: Any) -> float:
    """Sum over jobs of the least priced flow; `used` gets the GPU-seconds by cell there.

    A job's candidates are its submission and the starts that put its start or end on an edge: in
    between its cost is linear. They are met in ascending order, and one whose flow alone is no
    better than the best so far ends the search.
    """
    cells = len(price)
    integral = np.zeros(cells + 1)
    for k in range(cells):
        integral[k + 1] = integral[k] + price[k] * (edges[k + 1] - edges[k])
    used[:] = 0.0
    total = 0.0
    for i in range(len(submit)):
        r, d, g = submit[i], length[i], gpus[i]
        start_edge, end_edge = _above(edges, r), _above(edges, r + d)
        best_at = r
        best = d + g * (
            _at(edges, integral, price, r + d, end_edge)
            - _at(edges, integral, price, r, start_edge)
        )
        while True:
            by_start = edges[start_edge] if start_edge <= cells else np.inf
            by_end = edges[end_edge] - d if end_edge <= cells else np.inf
            if by_start <= by_end:
                t = by_start
                start_edge += 1
            else:
                t = by_end
                end_edge += 1
            if t == np.inf or t + d - r >= best:
                break
            if t < r:
                continue
            cost = t + d - r
            cost += g * (
                _price_until(edges, integral, price, t + d)
                - _price_until(edges, integral, price, t)
            )
            if cost < best:
                best, best_at = cost, t
        total += best
        _use(edges, used, best_at, best_at + d, g)
    return total


@kernel
def gang_value(
    edges: Any, price: Any, early: Any, submit: Any, length: Any, gpus: Any, used: Any, run: Any
) -> float:
    """`dual_value` with a second price, on every second that a job runs before submit + length.

    The one start more at which a job's cost can be least is submit + length.
    """
    cells = len(price)
    integral, before = np.zeros(cells + 1), np.zeros(cells + 1)
    for k in range(cells):
        width = edges[k + 1] - edges[k]
        integral[k + 1] = integral[k] + price[k] * width
        before[k + 1] = before[k] + early[k] * width
    used[:] = 0.0
    run[:] = 0.0
    total = 0.0
    for i in range(len(submit)):
        r, d, g = submit[i], length[i], gpus[i]
        until = r + d
        by_then = _price_until(edges, before, early, until)
        start_edge, end_edge = _above(edges, r), _above(edges, until)
        best, best_at, t = np.inf, r, r
        while t + d - r < best:
            cost = t + d - r
            cost += g * (
                _price_until(edges, integral, price, t + d)
                - _price_until(edges, integral, price, t)
            )
            if t < until:
                cost += by_then - _price_until(edges, before, early, t)
            if cost < best:
                best, best_at = cost, t
            by_start = edges[start_edge] if start_edge <= cells else np.inf
            by_end = edges[end_edge] - d if end_edge <= cells else np.inf
            if t < until <= min(by_start, by_end):
                t = until
                continue
            if by_start <= by_end:
                start_edge += 1
            else:
                end_edge += 1
            t = max(min(by_start, by_end), r)
        total += best
        _use(edges, used, best_at, best_at + d, g)
        _use(edges, run, best_at, until, 1.0)
    return total


@register_jitable
def _price_until(edges: Any, integral: Any, price: Any, time: float) -> float:
    return _at(edges, integral, price, time, _above(edges, time))


@register_jitable
def _above(edges: Any, time: float) -> int:
    """The first edge after a time: numpy's search takes a second to be compiled."""
    low, high = 0, len(edges)
    while low < high:
        middle = (low + high) // 2
        if time < edges[middle]:
            high = middle
        else:
            low = middle + 1
    return low


@register_jitable
def _at(edges: Any, integral: Any, price: Any, time: float, above: int) -> float:
    """Integral of the price up to a time whose next edge is `above`."""
    if above == 0:
        return 0.0
    if above >= len(edges):
        return integral[-1]
    return integral[above - 1] + price[above - 1] * (time - edges[above - 1])


@register_jitable
def _use(edges: Any, used: Any, start: float, end: float, gpus: float) -> None:
    k = max(_above(edges, start) - 1, 0)
    while k < len(used) and edges[k] < end:
        used[k] += gpus * max(0.0, min(end, edges[k + 1]) - max(start, edges[k]))
        k += 1
