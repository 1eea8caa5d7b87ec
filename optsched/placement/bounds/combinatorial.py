"""Lower bounds on alpha that need no solver.

All hold for every placement under either reading of the all-reduce bandwidth, since the stage's
least share of a NIC is never more than a server's own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from optsched.deadline import Deadline
from optsched.placement.cost import CostTables, Floats, tables_of
from optsched.placement.instance import PlacementInstance
from optsched.placement.options import PlacementOptions

MOST_PATTERN_WORK = 200_000_000
MOST_CELLS = 4_000_000


@dataclass(frozen=True)
class Bound:
    """A proven lower bound, in seconds, and the argument behind it."""

    value: float
    source: str


def combinatorial_bound(
    instance: PlacementInstance, tables: CostTables, deadline: Deadline | None = None
) -> Bound:
    """The best of the stage bound, the pattern bound and, for micro-batches, the pipeline bound.

    Complexity: O(S V) for the stage bound, O(S V^4) for each distinct offer V of the pattern
    bound, with O(V^3) memory; offers that would take it past 200 million steps or 4 million
    cells (64 MB) are left out, as are those whose turn comes after the deadline.

    *Stage bound*: each stage stands somewhere with v >= 1 replicas; its time there is at least
    base_s(v) less the most that neighbours on a server of the largest offer can save.
    *Pattern bound*: where the job needs all GPUs on offer, a server with g_m free GPUs fills
    exactly g_m; the chain programme gives the least time of any such choice, had the server the
    pick of all replicas.
    *Micro-batches*: a job of micro-batches takes no less than the same placement of the
    asynchronous job, since of (M - 1) max t + sum t - hidden_s + A_s all but M t_s + A_s is at
    least 0: earlier stages' t include their backward passes. So both hold for it. *Pipeline
    bound*: the same formula with every t_s at its least; of one stage at a time, t_s and A_s are
    those of its least count v on any server, which is k_s or at most k_s/2.
    """
    from optsched.placement.bounds._combinatorial_kernel import pattern_bound, stage_bound

    clock = deadline or Deadline()
    offers = sorted({g for g in instance.free_gpus if g > 0})
    bounds = [Bound(float(stage_bound(tables.costs, max(offers))), "stage bound")]
    if tables.micro_batches is not None:
        bounds.append(Bound(_pipeline_bound(tables, max(offers)), "pipeline bound"))
    most = int(tables.replicas.max())
    work = 0
    for size in offers if instance.fills_the_offer else ():
        work += _pattern_work(tables, size)
        if (
            clock.is_over
            or work > MOST_PATTERN_WORK
            or (min(most, size) + 1) ** 2 * (size + 1) > MOST_CELLS
        ):
            break
        value = float(pattern_bound(tables.costs, size))
        bounds.append(Bound(value, f"pattern bound, offer of {size}"))
    if not all(math.isfinite(bound.value) for bound in bounds):
        return Bound(0.0, "no bound: the servers cannot hold all replicas")
    best = max(bounds, key=lambda bound: bound.value)
    return Bound(tables.rounded_down(best.value), best.source)


def least_pipeline_times(tables: CostTables, offer: int) -> Floats:
    """Least alpha of a job of micro-batches if a server of so many GPUs holds v of a stage.

    By stage and count (S, V + 1), infinite for a count that it cannot hold.
    """
    from optsched.placement.bounds._combinatorial_kernel import least_times

    times = least_times(tables.pipeline_costs.work, offer) / tables.parts
    least = times.min(axis=1)
    there = np.isfinite(times) & np.isfinite(least).all()
    times, least = np.where(there, times, 0.0), np.where(np.isfinite(least), least, 0.0)
    steady = (tables.parts - 1) * np.maximum(times, least.max()) + times
    others = (least.sum() - least - tables.hidden)[:, None]
    return np.where(there, steady + others + tables.all_reduce, np.inf)


def _pipeline_bound(tables: CostTables, offer: int) -> float:
    """The largest over the stages, each with its best least count on any server."""
    least = least_pipeline_times(tables, offer)
    counts, replicas = np.arange(least.shape[1]), tables.replicas[:, None]
    can_be_least = (2 * counts <= replicas) | (counts == replicas)
    return float(np.where(can_be_least, least, np.inf).min(axis=1).max())


def quick_bound(
    instance: PlacementInstance, options: PlacementOptions, deadline: Deadline | None = None
) -> tuple[float, str]:
    """The combinatorial bound as value and source: what certifies every heuristic's row."""
    bound = combinatorial_bound(instance, tables_of(instance, options), deadline or Deadline())
    return bound.value, bound.source


def _pattern_work(tables: CostTables, size: int) -> int:
    counts = [1, *(min(k, size) + 1 for k in tables.replicas.tolist()), 1]
    neighbours = zip(counts, counts[1:], counts[2:], strict=False)
    return (size + 1) * sum(u * v * w for u, v, w in neighbours)
