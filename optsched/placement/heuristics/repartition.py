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
from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable

from optsched.deadline import clock
from optsched.kernels import kernel
from optsched.placement.cost import CostTables, Ints, placement_time, tables_of
from optsched.placement.exact.packing import packing
from optsched.placement.heuristics.heavy_edge import graph_arrays, heavy_edge_counts
from optsched.placement.instance import PlacementInstance
from optsched.placement.options import STANDARD, PlacementOptions
from optsched.placement.solution import PlacementSolution
from optsched.placement.stage_time import server_time, stage_time
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
    """Re-split servers until nothing improves; edits the counts. Accepted re-splits, and alpha."""
    run = _resplit_servers.for_size(50.0 * counts.size)
    found = run(tables.costs, counts, free, _rounds(settings), MOST_SPLITS)
    return int(found[0]), float(found[2])


def _improve_pipeline(
    free: Ints, tables: CostTables, counts: Ints, settings: Settings
) -> tuple[int, float]:
    """The same for a job of micro-batches."""
    run = _resplit_pipeline.for_size(50.0 * counts.size)
    found = run(tables.pipeline_costs, counts, free, _rounds(settings), MOST_SPLITS)
    return int(found[0]), placement_time(tables, counts, STANDARD)


def _rounds(settings: Settings) -> int:
    return MOST_ROUNDS if settings.iterations is None else settings.iterations


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


# Kernels: re-splits of two servers, of asynchronous jobs and of micro-batches.


class _Halves(NamedTuple):
    """How two servers share the stages that they hold, the first so far as `split` says.

    Attributes
    ----------
    held : array (n,)
        The stages.
    total, joined : array (n + 1,)
        Replicas on both, and whether the stage before is held as well.
    split : array (n + 1,)
        Replicas on the first server, -1 before any is tried.
    """

    held: Any
    total: Any
    joined: Any
    split: Any


@kernel
def _resplit_servers(costs: Any, counts: Any, free: Any, rounds: int, budget: int) -> Any:
    """Re-split the worst server with each other one until nothing improves; edits `counts`.

    Returns the number of accepted re-splits, the splits looked at (never more than `budget`, of
    which one pair gets at most a hundredth), and the slowest server's time at the end.
    """
    servers = counts.shape[1]
    times = np.empty(servers)
    for m in range(servers):
        times[m] = server_time(costs, counts, m)
    accepted, spent = 0, 0
    while accepted < rounds and spent < budget:
        worst = int(np.argmax(times))
        if times[worst] <= 0.0:  # nothing is faster, and the server may hold nothing to re-split
            break
        improved = False
        for other in range(servers):
            if other == worst or spent >= budget:
                continue
            most = min(budget // 100, budget - spent)
            pair = (worst, other, free[worst], free[other])
            improved, looked = _split_pair(costs, counts, pair, times[worst], most)
            spent += looked
            if improved:
                times[worst] = server_time(costs, counts, worst)
                times[other] = server_time(costs, counts, other)
                accepted += 1
                break
        if not improved:
            break
    return accepted, spent, times.max()


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
def _split_pair(costs: Any, counts: Any, pair: Any, limit: float, most_nodes: int) -> Any:
    """Find a split of the two servers' replicas with both times below `limit`, depth first.

    ``pair`` are the two servers and their GPUs. Returns whether there is a split (then `counts`
    holds it) and the splits looked at.
    """
    a, b, room, room_b = pair
    halves, after_i = _halves_of(counts, costs.gpus, a, b)
    active = len(halves.held)
    least = after_i[0] - room_b  # of the first server's GPUs: the second holds no more
    used = np.zeros(active + 2, dtype=np.int64)
    below = limit * (1.0 - 1e-12)
    depth, nodes = 0, 0
    while depth >= 0:
        if depth == active:
            if _stage_ok(costs, halves, depth - 1, False, below):
                _take_split(halves, counts, a, b)
                return True, nodes
            depth -= 1
            continue
        taken = _next_split(halves, costs.gpus, used, depth, room)
        if taken < 0:
            depth -= 1
            continue
        nodes += 1
        if nodes > most_nodes:
            return False, nodes
        if taken + after_i[depth + 1] < least:
            continue
        if depth > 0 and not _stage_ok(costs, halves, depth - 1, True, below):
            continue
        used[depth + 1] = taken
        depth += 1
    return False, nodes


@register_jitable
def _stage_ok(costs: Any, halves: Any, i: int, followed: bool, below: float) -> bool:
    """Whether stage i of the split stays below the limit on both servers."""
    for side in range(2):
        v, u, w = _half(halves, i, side, followed)
        if v > 0 and not stage_time(costs, halves.held[i], v, u, w) < below:
            return False
    return True


@kernel
def _resplit_pipeline(pipeline: Any, counts: Any, free: Any, rounds: int, budget: int) -> Any:
    """Re-split pairs of servers until nothing improves; edits `counts`.

    Only a server on which some stage is slowest can be of use; it is re-split with each other one.
    Returns the number of accepted re-splits and the times of
    stages worked out, about: not many more than `budget`, of which one pair gets at most a
    hundredth.
    """
    stages, servers = counts.shape
    works, reduces = np.zeros((stages, servers)), np.zeros((stages, servers))
    for m in range(servers):
        _measure(pipeline, counts, m, works, reduces)
    accepted, spent = 0, 0
    while accepted < rounds and spent < budget:
        improved = False
        spent += stages * servers
        slow_works, slow_reduces = _three_largest(works), _three_largest(reduces)
        elsewhere = _largest_without(works, slow_works, -1, -1)
        limit = _time(pipeline, elsewhere, _largest_without(reduces, slow_reduces, -1, -1))
        for a in range(servers):
            if improved or not _is_slowest(works, reduces, slow_works, slow_reduces, a):
                continue
            for b in range(servers):
                if b == a or spent >= budget:
                    continue
                rest = (
                    _largest_without(works, slow_works, a, b),
                    _largest_without(reduces, slow_reduces, a, b),
                )
                most = min(budget // 100, budget - spent)
                pair = (a, b, free[a], free[b])
                improved, looked = _split_pair_of_pipeline(
                    pipeline, counts, pair, rest, limit, most
                )
                spent += looked + stages
                if improved:
                    _measure(pipeline, counts, a, works, reduces)
                    _measure(pipeline, counts, b, works, reduces)
                    accepted += 1
                    break
        if not improved:
            break
    return accepted, spent


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
    """alpha of each stage's slowest work and all-reduce, as `CostTables.pipeline_time`."""
    exposed = (reduces - pipeline.hidden).max()
    return _steady(pipeline, works.max(), _total(works)) + exposed


@register_jitable
def _total(values: Any) -> float:
    """The sum in order, whoever runs this: numpy's own adds pairs up."""
    total = 0.0
    for value in values:
        total += value
    return total


@register_jitable
def _steady(pipeline: Any, most: float, total: float) -> float:
    return ((pipeline.micro_batches - 1) * most + total) / pipeline.micro_batches


@register_jitable
def _three_largest(values: Any) -> Any:
    """By stage the servers of the three largest values, in order; -1 for no more servers."""
    stages, servers = values.shape
    where = np.full((stages, 3), -1)
    for s in range(stages):
        for m in range(servers):
            i = 3
            while i > 0 and (where[s, i - 1] < 0 or values[s, m] > values[s, where[s, i - 1]]):
                i -= 1
            if i < 3:
                for j in range(2, i, -1):
                    where[s, j] = where[s, j - 1]
                where[s, i] = m
    return where


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
def _is_slowest(works: Any, reduces: Any, slow_works: Any, slow_reduces: Any, m: int) -> bool:
    """Whether some stage works or all-reduces nowhere longer than on server m."""
    for s in range(len(works)):
        work, reduce = works[s, slow_works[s, 0]], reduces[s, slow_reduces[s, 0]]
        if work > 0.0 and works[s, m] == work:
            return True
        if reduce > 0.0 and reduces[s, m] == reduce:
            return True
    return False


@register_jitable
def _split_pair_of_pipeline(
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
    work[0], longest[0] = _total(rest[0]), rest[0].max()
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
