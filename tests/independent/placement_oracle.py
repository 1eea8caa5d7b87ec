"""Placement by brute force: the cost of every table of counts, all at once.

Stage s has k replicas of q GPUs each. On a server with x of them, an iteration takes

    work = p + 2 (q-1)/q c / B_intra                                    computation, tensor slices
         + sum over neighbours n of 2 d (g/(q B_inter) far + near / B_intra)
         + e (g/(q B_inter) (k-x)/k + (x-1)/k / B_intra)                all-to-all, where k > 1
    ar   = 2 (k-1)/k h / q times g/(x B_inter) if x < k, 1/B_intra if x = k

with near = x[n]/k[n], far = 1 - near. An asynchronous job takes max over s, m of work + ar: a-srpt
(4)-(7) where q = 1 and c = e = 0. One of M micro-batches is M equal jobs through S machines in
series, t[s] = max over m of work / M each; stage s may reduce once its own last backward pass is
over, which the stages before it do after it:

    (M-1) max t + sum t + max over s of (max over m of ar[s] - sum of p_backward / M before s)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

DEFAULTS = {"all_reduce_bandwidth": "own", "backward_overlap": 1.0, "all_reduce_overlap": 1.0}


def optimum(instance: dict, options: Mapping[str, Any]) -> float | None:
    """The least alpha over all tables of counts; None if there is no table."""
    every = tables(instance)
    return float(alphas(instance, every, options).min()) if len(every) else None


def alpha(instance: dict, counts: list[list[int]], options: Mapping[str, Any]) -> float:
    """The time of one iteration under one table of counts."""
    return float(alphas(instance, np.array([counts], dtype=np.int64), options)[0])


def broken_rule(instance: dict, counts: list[list[int]]) -> str | None:
    """What is wrong with a table of counts, or None."""
    stages, free = instance["job"]["stages"], instance["free_gpus"]
    if len(counts) != len(stages) or any(len(row) != len(free) for row in counts):
        return "shape"
    if any(count < 0 for row in counts for count in row):
        return "negative"
    if any(sum(row) != stage["replicas"] for row, stage in zip(counts, stages, strict=True)):
        return "replicas"
    used = [
        sum(count * gpus for count, gpus in zip(column, gpus_each(instance), strict=True))
        for column in zip(*counts, strict=True)
    ]
    return "capacity" if any(u > gpus for u, gpus in zip(used, free, strict=True)) else None


def gpus_each(instance: dict) -> list[int]:
    """GPUs of a replica, by stage."""
    return [stage.get("tensor_parallel", 1) for stage in instance["job"]["stages"]]


def saves_inside(instance: dict) -> bool | None:
    """Whether g / (q B_inter) > 1 / B_intra, without which some models refuse the instance.

    None where the two are equal up to rounding.
    """
    cluster = instance["cluster"]
    inside = cluster["gpus_per_server"] * cluster["intra_bandwidth"]
    outside = max(gpus_each(instance)) * cluster["inter_bandwidth"]
    return None if abs(inside - outside) <= 1e-12 * inside else inside > outside


def tables(instance: dict) -> np.ndarray:
    """Every stages x servers table of the stages' replicas whose columns fit the free GPUs."""
    replicas = tuple(stage["replicas"] for stage in instance["job"]["stages"])
    return _tables(replicas, tuple(gpus_each(instance)), tuple(instance["free_gpus"]))


def alphas(instance: dict, x: np.ndarray, options: Mapping[str, Any]) -> np.ndarray:
    """alpha of each table of ``x`` (tables x stages x servers)."""
    options = {**DEFAULTS, **options}
    job = instance["job"]
    times = [_times(instance, s, x, options) for s in range(len(job["stages"]))]
    parts = job.get("micro_batches")
    if parts is None:
        return np.max([(work + reduce).max(axis=1) for work, reduce in times], axis=0)
    each = np.array([work.max(axis=1) / parts for work, _ in times])
    backward = [options["backward_overlap"] * s["backward_time"] / parts for s in job["stages"]]
    exposed = [reduce.max(axis=1) - sum(backward[:s]) for s, (_, reduce) in enumerate(times)]
    return (parts - 1) * each.max(axis=0) + each.sum(axis=0) + np.max(exposed, axis=0)


def _times(
    instance: dict, s: int, x: np.ndarray, options: Mapping[str, Any]
) -> tuple[np.ndarray, np.ndarray]:
    """Work and all-reduce of stage ``s`` (tables x servers), 0 where it has no replica."""
    stages = instance["job"]["stages"]
    here, stage = x[:, s, :], stages[s]
    k, q = stage["replicas"], stage.get("tensor_parallel", 1)
    inside = 1 / instance["cluster"]["intra_bandwidth"]
    share = instance["cluster"]["gpus_per_server"] / instance["cluster"]["inter_bandwidth"] / q
    time = stage["forward_time"] + options["backward_overlap"] * stage["backward_time"]
    work = np.full(here.shape, time + 2 * (q - 1) / q * stage.get("tensor_bytes", 0) * inside)
    for other, volume in ((s - 1, stage["input_bytes"]), (s + 1, stage["output_bytes"])):
        if 0 <= other < len(stages):
            neighbours = stages[other]["replicas"]
            near = x[:, other, :] / neighbours
            far = (neighbours - x[:, other, :]) / neighbours
            work += 2 * volume * (far * share + near * inside)
    reduce = np.zeros(here.shape)
    if k > 1:
        routed = stage.get("expert_bytes", 0) / k
        work += routed * ((k - here) * share + (here - 1) * inside)
        volume = 2 * (k - 1) / k * stage["parameter_bytes"]
        least = here
        if options["all_reduce_bandwidth"] == "bottleneck":
            least = np.where(here > 0, here, k).min(axis=1, keepdims=True)
        across = volume * share / np.maximum(least, 1)
        reduce = options["all_reduce_overlap"] * np.where(here == k, volume * inside / q, across)
    return np.where(here > 0, work, 0.0), np.where(here > 0, reduce, 0.0)


@lru_cache(maxsize=2048)
def _tables(replicas: tuple[int, ...], size: tuple[int, ...], free: tuple[int, ...]) -> np.ndarray:
    def rows(stage: int, left: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], ...]]:
        if stage == len(replicas):
            yield ()
            return
        for row in _splits(replicas[stage], tuple(gpus // size[stage] for gpus in left)):
            rest = tuple(g - size[stage] * count for g, count in zip(left, row, strict=True))
            for below in rows(stage + 1, rest):
                yield (row, *below)

    shape = (-1, len(replicas), len(free))
    return np.array(list(rows(0, free)), dtype=np.int64).reshape(shape)


def _splits(count: int, left: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Ways to put ``count`` replicas on servers with room for ``left``."""
    *others, last = left
    for row in product(*(range(min(count, room) + 1) for room in others)):
        rest = count - sum(row)
        if 0 <= rest <= last:
            yield (*row, rest)
