"""Repartition: a local search that re-splits pairs of servers, from three starts.

Starts: Heavy-Edge's placement, and the stages laid out in order, first to last and last to first,
over the servers in descending order of free GPUs; where none of them holds all replicas, any
placement that does. Of a job of micro-batches also what the search makes of these for the
asynchronous job: that one of two slowest servers gets faster does not show in the pipeline's time.

Guarantee: never worse than Heavy-Edge under the "own" reading, whose time the search minimises
under either; "infeasible" only where no placement exists. At the end no re-split of the slowest
server's and one other server's replicas makes both of them faster or, of a job of micro-batches,
shortens its iteration (unless a pair has more than 200,000 splits to look at, or the search from a
start 20 million, or `iterations` ends it). Complexity: a pair has at most C(2g, g) splits for g
GPUs per server; most are cut off early, since a stage's time is known as soon as its next stage is
split. Beyond the paper.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable

from optsched.deadline import clock
from optsched.kernels import kernel
from optsched.placement.cost import CostTables, Ints, placement_time, tables_of
from optsched.placement.exact.packing import packing
from optsched.placement.heuristics.heavy_edge import graph_arrays, heavy_edge_counts
from optsched.placement.instance import PlacementInstance
from optsched.placement.options import PlacementOptions
from optsched.placement.solution import PlacementSolution
from optsched.placement.stage_time import stage_time
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
    synchronous = tables.micro_batches is not None
    searched = [improve(free, tables, counts, settings, synchronous) for counts in starts]
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


def improve(
    free: Ints, tables: CostTables, counts: Ints, settings: Settings, pipeline: bool = False
) -> tuple[int, float]:
    """Re-split servers until nothing improves; edits the counts. Accepted re-splits, and alpha.

    `pipeline` takes the time of a job of micro-batches instead of the asynchronous job's.
    """
    costs = tables.pipeline_costs if pipeline else tables.asynchronous_costs
    rounds = MOST_ROUNDS if settings.iterations is None else settings.iterations
    run = _resplit.for_size(20.0 * counts.size)
    accepted, seconds = run(costs, counts, free, rounds, MOST_SPLITS)
    return int(accepted), float(seconds)


def _starts(instance: PlacementInstance, tables: CostTables, free: Ints) -> list[Ints]:
    """The three starts, without those that leave replicas over."""
    order = np.argsort(-free, kind="stable")
    lay_out = _lay_out.for_size(free.size + tables.replicas.sum())
    starts: list[Ints] = [
        heavy_edge_counts(graph_arrays(instance.job), free),
        lay_out(tables.replicas, tables.gpus, free, order, False),
        lay_out(tables.replicas, tables.gpus, free, order, True),
    ]
    if not instance.job.is_sliced:
        return starts  # each fills every server
    needed = instance.job.replicas
    return [counts for counts in starts if counts.sum() == needed]


# Kernels: re-splits of two servers. An asynchronous job is a pipeline of 0 micro-batches whose
# stages all-reduce as part of their work.


class _Halves(NamedTuple):
    """How two servers share their stages.

    `held` (n,) are the stages, `total` (n + 1,) their replicas on both servers, `joined` (n + 1,)
    whether the stage before is held too, `split` (n + 1,) the replicas on the first server, or -1.
    """

    held: Any
    total: Any
    joined: Any
    split: Any


@kernel
def _resplit(pipeline: Any, counts: Any, free: Any, rounds: int, budget: int) -> Any:
    """Re-split a slowest server with each other one until nothing improves; edits `counts`.

    Returns the number of accepted re-splits and alpha at the end. At most `budget` splits are
    tried, of which one pair gets at most a hundredth.
    """
    stages, servers = counts.shape
    works, reduces = np.zeros((stages, servers)), np.zeros((stages, servers))
    for m in range(servers):
        _measure(pipeline, counts, m, works, reduces)
    accepted, spent = 0, 0
    limit, improved = _time(pipeline, works, reduces), True
    while improved and limit > 0.0 and accepted < rounds and spent < budget:
        improved = False
        slow_works, slow_reduces = _three_slowest(works), _three_slowest(reduces)
        may_help = _slowest_servers(pipeline, works, reduces)
        for a in range(servers):
            for b in range(servers):
                if not may_help[a] or b == a or spent >= budget:
                    continue
                # What the other servers need; asynchronous ties are broken one by one instead.
                rest = np.zeros(stages), np.zeros(stages)
                if pipeline.micro_batches > 0:
                    rest = (
                        _largest_without(works, slow_works, a, b),
                        _largest_without(reduces, slow_reduces, a, b),
                    )
                pair, nodes = (a, b, free[a], free[b]), min(budget // 100, budget - spent)
                improved, tried = _split_pair(pipeline, counts, pair, rest, limit, nodes)
                spent += tried
                if improved:
                    _measure(pipeline, counts, a, works, reduces)
                    _measure(pipeline, counts, b, works, reduces)
                    limit = _time(pipeline, works, reduces)
                    accepted += 1
                    break
            if improved:
                break
    return accepted, limit


@kernel
def _lay_out(replicas: Any, gpus: Any, free: Any, order: Any, backwards: bool) -> Any:
    """Counts of stages laid out one after another over the servers in the order given.

    A server that has no room for the next replica is closed.
    """
    counts = np.zeros((len(replicas), len(free)), dtype=np.int64)
    stage, last, step = 0, len(replicas) - 1, 1
    if backwards:
        stage, last, step = last, stage, -1
    left = replicas[stage]
    for m in order:
        room = free[m]
        while room >= gpus[stage] and left > 0:
            taken = min(room // gpus[stage], left)
            counts[stage, m] += taken
            room -= taken * gpus[stage]
            left -= taken
            if left == 0 and stage != last:
                stage += step
                left = replicas[stage]
    return counts


@register_jitable
def _halves_of(counts: Any, gpus: Any, a: int, b: int) -> Any:
    """The halves of two servers, unsplit, and the GPUs of stage i and those that follow."""
    stages = counts.shape[0]
    held = np.empty(stages, dtype=np.int64)
    active = 0
    for s in range(stages):
        if counts[s, a] + counts[s, b] > 0:
            held[active] = s
            active += 1
    total = np.zeros(active + 1, dtype=np.int64)
    joined = np.zeros(active + 1, dtype=np.bool_)
    after_i = np.zeros(active + 1, dtype=np.int64)
    for i in range(active):
        s = held[i]
        total[i] = counts[s, a] + counts[s, b]
        joined[i] = i > 0 and held[i - 1] == s - 1
    for i in range(active - 1, -1, -1):
        after_i[i] = after_i[i + 1] + total[i] * gpus[held[i]]
    split = np.full(active + 1, -1, dtype=np.int64)
    return _Halves(held[:active], total, joined, split), after_i


@register_jitable
def _next_split(halves: Any, gpus: Any, used: Any, i: int, room: int) -> int:
    """Give the first server a replica more of stage i: the GPUs it then uses; -1 for no more."""
    split = halves.split[i] + 1
    taken = used[i] + split * gpus[halves.held[i]]
    more = split <= halves.total[i] and taken <= room
    halves.split[i] = split if more else -1
    return int(taken) if more else -1


@register_jitable
def _half(halves: Any, i: int, side: int, followed: bool) -> Any:
    """Replicas of stage i on one of the servers, and of the stages before and after it there."""
    before = _replicas(halves, i - 1, side) if halves.joined[i] else 0
    after = _replicas(halves, i + 1, side) if followed and halves.joined[i + 1] else 0
    return _replicas(halves, i, side), before, after


@register_jitable
def _replicas(halves: Any, i: int, side: int) -> int:
    """Of stage i on one of the servers."""
    first = halves.split[i]
    return int(first if side == 0 else halves.total[i] - first)


@register_jitable
def _take_split(halves: Any, counts: Any, a: int, b: int) -> None:
    """Write a split into the counts of its two servers."""
    for i in range(len(halves.held)):
        counts[halves.held[i], b] = halves.total[i] - halves.split[i]
        counts[halves.held[i], a] = halves.split[i]


@register_jitable
def _measure(pipeline: Any, counts: Any, m: int, works: Any, reduces: Any) -> None:
    """Seconds of each stage's work and all-reduce on server m."""
    stages = counts.shape[0]
    for s in range(stages):
        v = counts[s, m]
        works[s, m] = reduces[s, m] = 0.0
        if v > 0:
            u = counts[s - 1, m] if s > 0 else 0
            w = counts[s + 1, m] if s + 1 < stages else 0
            works[s, m] = stage_time(pipeline.work, s, v, u, w)
            reduces[s, m] = pipeline.all_reduce[s, v]


@register_jitable
def _time(pipeline: Any, works: Any, reduces: Any) -> float:
    """alpha of a placement, from the seconds of each stage on each server (S, M)."""
    total, most, exposed = 0.0, 0.0, 0.0
    for s in range(len(works)):
        slowest = works[s].max()
        total += slowest
        most = max(most, slowest)
        exposed = max(exposed, reduces[s].max() - pipeline.hidden[s])
    return _steady(pipeline, most, total) + exposed


@register_jitable
def _steady(pipeline: Any, most: float, total: float) -> float:
    """alpha without the all-reduce, from the largest and the sum of the stages' work."""
    parts = pipeline.micro_batches
    return ((parts - 1) * most + total) / parts if parts > 0 else most


@register_jitable
def _three_slowest(values: Any) -> Any:
    """Servers of the three largest values of each stage (S, 3); -1 where there are fewer."""
    servers = np.full((len(values), 3), -1)
    for s in range(len(values)):
        for i in range(3):
            for m in range(values.shape[1]):
                if m == servers[s, 0] or m == servers[s, 1]:
                    continue
                if servers[s, i] < 0 or values[s, m] > values[s, servers[s, i]]:
                    servers[s, i] = m
    return servers


@register_jitable
def _largest_without(values: Any, where: Any, a: int, b: int) -> Any:
    """By stage the largest value on a server other than two; 0 where there is none."""
    largest = np.zeros(len(values))
    for s in range(len(values)):
        for i in range(3):
            m = where[s, i]
            if m >= 0 and m != a and m != b:
                largest[s] = values[s, m]
                break
    return largest


@register_jitable
def _slowest_servers(pipeline: Any, works: Any, reduces: Any) -> Any:
    """Whether a server, by index, has the slowest part of a stage, or of all stages."""
    slowest = np.zeros(works.shape[1], dtype=np.bool_)
    if pipeline.micro_batches == 0:
        worst, longest = 0, 0.0
        for m in range(works.shape[1]):
            for s in range(len(works)):
                if works[s, m] > longest:
                    worst, longest = m, works[s, m]
        slowest[worst] = True
        return slowest
    for s in range(len(works)):
        work, reduce = works[s].max(), reduces[s].max()
        for m in range(works.shape[1]):
            slowest[m] |= works[s, m] == work > 0.0 or reduces[s, m] == reduce > 0.0
    return slowest


@register_jitable
def _split_pair(
    pipeline: Any, counts: Any, pair: Any, rest: Any, limit: float, most_nodes: int
) -> Any:
    """Find a split of the two servers' replicas with alpha below `limit`, depth first.

    ``pair`` are the two servers and their GPUs, ``rest`` each stage's slowest work and all-reduce
    on all others. Every stage split so far adds to what the others need at least. Returns whether
    there is a split (then `counts` holds it) and the splits looked at.
    """
    a, b, room, room_b = pair
    gpus = pipeline.work.gpus
    halves, after_i = _halves_of(counts, gpus, a, b)
    held, active = halves.held, len(halves.held)
    least = after_i[0] - room_b
    used = np.zeros(active + 2, dtype=np.int64)
    work, longest, exposed = np.zeros(active + 1), np.zeros(active + 1), np.zeros(active + 1)
    work[0], longest[0] = rest[0].sum(), rest[0].max()
    exposed[0] = (rest[1] - pipeline.hidden).max()
    below = limit * (1.0 - 1e-12)
    depth, nodes = 0, 0
    while depth >= 0:
        if depth < active:
            taken = _next_split(halves, gpus, used, depth, room)
            if taken < 0:
                depth -= 1
                continue
            nodes += 1
            if nodes > most_nodes:
                return False, nodes
            if taken + after_i[depth + 1] < least:
                continue
            used[depth + 1] = taken
        if depth > 0:
            s = held[depth - 1]
            here, reduce = _slower_half(pipeline, halves, depth - 1, depth < active)
            here = max(here, rest[0][s])
            work[depth] = work[depth - 1] + here - rest[0][s]
            longest[depth] = max(longest[depth - 1], here)
            exposed[depth] = max(exposed[depth - 1], reduce - pipeline.hidden[s])
            time = _steady(pipeline, longest[depth], work[depth]) + exposed[depth]
            if not time < below:
                if depth == active:
                    depth -= 1
                continue
        if depth == active:
            _take_split(halves, counts, a, b)
            return True, nodes
        depth += 1
    return False, nodes


@register_jitable
def _slower_half(pipeline: Any, halves: Any, i: int, followed: bool) -> Any:
    """Seconds that stage i of the split works and all-reduces, on the slower of both servers."""
    s = halves.held[i]
    work, reduce = 0.0, 0.0
    for side in range(2):
        v, u, w = _half(halves, i, side, followed)
        if v > 0:
            work = max(work, stage_time(pipeline.work, s, v, u, w))
            reduce = max(reduce, pipeline.all_reduce[s, v])
    return work, reduce
