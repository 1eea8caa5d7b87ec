"""The compiled time of a stage on a server, which every other compiled loop of placement calls."""

from __future__ import annotations

from typing import Any

from optsched.compiled_loops import njit


@njit(cache=True)
def stage_time(costs: Any, s: int, v: int, u: int, w: int) -> float:
    """near_s(v) + a_s (k_{s-1} - u) + b_s (k_{s+1} - w): v replicas beside u and w of the others.

    In seconds. With savings every term is positive, so that nothing
    cancels.

    Parameters
    ----------
    costs : StageCosts
        Of the job, seconds.
    s : int
        The stage.
    v, u, w : int
        Replicas on the server: of the stage, of the one before and of the one after.
    """
    time = costs.near[s, v]
    if s > 0:
        time += costs.before[s] * (costs.replicas[s - 1] - u)
    if s + 1 < len(costs.replicas):
        time += costs.after[s] * (costs.replicas[s + 1] - w)
    return time
