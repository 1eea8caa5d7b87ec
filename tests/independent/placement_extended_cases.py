"""Adversarial placements with tensor slices, experts and micro-batches, and odd offers."""

from __future__ import annotations

from itertools import product
from math import comb
from typing import Any

import numpy as np
from independent.placement_cases import Case, asynchronous

FAMILIES = (
    "balanced",
    "plain",
    "ties",
    "zeros",
    "equal everything",
    "balanced",
    "units",
    "mixed magnitudes",
    "fast network",
    "one server",
    "one GPU each",
    "one stage",
    "balanced",
    "one replica",
    "odd offer",
    "balanced",
    "too wide",
)
"""As many as have no divisor in common with the combinations: each family meets each of them."""

PARTS = (None, 1, None, 2, 3, 8, 1000)

COMBINATIONS = tuple(
    (PARTS[number % 7], *flags)
    for number, flags in enumerate(7 * tuple(product((False, True), (False, True), (False, True))))
)
"""Micro-batches; whether there are tensor slices, tensor bytes, expert bytes."""

ABSENT = {"tensor_parallel": 1, "tensor_bytes": 0.0, "expert_bytes": 0.0}
"""What a stage without these fields has."""

WORK = (
    "forward_time",
    "backward_time",
    "input_bytes",
    "output_bytes",
    "tensor_bytes",
    "expert_bytes",
)
"""What makes a stage's work, and not its all-reduce."""


def draw(seed: int, number: int) -> Case:
    """Case ``number`` of a seed; the family and the combination follow from the number."""
    rng = np.random.default_rng([seed, number, 14])
    family = FAMILIES[number % len(FAMILIES)]
    parts, sliced, tensor, expert = COMBINATIONS[number % len(COMBINATIONS)]
    replicas, slices, free = _shape(rng, family, sliced)
    instance = asynchronous(rng, family, replicas, free, number)
    stages = instance["job"]["stages"]
    if sliced:
        for stage, gpus in zip(stages, slices, strict=True):
            stage["tensor_parallel"] = gpus
    for key, wanted in (("tensor_bytes", tensor), ("expert_bytes", expert)):
        if wanted:
            give(rng, family, instance, key)
    if parts is not None:
        instance["job"]["micro_batches"] = parts
    options: dict[str, Any] = {}
    if rng.random() < 0.2:
        options["all_reduce_bandwidth"] = "bottleneck"
    if rng.random() < 0.2:
        options["backward_overlap"] = float(rng.choice([0, 0.3, 1, 2.5]))
        options["all_reduce_overlap"] = float(rng.choice([0, 0.7, 1, 3]))
    return Case(family, instance, options, float(rng.choice([1e-6, 1e-6, 0])), rng)


def larger(seed: int, number: int) -> dict:
    """An asynchronous instance whose tables are too many to list; its servers hold it or not."""
    rng = np.random.default_rng([seed, number, 15])
    stages, servers = int(rng.integers(3, 6)), int(rng.integers(4, 9))
    slices = [int(q) for q in rng.choice([1, 2, 2, 4], stages)]
    free = [int(g) for g in rng.integers(5, 9, servers)]
    replicas = [1] * stages
    for s in rng.integers(stages, size=200):
        asked = sum(k * q for k, q in zip(replicas, slices, strict=True)) + slices[s]
        replicas[s] += replicas[s] < 8 and asked <= sum(free)
    if max(slices) == 1:
        slices[0], replicas[0] = 2, max(replicas[0] // 2, 1)
    instance = asynchronous(rng, "balanced", replicas, free, number)
    for stage, gpus in zip(instance["job"]["stages"], slices, strict=True):
        stage["tensor_parallel"] = gpus
    give(rng, "balanced", instance, "tensor_bytes")
    give(rng, "balanced", instance, "expert_bytes")
    return instance


def altered(instance: dict, values: dict[str, Any]) -> dict:
    """The same instance with these values in every stage."""
    stages = [{**stage, **values} for stage in instance["job"]["stages"]]
    return {**instance, "job": {**instance["job"], "stages": stages}}


def with_parts(instance: dict, micro_batches: int | None) -> dict:
    """The same instance in so many micro-batches; None for asynchronous."""
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


def _shape(
    rng: np.random.Generator, family: str, sliced: bool
) -> tuple[list[int], list[int], list[int]]:
    """Replicas and slices of the stages, free GPUs of the servers; few enough tables to list."""
    while True:
        stages = 1 if family == "one stage" else int(rng.choice([1, 2, 2, 3, 3, 4]))
        most = {"one replica": 1, "one stage": 12}.get(family, int(rng.choice([1, 2, 3, 4, 6])))
        replicas = [int(k) for k in rng.integers(1, most + 1, stages)]
        if family == "balanced":
            replicas = [int(k) for k in rng.integers(1, 7, rng.choice([2, 3, 3, 4]))]
            stages = len(replicas)
        slices = [1] * stages
        while sliced and max(slices) == 1:
            widths = [2, 4] if family == "odd offer" else [1, 1, 2, 2, 3, 4]
            slices = [int(q) for q in rng.choice(widths, stages)]
        asked = sum(k * q for k, q in zip(replicas, slices, strict=True))
        free = _offer(rng, family, asked, max(slices) if sliced else 0)
        count = np.prod([comb(k + len(free) - 1, len(free) - 1) for k in replicas])
        if count <= 400_000 and len(free) <= 12 and asked <= 24:
            return replicas, slices, free


def _offer(rng: np.random.Generator, family: str, asked: int, widest: int) -> list[int]:
    """Free GPUs of servers, just those asked for where ``widest`` is 0: no slices."""
    spare = int(rng.choice([0, 0, 1, 2, 4])) if widest else 0
    servers = 1 if family == "one server" else int(rng.choice([1, 2, 2, 3, 3, 4, 5]))
    servers = int(rng.integers(3, 6)) if family == "balanced" else servers
    if family == "one GPU each":
        return [1] * (asked + spare)
    if family == "odd offer" and widest:
        free: list[int] = []
        while sum(free) < asked + 2 * spare:
            free.append(int(rng.choice([1, 3, 3, 5])))
        return free
    if family == "too wide" and widest:
        full, rest = divmod(asked + spare, widest - 1)
        return [widest - 1] * full + [rest] * (rest > 0)
    return [int(g) for g in rng.multinomial(asked + spare, np.full(servers, 1 / servers))]


def give(rng: np.random.Generator, family: str, instance: dict, key: str) -> None:
    """Bytes for some of the stages, at least one: comparable to its times, or far above them."""
    cluster, stages = instance["cluster"], instance["job"]["stages"]
    chosen = rng.random(len(stages)) < 0.7
    chosen[rng.integers(len(stages))] = True
    for stage, wanted in zip(stages, chosen, strict=True):
        time = stage["forward_time"] + stage["backward_time"]
        if not wanted:
            continue
        if family == "balanced":
            near = key == "tensor_bytes"
            bandwidth = cluster["intra_bandwidth" if near else "inter_bandwidth"]
            stage[key] = float(bandwidth * time * rng.uniform(0.1, 2))
        elif family in ("ties", "equal everything"):
            stage[key] = float(rng.integers(1, 3)) if family == "ties" else 8.0
        else:
            high = 6 if rng.random() < 0.15 else 1
            stage[key] = float(
                cluster["inter_bandwidth"] * time * 10 ** rng.uniform(high - 3, high)
            )
            stage[key] = min(stage[key], 1e18) or float(rng.choice([1.0, 1e9]))
