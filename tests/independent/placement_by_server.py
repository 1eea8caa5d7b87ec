"""Placement server by server, for jobs whose tables of counts are too many to list.

Under the "own" reading a server's time depends on its own replicas alone: a pattern x, one count a
stage. What all servers need together is the least, over ways to hand out the replicas, of the
slowest pattern; after each server only the replicas left and the slowest pattern so far matter.
Under "bottleneck" the fewest replicas of a stage on any server set its pace: no more than here,
and, if some are elsewhere, no more than those. A pattern's time is the least that it can take.

A replica of stage s sends and takes 2 d / k[n] bytes with each of the k[n] replicas of a neighbour
n, at 1 / B_intra seconds a byte with the x[n] beside it, at g / (q B_inter) with the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog


class Size(NamedTuple):
    """Servers of one size: how many, the patterns (x stages) that fit one, and their seconds."""

    servers: int
    patterns: np.ndarray
    seconds: np.ndarray


def sizes(instance: dict, options: Mapping[str, Any]) -> list[Size]:
    """The servers by size; their patterns keep GPUs free only where the offer has some to spare."""
    replicas, takes = replicas_of(instance), takes_of(instance)
    needed = sum(k * q for k, q in zip(replicas, takes, strict=True))
    full = needed == sum(instance["free_gpus"])
    found = []
    for gpus, servers in sorted(Counter(instance["free_gpus"]).items()):
        patterns = _patterns(replicas, takes, gpus, full)
        found.append(Size(servers, patterns, seconds(instance, patterns, options)))
    return found


def seconds(instance: dict, x: np.ndarray, options: Mapping[str, Any]) -> np.ndarray:
    """What the slowest replica of each pattern (patterns x stages) takes; 0 where there is none."""
    slowest = np.zeros(len(x))
    for s in range(len(instance["job"]["stages"])):
        here = stage_seconds(instance, s, x, options)
        slowest = np.where(x[:, s] > 0, np.maximum(slowest, here), slowest)
    return slowest


def stage_seconds(instance: dict, s: int, x: np.ndarray, options: Mapping[str, Any]) -> np.ndarray:
    """What a replica of stage ``s`` takes in each pattern, where there is one."""
    cluster, stages = instance["cluster"], instance["job"]["stages"]
    stage = stages[s]
    k, q = stage["replicas"], stage.get("tensor_parallel", 1)
    near = 1.0 / cluster["intra_bandwidth"]
    far = cluster["gpus_per_server"] / (q * cluster["inter_bandwidth"])
    time = stage["forward_time"] + 2 * (1 - 1 / q) * stage.get("tensor_bytes", 0.0) * near
    here = np.full(len(x), time + options.get("backward_overlap", 1.0) * stage["backward_time"])
    for n, size in ((s - 1, stage["input_bytes"]), (s + 1, stage["output_bytes"])):
        if 0 <= n < len(stages):
            each = 2 * size / stages[n]["replicas"]
            here += each * (x[:, n] * near + (stages[n]["replicas"] - x[:, n]) * far)
    if k > 1:
        routed = stage.get("expert_bytes", 0.0) / k
        here += routed * ((x[:, s] - 1) * near + (k - x[:, s]) * far)
        ring = 2 * stage["parameter_bytes"] * (1 - 1 / k)
        here_or_fewer = x[:, s]
        if options.get("all_reduce_bandwidth") == "bottleneck":  # another server has the rest
            here_or_fewer = np.minimum(x[:, s], k - x[:, s])
        reduce = np.where(x[:, s] == k, ring * near / q, ring * far / np.maximum(here_or_fewer, 1))
        here += options.get("all_reduce_overlap", 1.0) * reduce
    return here


def optimum(instance: dict, options: Mapping[str, Any]) -> float | None:
    """The least time of an iteration under "own"; None if the servers cannot hold the replicas."""
    replicas = replicas_of(instance)
    least = np.full([k + 1 for k in replicas], np.inf)  # by replicas not yet placed
    least[replicas] = 0.0
    for size in sizes(instance, options):
        for _ in range(size.servers):
            after = np.full_like(least, np.inf)
            for x, time in zip(size.patterns.tolist(), size.seconds, strict=True):
                before = least[tuple(slice(count, None) for count in x)]
                left = after[
                    tuple(slice(n - count) for n, count in zip(least.shape, x, strict=True))
                ]
                np.minimum(left, np.maximum(before, time), out=left)
            least = after
    best = float(least.flat[0])
    return best if best < np.inf else None


def alpha(instance: dict, counts: Sequence[Sequence[int]], options: Mapping[str, Any]) -> float:
    """The time of an iteration under "own" of one table of counts (stages x servers)."""
    return float(seconds(instance, np.array(counts).T, options).max())


def parts_reach(instance: dict, theta: float, options: Mapping[str, Any]) -> bool:
    """Whether parts of patterns within theta can be handed to servers so that all replicas stand.

    If so, and theta is below the optimum, no linear programme over patterns proves that it is.
    """
    every = sizes(instance, options)
    chosen = np.eye(len(every))
    rows = np.hstack(
        [
            np.vstack([np.repeat(chosen[:, [at]], len(within), axis=1), within.T])
            for at, size in enumerate(every)
            for within in [size.patterns[size.seconds <= theta]]
        ]
    )
    wanted = [*(size.servers for size in every), *replicas_of(instance)]
    if not rows.shape[1]:
        return False
    return bool(linprog(np.zeros(rows.shape[1]), A_eq=rows, b_eq=wanted).status == 0)


def margin(
    instance: dict, theta: float, prices: Sequence[int], options: Mapping[str, Any]
) -> float:
    """By how much the replicas are worth more than the servers hold within theta, in prices.

    Above 0, no placement takes theta or less.
    """
    held = 0
    for size in sizes(instance, options):
        within = size.patterns[size.seconds <= theta]
        if not len(within):
            return np.inf
        held += size.servers * max(
            sum(p * x for p, x in zip(prices, row, strict=True)) for row in within.tolist()
        )
    return sum(p * k for p, k in zip(prices, replicas_of(instance), strict=True)) - held


def times(instance: dict, options: Mapping[str, Any]) -> np.ndarray:
    """Every time that a pattern takes, in ascending order, or 1 s where there is no pattern."""
    every = np.unique(np.concatenate([size.seconds for size in sizes(instance, options)]))
    return every if len(every) else np.ones(1)


def just_below(instance: dict, theta: float, options: Mapping[str, Any]) -> float:
    """Between theta and the next shorter time that some pattern takes."""
    every = times(instance, options)
    shorter = every[every < theta * (1 - 1e-9)]
    return float((shorter[-1] + theta) / 2) if len(shorter) else theta / 2


def saves_inside(instance: dict) -> bool:
    """Whether a byte takes less time inside a server than between them, for every replica."""
    cluster = instance["cluster"]
    far = cluster["gpus_per_server"] / (max(takes_of(instance)) * cluster["inter_bandwidth"])
    return bool(far >= 1 / cluster["intra_bandwidth"])


def steps(instance: dict) -> int:
    """How many steps `optimum` takes."""
    every = sizes(instance, {})
    handed = sum(size.servers * len(size.patterns) for size in every)
    return handed * int(np.prod([k + 1 for k in replicas_of(instance)]))


def replicas_of(instance: dict) -> tuple[int, ...]:
    """k, by stage."""
    return tuple(stage["replicas"] for stage in instance["job"]["stages"])


def takes_of(instance: dict) -> tuple[int, ...]:
    """q, by stage."""
    return tuple(stage.get("tensor_parallel", 1) for stage in instance["job"]["stages"])


@lru_cache(maxsize=4096)
def _patterns(
    replicas: tuple[int, ...], takes: tuple[int, ...], gpus: int, full: bool
) -> np.ndarray:
    counts = (range(min(k, gpus // q) + 1) for k, q in zip(replicas, takes, strict=True))
    every = np.array(list(product(*counts)), dtype=np.int64)
    used = every @ np.array(takes)
    return every[used == gpus] if full else every[used <= gpus]
