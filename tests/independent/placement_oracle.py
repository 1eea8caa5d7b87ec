"""Placement by brute force: the cost of every table of counts, all at once.

alpha = max over stages s and servers m with x[s, m] > 0 of comp + comm + AllReduce, a-srpt (4)-(7).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

DEFAULTS = {"all_reduce_bandwidth": "own", "backward_overlap": 1.0, "all_reduce_overlap": 1.0}


def optimum(instance: dict, options: Mapping[str, Any]) -> float:
    """The least alpha over all tables of counts."""
    replicas = tuple(stage["replicas"] for stage in instance["job"]["stages"])
    return float(alphas(instance, tables(replicas, tuple(instance["free_gpus"])), options).min())


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
    if any(
        sum(column) > gpus for column, gpus in zip(zip(*counts, strict=True), free, strict=True)
    ):
        return "capacity"
    return None


def saves_inside(instance: dict) -> bool | None:
    """Whether g / B_inter > 1 / B_intra, without which some models refuse the instance.

    None where the two are equal up to rounding.
    """
    cluster = instance["cluster"]
    inside = cluster["gpus_per_server"] * cluster["intra_bandwidth"]
    equal = abs(inside - cluster["inter_bandwidth"]) <= 1e-12 * inside
    return None if equal else inside > cluster["inter_bandwidth"]


@lru_cache(maxsize=2048)
def tables(replicas: tuple[int, ...], free: tuple[int, ...]) -> np.ndarray:
    """Every stages x servers table with these row sums whose columns fit the free GPUs."""

    def rows(stage: int, left: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], ...]]:
        if stage == len(replicas):
            yield ()
            return
        for row in _splits(replicas[stage], left):
            rest = tuple(gpus - count for gpus, count in zip(left, row, strict=True))
            for below in rows(stage + 1, rest):
                yield (row, *below)

    return np.array(list(rows(0, free)), dtype=np.int64)


def alphas(instance: dict, x: np.ndarray, options: Mapping[str, Any]) -> np.ndarray:
    """alpha of each table of ``x`` (tables x stages x servers)."""
    options = {**DEFAULTS, **options}
    stages = instance["job"]["stages"]
    share = instance["cluster"]["gpus_per_server"] / instance["cluster"]["inter_bandwidth"]
    inside = 1 / instance["cluster"]["intra_bandwidth"]
    worst = np.zeros(len(x))
    for s, stage in enumerate(stages):
        here, k = x[:, s, :], stage["replicas"]
        time = np.full(
            here.shape,
            stage["forward_time"] + options["backward_overlap"] * stage["backward_time"],
        )
        for other, volume in ((s - 1, stage["input_bytes"]), (s + 1, stage["output_bytes"])):
            if 0 <= other < len(stages):
                neighbours = stages[other]["replicas"]
                near = x[:, other, :] / neighbours
                far = (neighbours - x[:, other, :]) / neighbours
                time += 2 * volume * (far * share + near * inside)
        if k > 1:
            volume = 2 * (k - 1) / k * stage["parameter_bytes"]
            least = here
            if options["all_reduce_bandwidth"] == "bottleneck":
                least = np.where(here > 0, here, k).min(axis=1, keepdims=True)
            across = volume * share / np.maximum(least, 1)
            time += options["all_reduce_overlap"] * np.where(here == k, volume * inside, across)
        worst = np.maximum(worst, np.where(here > 0, time, 0.0).max(axis=1))
    return worst


def _splits(count: int, left: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Ways to put ``count`` replicas on servers with ``left`` GPUs."""
    *others, last = left
    for row in product(*(range(min(count, gpus) + 1) for gpus in others)):
        rest = count - sum(row)
        if 0 <= rest <= last:
            yield (*row, rest)
