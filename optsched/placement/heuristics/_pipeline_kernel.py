"""The compiled search of repartition for jobs of micro-batches, whose time is a sum over stages."""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.compiled_loops import njit
from optsched.placement._stage_time_kernel import stage_time
from optsched.placement.heuristics._repartition_kernel import (
    half,
    halves_of,
    next_split,
    take_split,
)


@njit(cache=True)
def improve_pipeline(pipeline: Any, counts: Any, free: Any, rounds: int, budget: int) -> Any:
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
                improved, looked = _resplit(pipeline, counts, pair, rest, limit, most)
                spent += looked + stages
                if improved:
                    _measure(pipeline, counts, a, works, reduces)
                    _measure(pipeline, counts, b, works, reduces)
                    accepted += 1
                    break
        if not improved:
            break
    return accepted, spent


@njit(cache=True)
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


@njit(cache=True)
def _time(pipeline: Any, works: Any, reduces: Any) -> float:
    """alpha of each stage's slowest work and all-reduce, as `CostTables.pipeline_time`."""
    exposed = (reduces - pipeline.hidden).max()
    return _steady(pipeline, works.max(), _total(works)) + exposed


@njit(cache=True)
def _total(values: Any) -> float:
    """The sum in order, whoever runs this: numpy's own adds pairs up."""
    total = 0.0
    for value in values:
        total += value
    return total


@njit(cache=True)
def _steady(pipeline: Any, most: float, total: float) -> float:
    return ((pipeline.micro_batches - 1) * most + total) / pipeline.micro_batches


@njit(cache=True)
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


@njit(cache=True)
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


@njit(cache=True)
def _is_slowest(works: Any, reduces: Any, slow_works: Any, slow_reduces: Any, m: int) -> bool:
    """Whether some stage works or all-reduces nowhere longer than on server m."""
    for s in range(len(works)):
        work, reduce = works[s, slow_works[s, 0]], reduces[s, slow_reduces[s, 0]]
        if work > 0.0 and works[s, m] == work:
            return True
        if reduce > 0.0 and reduces[s, m] == reduce:
            return True
    return False


@njit(cache=True)
def _resplit(
    pipeline: Any, counts: Any, pair: Any, rest: Any, limit: float, most_nodes: int
) -> Any:
    """Find a split of the two servers' replicas with alpha below `limit`, depth first.

    ``pair`` are the two servers and their GPUs, ``rest`` each stage's slowest work and all-reduce
    on all others. Every stage split so far adds to what the others need at least. Returns whether
    there is a split (then `counts` holds it) and the splits looked at.
    """
    a, b, room, room_b = pair
    gpus = pipeline.work.gpus
    halves, after_i = halves_of(counts, gpus, a, b)
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
            taken = next_split(halves, gpus, used, depth, room)
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
            take_split(halves, counts, a, b)
            return True, nodes
        depth += 1
    return False, nodes


@njit(cache=True)
def _slower_half(pipeline: Any, halves: Any, i: int, followed: bool) -> Any:
    """Seconds that stage i of the split works and all-reduces, on the slower of both servers."""
    s = halves.held[i]
    work, reduce = 0.0, 0.0
    for side in range(2):
        v, u, w = half(halves, i, side, followed)
        if v > 0:
            work = max(work, stage_time(pipeline.work, s, v, u, w))
            reduce = max(reduce, pipeline.all_reduce[s, v])
    return work, reduce
