"""The clairvoyant Lagrangian bound on a run's total cost, whatever the policy.

Guarantee, rounding included: for any prices lam_t(h) >= 0 of GPU seconds by type and time slot,

    sum_j min over completion C of [least energy at prices c + lam to do the true W_j in [a_j, C]
                                    + eta_j (C - d_j)^+]  -  sum_th lam_t(h) GPUs_t length_h

is at most the cost of every schedule, also of one that knows the true epochs: capacities are the
only rows relaxed. The first iterate has lam = 0, the uncapacitated bound. A GPU second of type t
costs c_t = min over its nodes and k of c_nk / k, so nodes' costs need not be linear; a fraction f
is a configuration of speed s_1 / b_f, size f and cost f c_t. After the last slot GPUs are unpriced.
Prices: Polyak's projected subgradient towards a target a little above the best value so far, nearer
whenever it stalls. Complexity: iterations x jobs x slots of a job's window x configurations x ~40.
Source: models/rolling.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from optsched.deadline import Deadline
from optsched.kernels import kernel
from optsched.rolling.simulator.world import World

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MAX_BISECTIONS = 40
MULTIPLIER_RTOL = 1e-11
MAX_DOUBLINGS = 200
EPSILON = 2.0**-53
"""Relative rounding of one operation."""


@dataclass(frozen=True)
class BoundSettings:
    """Effort: the bound is valid at any setting.

    Attributes
    ----------
    iterations : int
        Of the subgradient method; 1 gives the uncapacitated bound.
    slot : float or None
        Seconds; by default 1/150 of the time to cover, at least 60 s.
    patience : int
        Iterations without a better bound before the step is halved.
    """

    iterations: int = 200
    slot: float | None = None
    patience: int = 10


@dataclass(frozen=True, eq=False)
class Bound:
    """A certified bound: `lagrangian` at ``prices`` gives its value again.

    Attributes
    ----------
    bound, uncapacitated : float
        Dollars; the second is the value without prices.
    prices : array (T, H)
        lam, dollars per GPU second.
    edges : array (H + 1,)
        Of the slots, seconds.
    use : array (T,)
        GPU seconds of the uncapacitated clairvoyant plan, by type.
    """

    bound: float
    uncapacitated: float
    prices: Floats
    edges: Floats
    use: Floats


class Slots(NamedTuple):
    """Edges of the slots (H + 1,) in seconds, prices (T, H) in dollars per GPU second."""

    edges: Floats
    price: Floats


class Workload(NamedTuple):
    """All jobs and their configurations; those of job j are ``start[j] .. start[j + 1]``.

    ``jobs`` (J, 4) has arrival, epochs to do, due date (seconds) and weight (dollars per second);
    ``kind``, ``size``, ``speed``, ``energy`` are by configuration its GPU type, GPUs, epochs per
    second and dollars per second; ``least`` (J,) is the least cost of an epoch; ``gpus`` is (T,).
    """

    jobs: Floats
    start: Ints
    kind: Ints
    size: Floats
    speed: Floats
    energy: Floats
    least: Floats
    gpus: Floats


class Job(NamedTuple):
    """One job of a `Workload`; ``first`` is the slot of its arrival."""

    arrival: float
    work: float
    due: float
    weight: float
    least: float
    first: int
    kind: Ints
    size: Floats
    speed: Floats
    energy: Floats


def clairvoyant_bound(
    world: World,
    epochs: tuple[float, ...],
    known_cost: float,
    settings: BoundSettings | None = None,
    *,
    until: float | None = None,
    deadline: Deadline | None = None,
) -> Bound:
    """Find prices that make the bound large, until the iterations or the deadline end."""
    settings = settings or BoundSettings()
    load = workload_of(world, epochs)
    edges = slot_edges(load, settings, until)
    prices = np.zeros((len(load.gpus), len(edges) - 1))
    kept = _first_multipliers(load, len(edges) - 1)
    room = load.gpus[:, None] * np.diff(edges)
    best, best_prices, uncapacitated = -np.inf, prices, 0.0
    first_use, stale, ahead = np.zeros(len(load.gpus)), 0, 0.0
    for iteration in range(max(settings.iterations, 1)):
        value, use = lagrangian(load, edges, prices, kept)
        if iteration == 0:
            uncapacitated = value
            first_use, ahead = use.sum(axis=1), min(known_cost - value, value)
        if value > best:
            ahead = ahead if value < best + 0.5 * ahead else 1.5 * ahead
            best, best_prices, stale = value, prices, 0
        else:
            stale += 1
        if stale >= settings.patience:
            ahead, stale, prices = ahead / 2, 0, best_prices
            value, use = lagrangian(load, edges, prices, kept)
        slope = use - room
        slope[:, -1] = 0.0  # nothing is priced after the last slot
        slope[(prices <= 0) & (slope < 0)] = 0.0
        norm = float((slope**2).sum())
        if norm <= 0 or ahead <= 1e-9 * abs(best) or (deadline and deadline.is_over):
            break
        target = min(best + ahead, known_cost)
        prices = np.maximum(prices + max(target - value, 0.0) / norm * slope, 0.0)
    best = max(best, 0.0)  # no schedule costs less than nothing
    return Bound(best, uncapacitated, best_prices, edges, first_use)


def lagrangian(
    load: Workload, edges: Floats, prices: Floats, kept: Floats | None = None
) -> tuple[float, Floats]:
    """The bound at given prices, and the GPU seconds by type and slot behind it."""
    if kept is None:
        kept = _first_multipliers(load, len(edges) - 1)
    first = np.searchsorted(edges, load.jobs[:, 0], side="right") - 1
    use, values = np.zeros_like(prices), np.empty(len(load.jobs))
    run = all_jobs.for_size(len(load.kind) * len(edges) * 4)  # each slot at about four multipliers
    total = run(load, Slots(edges, prices), first, kept, values, use)
    paid = float((prices * load.gpus[:, None] * np.diff(edges)).sum())
    rounding = (len(values) + prices.size) * EPSILON * (float(np.abs(values).sum()) + paid)
    return float(total) - paid - rounding, use


def _first_multipliers(load: Workload, slots: int) -> Floats:
    """First mu of each job and slot, dollars per epoch; above 0 also where energy is free."""
    fastest = np.array([load.speed[a:b].max() for a, b in pairwise(load.start)])
    return np.repeat((load.least + load.jobs[:, 3] / fastest)[:, None], slots, axis=1)


def workload_of(world: World, epochs: tuple[float, ...]) -> Workload:
    """The arrays of the inner problems."""
    instance, seconds = world.instance, world.all.seconds
    usable = np.isfinite(seconds)
    job, kind, configuration = usable.nonzero()
    # c_t, the least cost of a GPU second by type
    rates = np.full(len(world.gpus), np.inf)
    for node, t in zip(instance.nodes, world.all.kind_of, strict=True):
        rates[t] = min(rates[t], *(c / k for k, c in enumerate(node.cost_rate, 1)))
    size, speed = world.sizes[kind, configuration], 1 / seconds[usable]
    energy = size * rates[kind]
    start = np.searchsorted(job, np.arange(len(seconds) + 1))
    least = np.minimum.reduceat(energy / speed, start[:-1])
    jobs = []
    for j, work in zip(instance.jobs, epochs, strict=True):
        arrival = max(j.submit_time, instance.now)
        clock_error = 8 * EPSILON * (abs(arrival) + abs(j.due_date))
        due = j.due_date + clock_error  # a later due date only lowers the bound
        jobs.append((arrival, work - j.completed_epochs, due, j.tardiness_weight))
    data = np.array(jobs, dtype=float)
    return Workload(data, start, kind, size, speed, energy, least, world.gpus)


def slot_edges(load: Workload, settings: BoundSettings, until: float | None) -> Floats:
    """Edges of equal slots over the time to price, and of one long slot after it."""
    begin = float(load.jobs[:, 0].min())
    slowest = np.array([1 / load.speed[a:b].min() for a, b in pairwise(load.start)])
    longest = slowest * load.jobs[:, 1]
    if until is None:
        until = float(max((load.jobs[:, 0] + longest).max(), load.jobs[:, 2].max()))
    until = max(until, float(load.jobs[:, 0].max()), begin + 1.0)
    slot = settings.slot or max((until - begin) / 150, 60.0)
    edges = begin + slot * np.arange(int(np.ceil((until - begin) / slot)) + 1)
    return np.append(edges, edges[-1] + 2 * longest.sum() + slot)


def clairvoyant_utilisation(world: World, epochs: tuple[float, ...]) -> dict[str, float]:
    """Utilisation by GPU type of the uncapacitated clairvoyant plan over the span of the arrivals.

    Above 1, jobs must wait or leave their cheapest type.
    """
    found = clairvoyant_bound(world, epochs, np.inf, BoundSettings(iterations=1))
    times = [job.submit_time for job in world.instance.jobs]
    span = max(times) - min(times)
    return {
        kind.name: float(found.use[t] / (world.gpus[t] * span)) if span > 0 else float("inf")
        for t, kind in enumerate(world.all.kinds)
    }


@kernel
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


@register_jitable
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


@register_jitable
def _refine(i: int, guess: float, enough: float, job: Job, slots: Slots) -> Any:
    """The greatest value_i(mu) found, and multipliers on both sides of its maximiser."""
    low, high, best = 0.0, guess, -np.inf
    for _ in range(MAX_DOUBLINGS):  # until the work is done, or the value exceeds `enough`
        value, done = _value(i, high, job, slots)
        best = max(best, value)
        if done >= job.work or value > enough:
            break
        low, high = high, 2 * high
    else:
        return best, low, guess  # the work cannot be done by the end of slot i
    for _ in range(MAX_BISECTIONS):
        if best > enough or high - low <= MULTIPLIER_RTOL * high:
            break
        mu = 0.5 * (low + high)
        value, done = _value(i, mu, job, slots)
        best = max(best, value)
        if done >= job.work:
            high = mu
        else:
            low = mu
    return best, low, high


@register_jitable
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


@register_jitable
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


@register_jitable
def _best_in(h: int, mu: float, job: Job, price: Any) -> Any:
    """m_h(mu), and the configuration that attains it (-1: idle)."""
    best, at = 0.0, -1
    for c in range(len(job.kind)):
        value = job.energy[c] + price[job.kind[c], h] * job.size[c] - mu * job.speed[c]
        if value < best:
            best, at = value, c
    return best, at


@register_jitable
def _last(start: float, length: float, rate: float, due: float, weight: float) -> Any:
    """min over x in [0, length] of x rate + weight (start + x - due)^+, and its x."""
    best, at = weight * max(start - due, 0.0), 0.0
    for x in (length, min(max(due - start, 0.0), length)):
        value = x * rate + weight * max(start + x - due, 0.0)
        if value < best:
            best, at = value, x
    return best, at
