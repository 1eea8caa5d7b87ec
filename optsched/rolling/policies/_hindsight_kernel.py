"""Compiled search for a cheap run by one who knows all arrivals and lengths beforehand."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from optsched.compiled_loops import njit
from optsched.selection.heuristics._best_fit_kernel import Nodes, best_fit, most_free

OVER = 1e-9
"""Share of a job's epochs that is rounding's."""
RECHOOSE, REORDER, FAR, NEAR = 0.5, 0.35, 0.4, 5
"""Chance that a move gives a job another configuration; up to which it changes nothing else; that
it goes anywhere in the order; and how far otherwise."""


class Known(NamedTuple):
    """Arrival, epochs to do, due date, weight (J,); seconds of an epoch (J, T, K)."""

    release: Any
    work: Any
    due: Any
    weight: Any
    seconds: Any


class Wanted(NamedTuple):
    """Jobs in order (J,), and the configuration t K + k - 1 that each wants (J,)."""

    order: Any
    choice: Any


@njit(cache=True)
def anneal(
    wanted: Wanted,
    options: Any,
    known: Known,
    nodes: Nodes,
    generator: Any,
    steps: int,
    heat: Any,
) -> float:
    """Simulated annealing over orders and configurations; the least cost, whose plan is left.

    Parameters
    ----------
    wanted : Wanted
        Where to start; overwritten.
    options : (J, C) int
        Configurations of each job, -1 after the last.
    known : Known
    nodes : Nodes
    generator : numpy Generator
    steps : int
    heat : (2,) float
        First and last temperature, dollars.
    """
    moments, jobs = np.sort(known.release), len(wanted.order)
    now = Wanted(wanted.order.copy(), wanted.choice.copy())
    cost = cost_in_order(now, known, nodes, moments, np.inf)
    best, before = cost, now.order.copy()
    for step in range(steps):
        warmth = heat[0] * (heat[1] / heat[0]) ** (step / steps)
        draw, j = generator.random(), generator.integers(0, jobs)
        for i in range(jobs):
            before[i] = now.order[i]
        held = now.choice[j]
        if draw < RECHOOSE:
            at = generator.integers(0, options.shape[1])
            if options[j, at] >= 0:
                now.choice[j] = options[j, at]
        if draw >= REORDER:
            a, b = generator.integers(0, jobs), generator.integers(0, jobs)
            if generator.random() >= FAR:
                b = min(max(a + generator.integers(-NEAR, NEAR + 1), 0), jobs - 1)
            moved, ahead = now.order[a], 1 if b > a else -1
            for i in range(a, b, ahead):
                now.order[i] = now.order[i + ahead]
            now.order[b] = moved
        limit = cost - warmth * np.log(1 - generator.random())
        found = cost_in_order(now, known, nodes, moments, limit)
        if found > limit:
            now.choice[j] = held
            for i in range(jobs):
                now.order[i] = before[i]
            continue
        cost = found
        if cost < best:
            best = cost
            for i in range(jobs):
                wanted.order[i], wanted.choice[i] = now.order[i], now.choice[i]
    return best


@njit(cache=True)
def cost_in_order(wanted: Wanted, known: Known, nodes: Nodes, moments: Any, limit: float) -> float:
    """Dollars of the run in which jobs in order take what they want, or less of the same type.

    All are seated anew at every arrival and completion.

    Parameters
    ----------
    wanted : Wanted
    known : Known
    nodes : Nodes
    moments : (J,) float
        The arrivals, increasing.
    limit : float
        Dollars above which the cost is called infinite.
    """
    jobs, width = len(wanted.order), known.seconds.shape[2]
    left, speed = known.work.copy(), np.zeros(jobs)
    now, came, over, total = moments[0], 0, 0, 0.0
    while over < jobs:
        while came < jobs and moments[came] <= now:
            came += 1
        after = moments[came] if came < jobs else np.inf
        free, length = nodes.gpus.copy(), after - now
        for j in wanted.order:
            speed[j] = 0.0
            if left[j] > 0 and known.release[j] <= now:
                t, k = wanted.choice[j] // width, wanted.choice[j] % width + 1
                n = best_fit(t, k, free, nodes)
                if n < 0:
                    k = most_free(t, free, nodes)
                    n = best_fit(t, k, free, nodes) if k else -1
                if n >= 0:
                    free[n] -= k
                    speed[j] = 1 / known.seconds[j, t, k - 1]
                    length = min(length, left[j] / speed[j])
        if length == np.inf:
            return np.inf
        for n in range(len(free)):
            if free[n] < nodes.gpus[n]:
                total += length * nodes.rates[n, nodes.gpus[n] - free[n] - 1]
        now = after if length == after - now else now + length
        for j in range(jobs):
            if speed[j] > 0:
                left[j] -= length * speed[j]
                if left[j] <= OVER * known.work[j]:
                    left[j], over = 0.0, over + 1
                    total += known.weight[j] * max(now - known.due[j], 0.0)
        if total > limit:
            return np.inf
    return total
