"""The compiled time of a stage on a server, which every other compiled loop of placement calls."""

from __future__ import annotations

from typing import Any

from optsched.compiled_loops import njit


@njit(cache=True)
def stage_time(costs: Any, s: int, v: int, u: int, w: int) -> float:
    """near_s(v) + a_s (k_{s-1} - u) + b_s (k_{s+1} - w): v replicas beside u and w of the others.

    In seconds; `costs` are `CostTables.costs`: near (S, K + 1), a (S,), b (S,), k (S,). With
    savings every term is positive, so that nothing cancels.
    """
    near, before, after, replicas = costs
    time = near[s, v]
    if s > 0:
        time += before[s] * (replicas[s - 1] - u)
    if s + 1 < len(replicas):
        time += after[s] * (replicas[s + 1] - w)
    return time
