"""Repartition: Heavy-Edge, then a local search that re-splits pairs of servers.

Guarantee: never worse than Heavy-Edge; at its end no re-split of the slowest server's and one
other server's replicas makes both of them faster (unless a pair has more than 200,000 splits to look at).
Complexity: a pair has at most C(2g, g) splits for g GPUs a server; most are cut off early, since
a stage's time is known as soon as its next stage is split. Beyond the paper.
"""

from __future__ import annotations

import time

import numpy as np

from optsched.placement.cost import CostTables, Ints, tables_of
from optsched.placement.heavy_edge import graph_arrays, heavy_edge_counts
from optsched.placement.instance import PlacementInstance
from optsched.placement.options import PlacementOptions
from optsched.placement.solution import PlacementSolution
from optsched.result import Outcome, Settings, Termination

MOST_ROUNDS = 100_000
MOST_SPLITS = 200_000


def repartition(
    instance: PlacementInstance, options: PlacementOptions, settings: Settings
) -> Outcome:
    """Place a job by Heavy-Edge and improve it; ``iterations`` caps the accepted re-splits.

    Raises
    ------
    NotApplicableError
        Under the "bottleneck" reading, where a re-split changes other servers' times.
    """
    options.require_own_bandwidth("repartition")
    tables = tables_of(instance, options)
    graph = graph_arrays(instance.job)
    began = time.perf_counter()
    start = heavy_edge_counts(graph, instance.free_gpus)
    counts, accepted = improve_counts(tables, start, settings.iterations)
    seconds = time.perf_counter() - began
    return Outcome(
        PlacementSolution.of(instance.name, counts.tolist()),
        Termination.FEASIBLE,
        solve_time=seconds,
        details={"resplits": accepted},
    )


def improve_counts(
    tables: CostTables, counts: Ints, rounds: int | None = None
) -> tuple[Ints, int]:
    """Improve a placement; returns new counts and the number of accepted re-splits."""
    from optsched.placement.repartition_kernel import improve

    better = np.ascontiguousarray(counts).copy()
    most = MOST_ROUNDS if rounds is None else rounds
    accepted = improve(tables.base, tables.before, tables.after, better, most, MOST_SPLITS)
    return better, int(accepted)
