"""The compiled search of repartition: re-split the replicas of two servers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from optsched.compiled_loops import njit, njit_inner
from optsched.placement._stage_time_kernel import server_time, stage_time


class Halves(NamedTuple):
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


@njit(cache=True)
def improve(costs: Any, counts: Any, free: Any, rounds: int, budget: int) -> Any:
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
            improved, looked = _resplit(costs, counts, pair, times[worst], most)
            spent += looked
            if improved:
                times[worst] = server_time(costs, counts, worst)
                times[other] = server_time(costs, counts, other)
                accepted += 1
                break
        if not improved:
            break
    return accepted, spent, times.max()


@njit(cache=True)
def lay_out(replicas: Any, gpus: Any, free: Any, order: Any, backwards: bool) -> Any:
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


@njit(cache=True)
def halves_of(counts: Any, gpus: Any, a: int, b: int) -> Any:
    """The `Halves` of two servers, unsplit, and the GPUs of stage i and those that follow."""
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
    return Halves(held[:active], total, joined, split), after_i


@njit_inner
def next_split(halves: Any, gpus: Any, used: Any, i: int, room: int) -> int:
    """Give the first server a replica more of stage i: the GPUs it then uses; -1 for no more."""
    split = halves.split[i] + 1
    taken = used[i] + split * gpus[halves.held[i]]
    more = split <= halves.total[i] and taken <= room
    halves.split[i] = split if more else -1
    return int(taken) if more else -1


@njit_inner
def half(halves: Any, i: int, side: int, followed: bool) -> Any:
    """Replicas of stage i on one of the servers, and of the stages before and after it there."""
    before = _replicas(halves, i - 1, side) if halves.joined[i] else 0
    after = _replicas(halves, i + 1, side) if followed and halves.joined[i + 1] else 0
    return _replicas(halves, i, side), before, after


@njit_inner
def _replicas(halves: Any, i: int, side: int) -> int:
    """Of stage i on one of the servers."""
    first = halves.split[i]
    return int(first if side == 0 else halves.total[i] - first)


@njit_inner
def take_split(halves: Any, counts: Any, a: int, b: int) -> None:
    """Write a split into the counts of its two servers."""
    for i in range(len(halves.held)):
        counts[halves.held[i], b] = halves.total[i] - halves.split[i]
        counts[halves.held[i], a] = halves.split[i]


@njit(cache=True)
def _resplit(costs: Any, counts: Any, pair: Any, limit: float, most_nodes: int) -> Any:
    """Find a split of the two servers' replicas with both times below `limit`, depth first.

    ``pair`` are the two servers and their GPUs. Returns whether there is a split (then `counts`
    holds it) and the splits looked at.
    """
    a, b, room, room_b = pair
    halves, after_i = halves_of(counts, costs.gpus, a, b)
    active = len(halves.held)
    least = after_i[0] - room_b  # of the first server's GPUs: the second holds no more
    used = np.zeros(active + 2, dtype=np.int64)
    below = limit * (1.0 - 1e-12)
    depth, nodes = 0, 0
    while depth >= 0:
        if depth == active:
            if _stage_ok(costs, halves, depth - 1, False, below):
                take_split(halves, counts, a, b)
                return True, nodes
            depth -= 1
            continue
        taken = next_split(halves, costs.gpus, used, depth, room)
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


@njit_inner
def _stage_ok(costs: Any, halves: Any, i: int, followed: bool, below: float) -> bool:
    """Whether stage i of the split stays below the limit on both servers."""
    for side in range(2):
        v, u, w = half(halves, i, side, followed)
        if v > 0 and not stage_time(costs, halves.held[i], v, u, w) < below:
            return False
    return True
