"""Compiled search for a cheap run by one who knows all arrivals and lengths beforehand.

A plan is one number a job, what an epoch of it is worth. At every arrival and completion the GPUs
are handed out anew, one by one, to whom the next GPU makes the most dollars of epochs after its
cost: what a market would do at the prices of the moment, which are what the next bidder would pay.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from optsched.compiled_loops import njit, njit_borrowing, njit_inner
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
    least, quickest : (J,) float
        Dollars and seconds that an epoch takes at least.
    floor : (J,) float
        A worth at which a job alone on the cluster runs.
    """

    release: Any
    work: Any
    due: Any
    weight: Any
    speed: Any
    least: Any
    quickest: Any
    floor: Any


class Seats(NamedTuple):
    """Node (-1: waits) and GPUs by job (J,), and free GPUs by node (N,); and work space.

    Attributes
    ----------
    gain, target : (J,) float, int
        Of a job's next GPU, and its node; by place among those present.
    price : (N,) float
        What a node's next GPU costs, dollars per second.
    """

    node: Any
    size: Any
    free: Any
    gain: Any
    target: Any
    price: Any


@njit(cache=True)
def no_seats(jobs: int, nodes: Nodes) -> Seats:
    """Where `hand_out` writes."""
    gain, target, price = np.zeros(jobs), np.zeros(jobs, np.int64), np.zeros(len(nodes.gpus))
    return Seats(
        np.full(jobs, -1), np.zeros(jobs, np.int64), nodes.gpus.copy(), gain, target, price
    )


class States(NamedTuple):
    """A run's state just before each job's arrival: epochs left (J, J), and (dollars, time)."""

    left: Any
    money: Any


@njit(cache=True)
def anneal(worth: Any, known: Known, nodes: Nodes, generator: Any, steps: int, heat: Any) -> float:
    """Simulated annealing over the jobs' worths; the least cost, whose worths are left.

    A change to a job's worth changes nothing before that job arrives: a run goes on from there.
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
    """Dollars of the run that the worths make."""
    jobs, came, over = len(worth), first, 0
    left = states.left[first].copy()
    total, now = states.money[first, 0], states.money[first, 1]
    for j in range(came):
        over += left[j] <= 0
    seats = no_seats(jobs, nodes)
    present, later = np.empty(jobs, np.int64), np.zeros(jobs + 1)
    for j in range(jobs - 1, first - 1, -1):
        later[j] = later[j + 1] + _at_least(j, known.release[j], known.work[j], known)
    while over < jobs:
        while came < jobs and known.release[came] <= now:
            states.left[came] = left
            states.money[came, 0], states.money[came, 1] = total, now
            came += 1
        after, here, rest = known.release[came] if came < jobs else np.inf, 0, later[came]
        for j in range(came):
            if left[j] > 0:
                rest += _at_least(j, now, left[j], known)
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


@njit_inner
def _at_least(j: int, now: float, left: float, known: Known) -> float:
    """Dollars that a job costs yet, were it alone."""
    end = now + left * known.quickest[j]
    return known.least[j] * left + known.weight[j] * max(end - known.due[j], 0.0)


@njit_borrowing
def hand_out(worth: Any, present: Any, speed: Any, nodes: Nodes, seats: Seats) -> None:
    """Seat the jobs present: GPU by GPU to the largest gain, then moves, then exchanges."""
    for n in range(len(nodes.gpus)):
        seats.free[n], seats.price[n] = nodes.gpus[n], nodes.rates[n, 0]
    for j in present:
        seats.node[j], seats.size[j] = -1, 0
    gains, targets, changed = seats.gain, seats.target, -1
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
        if seats.free[changed]:
            seats.price[changed] = _more(changed, 1, nodes, seats)
    for j in present:
        _move(j, worth[j], speed[j], nodes, seats)
    _exchange(worth, present, speed, nodes, seats)


@njit_inner
def _next_gpu(j: int, worth: Any, speed: Any, nodes: Nodes, seats: Seats) -> Any:
    """What one more GPU gains a job, and on which node: its own, or the emptiest of a type."""
    best, at, size, own = 0.0, -1, seats.size[j], seats.node[j]
    if own >= 0:
        t = nodes.kind[own]
        if seats.free[own] and size < speed.shape[2] and speed[j, t, size] > 0:
            more = speed[j, t, size] - speed[j, t, size - 1]
            best = worth[j] * more - seats.price[own]
        return best, own if best > 0 else -1
    for n in range(len(nodes.gpus)):
        t, free = nodes.kind[n], seats.free[n]
        if free == 0 or speed[j, t, 0] <= 0:
            continue
        gain = worth[j] * speed[j, t, 0] - seats.price[n]
        emptier = at >= 0 and nodes.kind[at] == t and free > seats.free[at]
        if gain > best or (gain == best and emptier):
            best, at = gain, n
    return best, at


@njit_inner
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


@njit_inner
def _exchange(worth: Any, present: Any, speed: Any, nodes: Nodes, seats: Seats) -> None:
    """Let two jobs change places, or one that waits take another's, where that makes more."""
    node, size = seats.node, seats.size
    for p in range(len(present)):
        a = present[p]
        for q in range(len(present)):
            if node[a] < 0:
                break
            b = present[q]
            if p == q or (q < p and node[b] >= 0):
                continue
            t, k = nodes.kind[node[a]], size[a] - 1
            after = worth[b] * speed[b, t, k]
            before = worth[a] * speed[a, t, k]
            if node[b] >= 0:
                u, i = nodes.kind[node[b]], size[b] - 1
                if (u == t and i == k) or speed[a, u, i] <= 0 or speed[b, t, k] <= 0:
                    continue
                before += worth[b] * speed[b, u, i]
                after += worth[a] * speed[a, u, i]
            if after > before * MORE:
                node[a], node[b] = node[b], node[a]
                size[a], size[b] = size[b], size[a]


@njit_inner
def _speed(j: int, speed: Any, nodes: Nodes, seats: Seats) -> float:
    return speed[j, nodes.kind[seats.node[j]], seats.size[j] - 1]


@njit_inner
def _more(n: int, gpus: int, nodes: Nodes, seats: Seats) -> float:
    """What so many more GPUs of a node cost, dollars per second."""
    used = nodes.gpus[n] - seats.free[n]
    return _rate(n, used + gpus, nodes) - _rate(n, used, nodes)


@njit_inner
def _rate(n: int, used: int, nodes: Nodes) -> float:
    return nodes.rates[n, used - 1] if used else 0.0
