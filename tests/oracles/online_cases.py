"""Small, nasty workloads: simultaneous and equal jobs, whole clusters, extreme units."""

from itertools import pairwise
from typing import Any

import numpy as np

from oracles.harness import pick


def draw_workload(rng: np.random.Generator, most_jobs: int = 40) -> dict[str, Any]:
    """Rows, catalogue and cluster.

    In the exact style all numbers are small multiples of powers of two, so that ties are ties in
    any arithmetic; in the other no two jobs are equal, and no two events fall together.
    """
    exact = bool(rng.random() < 0.6)
    unit = pick(rng, (1.0, 1.0, 1.0, 2.0**-20, 2.0**20) if exact else (1.0, 1.0, 1e-7, 1e7))
    size = pick(rng, (1, 2, 4, 8) if exact else (1, 2, 3, 4, 5, 8))
    servers = pick(rng, (1, 2, 4) if exact else (1, 2, 3, 5))
    inter = pick(rng, (0.5, 1.0, 4.0, 64.0) if exact else (0.7, 3.1, 50.0)) / unit
    cluster = {
        "schema": "optsched/cluster",
        "version": 1,
        "servers": servers,
        "gpus_per_server": size,
        "inter_bandwidth": inter,
        "intra_bandwidth": inter * pick(rng, (1.0, 2.0, 16.0, 256.0)),
    }
    models = {
        f"m{i}": _model(rng, exact, unit, size * servers) for i in range(int(rng.integers(1, 6)))
    }
    jobs = int(rng.integers(3, most_jobs + 1))
    spread = pick(rng, (0.0, 0.25, 1.0, 8.0)) * jobs
    at = pick(rng, (0.0, 0.0, 64.0, 1024.0)) * unit
    rows = []
    for i in range(jobs):
        key = pick(rng, sorted(models))
        gpus = sum(stage["replicas"] for stage in models[key]["stages"])
        moment = rng.integers(0, 2 * int(spread) + 1) / 2 if exact else rng.uniform(0, spread)
        length = int(rng.integers(1, 9)) if exact else float(rng.uniform(0.5, 9))
        rows.append(
            {
                "job_id": f"j{i}",
                "submit_time": float(at + moment * unit),
                "gpus": gpus,
                "iterations": float(length),
                "user": f"u{int(rng.integers(3))}",
                "group": f"g{int(rng.integers(4))}",
                "model": key,
            }
        )
    if rng.random() < 0.15 and exact:  # equal jobs end together, in whatever order sums are made
        rows = [{**rows[0], "job_id": row["job_id"]} for row in rows]
    if rng.random() < 0.5:
        rows.sort(key=lambda row: row["submit_time"])
    return {
        "rows": rows,
        "catalogue": {"schema": "optsched/catalogue", "version": 1, "models": models},
        "cluster": cluster,
        "exact": exact,
    }


def _model(rng: np.random.Generator, exact: bool, unit: float, most: int) -> dict[str, Any]:
    def number(low: float, high: float) -> float:
        return float(
            rng.integers(int(low * 4), int(high * 4) + 1) / 4 if exact else rng.uniform(low, high)
        )

    sizes = (1, 2, 4, 8) if exact else (1, 2, 3, 4, 5, 6, 7)
    left = most if rng.random() < 0.2 else int(rng.integers(1, min(most, 12) + 1))
    stages: list[dict[str, Any]] = []
    while left and len(stages) < 4:
        replicas = pick(rng, [k for k in sizes if k <= left])
        left -= replicas
        stages.append(
            {
                "name": f"s{len(stages)}",
                "replicas": replicas,
                "forward_time": number(0.25, 2) * unit,
                "backward_time": number(0, 2) * unit,
                "input_bytes": 0.0,
                "output_bytes": 0.0,
                "parameter_bytes": pick(rng, (0.0, number(0, 4), number(4, 32))),
            }
        )
        if rng.random() < 0.4:
            break
    for one, other in pairwise(stages):
        together = pick(rng, (0.0, number(0, 2), number(2, 16))) * 8
        one["output_bytes"] = together / one["replicas"]
        other["input_bytes"] = together / other["replicas"]
    return {
        "model": "drawn",
        "all_reduce": pick(rng, ("ring", "ring", "double-tree")),
        "stages": stages,
    }


def widened(rng: np.random.Generator, drawn: dict[str, Any], most: int) -> dict[str, Any]:
    """The same on many servers, most jobs of one GPU, of up to so many at once."""
    gpus = int(rng.integers(most // 2, most + 1))
    drawn["cluster"]["servers"] = -(-gpus // drawn["cluster"]["gpus_per_server"])
    models = drawn["catalogue"]["models"]
    stage = {**models["m0"]["stages"][0], "replicas": 1, "output_bytes": 0.0}
    models["alone"] = {**models["m0"], "stages": [stage]}
    for row in drawn["rows"]:
        if rng.random() < 0.8:
            row.update(model="alone", gpus=1, iterations=row["iterations"] * pick(rng, (4, 16, 64)))
    return drawn


def with_walltimes(rng: np.random.Generator, drawn: dict[str, Any]) -> dict[str, Any]:
    """The same with users' estimates of some jobs, from far too short to far too long."""
    for row in drawn["rows"]:
        known = 2.0 ** int(rng.integers(-4, 8)) * row["iterations"]
        row["walltime"] = pick(rng, (None, known, known))
    return drawn


def with_slices(rng: np.random.Generator, drawn: dict[str, Any]) -> dict[str, Any]:
    """The same with slices, experts and micro-batches, and clusters that hold what they ask for.

    Replicas of several GPUs take the place of some of one, so that a job asks for as many GPUs
    as before.
    """
    size = drawn["cluster"]["gpus_per_server"]
    for model in drawn["catalogue"]["models"].values():
        unit = max(stage["forward_time"] for stage in model["stages"])
        rate = drawn["cluster"]["inter_bandwidth"] * unit
        for stage in model["stages"]:
            k = stage["replicas"]
            slices = pick(rng, [q for q in (1, 2, 2, 4, 8) if k % q == 0 and q <= size])
            if slices > 1:
                stage.update(replicas=k // slices, tensor_parallel=slices)
                for key in ("input_bytes", "output_bytes"):
                    stage[key] *= slices
                stage["tensor_bytes"] = pick(rng, (0.0, 1.0, 4.0)) * rate
            if rng.random() < 0.3:
                stage["expert_bytes"] = pick(rng, (0.0, 0.5, 2.0)) * rate
        if rng.random() < 0.3:
            model["micro_batches"] = pick(rng, (1, 2, 4))
    return drawn
