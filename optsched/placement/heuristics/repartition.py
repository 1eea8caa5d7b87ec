"""Repartition: local search that redistributes the replicas of two servers, from three starts.

Starts: the placements of Heavy-Edge and of First Fit, and First Fit's of the stages from last to
first; if none of them places all replicas, any placement that does. With micro-batches, each start
is also first improved under the asynchronous objective: the pipeline's time does not reward
speeding up one of two equally slow servers.

Guarantee: never worse than Heavy-Edge and First Fit with all_reduce_bandwidth="own", the objective
that the search always minimises; "infeasible" only if no placement exists. Local optimality: no
redistribution between the slowest server and another one makes both of them faster or, with
micro-batches, shortens the iteration. Limits: 200,000 splits per pair, 20 million per start, and
`iterations`. Complexity: a pair has at most C(2g, g) splits for g GPUs per server; most are pruned
early, since a stage's time is known as soon as its next stage is split. Not in the paper.
"""

from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable

from optsched.deadline import clock
from optsched.kernels import kernel
from optsched.placement.bounds.combinatorial import stage_time
from optsched.placement.cost import CostTables, Ints, placement_time, tables_of
from optsched.placement.heuristics.first_fit import fill_in_order, first_fit_counts
from optsched.placement.heuristics.heavy_edge import graph_arrays, heavy_edge_counts
from optsched.placement.instance import PlacementInstance, symmetric_server_pairs
from optsched.placement.options import PlacementOptions
from optsched.placement.solution import PlacementSolution
from optsched.result import Outcome, Settings, Termination

MAX_ROUNDS = 100_000
MAX_SPLITS = 20_000_000
"""Maximum splits tried from each start, about a second; a pair gets at most a hundredth of it."""


class StartingPlacement(NamedTuple):
    """Best heuristic placement (counts are None without one) and the method that produced it."""

    method: str
    counts: Ints | None
    termination: Termination


def no_placement(termination: Termination, solver: str | None = None) -> Outcome:
    message = "no placement found by the time limit"
    if termination is Termination.INFEASIBLE:
        message = "the servers cannot hold all replicas"
    return Outcome(None, termination, solver=solver, details={"message": message})


def repartition(
    instance: PlacementInstance, options: PlacementOptions, settings: Settings
) -> Outcome:
    """Place a job by local search; ``iterations`` caps the re-splits accepted from each start."""
    began = clock()
    tables = tables_of(instance, options)
    start, accepted = improved_start(instance, tables, settings)
    seconds = clock() - began
    if start.counts is None:
        return no_placement(start.termination)
    return Outcome(
        PlacementSolution.of(instance.name, start.counts.tolist()),
        Termination.FEASIBLE,
        solve_time=seconds,
        details={"resplits": accepted},
    )


def improved_start(
    instance: PlacementInstance, tables: CostTables, settings: Settings
) -> tuple[StartingPlacement, int]:
    """The best placement over the starts, and the moves accepted in all."""
    free = np.array(instance.free_gpus, dtype=np.int64)
    starts = _starts(instance, tables, free)
    if not starts:
        packed, termination = packing(instance, settings)
        if packed is None:
            return StartingPlacement("repartition", None, termination), 0
        starts = [packed]
    accepted, is_synchronous = 0, tables.micro_batches is not None
    if is_synchronous:
        asynchronous = [counts.copy() for counts in starts]
        accepted += sum(improve(free, tables, counts, settings)[0] for counts in asynchronous)
        starts += asynchronous
    searched = [improve(free, tables, counts, settings, is_synchronous) for counts in starts]
    seconds = [time for _, time in searched]
    counts = starts[seconds.index(min(seconds))]
    accepted += sum(moves for moves, _ in searched)
    return StartingPlacement("repartition", counts, Termination.FEASIBLE), accepted


def starting_placement(
    instance: PlacementInstance,
    options: PlacementOptions,
    settings: Settings | None = None,
) -> StartingPlacement:
    """The best placement without a solver, under the given options.

    With all_reduce_bandwidth="bottleneck" Repartition still minimises the other objective; its
    placement is used if it is better than Heavy-Edge's all the same.
    """
    tables = tables_of(instance, options)
    settings = replace(settings or Settings(), iterations=None)
    improved, _ = improved_start(instance, tables, settings)
    if settings.start is not None:
        given = np.array(settings.start.counts, dtype=np.int64)
        known = [counts for counts in (improved.counts, given) if counts is not None]
        best = min(known, key=lambda counts: placement_time(tables, counts, options))
        method = improved.method if best is improved.counts else "start"
        improved = StartingPlacement(method, best, Termination.FEASIBLE)
    if options.all_reduce_bandwidth == "own" or improved.counts is None:
        return improved  # the search starts from Heavy-Edge under this objective
    greedy = heavy_edge_counts(graph_arrays(instance.job), instance.free_gpus)
    if greedy.sum() < instance.job.replicas:
        return improved
    greedy_time = placement_time(tables, greedy, options)
    if greedy_time <= placement_time(tables, improved.counts, options):
        return StartingPlacement("heavy-edge", greedy, Termination.FEASIBLE)
    return improved


def improve(
    free: Ints, tables: CostTables, counts: Ints, settings: Settings, pipeline: bool = False
) -> tuple[int, float]:
    """Improve `counts` in place (of a synchronous job by `pipeline`); return moves and time."""
    costs = tables.pipeline_costs if pipeline else tables.asynchronous_costs
    rounds = MAX_ROUNDS if settings.iterations is None else settings.iterations
    run = _redistribute.for_size(20.0 * counts.size)  # roughly its innermost steps
    accepted, seconds = run(costs, counts, free, rounds, MAX_SPLITS)
    return int(accepted), float(seconds)


def _starts(instance: PlacementInstance, tables: CostTables, free: Ints) -> list[Ints]:
    """The three starts, without those that leave replicas over."""
    starts = [
        heavy_edge_counts(graph_arrays(instance.job), free),
        first_fit_counts(tables.replicas, tables.gpus, free),
        first_fit_counts(tables.replicas[::-1], tables.gpus[::-1], free)[::-1].copy(),
    ]
    return [counts for counts in starts if counts.sum() == instance.job.replicas]


def packing(instance: PlacementInstance, settings: Settings) -> tuple[Ints | None, Termination]:
    """Any feasible placement of the job, stages x servers, None if there is none; and the status.

    Replicas of one GPU always fit. Otherwise first-fit decreasing is exact if each size divides the
    next larger one (2, 4, 8); other sizes may need an integer programme. Exact, unless the deadline
    passes first.
    """
    stages, free_gpus = instance.job.stages, instance.free_gpus
    replicas = np.array([stage.replicas for stage in stages], dtype=np.int64)
    sizes, size_of_stage = np.unique(
        np.array([stage.tensor_parallel for stage in stages], dtype=np.int64), return_inverse=True
    )
    demand = np.bincount(size_of_stage, weights=replicas).astype(np.int64)
    slots, termination = _first_fit_decreasing(sizes, demand, free_gpus), Termination.FEASIBLE
    if slots is None:
        divisible = all(larger % smaller == 0 for smaller, larger in pairwise(sizes.tolist()))
        if divisible or instance.job.gpus > sum(free_gpus):
            return None, Termination.INFEASIBLE
        slots, termination = _by_integer_programme(sizes, demand, free_gpus, settings)
        if slots is None:
            return None, termination
    counts = np.zeros(instance.shape, dtype=np.int64)
    for s, size in enumerate(size_of_stage.tolist()):  # the stages of a size share its slots
        counts[s] = fill_in_order(slots[size], int(replicas[s]))
        slots[size] -= counts[s]
    return counts, termination


def _first_fit_decreasing(sizes: Ints, demand: Ints, free_gpus: tuple[int, ...]) -> Ints | None:
    room = np.array(free_gpus, dtype=np.int64)
    counts = np.zeros((len(sizes), len(room)), dtype=np.int64)
    for size in np.argsort(-sizes, kind="stable").tolist():
        counts[size] = fill_in_order(room // sizes[size], int(demand[size]))
        if counts[size].sum() < demand[size]:
            return None
        room -= counts[size] * sizes[size]
    return counts


def _by_integer_programme(
    sizes: Ints, demand: Ints, free_gpus: tuple[int, ...], settings: Settings
) -> tuple[Ints | None, Termination]:
    """Solve the packing MILP in x[size, server]; symmetry rows order servers of equal GPUs."""
    from scipy.sparse import csr_array, eye_array, kron, vstack

    from optsched.backends.arrays import MilpArrays, solve_arrays

    free = np.array(free_gpus, dtype=np.int64)
    kinds, servers = len(sizes), len(free)
    pairs = np.array(symmetric_server_pairs(free_gpus), dtype=np.int64).reshape(-1, 2)
    ordered = (np.repeat(np.arange(len(pairs)), 2), (kinds - 1) * servers + pairs.ravel())
    signs = np.tile([-1.0, 1.0], len(pairs))
    matrix = vstack(
        [
            kron(eye_array(kinds), np.ones((1, servers))),  # replicas of each size
            kron(sizes[None, :].astype(float), eye_array(servers)),  # GPUs of each server
            csr_array((signs, ordered), shape=(len(pairs), kinds * servers)),
        ]
    )
    lower = np.concatenate((demand, np.full(servers + len(pairs), -np.inf)))
    upper = np.concatenate((demand, free, np.zeros(len(pairs)))).astype(float)
    capacity = np.minimum(free // sizes[:, None], demand[:, None]).ravel().astype(float)
    zeros = np.zeros(kinds * servers)
    problem = MilpArrays(zeros, csr_array(matrix), lower, upper, zeros, capacity, zeros == 0)
    answer = solve_arrays(problem, replace(settings, solver="highs"))
    if answer.values is None:
        return None, answer.termination
    counts = np.rint(answer.values).astype(np.int64).reshape(kinds, servers)
    return counts, Termination.FEASIBLE


# Kernels: redistribution between two servers. For an asynchronous job, micro_batches is 0 and the
# all-reduce is part of the work.


class _PairSplit(NamedTuple):
    """Split of the replicas of two servers.

    `stages` (n,) are those that either of them holds, `total` (n + 1,) their replicas on both,
    `follows_previous` (n + 1,) whether the stage before is held too, and `on_first` (n + 1,) the
    replicas on the first server, or -1 if the stage is not split yet.
    """

    stages: Any
    total: Any
    follows_previous: Any
    on_first: Any


@kernel
def _redistribute(pipeline: Any, counts: Any, free: Any, rounds: int, budget: int) -> Any:
    """Redistribute a slowest server with each other one until nothing improves; edits `counts`.

    Returns the number of accepted moves and alpha at the end. At most `budget` splits are tried,
    of which one pair gets at most a hundredth.
    """
    stages, servers = counts.shape
    works, reduces = np.zeros((stages, servers)), np.zeros((stages, servers))
    for m in range(servers):
        _measure(pipeline, counts, m, works, reduces)
    accepted, spent = 0, 0
    limit, improved = _time(pipeline, works, reduces), True
    while improved and limit > 0.0 and accepted < rounds and spent < budget:
        improved = False
        is_slowest = _slowest_servers(pipeline, works, reduces)
        for a in range(servers):
            for b in range(servers):
                if not is_slowest[a] or b == a or spent >= budget:
                    continue
                # Work and all-reduce of the other servers; only needed with micro-batches.
                rest = np.zeros(stages), np.zeros(stages)
                if pipeline.micro_batches > 0:
                    rest = _largest_without(works, a, b), _largest_without(reduces, a, b)
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


@register_jitable
def _pair_split(counts: Any, gpus: Any, a: int, b: int) -> Any:
    """The split of two servers, nothing split yet, and the GPUs of stage i and those after it."""
    held = counts[:, a] + counts[:, b]
    stages = np.flatnonzero(held)
    active = len(stages)
    total = np.zeros(active + 1, dtype=np.int64)
    follows_previous = np.zeros(active + 1, dtype=np.bool_)
    gpus_from = np.zeros(active + 1, dtype=np.int64)
    for i in range(active - 1, -1, -1):
        s = stages[i]
        total[i] = held[s]
        follows_previous[i] = i > 0 and stages[i - 1] == s - 1
        gpus_from[i] = gpus_from[i + 1] + total[i] * gpus[s]
    on_first = np.full(active + 1, -1, dtype=np.int64)
    return _PairSplit(stages, total, follows_previous, on_first), gpus_from


@register_jitable
def _next_split(pair: Any, gpus: Any, used: Any, i: int, room: int) -> int:
    """Move one more replica of stage i to the first server; return its GPUs in use, -1 if full."""
    on_first = pair.on_first[i] + 1
    taken = used[i] + on_first * gpus[pair.stages[i]]
    fits = on_first <= pair.total[i] and taken <= room
    pair.on_first[i] = on_first if fits else -1
    return int(taken) if fits else -1


@register_jitable
def _replicas(pair: Any, i: int, side: int) -> int:
    """Replicas of stage i on the given side."""
    first = pair.on_first[i]
    return int(first if side == 0 else pair.total[i] - first)


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
    total, slowest, exposed = 0.0, 0.0, 0.0
    for s in range(len(works)):
        work = works[s].max()
        total += work
        slowest = max(slowest, work)
        exposed = max(exposed, reduces[s].max() - pipeline.hidden[s])
    return _time_without_all_reduce(pipeline, slowest, total) + exposed


@register_jitable
def _time_without_all_reduce(pipeline: Any, slowest: float, total: float) -> float:
    """alpha without the all-reduce, from the largest and the sum of the stages' work."""
    micro_batches = pipeline.micro_batches
    return ((micro_batches - 1) * slowest + total) / micro_batches if micro_batches > 0 else slowest


@register_jitable
def _largest_without(values: Any, a: int, b: int) -> Any:
    """By stage the largest value on a server other than two; 0 where there is none."""
    largest = np.zeros(len(values))
    for s in range(len(values)):
        for m in range(values.shape[1]):
            if m != a and m != b:
                largest[s] = max(largest[s], values[s, m])
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
    pipeline: Any, counts: Any, servers: Any, rest: Any, limit: float, max_tried: int
) -> Any:
    """Find a split of the two servers' replicas with alpha below `limit`, depth first.

    ``servers`` are the two servers and their GPUs, ``rest`` each stage's slowest work and
    all-reduce on all others. Partial splits give a lower bound used for pruning. Returns whether
    there is a split (then `counts` holds it) and the number of splits tried.
    """
    a, b, room, room_b = servers
    gpus = pipeline.work.gpus
    pair, gpus_from = _pair_split(counts, gpus, a, b)
    active = len(pair.stages)
    min_gpus_on_first = gpus_from[0] - room_b
    used = np.zeros(active + 2, dtype=np.int64)
    work, slowest, exposed = np.zeros(active + 1), np.zeros(active + 1), np.zeros(active + 1)
    work[0], slowest[0] = rest[0].sum(), rest[0].max()
    exposed[0] = (rest[1] - pipeline.hidden).max()
    target = limit * (1.0 - 1e-12)  # only strict improvements, beyond rounding
    depth, tried = 0, 0
    while depth >= 0:
        # Give the first server one more replica of the stage at this depth.
        if depth < active:
            taken = _next_split(pair, gpus, used, depth, room)
            if taken < 0:
                depth -= 1
                continue
            tried += 1
            if tried > max_tried:
                return False, tried
            if taken + gpus_from[depth + 1] < min_gpus_on_first:
                continue
            used[depth + 1] = taken
        # The time of the stage before is known now; prune if alpha cannot get below the target.
        if depth > 0:
            s = pair.stages[depth - 1]
            stage_work, reduce = _slower_side(pipeline, pair, depth - 1, depth < active)
            stage_work = max(stage_work, rest[0][s])
            work[depth] = work[depth - 1] + stage_work - rest[0][s]
            slowest[depth] = max(slowest[depth - 1], stage_work)
            exposed[depth] = max(exposed[depth - 1], reduce - pipeline.hidden[s])
            time = _time_without_all_reduce(pipeline, slowest[depth], work[depth]) + exposed[depth]
            if not time < target:
                if depth == active:
                    depth -= 1
                continue
        if depth == active:
            for i in range(active):
                counts[pair.stages[i], a] = pair.on_first[i]
                counts[pair.stages[i], b] = pair.total[i] - pair.on_first[i]
            return True, tried
        depth += 1
    return False, tried


@register_jitable
def _slower_side(pipeline: Any, pair: Any, i: int, next_is_split: bool) -> Any:
    """Seconds that stage i of the split works and all-reduces, on the slower of both servers."""
    s = pair.stages[i]
    work, reduce = 0.0, 0.0
    for side in range(2):
        v, u, w = _replicas(pair, i, side), 0, 0
        if pair.follows_previous[i]:
            u = _replicas(pair, i - 1, side)
        if next_is_split and pair.follows_previous[i + 1]:
            w = _replicas(pair, i + 1, side)
        if v > 0:
            work = max(work, stage_time(pipeline.work, s, v, u, w))
            reduce = max(reduce, pipeline.all_reduce[s, v])
    return work, reduce
