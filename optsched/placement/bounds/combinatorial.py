"""Lower bounds on alpha that need no solver.

Both hold for every placement under either reading of the all-reduce bandwidth, since the stage's
least share of a NIC is never more than a server's own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optsched.deadline import Deadline
from optsched.placement.cost import CostTables, tables_of
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
    """The better of the stage bound and the pattern bound.

    Complexity: O(S V) for the stage bound, O(S V^4) for each distinct offer V of the pattern
    bound, with O(V^3) memory; offers that would take it past 200 million steps or 4 million
    cells (64 MB) are left out, as are those whose turn comes after the deadline.

    Notes
    -----
    *Stage bound*: each stage stands somewhere with v >= 1 replicas; its time there is at least
    base_s(v) less the most that neighbours on a server of the largest offer can save.
    *Pattern bound*: a server with g_m free GPUs takes exactly g_m replicas; the chain programme
    gives the least time of any such choice, had the server the pick of all replicas.
    """
    from optsched.placement.bounds._combinatorial_kernel import pattern_bound, stage_bound

    clock = deadline or Deadline()
    offers = sorted({g for g in instance.free_gpus if g > 0})
    bounds = [Bound(float(stage_bound(tables.costs, max(offers))), "stage bound")]
    most = int(tables.replicas.max())
    work = 0.0
    for size in offers:
        work += _pattern_work(tables, size)
        if (
            clock.is_over
            or work > MOST_PATTERN_WORK
            or (min(most, size) + 1) ** 2 * (size + 1) > MOST_CELLS
        ):
            break
        value = float(pattern_bound(tables.costs, size))
        bounds.append(Bound(value, f"pattern bound, offer of {size}"))
    best = max(bounds, key=lambda bound: bound.value)
    return Bound(tables.rounded_down(best.value), best.source)


def quick_bound(
    instance: PlacementInstance, options: PlacementOptions, deadline: Deadline | None = None
) -> tuple[float, str]:
    """The combinatorial bound as value and source: what certifies every heuristic's row."""
    bound = combinatorial_bound(instance, tables_of(instance, options), deadline or Deadline())
    return bound.value, bound.source


def _pattern_work(tables: CostTables, size: int) -> float:
    per_stage = np.minimum(tables.replicas, size) + 1.0
    neighbours = np.concatenate((per_stage[1:], [1.0])) * np.concatenate(([1.0], per_stage[:-1]))
    return float((per_stage * neighbours).sum() * (size + 1))
