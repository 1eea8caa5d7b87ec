"""Compiled passes of the randomised greedy policy.

The same seats as `selection.baselines.Greedy` gives, draw for draw: jobs in turn, each the best (or
one of the best few) of its ranked configurations that fit, best fit on the nodes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from optsched.compiled_loops import njit
from optsched.selection.heuristics._best_fit_kernel import Nodes, best_fit, most_free
from optsched.uncertainty.survival import Curves

LATE, NEVER = 1, 2


class Ranking(NamedTuple):
    """Jobs by pressure, and each one's dedicated configurations t * width + c, best first.

    ``order`` (J,); ``entries`` (J, T * width), of which ``counts[j]`` (J,) can be had.
    """

    order: Any
    entries: Any
    counts: Any
    width: int


class Jobs(NamedTuple):
    """What (P1.1) asks of every job.

    Attributes
    ----------
    seconds : (J, T, C) float
        Of an epoch.
    means : (J,) float
        Expected epochs left.
    due : (J,) float
        Seconds from now.
    weights, postponed : (J,) float
        Dollars a second of tardiness; dollars of waiting for the next decision.
    curves
        F^c of the epochs left.
    """

    seconds: Any
    means: Any
    due: Any
    weights: Any
    postponed: Any
    curves: Curves


@njit(cache=True)
def best_of_passes(
    ranking: Ranking,
    nodes: Nodes,
    jobs: Jobs,
    generator: Any,
    passes: int,
    choices: int,
    swap_share: float,
) -> Any:
    """Nodes (-1 for none), first GPUs and configurations (3, J) of the cheapest pass by (P1.1).

    The first pass takes the best that fits; the others swap neighbours of the order with a chance
    of ``swap_share`` and draw among the first ``choices`` that fit. Complexity: O(passes x jobs x
    (nodes + scenarios)).
    """
    count = len(ranking.order)
    best = np.full((3, count), -1)
    least = np.inf
    for index in range(passes):
        turn = ranking.order.copy()
        if index:
            for i in range(count - 1):
                if generator.random() < swap_share:
                    turn[i], turn[i + 1] = turn[i + 1], turn[i]
        seats = _one_pass(turn, ranking, nodes, generator, choices if index else 1)
        cost = _expected_cost(seats, nodes, jobs)
        if cost < least:
            best, least = seats, cost
    return best


@njit(cache=True)
def _one_pass(turn: Any, ranking: Ranking, nodes: Nodes, generator: Any, choices: int) -> Any:
    gpus, kind_of = nodes.gpus, nodes.kind
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
        for i in range(ranking.counts[j]):
            t, c = divmod(ranking.entries[j, i], ranking.width)
            if c < most[t]:
                fitting[found] = ranking.entries[j, i]
                found += 1
                if found == choices:
                    break
        if not found:
            continue
        drawn = 0 if choices == 1 else generator.integers(0, found)
        t, c = divmod(fitting[drawn], ranking.width)
        n = best_fit(t, c + 1, free, nodes)
        seats[0, j], seats[1, j], seats[2, j] = n, gpus[n] - free[n], c
        free[n] -= c + 1
        if free[n] + c + 1 == most[t]:
            most[t] = most_free(t, free, nodes)
    return seats


@njit(cache=True)
def _expected_cost(seats: Any, nodes: Nodes, jobs: Jobs) -> float:
    """(P1.1): tardiness by survival F^c, which falls at each knot by the chance to end there."""
    total = 0.0
    high, count = jobs.curves.high, len(nodes.gpus)
    first, used = np.full(count, np.inf), np.zeros(count, np.int64)
    for j in range(seats.shape[1]):
        n, c = seats[0, j], seats[2, j]
        if n < 0:
            total += jobs.postponed[j]
            continue
        each = jobs.seconds[j, nodes.kind[n], c]
        first[n] = min(first[n], each * jobs.means[j])
        used[n] += c + 1
        a, b = jobs.curves.start[j], jobs.curves.start[j + 1]
        late = 0.0
        for i in range(a, b):
            chance = high[i] - (high[i + 1] if i + 1 < b else 0.0)
            late += chance * max(each * jobs.curves.knots[i + j + 1] - jobs.due[j], 0.0)
        total += jobs.weights[j] * late
    for n in range(count):
        if used[n]:
            total += first[n] * nodes.rates[n, used[n] - 1]
    return total
