"""The compiled list of all values a stage's time can take."""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.compiled_loops import njit
from optsched.placement._stage_time_kernel import stage_time


@njit(cache=True)
def candidate_times(costs: Any, most: int, low: float, high: float, limit: int) -> Any:
    """All `stage_time`s in [low, high), seconds, on at most `most` GPUs; at most `limit` (n,)."""
    replicas, gpus = costs.replicas, costs.gpus
    stages = len(replicas)
    times = np.empty(1024)
    count = 0
    for s in range(stages):
        k_before = replicas[s - 1] if s > 0 else 0
        k_after = replicas[s + 1] if s + 1 < stages else 0
        q_before = gpus[s - 1] if s > 0 else 1
        q_after = gpus[s + 1] if s + 1 < stages else 1
        for v in range(1, min(replicas[s], most // gpus[s]) + 1):
            room = most - gpus[s] * v
            for u in range(min(k_before, room // q_before) + 1):
                for w in range(min(k_after, (room - q_before * u) // q_after) + 1):
                    time = stage_time(costs, s, v, u, w)
                    if low <= time < high:
                        if count == limit:
                            return times[:count]
                        if count == len(times):
                            longer = np.empty(2 * count)
                            for i in range(count):
                                longer[i] = times[i]
                            times = longer
                        times[count] = time
                        count += 1
    return times[:count]
