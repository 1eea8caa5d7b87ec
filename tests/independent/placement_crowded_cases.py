"""Placements that simple bounds leave open: equal servers, ties and near ties, capacities met."""

from __future__ import annotations

import copy
from math import comb, prod
from typing import Any

import numpy as np
from independent.placement_cases import Case, asynchronous
from independent.placement_extended_cases import give
from oracles import placement as oracle

FAMILIES = (
    "equal servers",
    "whole numbers",
    "near ties",
    "pairs",
    "slices",
    "slices and spare GPUs",
    "micro-batches",
    "alike stages",
    "two sizes",
    "experts",
)
MOST_TABLES = 60_000


def draw(seed: int, number: int, most_tables: int = MOST_TABLES) -> Case:
    """Case ``number`` of a seed; the family follows from the number."""
    rng = np.random.default_rng([seed, number, 21])
    family = FAMILIES[number % len(FAMILIES)]
    while True:
        free = _offer(rng, family)
        shape = _shape(rng, family, free)
        if shape is None:
            continue
        replicas, slices = shape
        spread = sorted(comb(k + len(free) - 1, len(free) - 1) for k in replicas)
        if prod(spread[:-1]) > most_tables:
            continue
        instance = asynchronous(rng, "balanced", replicas, free, number)
        _shaped(rng, family, instance, slices)
        if len(oracle.tables(instance)) > most_tables:
            continue
        options = {"all_reduce_bandwidth": "bottleneck"} if rng.random() < 0.15 else {}
        return Case(family, instance, options, float(rng.choice([1e-6, 0])), rng)


def forged(rng: np.random.Generator, instance: dict, theta: float) -> dict[str, Any]:
    """A certificate with any prices, or a tree of one row with any prices in its leaves."""
    stages, most = len(instance["job"]["stages"]), int(rng.choice([1, 2, 10, 10**6, 10**9]))

    def prices(count: int, least: int = 0) -> list[int]:
        return [int(price) for price in rng.integers(least, most + 1, count)]

    if rng.random() < 0.5:
        return {"kind": "patterns", "threshold": theta, "prices": prices(stages)}
    row = {"stage": int(rng.integers(stages)), "least": int(rng.integers(1, 4))}
    root = {"count": row, "most": int(rng.integers(0, 3)), "children": [1, 2]}
    leaves = [{"prices": prices(stages, -most), "rows": prices(1)} for _ in range(2)]
    return {"kind": "branches", "threshold": theta, "nodes": [root, *leaves]}


def scaled(instance: dict, time: float, byte: float) -> dict:
    """The same instance with seconds and bytes in other units."""
    other = copy.deepcopy(instance)
    for key in ("inter_bandwidth", "intra_bandwidth"):
        other["cluster"][key] *= byte / time
    for stage in other["job"]["stages"]:
        for key in stage:
            if key.endswith("_time") or key.endswith("_bytes"):
                stage[key] *= time if key.endswith("_time") else byte
    return other


def mirrored(instance: dict) -> dict:
    """The same pipeline from its end: nobody's time tells what comes before from what after."""
    stages = copy.deepcopy(instance["job"]["stages"][::-1])
    for stage in stages:
        stage["input_bytes"], stage["output_bytes"] = stage["output_bytes"], stage["input_bytes"]
    return {**instance, "job": {**instance["job"], "stages": stages}}


def offered(instance: dict, free: list[int]) -> dict:
    """The same job on other servers."""
    return {**instance, "free_gpus": [int(gpus) for gpus in free]}


def _offer(rng: np.random.Generator, family: str) -> list[int]:
    if family == "pairs":
        return [2] * int(rng.integers(3, 7))
    if family == "two sizes":
        sizes = rng.choice([1, 2, 3, 4, 5], 2, replace=False)
        return [int(gpus) for gpus in rng.choice(sizes, rng.integers(3, 6))]
    return [int(rng.integers(2, 5))] * int(rng.integers(3, 6))


def _shape(
    rng: np.random.Generator, family: str, free: list[int]
) -> tuple[list[int], list[int]] | None:
    """Replicas and slices that fill the offer, or what is not spare of it."""
    stages, sliced = int(rng.integers(2, 5)), family.startswith("slices")
    slices = [int(q) for q in rng.choice([1, 2, 2, 3, 4] if sliced else [1], stages)]
    room = sum(free) - (int(rng.integers(0, 3)) if "spare" in family else 0)
    replicas, used = [1] * stages, sum(slices)
    for s in rng.integers(stages, size=60):
        if used + slices[s] <= room:
            replicas[s], used = replicas[s] + 1, used + slices[s]
    fits = used <= sum(free) if sliced else used == sum(free)
    return (replicas, slices) if fits and (max(slices) > 1) == sliced else None


def _shaped(rng: np.random.Generator, family: str, instance: dict, slices: list[int]) -> None:
    """What makes a family, on top of times and bytes that balance."""
    job, cluster = instance["job"], instance["cluster"]
    stages = job["stages"]
    if family in ("whole numbers", "alike stages"):
        whole = family == "whole numbers"
        volumes = [float(rng.integers(0, 3)) * 24 for _ in stages]
        if whole:
            cluster |= {"gpus_per_server": 4, "inter_bandwidth": 4.0}
            cluster["intra_bandwidth"] = float(rng.choice([1.0, 2.0, 8.0]))
        else:
            volumes = [cluster["inter_bandwidth"] * 10 ** rng.uniform(-2, 0.5)] * len(stages)
        first = 4 * stages[0]["parameter_bytes"]
        for s, stage in enumerate(stages):
            k = stage["replicas"]
            for key in ("forward_time", "backward_time"):
                stage[key] = float(rng.integers(0, 4)) if whole else 1.0
            stage["parameter_bytes"] = float(rng.integers(0, 5)) if whole else first
            stage["input_bytes"] = volumes[s - 1] / k if s else 0.0
            stage["output_bytes"] = volumes[s] / k if s < len(stages) - 1 else 0.0
    if family == "near ties":
        apart = 10.0 ** int(rng.integers(-12, -5))
        for stage in stages:
            for key in ("forward_time", "parameter_bytes"):
                stage[key] = stages[0][key] * (1 + apart * int(rng.integers(-2, 3)))
            stage["backward_time"] = stages[0]["backward_time"]
    if family.startswith("slices"):
        for stage, gpus in zip(stages, slices, strict=True):
            stage["tensor_parallel"] = gpus
        if rng.random() < 0.5:
            give(rng, "balanced", instance, "tensor_bytes")
    if family == "experts" or (family == "micro-batches" and rng.random() < 0.4):
        give(rng, "balanced", instance, "expert_bytes")
    if family == "micro-batches":
        job["micro_batches"] = int(rng.choice([1, 2, 3, 4, 8]))
