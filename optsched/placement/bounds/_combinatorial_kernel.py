"""Compiled parts of the combinatorial bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.compiled_loops import njit
from optsched.placement._stage_time_kernel import stage_time


@njit(cache=True)
def most_saving(before: float, after: float, k_before: int, k_after: int, room: int) -> float:
    """ms: largest before * u + after * w with u <= k_before, w <= k_after, u + w <= room."""
    u, w = best_neighbours(before, after, k_before, k_after, room)
    saving = 0.0
    if u > 0:
        saving += before * u
    if w > 0:
        saving += after * w
    return saving


@njit(cache=True)
def best_neighbours(before: float, after: float, k_before: int, k_after: int, room: int) -> Any:
    """The u and w of `most_saving`."""
    if before >= after:
        u = min(k_before, room) if before > 0.0 else 0
        w = min(k_after, room - u) if after > 0.0 else 0
    else:
        w = min(k_after, room) if after > 0.0 else 0
        u = min(k_before, room - w) if before > 0.0 else 0
    return u, w


@njit(cache=True)
def least_time(costs: Any, s: int, v: int, room: int) -> float:
    """Least time of v replicas of a stage that leave so much room for its neighbours."""
    before, after, replicas = costs.before, costs.after, costs.replicas
    k_before = replicas[s - 1] if s > 0 else 0
    k_after = replicas[s + 1] if s + 1 < len(replicas) else 0
    u, w = best_neighbours(before[s], after[s], k_before, k_after, room)
    return stage_time(costs, s, v, u, w)


@njit(cache=True)
def stage_bound(costs: Any, most: int) -> float:
    """max over stages of the least time any server can give them."""
    replicas = costs.replicas
    bound = 0.0
    for s in range(len(replicas)):
        least = np.inf
        for v in range(1, min(replicas[s], most) + 1):
            least = min(least, least_time(costs, s, v, most - v))
        bound = max(bound, least)
    return bound


@njit(cache=True)
def pattern_bound(costs: Any, size: int) -> float:
    """Least time of one server that takes exactly `size` replicas, by a chain programme.

    State: replicas taken of the previous stage, of this one, and in all.
    """
    replicas = costs.replicas
    stages = len(replicas)
    largest = 0
    for s in range(stages):
        largest = max(largest, min(replicas[s], size))
    best = np.full((largest + 1, largest + 1, size + 1), np.inf)
    for v in range(min(replicas[0], size) + 1):
        best[0, v, v] = 0.0
    for s in range(stages):
        following = np.full((largest + 1, largest + 1, size + 1), np.inf)
        most_w = min(replicas[s + 1], size) if s + 1 < stages else 0
        most_u = min(replicas[s - 1], size) if s > 0 else 0
        for u in range(most_u + 1):
            for v in range(min(replicas[s], size) + 1):
                for used in range(u + v, size + 1):
                    so_far = best[u, v, used]
                    if so_far == np.inf:
                        continue
                    for w in range(min(most_w, size - used) + 1):
                        here = 0.0
                        if v > 0:
                            here = stage_time(costs, s, v, u, w)
                        worst = max(so_far, here)
                        if worst < following[v, w, used + w]:
                            following[v, w, used + w] = worst
        best = following
    least = np.inf
    for v in range(largest + 1):
        least = min(least, best[v, 0, size])
    return least
