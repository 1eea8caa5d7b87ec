"""The compiled pricing of one server's pattern, by a chain programme over the stages."""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.compiled_loops import njit
from optsched.placement._stage_time_kernel import stage_time


@njit(cache=True)
def fewest_before(costs: Any, size: int, limit: float) -> Any:
    """Fewest replicas of the previous stage that keep a stage within a limit of seconds."""
    replicas, gpus = costs.replicas, costs.gpus
    stages = len(replicas)
    most = min(size, replicas.max())
    fewest = np.full((stages, most + 1, most + 1), most + 1, dtype=np.int32)
    for s in range(stages):
        q_before = gpus[s - 1] if s > 0 else 1
        q_after = gpus[s + 1] if s + 1 < stages else 1
        most_before = min(size // q_before, replicas[s - 1]) if s > 0 else 0
        most_after = min(size // q_after, replicas[s + 1]) if s + 1 < stages else 0
        for w in range(most_after + 1):
            fewest[s, 0, w] = 0
        for v in range(1, min(size // gpus[s], replicas[s]) + 1):
            u, room = 0, size - gpus[s] * v
            for w in range(min(most_after, room // q_after), -1, -1):
                while u <= most_before and stage_time(costs, s, v, u, w) > limit:
                    u += 1
                if u > most_before:
                    break
                if q_before * u + q_after * w <= room:
                    fewest[s, v, w] = u
    return fewest


@njit(cache=True)
def best_patterns(fewest: Any, of_stages: Any, sizes: Any, prices: Any, full: bool) -> Any:
    """For each size the most valuable pattern of exactly so many GPUs, or at most so many."""
    replicas, gpus = of_stages
    stages, most, size = len(replicas), fewest.shape[1] - 1, sizes.max()
    # worth[u, v, used]: of the best counts so far that end in u and v, every earlier stage in time
    worth = np.full((most + 1, most + 1, size + 1), -np.inf)
    chosen = np.zeros((stages, most + 1, most + 1, size + 1), dtype=np.int16)
    for v in range(min(replicas[0], size // gpus[0]) + 1):
        worth[0, v, gpus[0] * v] = prices[0] * v
    reach = np.empty(most + 2)
    before = np.empty(most + 2, dtype=np.int16)
    for s in range(stages - 1):
        following = np.full((most + 1, most + 1, size + 1), -np.inf)
        q_after = gpus[s + 1]
        most_after = min(replicas[s + 1], size // q_after)
        for v in range(min(replicas[s], size // gpus[s]) + 1):
            for used in range(gpus[s] * v, size + 1):
                _best_from(worth, v, used, most, reach, before)
                if reach[0] == -np.inf:
                    continue
                for w in range(min(most_after, (size - used) // q_after) + 1):
                    u, then = fewest[s, v, w], used + q_after * w
                    if u <= most and reach[u] > -np.inf:
                        following[v, w, then] = reach[u] + prices[s + 1] * w
                        chosen[s + 1, v, w, then] = before[u]
        worth = following
    best = np.full(len(sizes), -np.inf)
    patterns = np.zeros((len(sizes), stages), dtype=np.int64)
    for c in range(len(sizes)):
        used, last, previous = 0, -1, 0
        for filled in range(sizes[c] if full else 0, sizes[c] + 1):
            for v in range(most + 1):
                for u in range(fewest[stages - 1, v, 0], most + 1):
                    if worth[u, v, filled] > best[c]:
                        best[c], used = worth[u, v, filled], filled
                        last, previous = v, u
        if last >= 0:
            for s in range(stages - 1, -1, -1):
                patterns[c, s] = last
                if s > 0:
                    earlier = chosen[s, previous, last, used]
                    used -= gpus[s] * last
                    last, previous = previous, earlier
    return best, patterns


@njit(cache=True)
def _best_from(worth: Any, v: int, used: int, most: int, reach: Any, before: Any) -> None:
    """reach[u] = max of worth[u', v, used] over u' >= u, and before[u] the u' it is at."""
    reach[most + 1] = -np.inf
    before[most + 1] = 0
    for u in range(most, -1, -1):
        reach[u], before[u] = reach[u + 1], before[u + 1]
        if worth[u, v, used] > reach[u]:
            reach[u], before[u] = worth[u, v, used], u


@njit(cache=True)
def worth_to_go(fewest: Any, of_stages: Any, size: int, prices: Any, full: bool) -> Any:
    """Most that the stages after s can add, by s, x_{s-1}, x_s and the GPUs left: O(S g^4)."""
    replicas, gpus = of_stages
    stages, most = len(replicas), fewest.shape[1] - 1
    value = np.full((stages, most + 1, most + 1, size + 1), -np.inf)
    for v in range(most + 1):
        for u in range(fewest[stages - 1, v, 0], most + 1):
            value[stages - 1, u, v, 0] = 0.0
            if not full:
                for left in range(1, size + 1):
                    value[stages - 1, u, v, left] = 0.0
    for s in range(stages - 2, -1, -1):
        q_after = gpus[s + 1]
        most_after = min(replicas[s + 1], size // q_after)
        for v in range(min(replicas[s], size // gpus[s]) + 1):
            for left in range(size - gpus[s] * v + 1):
                for w in range(min(most_after, left // q_after) + 1):
                    more = value[s + 1, v, w, left - q_after * w] + prices[s + 1] * w
                    for u in range(fewest[s, v, w], most + 1):
                        if more > value[s, u, v, left]:
                            value[s, u, v, left] = more
    return value


@njit(cache=True)
def patterns_worth(
    to_go: Any, of_theta: Any, of_stages: Any, prices: Any, least: float, most: int
) -> Any:
    """Enumerate the patterns of `size` GPUs worth at least so much; at most `most` + 1 of them.

    Their `size` is that of the last axis of `to_go`, less 1. A free stage has no more replicas
    than its neighbours need.
    """
    replicas, gpus = of_stages
    fewest, free = of_theta
    stages, size = len(replicas), to_go.shape[3] - 1
    found = np.empty((most + 1, stages), dtype=np.int16)
    count = 0
    x = np.full(stages, -1, dtype=np.int64)
    used = np.zeros(stages + 1, dtype=np.int64)
    worth = np.zeros(stages + 1)
    s = 0
    while s >= 0:
        x[s] += 1
        v = x[s]
        taken = used[s] + gpus[s] * v
        if v > replicas[s] or taken > size:
            x[s] = -1
            s -= 1
            continue
        u = x[s - 1] if s > 0 else 0
        if s > 0 and fewest[s - 1, u, v] > (x[s - 2] if s > 1 else 0):
            continue
        here = worth[s] + prices[s] * v
        if here + to_go[s, u, v, size - taken] < least:
            continue
        if s > 1 and free[s - 2] and x[s - 2] > _least_needed(fewest, x, s - 2):
            continue
        if s == stages - 1:
            if free[s] and x[s] > _least_needed(fewest, x, s):
                continue
            if s > 0 and free[s - 1] and x[s - 1] > _least_needed(fewest, x, s - 1):
                continue
            for i in range(stages):
                found[count, i] = x[i]
            count += 1
            if count > most:
                break
            continue
        used[s + 1], worth[s + 1] = taken, here
        s += 1
    return found[:count]


@njit(cache=True)
def without_fillers(fewest: Any, free: Any, patterns: Any) -> Any:
    """Patterns, shape (P, S), whose free stages have no more replicas than others need."""
    told = patterns.copy()
    for p in range(len(told)):
        for s in range(len(free)):
            if free[s] and told[p, s] > 0:
                told[p, s] = _least_needed(fewest, told[p], s)
    return told


@njit(cache=True)
def _least_needed(fewest: Any, x: Any, s: int) -> int:
    """Fewest replicas of a stage, up to x_s, that its neighbours need, all others as they are."""
    stages, least = len(x), 0
    if s + 1 < stages and x[s + 1] > 0:
        least = fewest[s + 1, x[s + 1], x[s + 2] if s + 2 < stages else 0]
    if s > 0 and x[s - 1] > 0:
        before = x[s - 2] if s > 1 else 0
        while least < x[s] and fewest[s - 1, x[s - 1], least] > before:
            least += 1
    return least
