"""Compiled times of a stage, a server and a placement, on which all compiled loops stand."""

from __future__ import annotations

from typing import Any

from optsched.compiled_loops import njit_borrowing, njit_inlined, njit_inner


@njit_inlined
def stage_time(costs: Any, s: int, v: int, u: int, w: int) -> float:
    """near_s(v) + a_s (k_{s-1} - u) + b_s (k_{s+1} - w): v replicas beside u and w of the others.

    In seconds. With savings every term is positive, so that nothing
    cancels.
    """
    time = costs.near[s, v]
    if s > 0:
        time += costs.before[s] * (costs.replicas[s - 1] - u)
    if s + 1 < len(costs.replicas):
        time += costs.after[s] * (costs.replicas[s + 1] - w)
    return time


@njit_inner
def server_time(costs: Any, counts: Any, m: int) -> float:
    """Largest stage time on server m, in seconds, of ``counts`` (S, M)."""
    stages = counts.shape[0]
    worst = 0.0
    for s in range(stages):
        v = counts[s, m]
        if v > 0:
            u = counts[s - 1, m] if s > 0 else 0
            w = counts[s + 1, m] if s + 1 < stages else 0
            worst = max(worst, stage_time(costs, s, v, u, w))
    return worst


@njit_borrowing
def slowest_time(costs: Any, counts: Any) -> float:
    """Largest server time in seconds, of ``counts`` (S, M)."""
    worst = 0.0
    for m in range(counts.shape[1]):
        worst = max(worst, server_time(costs, counts, m))
    return worst
