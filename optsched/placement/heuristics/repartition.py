"""Repartition: a local search that re-splits pairs of servers, from three starts.

Starts: Heavy-Edge's placement, and the stages laid out in order, first to last and last to first,
over the servers in descending order of free GPUs. Guarantee: never worse than Heavy-Edge; at the
end no re-split of the slowest server's and one other server's replicas makes both of them faster
(unless a pair has more than 200,000 splits to look at). Complexity: a pair has at most C(2g, g)
splits for g GPUs per server; most are cut off early, since a stage's time is known as soon as its
next stage is split. Beyond the paper.
"""

from __future__ import annotations

import time

import numpy as np

from optsched.placement.cost import CostTables, Ints, iteration_time, tables_of
from optsched.placement.heuristics.heavy_edge import graph_arrays, heavy_edge_counts
from optsched.placement.instance import PlacementInstance
from optsched.placement.options import PlacementOptions
from optsched.placement.solution import PlacementSolution
from optsched.result import Outcome, Settings, Termination

MOST_ROUNDS = 100_000
MOST_SPLITS = 20_000_000
"""Splits looked at from each start, a second or so; a hundredth of it for one pair."""


def repartition(
    instance: PlacementInstance, options: PlacementOptions, settings: Settings
) -> Outcome:
    """Place a job by local search; ``iterations`` caps the re-splits accepted from each start.

    Raises
    ------
    NotApplicableError
        Under the "bottleneck" reading, where a re-split changes other servers' times.
    """
    options.require_own_bandwidth("repartition")
    began = time.perf_counter()
    tables = tables_of(instance, options)
    counts, accepted = improved_counts(instance, tables, settings.iterations)
    seconds = time.perf_counter() - began
    return Outcome(
        PlacementSolution.of(instance.name, counts.tolist()),
        Termination.FEASIBLE,
        solve_time=seconds,
        details={"resplits": accepted},
    )


def improved_counts(
    instance: PlacementInstance, tables: CostTables, rounds: int | None = None
) -> tuple[Ints, int]:
    """The best placement over the three starts, and the re-splits accepted in all."""
    from optsched.placement.heuristics._repartition_kernel import improve, worst_time

    most = MOST_ROUNDS if rounds is None else rounds
    accepted = 0
    found = []
    for counts in _starts(instance):
        accepted += int(improve(tables.costs, counts, most, MOST_SPLITS)[0])
        found.append((float(worst_time(tables.costs, counts)), counts))
    return min(found, key=lambda pair: pair[0])[1], accepted


def starting_placement(instance: PlacementInstance, options: PlacementOptions) -> tuple[str, Ints]:
    """The best placement without a solver, under the options given, and the method it is of.

    Under the "bottleneck" reading Repartition's search still minimises the other one; its
    placement is taken where it is better all the same.
    """
    first = heavy_edge_counts(graph_arrays(instance.job), instance.free_gpus)
    second, _ = improved_counts(instance, tables_of(instance, options))
    found = [("heavy-edge", first), ("repartition", second)]
    if options.all_reduce_bandwidth == "own":  # never worse
        return found[1]
    return min(found, key=lambda pair: iteration_time(instance, pair[1], options))


def _starts(instance: PlacementInstance) -> list[Ints]:
    from optsched.placement.heuristics._repartition_kernel import lay_out

    free = np.array(instance.free_gpus, dtype=np.int64)
    order = np.argsort(-free, kind="stable")
    replicas = np.array([stage.replicas for stage in instance.job.stages], dtype=np.int64)
    first_to_last: Ints = lay_out(replicas, free, order)
    last_to_first: Ints = lay_out(replicas[::-1].copy(), free, order)[::-1].copy()
    return [heavy_edge_counts(graph_arrays(instance.job), free), first_to_last, last_to_first]
