"""Lower bounds on alpha that need no solver.

All hold for every placement under either reading of the all-reduce bandwidth, since the stage's
least share of a NIC is never more than a server's own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba.extending import register_jitable

from optsched.deadline import Deadline
from optsched.kernels import kernel
from optsched.placement.cost import CostTables, Floats, StageCosts, tables_of
from optsched.placement.instance import PlacementInstance
from optsched.placement.options import PlacementOptions
from optsched.placement.stage_time import stage_time

MOST_PATTERN_WORK = 200_000_000
MOST_CELLS = 4_000_000


@dataclass(frozen=True)
class Bound:
    """A proven lower bound, in seconds, and the argument behind it."""

    value: float
    source: str


def combinatorial_bound(
    instance: PlacementInstance, tables: CostTables, deadline: Deadline | None = None
) -> Bound:
    """The best of the stage bound, the pattern bound and, for micro-batches, the pipeline bound.

    Complexity: O(S V) for the stage bound, O(S V^4) for each distinct offer V of the pattern
    bound, with O(V^3) memory; offers that would take it past 200 million steps or 4 million
    cells (64 MB) are left out, as are those whose turn comes after the deadline.

    *Stage bound*: each stage stands somewhere with v >= 1 replicas; its time there is at least
    base_s(v) less the most that neighbours on a server of the largest offer can save.
    *Pattern bound*: where the job needs all GPUs on offer, a server with g_m free GPUs fills
    exactly g_m; the chain programme gives the least time of any such choice, had the server the
    pick of all replicas.
    *Micro-batches*: a job of micro-batches takes no less than the same placement of the
    asynchronous job, since of (M - 1) max t + sum t - hidden_s + A_s all but M t_s + A_s is at
    least 0: earlier stages' t include their backward passes. So both hold for it. *Pipeline
    bound*: the same formula with every t_s at its least; of one stage at a time, t_s and A_s are
    those of its least count v on any server, which is k_s or at most k_s/2.
    """
    clock = deadline or Deadline()
    offers = sorted({g for g in instance.free_gpus if g > 0})
    bounds = [Bound(stage_bound(tables, max(offers)), "stage bound")]
    if tables.micro_batches is not None:
        bounds.append(Bound(_pipeline_bound(tables, max(offers)), "pipeline bound"))
    most = int(tables.replicas.max())
    work = 0
    for size in offers if instance.fills_the_offer else ():
        work += _pattern_work(tables, size)
        if (
            clock.is_over
            or work > MOST_PATTERN_WORK
            or (min(most, size) + 1) ** 2 * (size + 1) > MOST_CELLS
        ):
            break
        value = float(_pattern_bound.for_size(_pattern_work(tables, size))(tables.costs, size))
        bounds.append(Bound(value, f"pattern bound, offer of {size}"))
    if not all(math.isfinite(bound.value) for bound in bounds):
        return Bound(math.inf, "the servers cannot hold all replicas")
    best = max(bounds, key=lambda bound: bound.value)
    return Bound(tables.rounded_down(best.value), best.source)


def stage_bound(tables: CostTables, offer: int) -> float:
    """Largest over stages of its least time on a server of so many GPUs; infinite if none."""
    return float(_least_times_of(tables.costs, offer).min(axis=1).max())


def least_pipeline_times(tables: CostTables, offer: int) -> Floats:
    """Least alpha of a job of micro-batches if a server of so many GPUs holds v of a stage.

    By stage and count (S, V + 1), infinite for a count that it cannot hold.
    """
    times = _least_times_of(tables.pipeline_costs.work, offer) / tables.parts
    least = times.min(axis=1)
    there = np.isfinite(times) & np.isfinite(least).all()
    times, least = np.where(there, times, 0.0), np.where(np.isfinite(least), least, 0.0)
    steady = (tables.parts - 1) * np.maximum(times, least.max()) + times
    others = (least.sum() - least - tables.hidden)[:, None]
    return np.where(there, steady + others + tables.all_reduce, np.inf)


def _least_times_of(costs: StageCosts, offer: int) -> Floats:
    times: Floats = _least_times.for_size(costs.near.size)(costs, offer)
    return times


def _pipeline_bound(tables: CostTables, offer: int) -> float:
    """The largest over the stages, each with its best least count on any server."""
    least = least_pipeline_times(tables, offer)
    counts, replicas = np.arange(least.shape[1]), tables.replicas[:, None]
    can_be_least = (2 * counts <= replicas) | (counts == replicas)
    return float(np.where(can_be_least, least, np.inf).min(axis=1).max())


def quick_bound(
    instance: PlacementInstance, options: PlacementOptions, deadline: Deadline | None = None
) -> tuple[float | None, str | None]:
    """The combinatorial bound and its source, for heuristics; None where no placement exists."""
    bound = combinatorial_bound(instance, tables_of(instance, options), deadline)
    return (bound.value, bound.source) if math.isfinite(bound.value) else (None, None)


def _pattern_work(tables: CostTables, size: int) -> int:
    counts = [1, *(min(k, size) + 1 for k in tables.replicas.tolist()), 1]
    neighbours = zip(counts, counts[1:], counts[2:], strict=False)
    return (size + 1) * sum(u * v * w for u, v, w in neighbours)


def most_saving(costs: StageCosts, s: int, room: int) -> float:
    """ms: the largest saving of a stage's neighbours in so many GPUs."""
    u, w = _best_neighbours(costs, s, room)
    saving = 0.0
    if u > 0:
        saving += costs.before[s] * u
    if w > 0:
        saving += costs.after[s] * w
    return saving


@register_jitable
def _best_neighbours(costs: Any, s: int, room: int) -> Any:
    """The u and w of `most_saving`: fill up with what saves more a GPU, if all take one."""
    replicas, gpus, stages = costs.replicas, costs.gpus, len(costs.replicas)
    before, after = costs.before[s], costs.after[s]
    k_before = replicas[s - 1] if s > 0 and before > 0.0 else 0
    k_after = replicas[s + 1] if s + 1 < stages and after > 0.0 else 0
    q_before = gpus[s - 1] if s > 0 else 1
    q_after = gpus[s + 1] if s + 1 < stages else 1
    if q_before == q_after:
        if before >= after:
            u = min(k_before, room // q_before)
            return u, min(k_after, (room - q_before * u) // q_after)
        w = min(k_after, room // q_after)
        return min(k_before, (room - q_after * w) // q_before), w
    best, most_u, most_w = -1.0, 0, 0
    for u in range(min(k_before, room // q_before) + 1):
        w = min(k_after, (room - q_before * u) // q_after)
        saving = before * u + after * w
        if saving > best:
            best, most_u, most_w = saving, u, w
    return most_u, most_w


@register_jitable
def _least_time(costs: Any, s: int, v: int, offer: int) -> float:
    """Least time of v replicas of a stage, all on a server of so many GPUs."""
    u, w = _best_neighbours(costs, s, offer - v * costs.gpus[s])
    return stage_time(costs, s, v, u, w)


@kernel
def _least_times(costs: Any, most: int) -> Any:
    """`_least_time` by stage and count (S, V + 1) on a server of `most` GPUs; inf for no such."""
    least = np.full(costs.near.shape, np.inf)
    for s in range(len(costs.replicas)):
        for v in range(1, min(costs.replicas[s], most // costs.gpus[s]) + 1):
            least[s, v] = _least_time(costs, s, v, most)
    return least


@kernel
def _pattern_bound(costs: Any, size: int) -> float:
    """Least time of one server that fills exactly `size` GPUs, by a chain programme.

    State: replicas taken of the previous stage, of this one, and GPUs in all.
    """
    replicas, gpus = costs.replicas, costs.gpus
    stages = len(replicas)
    most = np.empty(stages, dtype=np.int64)
    for s in range(stages):
        most[s] = min(replicas[s], size // gpus[s])
    largest = most.max()
    best = np.full((largest + 1, largest + 1, size + 1), np.inf)
    for v in range(most[0] + 1):
        best[0, v, gpus[0] * v] = 0.0
    for s in range(stages):
        following = np.full((largest + 1, largest + 1, size + 1), np.inf)
        most_w = most[s + 1] if s + 1 < stages else 0
        q_w = gpus[s + 1] if s + 1 < stages else 1
        for u in range((most[s - 1] if s > 0 else 0) + 1):
            for v in range(most[s] + 1):
                for used in range(gpus[s] * v, size + 1):
                    so_far = best[u, v, used]
                    if so_far == np.inf:
                        continue
                    for w in range(min(most_w, (size - used) // q_w) + 1):
                        here = 0.0
                        if v > 0:
                            here = stage_time(costs, s, v, u, w)
                        worst = max(so_far, here)
                        if worst < following[v, w, used + q_w * w]:
                            following[v, w, used + q_w * w] = worst
        best = following
    least = np.inf
    for v in range(largest + 1):
        least = min(least, best[v, 0, size])
    return least
