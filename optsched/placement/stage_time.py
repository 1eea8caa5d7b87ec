"""The compiled time of a stage on a server, which all kernels of placement share."""

from __future__ import annotations

from typing import Any

from numba.extending import register_jitable


@register_jitable
def stage_time(costs: Any, s: int, v: int, u: int, w: int) -> float:
    """near_s(v) + a_s (k_{s-1} - u) + b_s (k_{s+1} - w), in seconds.

    v replicas of stage s beside u of the stage before and w of the one after. Where neighbours
    only save time every term is positive, so that nothing cancels.
    """
    time = costs.near[s, v]
    if s > 0:
        time += costs.before[s] * (costs.replicas[s - 1] - u)
    if s + 1 < len(costs.replicas):
        time += costs.after[s] * (costs.replicas[s + 1] - w)
    return time
