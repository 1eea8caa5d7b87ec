"""Small workloads on clusters with maintenance windows, quotas and priorities."""

from typing import Any

import numpy as np

from oracles.harness import pick

NAMES = {"users": ("ann", "bob", ""), "groups": ("vision", "text", "")}


def draw_limited(
    rng: np.random.Generator, most_jobs: int = 14, most_windows: int = 3
) -> dict[str, Any]:
    """Rows, catalogue and cluster with limits.

    Submissions, walltimes and windows are whole seconds. In two of three cases all other numbers
    are multiples of powers of two, so that ends, submissions and windows fall together.
    """
    exact = bool(rng.random() < 0.67)
    sizes = [pick(rng, (1, 2, 4, 4) if exact else (1, 2, 3, 4)) for _ in range(rng.integers(1, 6))]
    sizes = sizes if rng.random() < 0.5 else [max(sizes)] * len(sizes)
    models = {f"m{i}": _model(rng, exact, sizes) for i in range(4)}
    count, first = int(rng.integers(3, most_jobs + 1)), pick(rng, (0, 100))
    span = int(rng.integers(0, 2 * count + 1))
    rows = []
    for i in range(count):
        key = pick(rng, sorted(models))
        stages = models[key]["stages"]
        row = {"job_id": f"j{i}", "submit_time": float(first + rng.integers(0, span + 1))}
        row["gpus"] = sum(s["replicas"] * s.get("tensor_parallel", 1) for s in stages)
        row["iterations"] = float(rng.integers(1, 7) if exact else rng.uniform(0.5, 6))
        row |= {"user": pick(rng, NAMES["users"]), "group": pick(rng, NAMES["groups"])}
        walltime = pick(rng, (None, None, float(rng.integers(1, 25))))
        rows.append({**row, "walltime": walltime, "model": key})
    windows = [
        _window(rng, len(sizes), first, span) for _ in range(rng.integers(0, most_windows + 1))
    ]
    limits: dict[str, Any] = {"maintenance": windows, "quotas": {}, "priorities": {}}
    for kind, names in NAMES.items():
        of = {name: [row["gpus"] for row in rows if row[kind[:-1]] == name] for name in names}
        quotas = {name: max([1, *gpus]) + int(rng.integers(0, 4)) for name, gpus in of.items()}
        priorities = {name: int(rng.integers(-1, 3)) for name in names}
        for limit, values in (("quotas", quotas), ("priorities", priorities)):
            limits[limit][kind] = {n: value for n, value in values.items() if rng.random() < 0.4}
    inter = pick(rng, (0.5, 1.0, 4.0))
    cluster = {"schema": "optsched/cluster", "version": 1, "inter_bandwidth": inter}
    cluster |= {"intra_bandwidth": 16 * inter}
    cluster["servers"] = [{"gpus": size, "count": 1} for size in sizes]
    cluster |= {name: limit for name, limit in limits.items() if rng.random() < 0.7}
    catalogue = {"schema": "optsched/catalogue", "version": 1, "models": models}
    return {"rows": rows, "catalogue": catalogue, "cluster": cluster}


def _model(rng: np.random.Generator, exact: bool, sizes: list[int]) -> dict[str, Any]:
    """One or two stages; of replicas of two GPUs in some, where every server holds whole ones."""
    width = 2 if all(size % 2 == 0 for size in sizes) and rng.random() < 0.3 else 1
    room = sum(sizes) // width
    stages: list[dict[str, Any]] = []
    for name in ("s0", "s1")[: pick(rng, (1, 2)) if room > 1 else 1]:
        most = room - sum(stage["replicas"] for stage in stages) - (not stages and room > 1)
        replicas = pick(rng, [k for k in ((1, 2, 4) if exact else (1, 2, 3, 4)) if k <= most])
        times = rng.integers(1, 9, 2) / 4 if exact else rng.uniform(0.2, 2.0, 2)
        stage = {"name": name, "replicas": replicas, "input_bytes": 0.0, "output_bytes": 0.0}
        stage |= {"forward_time": float(times[0]), "backward_time": float(times[1])}
        stage["parameter_bytes"] = pick(rng, (0.0, 0.5, 4.0))
        stages.append(stage | ({"tensor_parallel": width} if width > 1 else {}))
    if len(stages) == 2:
        volume = pick(rng, (0.0, 0.25, 2.0))
        stages[0]["output_bytes"] = volume / stages[0]["replicas"]
        stages[1]["input_bytes"] = volume / stages[1]["replicas"]
    return {"model": "drawn", "all_reduce": "ring", "stages": stages}


def _window(rng: np.random.Generator, servers: int, first: int, span: int) -> dict[str, Any]:
    """Of all servers, of some, or of a range of them; from before the first submission on."""
    start = first + int(rng.integers(-4, span + 12))
    low, high = sorted(rng.integers(0, servers, 2).tolist())
    named = pick(rng, (None, sorted({low, high}), {"first": low, "last": high}))
    times = {"start": float(start), "end": float(start + rng.integers(1, 9))}
    return times if named is None else {"servers": named, **times}
