"""Lower bounds on alpha that need no solver.

All hold for every placement and both options of the all-reduce bandwidth, since the bottleneck NIC
share is at most a server's own share.
"""

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

MAX_DP_STEPS = 200_000_000
"""Innermost steps of the pattern bound's dynamic programmes; larger offers are left out."""
MAX_DP_CELLS = 4_000_000
"""Cells of a dynamic programme's table: two of 32 MB."""


@register_jitable
def stage_time(costs: Any, s: int, v: int, u: int, w: int) -> float:
    """near_s(v) + a_s (k_{s-1} - u) + b_s (k_{s+1} - w), in seconds; all kernels use it.

    The server holds v replicas of stage s, u of stage s - 1 and w of stage s + 1. If neighbours on
    the server never cost time, all terms are non-negative and nothing cancels.
    """
    time = costs.colocated_time[s, v]
    if s > 0:
        time += costs.saving_previous[s] * (costs.replicas[s - 1] - u)
    if s + 1 < len(costs.replicas):
        time += costs.saving_next[s] * (costs.replicas[s + 1] - w)
    return time


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
    bound, with O(V^3) memory. Offers beyond 200 million steps or 4 million cells are left out, as
    are those whose turn comes after the deadline.

    *Stage bound*: each stage has v >= 1 replicas on some server; its time there is at least
    base_s(v) minus the largest saving by neighbours on a server of the largest offer.
    *Pattern bound*: if the job needs all GPUs, a server with g_m free GPUs fills exactly g_m; a
    dynamic programme over the chain of stages gives the minimum time of such a server, ignoring
    the other servers.
    *Micro-batches*: a synchronous job takes no less than the same placement of the asynchronous
    job, because (M - 1) max t + sum t - hidden_s + A_s >= M t_s + A_s (earlier stages' t include
    their backward passes). So both bounds hold for it. *Pipeline bound*: the formula with each t_s
    at its minimum. For one stage at a time, t_s and A_s are those of the stage's minimum count v,
    which is k_s or at most k_s/2.
    """
    deadline = deadline or Deadline()
    sizes = sorted({g for g in instance.free_gpus if g > 0})
    bounds = [Bound(stage_bound(tables, max(sizes)), "stage bound")]
    if tables.micro_batches is not None:
        bounds.append(Bound(_pipeline_bound(tables, max(sizes)), "pipeline bound"))
    max_count = int(tables.replicas.max())
    steps = 0
    for size in sizes if instance.uses_all_gpus else ():
        steps += _dp_steps(tables, size)
        cells = (min(max_count, size) + 1) ** 2 * (size + 1)
        if deadline.is_over or steps > MAX_DP_STEPS or cells > MAX_DP_CELLS:
            break
        value = float(_pattern_bound.for_size(_dp_steps(tables, size))(tables.costs, size))
        bounds.append(Bound(value, f"pattern bound, offer of {size}"))
    if not all(math.isfinite(bound.value) for bound in bounds):
        return Bound(math.inf, "the servers cannot hold all replicas")
    best = max(bounds, key=lambda bound: bound.value)
    return Bound(tables.lowered_by_rounding(best.value), best.source)


def stage_bound(tables: CostTables, offer: int) -> float:
    """max over stages of the minimum time on a server of `offer` GPUs; inf if one does not fit."""
    return float(_min_times_of(tables.costs, offer).min(axis=1).max())


def min_pipeline_times(tables: CostTables, offer: int) -> Floats:
    """Minimum alpha of a synchronous job by stage and count on a server of `offer` GPUs."""
    times = _min_times_of(tables.pipeline_costs.work, offer) / tables.num_micro_batches
    fastest = times.min(axis=1)
    feasible = np.isfinite(times) & np.isfinite(fastest).all()
    times = np.where(feasible, times, 0.0)
    fastest = np.where(np.isfinite(fastest), fastest, 0.0)
    steady = (tables.num_micro_batches - 1) * np.maximum(times, fastest.max()) + times
    others = (fastest.sum() - fastest - tables.hidden)[:, None]
    return np.where(feasible, steady + others + tables.all_reduce, np.inf)


def _min_times_of(costs: StageCosts, offer: int) -> Floats:
    times: Floats = _min_times.for_size(costs.colocated_time.size)(costs, offer)
    return times


def _pipeline_bound(tables: CostTables, offer: int) -> float:
    """max over stages of the minimum over their possible minimum counts."""
    times = min_pipeline_times(tables, offer)
    counts, replicas = np.arange(times.shape[1]), tables.replicas[:, None]
    can_be_minimum = (2 * counts <= replicas) | (counts == replicas)
    return float(np.where(can_be_minimum, times, np.inf).min(axis=1).max())


def quick_bound(
    instance: PlacementInstance, options: PlacementOptions, deadline: Deadline | None = None
) -> tuple[float | None, str | None]:
    """The combinatorial bound and its source, for heuristics; None where no placement exists."""
    bound = combinatorial_bound(instance, tables_of(instance, options), deadline)
    return (bound.value, bound.source) if math.isfinite(bound.value) else (None, None)


def _dp_steps(tables: CostTables, size: int) -> int:
    counts = [1, *(min(k, size) + 1 for k in tables.replicas.tolist()), 1]
    neighbours = zip(counts, counts[1:], counts[2:], strict=False)
    return (size + 1) * sum(u * v * w for u, v, w in neighbours)


def max_saving(costs: StageCosts, s: int, room: int) -> float:
    """ms: largest saving by the neighbours of stage s on `room` GPUs, in seconds."""
    u, w = _best_neighbours(costs, s, room)
    saving = 0.0
    if u > 0:
        saving += costs.saving_previous[s] * u
    if w > 0:
        saving += costs.saving_next[s] * w
    return saving


@register_jitable
def _best_neighbours(costs: Any, s: int, room: int) -> Any:
    """The u and w of `max_saving`.

    Greedy by saving per GPU if both neighbours have replicas of one size, else by enumeration of u.
    """
    replicas, gpus, stages = costs.replicas, costs.gpus, len(costs.replicas)
    saving_u, saving_w = costs.saving_previous[s], costs.saving_next[s]
    k_u = replicas[s - 1] if s > 0 and saving_u > 0.0 else 0
    k_w = replicas[s + 1] if s + 1 < stages and saving_w > 0.0 else 0
    q_u = gpus[s - 1] if s > 0 else 1
    q_w = gpus[s + 1] if s + 1 < stages else 1
    if q_u == q_w:
        if saving_u >= saving_w:
            u = min(k_u, room // q_u)
            return u, min(k_w, (room - q_u * u) // q_w)
        w = min(k_w, room // q_w)
        return min(k_u, (room - q_w * w) // q_u), w
    best, best_u, best_w = -1.0, 0, 0
    for u in range(min(k_u, room // q_u) + 1):
        w = min(k_w, (room - q_u * u) // q_w)
        saving = saving_u * u + saving_w * w
        if saving > best:
            best, best_u, best_w = saving, u, w
    return best_u, best_w


@kernel
def _min_times(costs: Any, offer: int) -> Any:
    """Minimum time of v replicas of a stage on a server (S, V + 1); inf if v do not fit."""
    times = np.full(costs.colocated_time.shape, np.inf)
    for s in range(len(costs.replicas)):
        for v in range(1, min(costs.replicas[s], offer // costs.gpus[s]) + 1):
            u, w = _best_neighbours(costs, s, offer - v * costs.gpus[s])
            times[s, v] = stage_time(costs, s, v, u, w)
    return times


@kernel
def _pattern_bound(costs: Any, size: int) -> float:
    """Minimum time of a server that fills exactly `size` GPUs: dynamic programme over the stages.

    State: replicas of the previous stage, of this one, and GPUs in all.
    """
    replicas, gpus = costs.replicas, costs.gpus
    stages = len(replicas)
    max_count = np.empty(stages, dtype=np.int64)
    for s in range(stages):
        max_count[s] = min(replicas[s], size // gpus[s])
    largest = max_count.max()
    best = np.full((largest + 1, largest + 1, size + 1), np.inf)
    for v in range(max_count[0] + 1):
        best[0, v, gpus[0] * v] = 0.0
    for s in range(stages):
        following = np.full((largest + 1, largest + 1, size + 1), np.inf)
        max_next = max_count[s + 1] if s + 1 < stages else 0
        q_w = gpus[s + 1] if s + 1 < stages else 1
        for u in range((max_count[s - 1] if s > 0 else 0) + 1):
            for v in range(max_count[s] + 1):
                for used in range(gpus[s] * v, size + 1):
                    time_so_far = best[u, v, used]
                    if time_so_far == np.inf:
                        continue
                    for w in range(min(max_next, (size - used) // q_w) + 1):
                        time = time_so_far
                        if v > 0:
                            time = max(time, stage_time(costs, s, v, u, w))
                        if time < following[v, w, used + q_w * w]:
                            following[v, w, used + q_w * w] = time
        best = following
    return best[:, 0, size].min()
