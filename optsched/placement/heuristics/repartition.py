"""Repartition: a local search that re-splits pairs of servers, from three starts.

Starts: Heavy-Edge's placement, and the stages laid out in order, first to last and last to first,
over the servers in descending order of free GPUs; where none of them holds all replicas, any
placement that does. Of a job of micro-batches also what the search makes of these for the
asynchronous job: that one of two slowest servers gets faster does not show in the pipeline's time.

Guarantee: never worse than Heavy-Edge; "infeasible" only where no placement exists. At the end no
re-split of the slowest server's and one other server's replicas makes both of them faster or, of a
job of micro-batches, shortens its iteration (unless a pair has more than 200,000 splits to look
at). Complexity: a pair has at most C(2g, g) splits for g GPUs per server; most are cut off early,
since a stage's time is known as soon as its next stage is split. Beyond the paper.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from optsched.deadline import clock
from optsched.placement.cost import CostTables, Ints, placement_time, tables_of
from optsched.placement.exact.packing import packing
from optsched.placement.heuristics._heavy_edge_kernel import grow_servers
from optsched.placement.heuristics.heavy_edge import graph_arrays, heavy_edge_counts
from optsched.placement.instance import PlacementInstance
from optsched.placement.options import STANDARD, PlacementOptions
from optsched.placement.solution import PlacementSolution
from optsched.result import Outcome, Settings, Termination

MOST_ROUNDS = 100_000
MOST_SPLITS = 20_000_000
"""Splits looked at from each start, a second or so; a hundredth of it for one pair."""


class Start(NamedTuple):
    """The best placement known without a solver, and the method it is of.

    Counts are None where no placement exists ("infeasible"), or where the time ended before one
    was found.
    """

    method: str
    counts: Ints | None
    termination: Termination

    @property
    def nothing(self) -> Outcome:
        """What a method says that has no placement to start from."""
        said = "no placement found by the limit"
        if self.termination is Termination.INFEASIBLE:
            said = "the servers cannot hold all replicas"
        return Outcome(None, self.termination, details={"message": said})


def repartition(
    instance: PlacementInstance, options: PlacementOptions, settings: Settings
) -> Outcome:
    """Place a job by local search; ``iterations`` caps the re-splits accepted from each start."""
    options.require_own_bandwidth("repartition")
    began = clock()
    tables = tables_of(instance, options)
    start, accepted = improved_start(instance, tables, settings)
    seconds = clock() - began
    if start.counts is None:
        return start.nothing
    return Outcome(
        PlacementSolution.of(instance.name, start.counts.tolist()),
        Termination.FEASIBLE,
        solve_time=seconds,
        details={"resplits": accepted},
    )


def improved_start(
    instance: PlacementInstance, tables: CostTables, settings: Settings
) -> tuple[Start, int]:
    """The best placement over the starts, and the re-splits accepted in all."""
    free = np.array(instance.free_gpus, dtype=np.int64)
    starts = _starts(instance, tables, free)
    if not starts:
        found = packing(instance, settings)
        if found.counts is None:
            return Start("repartition", None, found.termination), 0
        starts = [found.counts]
    accepted = 0
    if tables.micro_batches is not None:
        asynchronous = [counts.copy() for counts in starts]
        accepted += sum(improve(free, tables, counts, settings)[0] for counts in asynchronous)
        starts += asynchronous
    improved = improve if tables.micro_batches is None else _improve_pipeline
    searched = [improved(free, tables, counts, settings) for counts in starts]
    seconds = [time for _, time in searched]
    counts = starts[seconds.index(min(seconds))]
    accepted += sum(resplits for resplits, _ in searched)
    return Start("repartition", counts, Termination.FEASIBLE), accepted


def starting_placement(
    instance: PlacementInstance,
    options: PlacementOptions,
    settings: Settings | None = None,
    tables: CostTables | None = None,
) -> Start:
    """The best placement without a solver, under the options given.

    Under the "bottleneck" reading Repartition's search still minimises the other one; its
    placement is taken where it is better all the same.
    """
    tables = tables_of(instance, options) if tables is None else tables
    settings = settings or Settings()
    if settings.iterations is not None:
        settings = replace(settings, iterations=None)
    second, _ = improved_start(instance, tables, settings)
    if options.all_reduce_bandwidth == "own":
        return second  # never worse
    first = heavy_edge_counts(graph_arrays(instance.job), instance.free_gpus)
    if first.sum() < instance.job.replicas:
        return second
    assert second.counts is not None
    greedy = placement_time(tables, first, options)
    if greedy <= placement_time(tables, second.counts, options):
        return Start("heavy-edge", first, Termination.FEASIBLE)
    return second


def improve(free: Ints, tables: CostTables, counts: Ints, settings: Settings) -> tuple[int, float]:
    """Re-split servers until nothing improves; edits the counts."""
    from optsched.placement.heuristics import _repartition_kernel as loops

    found = loops.improve(tables.costs, counts, free, _rounds(settings), MOST_SPLITS)
    return int(found[0]), float(found[2])


def _improve_pipeline(
    free: Ints, tables: CostTables, counts: Ints, settings: Settings
) -> tuple[int, float]:
    """The same of a job of micro-batches."""
    from optsched.placement.heuristics._pipeline_kernel import improve_pipeline

    rounds = _rounds(settings)
    found = improve_pipeline(tables.pipeline_costs, counts, free, rounds, MOST_SPLITS)
    return int(found[0]), placement_time(tables, counts, STANDARD)


def _rounds(settings: Settings) -> int:
    return MOST_ROUNDS if settings.iterations is None else settings.iterations


def _starts(instance: PlacementInstance, tables: CostTables, free: Ints) -> list[Ints]:
    """The three starts, without those that leave replicas over."""
    from optsched.placement.heuristics._repartition_kernel import lay_out

    order = np.argsort(-free, kind="stable")
    stages = tables.replicas, tables.gpus
    starts: list[Ints] = [
        grow_servers(graph_arrays(instance.job), free, order),
        lay_out(*stages, free, order, False),
        lay_out(*stages, free, order, True),
    ]
    if not instance.job.is_sliced:
        return starts  # each fills every server
    needed = instance.job.replicas
    return [counts for counts in starts if counts.sum() == needed]
