"""Instances, tables and certificates made of others: what must not matter, what must be refused."""

import copy
from typing import Any

import numpy as np

from oracles import placement as oracle

ABSENT = {"tensor_parallel": 1, "tensor_bytes": 0.0, "expert_bytes": 0.0}
"""What a stage without these fields has."""
WORK = ("forward_time", "backward_time", "input_bytes", "output_bytes", *list(ABSENT)[1:])
"""What makes a stage's work, and not its all-reduce."""


def altered(instance: dict, values: dict[str, Any]) -> dict:
    stages = [{**stage, **values} for stage in instance["job"]["stages"]]
    return {**instance, "job": {**instance["job"], "stages": stages}}


def with_parts(instance: dict, micro_batches: int | None) -> dict:
    job = {key: value for key, value in instance["job"].items() if key != "micro_batches"}
    if micro_batches is not None:
        job["micro_batches"] = micro_batches
    return {**instance, "job": job}


def asynchronous_only(instance: dict) -> dict:
    """The job without slices, experts and micro-batches, on just as many GPUs as it has replicas.

    Where the offer is too large or too small for that, all replicas are put on one server.
    """
    job = with_parts(instance, None)["job"]
    stages = [{k: v for k, v in stage.items() if k not in ABSENT} for stage in job["stages"]]
    asked, free = sum(stage["replicas"] for stage in stages), instance["free_gpus"]
    gpus = max(asked, instance["cluster"]["gpus_per_server"])
    return {
        **instance,
        "cluster": {**instance["cluster"], "gpus_per_server": gpus},
        "free_gpus": free if sum(free) == asked else [asked],
        "job": {**job, "stages": stages},
    }


def written_out(instance: dict) -> dict:
    """The same instance with every absent field of a stage in its place."""
    stages = [{**ABSENT, **stage} for stage in instance["job"]["stages"]]
    return {**instance, "job": {**instance["job"], "stages": stages}}


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
    """The same pipeline from its end: no time depends on which neighbour comes first."""
    stages = copy.deepcopy(instance["job"]["stages"][::-1])
    for stage in stages:
        stage["input_bytes"], stage["output_bytes"] = stage["output_bytes"], stage["input_bytes"]
    return {**instance, "job": {**instance["job"], "stages": stages}}


def offered(instance: dict, free: list[int]) -> dict:
    """The same job on other servers."""
    return {**instance, "free_gpus": free}


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


def at_random(rng: np.random.Generator, instance: dict) -> np.ndarray:
    """Some table of an instance that has one, its replicas anywhere, the largest first."""
    takes, counts = oracle.gpus_each(instance), oracle.replicas(instance)
    replicas = [s for s, k in enumerate(counts) for _ in range(k)]
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
        if (table.sum(axis=1) == counts).all():
            return table


def forged_prices(rng: np.random.Generator, stages: int, prices: list[int] | None) -> list[int]:
    """Prices like those of a method, where there are some, or any."""
    if prices is not None and rng.random() < 0.5:
        step = max(max(prices) // 8, 1)
        return [max(price + int(rng.integers(-step, step + 1)), 0) for price in prices]
    return rng.integers(0, int(rng.choice([1, 2, 10, 10**6])) + 1, stages).tolist()


def forged(rng: np.random.Generator, instance: dict, theta: float) -> dict[str, Any]:
    """A certificate with any prices, or a tree of one row with any prices in its leaves."""
    stages, most = len(instance["job"]["stages"]), int(rng.choice([1, 2, 10, 10**6, 10**9]))

    def prices(count: int, least: int = 0) -> list[int]:
        return rng.integers(least, most + 1, count).tolist()

    if rng.random() < 0.5:
        return {"kind": "patterns", "threshold": theta, "prices": prices(stages)}
    row = {"stage": int(rng.integers(stages)), "least": int(rng.integers(1, 4))}
    root = {"count": row, "most": int(rng.integers(0, 3)), "children": [1, 2]}
    leaves = [{"prices": prices(stages, -most), "rows": prices(1)} for _ in range(2)]
    return {"kind": "branches", "threshold": theta, "nodes": [root, *leaves]}
