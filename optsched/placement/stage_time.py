"""Time of a stage on a server: the helper that all placement kernels share."""

from __future__ import annotations

from typing import Any

from numba.extending import register_jitable


@register_jitable
def stage_time(costs: Any, s: int, v: int, u: int, w: int) -> float:
    """near_s(v) + a_s (k_{s-1} - u) + b_s (k_{s+1} - w), in seconds.

    The server holds v replicas of stage s, u of stage s - 1 and w of stage s + 1. If neighbours on
    the server never cost time, all terms are non-negative and nothing cancels.
    """
    time = costs.colocated_time[s, v]
    if s > 0:
        time += costs.saving_previous[s] * (costs.replicas[s - 1] - u)
    if s + 1 < len(costs.replicas):
        time += costs.saving_next[s] * (costs.replicas[s + 1] - w)
    return time
