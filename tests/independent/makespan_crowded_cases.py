"""Makespans that simple bounds leave open: pools, crowded links, whole steps of speed."""

from __future__ import annotations

from typing import Any

import numpy as np
from independent import makespan_oracle as oracle
from independent.makespan_cases import Case

FAMILIES = (
    "pools",
    "two pools",
    "must span",
    "inside is slow",
    "whole steps",
    "many iterations",
    "alike",
    "exact fill",
    "wide",
    "no share",
    "levels",
    "crowd",
)
LONGEST = 30
"""Slots of an optimum."""


def draw(seed: int, number: int, most_states: int = 2000) -> Case:
    """Case ``number`` of a seed; in 19 of 20 neither area nor the longest job is the optimum."""
    rng = np.random.default_rng([seed, number, 7])
    family = FAMILIES[number % len(FAMILIES)]
    while True:
        instance = _instance(rng, family, number)
        if any(_is_a_toss_up(instance, job) for job in instance["jobs"]):
            continue
        least = [oracle.least_slots(instance, job) for job in instance["jobs"]]
        slots = [each for each in least if each is not None]
        if len(slots) < len(least) or max(slots) > 20:
            continue
        try:
            optimum = oracle.least_makespan(instance, LONGEST, most_states)
        except OverflowError:
            continue
        if optimum is None:
            continue
        held = sum(d * job["gpus"] for d, job in zip(slots, instance["jobs"], strict=True))
        area = -(-held // sum(instance["servers"]))
        if optimum > max(area, *slots) or rng.random() < 0.05:
            return Case(family, instance, optimum, rng)


def _is_a_toss_up(instance: dict, job: dict) -> bool:
    """Whether how many iterations fit a slot hangs on the order of a sum of floats.

    The model counts what misses a whole number by 1e-9 as whole; here it misses it by just that.
    """
    levels, servers = len(instance["jobs"]), len(instance["servers"])
    for spread in range(1, servers + 1):
        for level in range(levels + 1):
            tau = oracle.iteration_seconds(instance, job, spread, level)
            fit = instance["slot"] / tau + 1e-9
            if abs(fit - round(fit)) <= 1e-12 * max(fit, 1.0):
                return True
    return False


def forged(rng: np.random.Generator, instance: dict, deadline: int) -> dict[str, Any]:
    """A certificate with any prices: simple ones, equal ones, or far apart."""
    jobs, widest = len(instance["jobs"]), max(instance["servers"])
    most = int(rng.choice([1, 2, 5, 1000, 10**9]))

    def prices(count: int) -> list[int]:
        return [int(price) for price in rng.integers(0, most + 1, count)]

    if rng.random() < 0.5:
        grid = int(rng.choice([deadline, 3 * deadline + 1, 97, 1000]))
        return {"kind": "columns", "deadline": deadline, "resolution": grid, "prices": prices(jobs)}
    rows = [prices(widest) for _ in range(int(rng.integers(1, 5)))]
    running = {str(j): price for j, price in enumerate(prices(jobs)) if rng.random() < 0.5}
    return {
        "kind": "contention",
        "deadline": deadline,
        "pieces": rows,
        "inside": prices(widest),
        "running": running,
    }


def _servers(rng: np.random.Generator, family: str) -> list[int]:
    if family == "pools":
        return [int(rng.integers(1, 3))] * int(rng.integers(3, 5))
    if family == "two pools":
        few, many = rng.choice([1, 2, 3, 4], 2, replace=False)
        pools = [few] * int(rng.integers(1, 3)) + [many] * int(rng.integers(1, 3))
        return [int(gpus) for gpus in rng.permutation(pools)]
    if family in ("must span", "levels"):
        return [int(rng.integers(2, 5))] * int(rng.integers(2, 4))
    if family == "crowd":
        return [int(rng.integers(4, 7))] * 2
    if family == "wide":
        return [int(gpus) for gpus in rng.integers(1, 5, rng.integers(2, 4))]
    return [int(gpus) for gpus in rng.integers(1, 4, rng.integers(2, 5 if "fill" in family else 4))]


def _sizes(rng: np.random.Generator, family: str, servers: list[int]) -> list[int]:
    """GPUs of the jobs."""
    total, largest, jobs = sum(servers), max(servers), int(rng.integers(3, 6))
    if family == "exact fill":
        sizes: list[int] = []
        while len(sizes) < 2 or sum(sizes) % total:
            sizes = [] if len(sizes) == 4 else [*sizes, int(rng.integers(1, total + 1))]
        return sizes
    low, high = {
        "must span": (largest + 1, largest + 2),
        "wide": (largest + 1, largest + 2),
        "levels": (2, 4),
        "crowd": (2, 3),
    }.get(family, (1, largest + 2))
    jobs += family == "crowd"
    jobs = 3 if family == "wide" else jobs
    return [min(total, int(gpus)) for gpus in rng.integers(low, high + 1, jobs)]


def _network(rng: np.random.Generator, family: str) -> dict[str, Any]:
    network: dict[str, Any] = {
        "inter_bandwidth": 1.0,
        "intra_bandwidth": 64.0,
        "contention_share": 1.0,
        "degradation": float(rng.choice([0.0, 0.3, 1.0])),
        "overhead_per_server": float(rng.choice([0.0, 0.0, 0.02])),
        "overhead_on_one_server": bool(rng.random() < 0.5),
    }
    if family in ("inside is slow", "crowd"):  # then to span is faster, while links are free
        network["intra_bandwidth"] = float(rng.choice([0.05, 0.1, 0.3, 1.0]))
        network["contention_share"] = float(rng.choice([0.2, 0.5, 1.0]))
    if family == "no share":
        network["contention_share"] = float(rng.choice([0.0, 0.34, 0.5]))
    if family in ("whole steps", "many iterations"):
        network["overhead_per_server"] = 0.0
    if family == "whole steps":
        network["degradation"] = 0.0
        network["intra_bandwidth"] = float(rng.choice([1.0, 2.0, 10.0]))
    return network


def _job(rng: np.random.Generator, family: str, gpus: int) -> dict[str, Any]:
    job: dict[str, Any] = {
        "gpus": gpus,
        "iterations": int(rng.integers(1, 8 if family == "crowd" else 20)),
        "gradient_bytes": float(rng.choice([0.05, 0.1, 0.2, 0.3])),
        "batch_size": 1.0,
        "forward_time_per_sample": float(rng.choice([0.0, 0.01, 0.1])),
        "backward_time": float(rng.choice([0.0, 0.05])),
    }
    if family == "whole steps":  # tau is 0.1 or so times a level, slot over tau nearly whole
        volume = float(rng.choice([0.05, 0.1, 0.15]))
        job["gradient_bytes"] = volume * gpus / max(gpus - 1, 1) / 2
        job["forward_time_per_sample"] = float(rng.choice([0.0, 0.1, 0.1]))
        job["backward_time"] = 0.0
    if gpus == 1 and not job["forward_time_per_sample"] + job["backward_time"]:
        job["backward_time"] = 0.05
    if family == "many iterations":  # up to 1e9: one too few is within a solver's tolerance
        scale = 10.0 ** int(rng.integers(3, 9))
        whole = int(int(rng.integers(1, 12)) * scale / int(rng.integers(1, 5)))
        job["iterations"] = max(1, whole + int(rng.integers(-1, 2)))
        for key in ("gradient_bytes", "forward_time_per_sample", "backward_time"):
            job[key] /= scale
    return job


def _instance(rng: np.random.Generator, family: str, number: int) -> dict:
    servers = _servers(rng, family)
    jobs = [_job(rng, family, gpus) for gpus in _sizes(rng, family, servers)]
    if family == "alike":
        kinds = int(rng.integers(1, 3))
        jobs = [jobs[j % kinds] for j in range(len(jobs))]
    slot = float(rng.choice([0.3, 0.7, 0.9, 1.1])) if family == "whole steps" else 1.0
    return {
        "schema": "optsched/makespan",
        "version": 1,
        "name": f"crowded-{number}",
        "servers": servers,
        "network": _network(rng, family),
        "compute_rate": 1e9,
        "slot": slot,
        "progress": "floor",
        "horizon": 60,
        "jobs": [{**job, "name": f"j{j}"} for j, job in enumerate(jobs)],
    }
