"""Adversarial placements: ties, zeros, extreme units, odd shapes, files to refuse."""

from __future__ import annotations

import copy
from math import comb, inf, nan
from typing import Any, NamedTuple

import numpy as np


class Case(NamedTuple):
    """One drawn case."""

    family: str
    instance: dict
    options: dict[str, Any]
    gap: float
    rng: np.random.Generator


FAMILIES = (
    "plain",
    "ties",
    "zeros",
    "equal everything",
    "units",
    "mixed magnitudes",
    "fast network",
    "no difference",
    "one server",
    "one GPU each",
    "one stage",
    "equal servers",
    "plain",
    "refused",
)


def draw(seed: int, number: int) -> Case:
    """Case ``number`` of a seed; the family follows from the number."""
    rng = np.random.default_rng([seed, number])
    family = FAMILIES[number % len(FAMILIES)]
    replicas, free = _shape(rng, family)
    instance = asynchronous(rng, family, replicas, free, number)
    if family == "refused":
        _spoil(rng, instance)
    options: dict[str, Any] = {}
    if rng.random() < 0.3:
        options["all_reduce_bandwidth"] = "bottleneck"
    if rng.random() < 0.3:
        options["backward_overlap"] = float(rng.choice([0, 0.3, 1, 2.5]))
        options["all_reduce_overlap"] = float(rng.choice([0, 0.7, 1, 3]))
    return Case(family, instance, options, float(rng.choice([1e-6, 1e-6, 0])), rng)


def corrupted(rng: np.random.Generator, counts: list[list[int]]) -> list[list[int]]:
    """A table one careless edit away; it may still be a valid one."""
    counts = copy.deepcopy(counts)
    stages, servers = len(counts), len(counts[0])
    s, m, other = rng.integers(stages), rng.integers(servers), rng.integers(servers)
    edit = rng.integers(7)
    if edit == 0:
        counts[s][m] += 1
    elif edit == 1:
        counts[s][m] -= 1
    elif edit == 2:
        counts[s][m], counts[s][other] = counts[s][m] - 1, counts[s][other] + 1
    elif edit == 3:
        counts[s][m], counts[s][other] = counts[s][other], counts[s][m]
    elif edit == 4:
        counts[s], counts[rng.integers(stages)] = counts[rng.integers(stages)], counts[s]
    elif edit == 5:
        del counts[s]
    else:
        counts[s].append(0)
    return counts


def asynchronous(
    rng: np.random.Generator, family: str, replicas: list[int], free: list[int], number: int
) -> dict:
    """An instance of a family, with no tensor slices, experts or micro-batches."""

    def size(low: float, high: float) -> float:
        return float(10 ** rng.uniform(low, high))

    time, byte = 1.0, 1.0
    if family == "units":
        time, byte = 10.0 ** rng.integers(-9, 10), 10.0 ** rng.integers(-9, 10)
        # bandwidths (bytes per second) stay within the format's 1e-9..1e18
        byte = float(np.clip(byte, time * 1e-12, time * 1e5))
    gpus = max(int(rng.choice([1, 2, 4, 8])), max(free), 1)
    inter = size(8, 10)
    intra = inter * size(0.2, 2.5)
    if family == "fast network":
        intra = inter / gpus * size(-2, -0.01)
    elif family == "no difference":
        inter = float(rng.integers(1, 9)) * 2.0**30
        intra = inter / gpus
    elif family in ("ties", "equal everything"):
        inter, intra = float(rng.integers(1, 3)), float(rng.integers(2, 9))
    elif family == "mixed magnitudes":
        inter, intra = size(-9, 9), size(-9, 9)
        inter = min(inter, intra * gpus)

    equal = {"forward_time": 1.0, "backward_time": 2.0, "parameter_bytes": 4.0, "volume": 8.0}
    stages: list[dict[str, Any]] = []
    for s, k in enumerate(replicas):
        if family == "equal everything":
            drawn = dict(equal)
        elif family == "ties":
            drawn = {key: float(rng.integers(0, 3)) for key in equal}
        elif family == "mixed magnitudes":
            drawn = {key: size(-9, 9) for key in equal}
        elif family == "balanced":
            drawn = {key: inter / gpus * size(-1, 0) for key in equal}
            drawn |= {"forward_time": size(-1, 0), "backward_time": size(-1, 0)}
        else:
            drawn = {
                "forward_time": size(-3, -1),
                "backward_time": size(-3, -1),
                "parameter_bytes": size(6, 8.5),
                "volume": size(6, 8.5),
            }
        if family == "zeros":
            drawn = {key: value * (rng.random() < 0.4) for key, value in drawn.items()}
        drift = 1.0 + (rng.choice([-1, 1]) * 4e-7 if rng.random() < 0.05 else 0.0)
        last = s == len(replicas) - 1
        volume = drawn["volume"] * byte
        stages.append(
            {
                "name": f"stage {s}",
                "replicas": k,
                "forward_time": drawn["forward_time"] * time,
                "backward_time": drawn["backward_time"] * time,
                "input_bytes": stages[-1]["volume"] / k * drift if s else 0.0,
                "output_bytes": 0.0 if last else volume / k,
                "parameter_bytes": drawn["parameter_bytes"] * byte,
                "volume": volume,
            }
        )
    for stage in stages:
        del stage["volume"]
    return {
        "schema": "optsched/placement",
        "version": 1,
        "name": f"case-{number}",
        "cluster": {
            "gpus_per_server": gpus,
            "inter_bandwidth": inter * byte / time,
            "intra_bandwidth": intra * byte / time,
        },
        "free_gpus": free,
        "job": {
            "model": "drawn",
            "all_reduce": str(rng.choice(["ring", "double-tree"])),
            "stages": stages,
        },
    }


def _shape(rng: np.random.Generator, family: str) -> tuple[list[int], list[int]]:
    """Replicas of the stages and free GPUs of the servers, few enough tables to list."""
    while True:
        stages = 1 if family == "one stage" else int(rng.choice([1, 2, 2, 3, 3, 4]))
        servers = 1 if family == "one server" else int(rng.choice([1, 2, 3, 3, 4, 5]))
        most = int(rng.choice([1, 2, 3, 4, 4, 8]))
        replicas = [int(k) for k in rng.integers(1, most + 1, stages)]
        if rng.random() < 0.2:
            replicas = [int(2 ** rng.integers(0, 4)) for _ in replicas]
        total = sum(replicas)
        if family == "one GPU each":
            servers, free = total, [1] * total
        elif family == "equal servers" or rng.random() < 0.15:
            if total % servers:
                continue
            free = [total // servers] * servers
        else:
            free = [int(g) for g in rng.multinomial(total, np.full(servers, 1 / servers))]
        count = np.prod([comb(k + servers - 1, servers - 1) for k in sorted(replicas)[:-1]])
        if count <= 4000 and total <= 24:
            return replicas, free


def _spoil(rng: np.random.Generator, instance: dict) -> None:
    """Break the contract of the file in one place."""
    cluster, job, free = instance["cluster"], instance["job"], instance["free_gpus"]
    stage = job["stages"][rng.integers(len(job["stages"]))]
    key = str(rng.choice(["forward_time", "backward_time", "parameter_bytes"]))
    bandwidth = str(rng.choice(["inter_bandwidth", "intra_bandwidth"]))
    server = rng.integers(len(free))
    match int(rng.integers(16)):
        case 0:
            free[server] += 1
            cluster["gpus_per_server"] = max(cluster["gpus_per_server"], *free, 1)
        case 1:
            stage["replicas"] += 1
        case 2:
            cluster["gpus_per_server"] = max(free) - 1
        case 3:
            stage[key] = float(rng.choice([-1.0, -1e-300, inf, -inf, nan]))
        case 4:
            job["stages"][0]["input_bytes"] = 1e-9
        case 5:
            job["stages"][-1]["output_bytes"] = 1e-9
        case 6:
            cluster[bandwidth] = float(rng.choice([0.0, -1.0, nan, inf]))
        case 7:
            stage["replicas"] = 0
        case 8:
            job["all_reduce"] = "tree"
        case 9:
            job["stages"] = []
        case 10:
            del stage[key]
        case 11:
            stage["tensor"] = 1
        case 12:
            free.append(-1)
        case 13:
            stage["replicas"] += 0.5
        case 14:
            instance["version"] = 2
        case _:
            job["stages"].append({**stage, "input_bytes": 3.0, "output_bytes": 0.0})
