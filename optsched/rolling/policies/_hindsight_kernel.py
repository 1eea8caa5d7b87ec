"""Compiled search for a cheap run by one who knows all arrivals and lengths beforehand.

A plan is one number a job, what an epoch of it is worth. At every arrival and completion the GPUs
are handed out anew, one by one, to whom the next GPU makes the most dollars of epochs after its
cost: what a market would do at the prices of the moment, which are what the next bidder would pay.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from optsched.compiled_loops import njit
from optsched.selection.heuristics._best_fit_kernel import Nodes

OVER = 1e-9
"""Share of a job's epochs that is rounding's."""
MORE = 1 + 1e-12
"""By how much a change must gain, so that no two undo each other for ever."""
SCALE, BESIDE = 0.5, 0.75
"""Chance that a move scales a job's worth, and up to which it puts one just beside another's; else
two jobs exchange theirs."""
NEAR, FAR, STEP = 0.1, 0.7, 1.02
"""Standard deviations of a scaling's logarithm, and the factor between neighbours."""


class Known(NamedTuple):
    """The jobs in order of arrival, and what no policy sees of them.

    Attributes
    ----------
    release, work, due, weight : (J,) float
        Arrival, epochs to do, due date, dollars per second late.
    speed : (J, T, K) float
        Epochs per second on k GPUs of a type; 0 where there is no such way to run.
    least, fastest : (J,) float
        Dollars an epoch costs at least, and epochs per second at most.
    floor : (J,) float
        A worth at which a job alone on the cluster runs.
    """

    release: Any
    work: Any
    due: Any
    weight: Any
    speed: Any
    least: Any
    fastest: Any
    floor: Any


class Seats(NamedTuple):
    """Node (-1: waits) and GPUs by job (J,), and free GPUs by node (N,)."""

    node: Any
    size: Any
    free: Any


class States(NamedTuple):
    """A run's state just before each job's arrival: epochs left (J, J), and (dollars, time)."""

    left: Any
    money: Any


@njit(cache=True)
def anneal(worth: Any, known: Known, nodes: Nodes, generator: Any, steps: int, heat: Any) -> float:
    """Simulated annealing over the jobs' worths; the least cost, whose worths are left.

    A change to a job's worth changes nothing before that job arrives: a run goes on from there.

    Parameters
    ----------
    worth : (J,) float
        Where to start; overwritten.
    known : Known
    nodes : Nodes
    generator : numpy Generator
    steps : int
    heat : (2,) float
        First and last temperature, dollars.
    """
    jobs = len(worth)
    now, states, tried = worth.copy(), _at_the_start(known), _at_the_start(known)
    cost = cost_of_worths(now, known, nodes, 0, np.inf, states)
    best = cost
    for step in range(steps):
        warmth = heat[0] * (heat[1] / heat[0]) ** (step / steps)
        draw, a, b = generator.random(), generator.integers(0, jobs), generator.integers(0, jobs)
        held, other = now[a], now[b]
        if draw < SCALE:
            b = a
            wide = NEAR if generator.random() < 0.5 else FAR
            now[a] = max(held * np.exp(wide * generator.normal()), known.floor[a])
        elif draw < BESIDE:
            now[a] = max(other * (STEP if generator.random() < 0.5 else 1 / STEP), known.floor[a])
            b = a
        else:
            now[a], now[b] = max(other, known.floor[a]), max(held, known.floor[b])
        limit = cost - warmth * np.log(1 - generator.random())
        first = min(a, b)
        tried.left[first] = states.left[first]
        tried.money[first] = states.money[first]
        found = cost_of_worths(now, known, nodes, first, limit, tried)
        if found > limit:
            now[b] = other if b != a else now[b]
            now[a] = held
            continue
        cost = found
        states.left[first:] = tried.left[first:]
        states.money[first:] = tried.money[first:]
        if cost < best:
            best = cost
            worth[:] = now
    return best


@njit(cache=True)
def _at_the_start(known: Known) -> States:
    jobs = len(known.work)
    states = States(np.zeros((jobs, jobs)), np.zeros((jobs, 2)))
    states.left[0] = known.work
    states.money[0, 1] = known.release[0]
    return states


@njit(cache=True)
def cost_of_worths(
    worth: Any, known: Known, nodes: Nodes, first: int, limit: float, states: States
) -> float:
    """Dollars of the run that the worths make.

    Parameters
    ----------
    worth : (J,) float
    known : Known
    nodes : Nodes
    first : int
        The job just before whose arrival the run begins, in its state.
    limit : float
        Dollars above which the cost is called infinite.
    states : States
        Of later jobs: overwritten.
    """
    jobs, came, over = len(worth), first, 0
    left = states.left[first].copy()
    total, now = states.money[first, 0], states.money[first, 1]
    for j in range(came):
        over += left[j] <= 0
    seats = Seats(np.full(jobs, -1), np.zeros(jobs, np.int64), nodes.gpus.copy())
    present = np.empty(jobs, np.int64)
    while over < jobs:
        while came < jobs and known.release[came] <= now:
            states.left[came] = left
            states.money[came, 0], states.money[came, 1] = total, now
            came += 1
        after, here, rest = known.release[came] if came < jobs else np.inf, 0, 0.0
        for j in range(jobs):
            if left[j] > 0:
                soonest = max(now, known.release[j]) + left[j] / known.fastest[j]
                rest += known.least[j] * left[j] + known.weight[j] * max(soonest - known.due[j], 0)
                if j < came:
                    present[here] = j
                    here += 1
        if total + rest > limit * MORE:
            return np.inf
        hand_out(worth, present[:here], known.speed, nodes, seats)
        length = after - now
        for j in present[:here]:
            if seats.node[j] >= 0:
                length = min(length, left[j] / _speed(j, known.speed, nodes, seats))
        if length == np.inf:
            return np.inf
        for n in range(len(nodes.gpus)):
            total += length * _rate(n, nodes.gpus[n] - seats.free[n], nodes)
        now = after if length == after - now else now + length
        for j in present[:here]:
            if seats.node[j] >= 0:
                left[j] -= length * _speed(j, known.speed, nodes, seats)
                if left[j] <= OVER * known.work[j]:
                    left[j], over = 0.0, over + 1
                    total += known.weight[j] * max(now - known.due[j], 0.0)
    return total if total <= limit * MORE else np.inf


@njit(cache=True)
def hand_out(worth: Any, present: Any, speed: Any, nodes: Nodes, seats: Seats) -> None:
    """Seat the jobs present: GPU by GPU to the largest gain, then moves, then exchanges.

    Parameters
    ----------
    worth : (J,) float
        Dollars an epoch.
    present : (jobs,) int
        Who has arrived and is not done.
    speed : (J, T, K) float
        Epochs per second.
    nodes : Nodes
    seats : Seats
        Overwritten for those present.
    """
    seats.free[:] = nodes.gpus
    for j in present:
        seats.node[j], seats.size[j] = -1, 0
    gains, targets = np.empty(len(present)), np.full(len(present), -1)
    changed = -1
    while True:
        at, best = -1, 0.0
        for p in range(len(present)):
            if changed < 0 or targets[p] == changed:  # elsewhere its next GPU is as it was
                gains[p], targets[p] = _next_gpu(present[p], worth, speed, nodes, seats)
            if gains[p] > best:
                at, best = p, gains[p]
        if at < 0:
            break
        j, changed = present[at], targets[at]
        seats.node[j] = changed
        seats.size[j] += 1
        seats.free[changed] -= 1
    for j in present:
        _move(j, worth[j], speed[j], nodes, seats)
    _exchange(worth, present, speed, nodes, seats)


@njit(cache=True)
def _next_gpu(j: int, worth: Any, speed: Any, nodes: Nodes, seats: Seats) -> Any:
    """What one more GPU gains a job, and on which node: its own, or the emptiest of a type."""
    best, at = 0.0, -1
    for n in range(len(nodes.gpus)):
        size = seats.size[j]
        free = seats.free[n]
        if free == 0 or size == speed.shape[2] or (size and n != seats.node[j]):
            continue
        t = nodes.kind[n]
        if speed[j, t, size] <= 0:
            continue
        more = speed[j, t, size] - (speed[j, t, size - 1] if size else 0.0)
        gain = worth[j] * more - _more(n, 1, nodes, seats)
        same = at >= 0 and nodes.kind[at] == t and free > seats.free[at]
        if gain > best or (gain == best and same):
            best, at = gain, n
    return best, at


@njit(cache=True)
def _move(j: int, worth: float, speed: Any, nodes: Nodes, seats: Seats) -> None:
    """Give a job the free GPUs that it would rather have than its own."""
    own, size, best = seats.node[j], seats.size[j], 0.0
    if own >= 0:
        seats.free[own] += size
        best = MORE * (worth * speed[nodes.kind[own], size - 1] - _more(own, size, nodes, seats))
        seats.free[own] -= size
    at, taken = -1, 0
    for n in range(len(nodes.gpus)):
        for k in range(1, min(seats.free[n], speed.shape[1]) + 1):
            rate = speed[nodes.kind[n], k - 1]
            if n == own or rate <= 0:
                continue
            gain = worth * rate - _more(n, k, nodes, seats)
            if gain > best:
                best, at, taken = gain, n, k
    if at >= 0:
        if own >= 0:
            seats.free[own] += size
        seats.free[at] -= taken
        seats.node[j], seats.size[j] = at, taken


@njit(cache=True)
def _exchange(worth: Any, present: Any, speed: Any, nodes: Nodes, seats: Seats) -> None:
    """Let two jobs change places, or one that waits take another's, where that makes more.

    Parameters
    ----------
    worth : (J,) float
    present : (jobs,) int
    speed : (J, T, K) float
    nodes : Nodes
    seats : Seats
        Changed.
    """
    node, size = seats.node, seats.size
    for p in range(len(present)):
        for q in range(len(present)):
            a, b = present[p], present[q]
            if node[a] < 0 or p == q or (node[b] >= 0 and q < p):
                continue
            t, k = nodes.kind[node[a]], size[a] - 1
            before, after = worth[a] * speed[a, t, k], worth[b] * speed[b, t, k]
            if speed[b, t, k] <= 0:
                continue
            if node[b] >= 0:
                u, i = nodes.kind[node[b]], size[b] - 1
                if (u == t and i == k) or speed[a, u, i] <= 0:
                    continue
                before += worth[b] * speed[b, u, i]
                after += worth[a] * speed[a, u, i]
            if after > before * MORE:
                node[a], node[b] = node[b], node[a]
                size[a], size[b] = size[b], size[a]


@njit(cache=True)
def _speed(j: int, speed: Any, nodes: Nodes, seats: Seats) -> float:
    return speed[j, nodes.kind[seats.node[j]], seats.size[j] - 1]


@njit(cache=True)
def _more(n: int, gpus: int, nodes: Nodes, seats: Seats) -> float:
    """What so many more GPUs of a node cost, dollars per second."""
    used = nodes.gpus[n] - seats.free[n]
    return _rate(n, used + gpus, nodes) - _rate(n, used, nodes)


@njit(cache=True)
def _rate(n: int, used: int, nodes: Nodes) -> float:
    return nodes.rates[n, used - 1] if used else 0.0
