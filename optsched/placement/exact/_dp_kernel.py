"""Compiled parts of the dynamic programme over servers."""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.compiled_loops import njit, njit_inner
from optsched.placement._stage_time_kernel import stage_time


@njit(cache=True)
def patterns(costs: Any, least: int, size: int, limit: float, most: int) -> Any:
    """Enumerate one server's count vectors on `least` to `size` GPUs with time <= limit."""
    replicas, gpus = costs.replicas, costs.gpus
    stages = len(replicas)
    rest = np.zeros(stages + 1, dtype=np.int64)
    for s in range(stages - 1, -1, -1):
        rest[s] = rest[s + 1] + gpus[s] * replicas[s]
    capacity = 64
    found = np.empty((capacity, stages), dtype=np.int16)
    times = np.empty(capacity)
    count = 0
    x = np.full(stages + 1, -1, dtype=np.int64)
    used = np.zeros(stages + 2, dtype=np.int64)
    worst = np.zeros(stages + 2)
    depth = 0
    while depth >= 0:
        if depth == stages:
            final = max(worst[stages - 1], _time(costs, x, stages - 1, 0))
            if used[stages] >= least and final <= limit:
                if count > most:
                    break
                if count == capacity:
                    found, times = _grown(found, times)
                    capacity = len(times)
                for s in range(stages):
                    found[count, s] = x[s]
                times[count] = final
                count += 1
            depth -= 1
            continue
        x[depth] += 1
        taken = used[depth] + gpus[depth] * x[depth]
        if x[depth] > replicas[depth] or taken > size:
            x[depth] = -1
            depth -= 1
            continue
        if taken + rest[depth + 1] < least:
            continue
        if depth > 0:
            here = _time(costs, x, depth - 1, x[depth])
            if here > limit:
                continue
            worst[depth] = max(worst[depth - 1], here)
        used[depth + 1] = taken
        depth += 1
    return found[:count], times[:count]


@njit(cache=True)
def relax_server(value: Any, states: Any, digits: Any, found: Any, times: Any, strides: Any) -> Any:
    """One server of the programme: next values, next reachable states and the choices made."""
    following = np.full(len(value), np.inf)
    choice = np.full(len(value), -1, dtype=np.int32)
    reached = np.empty(len(value), dtype=np.int64)
    count = 0
    offsets = np.zeros(len(times), dtype=np.int64)
    for p in range(len(times)):
        for s in range(len(strides)):
            offsets[p] += found[p, s] * strides[s]
    for state in states:
        so_far = value[state]
        for p in range(len(times)):
            worst = max(so_far, times[p])
            fits = True
            for s in range(len(strides)):
                if found[p, s] > (state // strides[s]) % digits[s]:
                    fits = False
                    break
            if not fits:
                continue
            target = state - offsets[p]
            if worst < following[target]:
                if choice[target] < 0:
                    reached[count] = target
                    count += 1
                following[target] = worst
                choice[target] = p
    return following, reached[:count].copy(), choice


@njit_inner
def _time(costs: Any, x: Any, s: int, w: int) -> float:
    if x[s] == 0:
        return 0.0
    return stage_time(costs, s, x[s], x[s - 1] if s > 0 else 0, w)


@njit(cache=True)
def _grown(found: Any, times: Any) -> Any:
    more = np.empty((2 * len(times), found.shape[1]), dtype=found.dtype)
    longer = np.empty(2 * len(times))
    for p in range(len(times)):
        longer[p] = times[p]
        for s in range(found.shape[1]):
            more[p, s] = found[p, s]
    return more, longer
