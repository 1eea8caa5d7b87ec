"""Compiled passes of the randomised greedy policy.

The same seats as `selection.baselines.Greedy` gives, draw for draw: jobs in turn, each the best (or
one of the best few) of its ranked configurations that fit, best fit on the nodes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.compiled_loops import njit

LATE, NEVER = 1, 2


@njit(cache=True)
def best_of_passes(
    order: Any, ranked: Any, counts: Any, width: Any, kind_of: Any, gpus: Any, rates: Any,
    seconds: Any, means: Any, dues: Any, weights: Any, postponed: Any, knots: Any, high: Any,
    start: Any, generator: Any, passes: Any, choices: Any, swap_share: Any,
) -> Any:  # fmt: skip
    """Nodes (-1 for none), first GPUs and configurations by job of the cheapest pass by (P1.1).

    ``ranked[j]`` holds t * width + c, best first, ``counts[j]`` of them; the first pass takes the
    best that fits, the others draw. Complexity: O(passes x jobs x (nodes + scenarios)).
    """
    jobs = len(order)
    best = np.full((3, jobs), -1)
    least = np.inf
    for index in range(passes):
        turn = order.copy()
        if index:
            for i in range(jobs - 1):
                if generator.random() < swap_share:
                    turn[i], turn[i + 1] = turn[i + 1], turn[i]
        drawn = choices if index else 1
        seats = _one_pass(turn, ranked, counts, width, kind_of, gpus, rates, generator, drawn)
        cost = _expected_cost(
            seats, kind_of, gpus, rates, seconds, means, dues, weights, postponed, knots, high,
            start,
        )  # fmt: skip
        if cost < least:
            best, least = seats, cost
    return best


@njit(cache=True)
def _one_pass(
    turn: Any, ranked: Any, counts: Any, width: Any, kind_of: Any, gpus: Any, rates: Any,
    generator: Any, choices: Any,
) -> Any:  # fmt: skip
    free = gpus.copy()
    most = np.zeros(kind_of.max() + 1, np.int64)
    for n in range(len(free)):
        most[kind_of[n]] = max(most[kind_of[n]], free[n])
    seats = np.full((3, len(turn)), -1)
    fitting = np.empty(choices, np.int64)
    for j in turn:
        if most.max() == 0:
            break
        found = 0
        for i in range(counts[j]):
            t, c = divmod(ranked[j, i], width)
            if c < most[t]:
                fitting[found] = ranked[j, i]
                found += 1
                if found == choices:
                    break
        if not found:
            continue
        drawn = 0 if choices == 1 else generator.integers(0, found)
        t, c = divmod(fitting[drawn], width)
        n = _best_fit(t, c + 1, free, kind_of, gpus, rates)
        seats[0, j], seats[1, j], seats[2, j] = n, gpus[n] - free[n], c
        free[n] -= c + 1
        if free[n] + c + 1 == most[t]:
            most[t] = 0
            for m in range(len(free)):
                if kind_of[m] == t:
                    most[t] = max(most[t], free[m])
    return seats


@njit(cache=True)
def _best_fit(kind: Any, wanted: Any, free: Any, kind_of: Any, gpus: Any, rates: Any) -> Any:
    """An open node before an empty one, the fewest free GPUs, the least cost, the first."""
    best = -1
    for n in range(len(free)):
        if kind_of[n] != kind or free[n] < wanted:
            continue
        if best < 0:
            best = n
            continue
        empty, before = free[n] == gpus[n], free[best] == gpus[best]
        if empty != before:
            better = before
        elif free[n] != free[best]:
            better = free[n] < free[best]
        else:
            used, held = gpus[n] - free[n], gpus[best] - free[best]
            better = rates[n, used + wanted - 1] < rates[best, held + wanted - 1]
        if better:
            best = n
    return best


@njit(cache=True)
def _expected_cost(
    seats: Any, kind_of: Any, gpus: Any, rates: Any, seconds: Any, means: Any, dues: Any,
    weights: Any, postponed: Any, knots: Any, high: Any, start: Any,
) -> Any:  # fmt: skip
    """(P1.1): tardiness by survival F^c, which falls at each knot by the chance to end there."""
    total = 0.0
    first, used = np.full(len(gpus), np.inf), np.zeros(len(gpus), np.int64)
    for j in range(seats.shape[1]):
        n, c = seats[0, j], seats[2, j]
        if n < 0:
            total += postponed[j]
            continue
        each = seconds[j, kind_of[n], c]
        first[n] = min(first[n], each * means[j])
        used[n] += c + 1
        a, b = start[j], start[j + 1]
        late = 0.0
        for i in range(a, b):
            chance = high[i] - (high[i + 1] if i + 1 < b else 0.0)
            late += chance * max(each * knots[i + j + 1] - dues[j], 0.0)
        total += weights[j] * late
    for n in range(len(gpus)):
        if used[n]:
            total += first[n] * rates[n, used[n] - 1]
    return total
