"""Clairvoyant Lagrangian lower bound on the total cost of any policy.

For any duals lam_t(h) >= 0 (rounding included) of GPU seconds by type t and time slot h,

    sum_j min over completion C of [min energy cost at c + lam to do the true W_j in [a_j, C]
                                    + eta_j (C - d_j)^+]  -  sum_th lam_t(h) GPUs_t length_h

is at most the cost of every schedule, including clairvoyant ones, since only the capacity
constraints are relaxed. The first iterate has lam = 0, the uncapacitated bound. A GPU second of
type t costs c_t = min over its nodes and k of c_nk / k, so nodes' costs need not be linear; a
fraction f is a configuration of speed s_1 / b_f, size f and cost f c_t. After the last slot
capacity is not limited (dual 0). Per job and completion slot i, with multiplier mu of its work W:

    value_i(mu) = mu W + sum_{h < i} length_h m_h(mu) + min_x [x m_i(mu) + tardiness at start_i + x]
    m_h(mu) = min(0, min over configurations of cost rate - mu x speed in slot h)

Duals are updated by the projected subgradient method with Polyak steps; the target lies
`target_distance` above the best value and is halved after `patience` iterations without
improvement. Complexity: iterations x jobs x slots of a job's window x configurations x about 40
bisection steps. Source: models/rolling.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable

from optsched.arrays import Floats, Ints
from optsched.deadline import Deadline
from optsched.kernels import kernel
from optsched.rolling.simulator.world import World

MAX_BISECTIONS, MULTIPLIER_RTOL = 40, 1e-11
"""40 halvings of a factor of 2 reach 1e-12, below the tolerance of a multiplier."""
MAX_DOUBLINGS = 200
"""A factor of 1e60: above it the work cannot be done by the end of the slot."""
UNIT_ROUNDOFF = 2.0**-53
"""Relative rounding of one operation."""
SLOTS = 150
"""Default number of slots."""


@dataclass(frozen=True)
class BoundSettings:
    """Effort parameters; the bound is valid for all values."""

    iterations: int = 200  # of the subgradient method; 1 gives the uncapacitated bound
    slot: float | None = None  # seconds; by default 1 / `SLOTS` of the time to cover, at least 60 s
    patience: int = 10  # iterations without a better bound before the step is halved


@dataclass(frozen=True, eq=False)
class Bound:
    """A lower bound with the duals that reproduce it (`lagrangian(load, slot_edges, duals)`)."""

    bound: float  # dollars
    uncapacitated: float  # the same at duals of 0
    duals: Floats  # (T, H): lam, dollars per GPU second
    slot_edges: Floats  # (H + 1,): seconds
    gpu_seconds: Floats  # (T,): GPU seconds of the uncapacitated clairvoyant plan, by type


class Slots(NamedTuple):
    """Edges of the slots (H + 1,) in seconds, duals (T, H) in dollars per GPU second."""

    edges: Floats
    dual: Floats


class Workload(NamedTuple):
    """All jobs and their configurations; job j owns entries ``start[j]:start[j + 1]``.

    ``jobs`` (J, 4) has arrival, epochs to do, due date (seconds) and weight (dollars per second);
    ``kind``, ``size``, ``speed``, ``energy`` are by configuration its GPU type, GPUs, epochs per
    second and dollars per second; ``min_epoch_cost`` is (J,), ``gpus`` (T,).
    """

    jobs: Floats
    start: Ints
    kind: Ints
    size: Floats
    speed: Floats
    energy: Floats
    min_epoch_cost: Floats
    gpus: Floats


class Job(NamedTuple):
    """One job of a `Workload`; ``first`` is the slot of its arrival."""

    arrival: float
    work: float
    due: float
    weight: float
    min_epoch_cost: float
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
    """Maximise the bound over the duals until the iteration or time limit."""
    settings = settings or BoundSettings()
    load = workload_of(world, epochs)
    edges = slot_edges(load, settings, until)
    duals = np.zeros((len(load.gpus), len(edges) - 1))
    multipliers = _first_multipliers(load, len(edges) - 1)  # warm start of each job and slot
    capacity = load.gpus[:, None] * np.diff(edges)
    best, best_duals, uncapacitated = -np.inf, duals, 0.0
    gpu_seconds, stalled_iterations, target_distance = np.zeros(len(load.gpus)), 0, 0.0
    for iteration in range(max(settings.iterations, 1)):
        value, use = lagrangian(load, edges, duals, multipliers)
        if iteration == 0:
            uncapacitated = value
            gpu_seconds, target_distance = use.sum(axis=1), min(known_cost - value, value)
        # distance of the target: larger after a good step, half after a stall
        if value > best:
            target_distance *= 1.0 if value < best + 0.5 * target_distance else 1.5
            best, best_duals, stalled_iterations = value, duals, 0
        else:
            stalled_iterations += 1
        if stalled_iterations >= settings.patience:
            target_distance, stalled_iterations, duals = target_distance / 2, 0, best_duals
            value, use = lagrangian(load, edges, duals, multipliers)
        # projected subgradient
        subgradient = use - capacity
        subgradient[:, -1] = 0.0  # no capacity limit after the last slot
        subgradient[(duals <= 0) & (subgradient < 0)] = 0.0
        norm = float((subgradient**2).sum())
        is_over = deadline is not None and deadline.is_over
        if norm <= 0 or target_distance <= 1e-9 * abs(best) or is_over:
            break
        # Polyak step
        target = min(best + target_distance, known_cost)
        duals = np.maximum(duals + max(target - value, 0.0) / norm * subgradient, 0.0)
    best = max(best, 0.0)  # costs are non-negative
    return Bound(best, uncapacitated, best_duals, edges, gpu_seconds)


def lagrangian(
    load: Workload, edges: Floats, duals: Floats, multipliers: Floats | None = None
) -> tuple[float, Floats]:
    """The bound at given duals, and the GPU seconds per type and slot of its solution."""
    if multipliers is None:
        multipliers = _first_multipliers(load, len(edges) - 1)
    first = np.searchsorted(edges, load.jobs[:, 0], side="right") - 1
    use, values = np.zeros_like(duals), np.empty(len(load.jobs))
    # each slot at about four multipliers
    run = sum_job_bounds.for_size(len(load.kind) * len(edges) * 4)
    total = run(load, Slots(edges, duals), first, multipliers, values, use)
    capacity_term = float((duals * load.gpus[:, None] * np.diff(edges)).sum())
    magnitude = float(np.abs(values).sum()) + capacity_term
    rounding = (len(values) + duals.size) * UNIT_ROUNDOFF * magnitude
    return float(total) - capacity_term - rounding, use


def _first_multipliers(load: Workload, slots: int) -> Floats:
    """First mu of each job and slot, dollars per epoch; positive even if energy is free."""
    fastest = np.array([load.speed[a:b].max() for a, b in pairwise(load.start)])
    return np.repeat((load.min_epoch_cost + load.jobs[:, 3] / fastest)[:, None], slots, axis=1)


def workload_of(world: World, epochs: tuple[float, ...]) -> Workload:
    """Arrays of the per-job subproblems."""
    instance, seconds = world.instance, world.tables.seconds
    usable = np.isfinite(seconds)
    job, kind, configuration = usable.nonzero()
    # c_t, the minimum cost of a GPU second by type
    rates = np.full(len(world.gpus), np.inf)
    for node, t in zip(instance.nodes, world.tables.kind_of, strict=True):
        rates[t] = min(rates[t], *(c / k for k, c in enumerate(node.cost_rate, 1)))
    size, speed = world.sizes[kind, configuration], 1 / seconds[usable]
    energy = size * rates[kind]
    start = np.searchsorted(job, np.arange(len(seconds) + 1))
    min_epoch_cost = np.minimum.reduceat(energy / speed, start[:-1])
    jobs = []
    for j, work in zip(instance.jobs, epochs, strict=True):
        arrival = max(j.submit_time, instance.now)
        clock_error = 8 * UNIT_ROUNDOFF * (abs(arrival) + abs(j.due_date))
        due = j.due_date + clock_error  # a later due date only lowers the bound
        jobs.append((arrival, work - j.completed_epochs, due, j.tardiness_weight))
    data = np.array(jobs, dtype=float)
    return Workload(data, start, kind, size, speed, energy, min_epoch_cost, world.gpus)


def slot_edges(load: Workload, settings: BoundSettings, until: float | None) -> Floats:
    """Edges of equal slots over the time to cover, and of one long slot after it."""
    begin = float(load.jobs[:, 0].min())
    slowest = np.array([1 / load.speed[a:b].min() for a, b in pairwise(load.start)])
    longest = slowest * load.jobs[:, 1]
    if until is None:
        until = float(max((load.jobs[:, 0] + longest).max(), load.jobs[:, 2].max()))
    until = max(until, float(load.jobs[:, 0].max()), begin + 1.0)
    slot = settings.slot or max((until - begin) / SLOTS, 60.0)
    edges = begin + slot * np.arange(int(np.ceil((until - begin) / slot)) + 1)
    return np.append(edges, edges[-1] + 2 * longest.sum() + slot)


def clairvoyant_utilisation(world: World, epochs: tuple[float, ...]) -> dict[str, float]:
    """Utilisation by GPU type of the uncapacitated clairvoyant plan over the span of the arrivals.

    Above 1, jobs must wait or leave their cheapest type.
    """
    bound = clairvoyant_bound(world, epochs, np.inf, BoundSettings(iterations=1))
    times = [job.submit_time for job in world.instance.jobs]
    span = max(times) - min(times)
    return {
        kind.name: float(bound.gpu_seconds[t] / (world.gpus[t] * span))
        if span > 0
        else float("inf")
        for t, kind in enumerate(world.tables.kinds)
    }


@kernel
def sum_job_bounds(
    load: Workload, slots: Slots, first: Any, multipliers: Any, values: Any, use: Any
) -> float:
    """Fill ``values`` with the `job_bound` of every job, and return their sum."""
    lower_multipliers = np.zeros(len(slots.edges))
    total = 0.0
    for j in range(len(first)):
        a, b = load.start[j], load.start[j + 1]
        job = Job(
            load.jobs[j, 0], load.jobs[j, 1], load.jobs[j, 2], load.jobs[j, 3],
            load.min_epoch_cost[j], first[j],
            load.kind[a:b], load.size[a:b], load.speed[a:b], load.energy[a:b],
        )  # fmt: skip
        values[j] = job_bound(job, slots, multipliers[j], lower_multipliers, use)
        total += values[j]
    return total


@register_jitable
def job_bound(job: Job, slots: Slots, upper: Any, lower: Any, use: Any) -> float:
    """A lower bound on a job's cost at given duals; adds its GPU seconds to ``use``.

    A completion slot is refined only if its bound at the previous multiplier is below the best
    refined value (every multiplier gives a valid bound). ``lower`` and ``upper`` are multipliers of
    each slot on both sides of the best one.
    """
    edges, first = slots.edges, job.first
    count = len(edges) - 1
    refined = np.zeros(count, np.bool_)
    values = np.empty(count)
    slot_end, best_refined = first, np.inf
    # bounds of the completion slots at the previous multipliers; refine the first feasible one
    for i in range(first, count):
        late = max(max(edges[i], job.arrival) - job.due, 0.0)
        tardiness_floor = job.weight * late + job.min_epoch_cost * job.work
        if tardiness_floor >= best_refined:
            break
        values[i], done = _value(i, upper[i], job, slots)
        values[i] = max(values[i], tardiness_floor)
        if (done >= job.work * (1 - 1e-9) and best_refined == np.inf) or i == count - 1:
            values[i], lower[i], upper[i] = _refine(i, upper[i], np.inf, job, slots)
            values[i] = max(values[i], tardiness_floor)
            refined[i] = True
            best_refined = min(best_refined, values[i])
        slot_end = i + 1
    # refine the slot of minimum bound until it has been refined already
    while True:
        best_slot = first
        for i in range(first, slot_end):
            if values[i] < values[best_slot]:
                best_slot = i
        if refined[best_slot]:
            break
        i = best_slot
        value, lower[i], upper[i] = _refine(i, upper[i], best_refined, job, slots)
        values[i] = max(values[i], value)
        refined[i] = True
        best_refined = min(best_refined, values[i]) if value <= best_refined else best_refined
    # the convex combination of both plans that does exactly the job's work
    i = best_slot
    _, work_below = _value(i, lower[i], job, slots)
    _, work_above = _value(i, upper[i], job, slots)
    share = 1.0
    if work_above > work_below:
        share = min(max((job.work - work_below) / (work_above - work_below), 0.0), 1.0)
    _add_use(share, i, upper[i], job, slots, use)
    _add_use(1 - share, i, lower[i], job, slots, use)
    return values[i]


@register_jitable
def _refine(i: int, guess: float, cutoff: float, job: Job, slots: Slots) -> Any:
    """Maximise value_i over mu by doubling and bisection; return the value and a bracket."""
    low, high, best = 0.0, guess, -np.inf
    for _ in range(MAX_DOUBLINGS):  # until the work is done, or the value exceeds the cutoff
        value, done = _value(i, high, job, slots)
        best = max(best, value)
        if done >= job.work or value > cutoff:
            break
        low, high = high, 2 * high
    else:
        return best, low, guess  # the work cannot be done by the end of slot i
    for _ in range(MAX_BISECTIONS):
        if best > cutoff or high - low <= MULTIPLIER_RTOL * high:
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
    """value_i(mu) minus its rounding error, and the epochs done in the minimising times."""
    edges = slots.edges
    total, done = mu * job.work, 0.0
    magnitude = total
    for h in range(job.first, i):
        low, c = _best_in(h, mu, job, slots.dual)
        if c >= 0:
            length = edges[h + 1] - max(edges[h], job.arrival)
            total += length * low
            magnitude -= length * low
            done += length * job.speed[c]
    low, c = _best_in(i, mu, job, slots.dual)
    start = max(edges[i], job.arrival)
    tail, x = _completion_slot_cost(start, edges[i + 1] - start, low, job.due, job.weight)
    if c >= 0:
        done += x * job.speed[c]
    rounding = (i - job.first + 8) * UNIT_ROUNDOFF * (magnitude + abs(tail))
    return total + tail - rounding, done


@register_jitable
def _add_use(share: float, i: int, mu: float, job: Job, slots: Slots, use: Any) -> None:
    """Add a share of the GPU seconds of the plan of value_i(mu) to ``use``."""
    for h in range(job.first, i + 1):
        low, c = _best_in(h, mu, job, slots.dual)
        if c < 0:
            continue
        start = max(slots.edges[h], job.arrival)
        length = slots.edges[h + 1] - start
        if h == i:
            _, length = _completion_slot_cost(start, length, low, job.due, job.weight)
        use[job.kind[c], h] += share * length * job.size[c]


@register_jitable
def _best_in(h: int, mu: float, job: Job, dual: Any) -> Any:
    best, best_configuration = 0.0, -1
    for c in range(len(job.kind)):
        value = job.energy[c] + dual[job.kind[c], h] * job.size[c] - mu * job.speed[c]
        if value < best:
            best, best_configuration = value, c
    return best, best_configuration


@register_jitable
def _completion_slot_cost(
    start: float, length: float, rate: float, due: float, weight: float
) -> Any:
    """min over x in [0, length] of x rate + weight (start + x - due)^+, and its x."""
    best, best_x = weight * max(start - due, 0.0), 0.0
    for x in (length, min(max(due - start, 0.0), length)):
        value = x * rate + weight * max(start + x - due, 0.0)
        if value < best:
            best, best_x = value, x
    return best, best_x
