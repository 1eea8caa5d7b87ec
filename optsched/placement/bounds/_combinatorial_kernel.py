"""Compiled parts of the combinatorial bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.compiled_loops import njit, njit_borrowing, njit_inner
from optsched.placement._stage_time_kernel import stage_time


@njit_borrowing
def most_saving(costs: Any, s: int, room: int) -> float:
    """ms: the largest saving of a stage's neighbours in so many GPUs."""
    u, w = best_neighbours(costs, s, room)
    saving = 0.0
    if u > 0:
        saving += costs.before[s] * u
    if w > 0:
        saving += costs.after[s] * w
    return saving


@njit_inner
def best_neighbours(costs: Any, s: int, room: int) -> Any:
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


@njit_borrowing
def least_time(costs: Any, s: int, v: int, offer: int) -> float:
    """Least time of v replicas of a stage, all on a server of so many GPUs."""
    u, w = best_neighbours(costs, s, offer - v * costs.gpus[s])
    return stage_time(costs, s, v, u, w)


@njit(cache=True)
def least_times(costs: Any, most: int) -> Any:
    """`least_time` by stage and count (S, V + 1) on a server of `most` GPUs; inf for no such."""
    least = np.full(costs.near.shape, np.inf)
    for s in range(len(costs.replicas)):
        for v in range(1, min(costs.replicas[s], most // costs.gpus[s]) + 1):
            least[s, v] = least_time(costs, s, v, most)
    return least


@njit_borrowing
def stage_bound(costs: Any, most: int) -> float:
    """max over stages of the least time any server can give them; infinite where none can."""
    replicas = costs.replicas
    bound = 0.0
    for s in range(len(replicas)):
        least = np.inf
        for v in range(1, min(replicas[s], most // costs.gpus[s]) + 1):
            least = min(least, least_time(costs, s, v, most))
        bound = max(bound, least)
    return bound


@njit(cache=True)
def pattern_bound(costs: Any, size: int) -> float:
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
