"""Placements whose replicas must stand in groups that servers hold in parts only.

A stage is drawn by the group that it wants: with so many of its replicas on a server it takes about
as long as every other stage does, with one fewer its all-reduce alone makes it late. Eight that
want twos or threes stand as 2 + 3 + 3 or 2 + 2 + 2 + 2; a linear programme takes 8/3 threes.
"""

from __future__ import annotations

from math import comb, prod
from typing import Any

import numpy as np
from independent import placement_by_server as oracle
from independent.placement_cases import Case

FAMILIES = (
    "twos and threes",
    "odd servers",
    "bottleneck",
    "chains",
    "two sizes",
    "fillers",
    "bottleneck",
    "slices",
    "slices to spare",
    "threes",
    "does not fit",
    "alike stages",
    "many stages",
    "bottleneck",
    "equal slices",
    "whole numbers",
    "no messages",
    "experts",
    "bottleneck",
    "far apart",
    "slow inside",
    "mixed",
    "one stage",
)
SLICED = ("slices", "slices to spare", "does not fit", "equal slices")
MOST_TABLES = 3_000
"""Under "bottleneck", where every table is asked."""


def draw(seed: int, number: int, most_steps: int) -> Case:
    """Case ``number`` of a seed, for no more steps of the oracle; the family goes by the number."""
    rng = np.random.default_rng([seed, number, 33])
    family = FAMILIES[number % len(FAMILIES)]
    while True:
        drawn = _shape(rng, family)
        if drawn is None:
            continue
        free, replicas, takes = drawn
        instance = _instance(rng, family, number, free, replicas, takes)
        if np.prod([k + 1 for k in replicas]) > 20_000 or oracle.steps(instance) > most_steps:
            continue
        options: dict[str, Any] = {}
        if family == "bottleneck":
            if splits(instance) > MOST_TABLES:
                continue
            options["all_reduce_bandwidth"] = "bottleneck"
        if rng.random() < 0.1:
            options["backward_overlap"] = float(rng.choice([0, 0.5, 2]))
            options["all_reduce_overlap"] = float(rng.choice([0, 0.5, 2]))
        return Case(family, instance, options, float(rng.choice([1e-6, 0])), rng)


def at_random(rng: np.random.Generator, instance: dict) -> np.ndarray:
    """Some table of an instance that has one, its replicas anywhere, the largest first."""
    takes = oracle.takes_of(instance)
    replicas = [s for s, k in enumerate(oracle.replicas_of(instance)) for _ in range(k)]
    while True:
        table = np.zeros((len(takes), len(instance["free_gpus"])), dtype=np.int64)
        room = np.array(instance["free_gpus"])
        for s in sorted(rng.permutation(replicas).tolist(), key=lambda s: -takes[s]):
            fits = np.flatnonzero(room >= takes[s])
            if not len(fits):
                break
            m = int(rng.choice(fits))
            table[s, m] += 1
            room[m] -= takes[s]
        if (table.sum(axis=1) == oracle.replicas_of(instance)).all():
            return table


def planted(seed: int, number: int) -> tuple[dict, list[list[int]]]:
    """A job too large for any oracle, and a table in which every stage takes the same time.

    Groups of a stage go to servers near those of the stage before, some of which are full.
    """
    rng = np.random.default_rng([seed, number, 34])
    stages, gpus = int(rng.integers(12, 40)), int(rng.choice([3, 4, 5, 7, 8]))
    room = [gpus] * int(rng.integers(3 * stages // gpus, 6 * stages // gpus))
    table = np.zeros((stages, len(room)), dtype=np.int64)
    at = 0
    while sum(room):
        s = int(rng.integers(stages)) if table.sum(axis=1).all() else at % stages
        m = int(rng.choice(np.flatnonzero(room)))
        more = min(room[m], int(rng.choice([1, 2, 2, 3])))
        table[s, m] += more
        room[m] -= more
        at += 1
    replicas = table.sum(axis=1).tolist()
    instance = _instance(rng, "chains", number, [gpus] * len(room), replicas, [1] * stages)
    every = instance["job"]["stages"]
    for stage in every:
        stage["forward_time"] = stage["backward_time"] = 0.0
    alone = [
        oracle.stage_seconds(instance, s, table.T, {})[table[s] > 0].max() for s in range(stages)
    ]
    for stage, time in zip(every, alone, strict=True):
        stage["forward_time"] = float(max(alone) - time)
    return instance, table.tolist()


def splits(instance: dict) -> int:
    """Ways to split each stage but the largest over the servers; there are no more tables."""
    servers, replicas = len(instance["free_gpus"]), oracle.replicas_of(instance)
    ways = sorted(comb(k + servers - 1, servers - 1) for k in replicas)
    return prod(ways[:-1] if max(oracle.takes_of(instance)) == 1 else ways)


def forged(rng: np.random.Generator, stages: int, prices: list[int] | None) -> list[int]:
    """Prices like those of a method, where there are some, or any."""
    if prices is not None and rng.random() < 0.5:
        step = max(max(prices) // 8, 1)
        return [max(price + int(rng.integers(-step, step + 1)), 0) for price in prices]
    most = int(rng.choice([1, 2, 10, 10**6]))
    return [int(price) for price in rng.integers(0, most + 1, stages)]


def _shape(rng: np.random.Generator, family: str) -> tuple[list[int], list[int], list[int]] | None:
    """Free GPUs of the servers, replicas and GPUs a replica of the stages."""
    servers, stages = int(rng.integers(2, 8)), int(rng.integers(2, 6))
    size = int(rng.integers(2, 9))
    if family in ("odd servers", "equal slices"):
        size = int(rng.choice([3, 5, 7]))
    elif family == "threes":
        size = int(rng.choice([4, 5, 7, 8]))
    elif family == "one stage":
        stages = 1
    elif family == "many stages":
        servers, stages, size = int(rng.integers(3, 6)), int(rng.integers(6, 9)), 3
    elif family in ("fillers", "does not fit"):
        servers, size = int(rng.integers(3, 7)), int(rng.integers(4, 7))
    elif family == "bottleneck":
        servers, stages, size = int(rng.integers(2, 5)), int(rng.integers(1, 4)), size // 2 + 1
    free = [size] * servers
    if family == "two sizes":
        free = [int(g) for g in rng.choice(rng.choice(range(1, 9), 2, replace=False), servers)]
    elif family in ("mixed", "far apart", "slow inside") or rng.random() < 0.15:
        free = [int(g) for g in rng.integers(1, 9, servers)]
    takes = [1] * stages
    if family in SLICED:
        widths = {"does not fit": [2, 3, 3], "equal slices": [int(rng.integers(2, 4))]}
        takes = [int(q) for q in rng.choice(widths.get(family, [1, 1, 2, 2, 3]), stages)]
    room = sum(free)
    if family in ("slices to spare", "does not fit"):
        room -= int(rng.integers(0 if family == "does not fit" else 1, 4))
    elif family == "equal slices":
        room = sum(gpus - gpus % takes[0] for gpus in free) - takes[0] * int(rng.integers(0, 2))
    elif family == "alike stages":
        each = max(room // stages, 1)
        return _trimmed(free, [each] * stages, takes)
    replicas = [1] * stages
    weight = rng.dirichlet(np.full(stages, 2.0))
    for s in rng.choice(stages, size=80, p=weight):
        used = sum(k * q for k, q in zip(replicas, takes, strict=True))
        replicas[s] += used + takes[s] <= room
    used = sum(k * q for k, q in zip(replicas, takes, strict=True))
    if used > sum(free) or max(replicas) > 16:
        return None
    if used < sum(free) and max(takes) == 1:
        return None
    return free, replicas, takes


def _trimmed(
    free: list[int], replicas: list[int], takes: list[int]
) -> tuple[list[int], list[int], list[int]] | None:
    """The same on fewer GPUs of the last server, as many as are asked for."""
    left = sum(free) - sum(replicas)
    if not 0 <= left < free[-1]:
        return None
    return [*free[:-1], free[-1] - left], replicas, takes


def _instance(
    rng: np.random.Generator,
    family: str,
    number: int,
    free: list[int],
    replicas: list[int],
    takes: list[int],
) -> dict:
    """Stages that all take about a second in their groups, and about what makes the family."""
    gpus = max(*free, int(rng.choice([1, 8])))
    unit, byte = 10.0 ** rng.integers(-3, 4), 10.0 ** rng.integers(-3, 10)
    far = 1.0 / byte  # seconds a byte of a replica of one GPU
    near = far * rng.uniform(0.001, 0.9) / max(takes)
    if family == "far apart":
        near = max(far * 10.0 ** -rng.uniform(4, 9), 1e-17 / unit)
    elif family == "slow inside":
        near = far * 10 ** rng.uniform(0.01, 1)
    if family == "whole numbers":
        unit, byte, far, near = 1.0, 1.0, 1.0, 1 / float(rng.choice([2, 4, 8]))
    cluster = {
        "gpus_per_server": gpus,
        "inter_bandwidth": gpus / far / unit,
        "intra_bandwidth": 1 / near / unit,
    }
    volumes = [0.0, *_volumes(rng, family, replicas, takes, byte), 0.0]
    stages = []
    for s, (k, q) in enumerate(zip(replicas, takes, strict=True)):
        sent = 2 * (volumes[s] + volumes[s + 1]) / k * far / q
        group = _group(rng, family, s, k)
        reduce = group * rng.uniform(0.3, 1.0) if group > 1 else rng.uniform(0, 0.3)
        slack = 1.0 + (0.0 if family == "alike stages" else rng.uniform(-0.15, 0.15))
        compute = slack - reduce / group - sent * rng.uniform(0.3, 1.0)
        if family == "fillers" and s % 3:
            compute, reduce = rng.uniform(0, 0.1), 0.0
        if family == "whole numbers":
            compute, reduce = float(rng.integers(0, 5)), float(group * rng.integers(1, 5))
        forward = max(compute, 0.0) * rng.choice([0.0, 0.25, 0.5])
        stage = {
            "name": f"stage {s}",
            "replicas": k,
            "forward_time": forward * unit,
            "backward_time": (max(compute, 0.0) - forward) * unit,
            "input_bytes": volumes[s] / k,
            "output_bytes": volumes[s + 1] / k,
            "parameter_bytes": reduce * q / far / 2 * k / (k - 1) if k > 1 else byte,
        }
        if max(takes) > 1:
            stage["tensor_parallel"] = q
            stage["tensor_bytes"] = byte * rng.uniform(0, 0.1) / near * far
        if family == "experts" or (max(takes) > 1 and rng.random() < 0.2):
            stage["expert_bytes"] = byte * q * rng.uniform(0, 0.5)
        stages.append(stage)
    if family == "alike stages":
        alike = {key: stages[0][key] for key in stages[0] if key.endswith("_time")}
        alike["parameter_bytes"] = stages[0]["parameter_bytes"]
        stages = [stage | alike for stage in stages]
    return {
        "schema": "optsched/placement",
        "version": 1,
        "name": f"groups-{number}",
        "cluster": cluster,
        "free_gpus": free,
        "job": {
            "model": family,
            "all_reduce": str(rng.choice(["ring", "double-tree"])),
            "stages": stages,
        },
    }


def _volumes(
    rng: np.random.Generator, family: str, replicas: list[int], takes: list[int], byte: float
) -> list[float]:
    """Bytes between neighbours, all replicas together: some seconds of the smaller side's NICs."""
    found = []
    for (k, q), (n, p) in zip(
        zip(replicas[:-1], takes[:-1], strict=True),
        zip(replicas[1:], takes[1:], strict=True),
        strict=True,
    ):
        most = 1.5 if family in ("chains", "bottleneck") else 0.3
        share = rng.uniform(0, most) if rng.random() < 0.8 else 0.0
        if family == "alike stages":
            share = 0.2
        found.append(min(k * q, n * p) / 2 * share * byte)
    if family == "no messages":
        return [0.0] * len(found)
    if family == "whole numbers":
        return [float(rng.integers(0, 3) * 12) for _ in found]
    return found


def _group(rng: np.random.Generator, family: str, s: int, replicas: int) -> int:
    """How many replicas of a stage have to stand together."""
    wanted = {
        "twos and threes": [2, 2, 3],
        "odd servers": [2],
        "threes": [3],
        "fillers": [2, 3],
        "many stages": [1, 2],
        "alike stages": [2],
    }.get(family, [1, 1, 2, 2, 3, 4])
    return min(int(rng.choice(wanted)), replicas)
