"""Oracle for problem (8) of a-srpt with everything known: starts at slots, by trying them all.

The total flow is a regular objective, so that some best schedule is semi-active: taking the jobs in
some order, each starts in the first slot in which its GPUs are free to its end, its user and group
are within their quotas, and no window of its servers is in its planned length. Every order and, for
each job, every way to take its GPUs from the servers is tried; its iterations take the least
time of any placement of its stages on these GPUs (`oracles.placement`).
"""

import itertools
import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from oracles import placement

Pieces = tuple[int, ...]
"""GPUs by server."""
Run = tuple[float, float, Pieces, int]
"""Start, end, GPUs and row of a placed job."""


def server_sizes(cluster: dict[str, Any]) -> list[int]:
    if isinstance(cluster["servers"], int):
        return [cluster["gpus_per_server"]] * cluster["servers"]
    return [group["gpus"] for group in cluster["servers"] for _ in range(group["count"])]


def shortest_lengths(document: dict[str, Any], row: int) -> dict[Pieces, float]:
    """Least seconds of a job on each choice of GPUs by server that seats it exactly."""
    cluster, table = document["cluster"], document["workload"]
    sizes, keys = server_sizes(cluster), ("inter_bandwidth", "intra_bandwidth")
    case = {
        "job": document["catalogue"]["models"][table["model"][row]],
        "cluster": {"gpus_per_server": max(sizes), **{key: cluster[key] for key in keys}},
        "free_gpus": sizes,
    }
    counts = placement.tables(case)
    gpus = np.tensordot(placement.gpus_each(case), counts, axes=(0, 1))
    lengths: dict[Pieces, float] = {}
    for pieces, alpha in zip(gpus.tolist(), placement.alphas(case, counts, {}), strict=True):
        seconds = float(alpha) * table["iterations"][row]
        lengths[tuple(pieces)] = min(lengths.get(tuple(pieces), math.inf), seconds)
    return lengths


def least_total_flow(document: dict[str, Any], slot: float) -> float:
    """The least total flow of schedules whose starts are multiples of the slot, in seconds."""
    table = document["workload"]
    submit = [each - min(table["submit_time"]) for each in table["submit_time"]]
    lengths = [shortest_lengths(document, row) for row in range(len(submit))]
    least = [min(each.values()) for each in lengths]
    best = math.inf

    def first_run(runs: tuple[Run, ...], row: int, pieces: Pieces) -> Run:
        starts = (at * slot for at in itertools.count(math.ceil(submit[row] / slot)))
        each = ((start, start + lengths[row][pieces], pieces, row) for start in starts)
        return next(run for run in each if is_allowed(document, runs, run))

    def place(runs: tuple[Run, ...], left: frozenset[int], flow: float) -> None:
        nonlocal best
        if flow + sum(least[row] for row in left) >= best:
            return
        if not left:
            best = flow
            return
        for row in sorted(left):
            for pieces in lengths[row]:
                run = first_run(runs, row, pieces)
                place((*runs, run), left - {row}, flow + run[1] - submit[row])

    place((), frozenset(range(len(submit))), 0.0)
    return best


def is_allowed(document: dict[str, Any], runs: Sequence[Run], new: Run) -> bool:
    """Whether servers and quotas have room beside other runs, and no window is in the way."""
    start, end, pieces, row = new
    cluster, table = document["cluster"], document["workload"]
    origin, walltime = min(table["submit_time"]), table.get("walltime", {row: None})[row] or 0
    for window in cluster.get("maintenance", ()):
        begins, ends = window["start"] - origin, window["end"] - origin
        overlaps = start < ends and max(end - 1e-9, start + walltime) > begins
        if overlaps and any(pieces[server] for server in window["servers"]):
            return False
    for moment in [start, *(run[0] for run in runs if start < run[0] < end)]:
        held = [run for run in runs if run[0] <= moment < run[1]]
        for server, size in enumerate(server_sizes(cluster)):
            if pieces[server] and pieces[server] + sum(run[2][server] for run in held) > size:
                return False
        for kind in ("user", "group"):
            name = table[kind][row]
            gpus = sum(sum(run[2]) for run in [*held, new] if table[kind][run[3]] == name)
            if gpus > cluster.get("quotas", {}).get(f"{kind}s", {}).get(name, math.inf):
                return False
    return True


def tiny_case(seed: int) -> tuple[dict[str, Any], float]:
    """A workload of two to four jobs and a slot: ties, exact fits and jobs that span servers.

    Times are multiples of 1/16 s and many lengths are whole slots, in exact arithmetic.
    """
    rng = random.Random(seed)
    servers, size = rng.choice([(1, 2), (1, 4), (2, 2), (2, 3), (3, 1), (3, 2), (2, 4)])
    slot = rng.choice([0.5, 1.0, 2.0, 4.0])
    count = rng.randint(2, 4)
    sizes = [rng.randint(1, min(servers * size, size + 2)) for _ in range(count)]
    models = {f"m{at}": _model(rng, gpus) for at, gpus in enumerate(sizes)}
    names = [rng.choice(list(models)) for _ in range(count)]
    workload = {
        "job_id": [f"j{at}" for at in range(count)],
        "submit_time": [rng.choice([0, 0, 1, 2.5, 4]) * slot for _ in range(count)],
        "gpus": [sizes[int(name[1:])] for name in names],
        "iterations": [float(rng.randint(1, 6)) * rng.choice([1, slot]) for _ in range(count)],
        **{key: [f"{key}{at}" for at in range(count)] for key in ("user", "group")},
        "model": names,
    }
    cluster = {
        "schema": "optsched/cluster",
        "version": 1,
        "servers": servers,
        "gpus_per_server": size,
        "inter_bandwidth": rng.choice([1e9, 2e9]),
        "intra_bandwidth": 1e11,
    }
    document = {
        "schema": "optsched/online",
        "version": 1,
        "name": f"tiny-{seed}",
        "provenance": {},
        "cluster": cluster,
        "catalogue": {"schema": "optsched/catalogue", "version": 1, "models": models},
        "workload": workload,
    }
    return document, slot


def limited_case(seed: int) -> tuple[dict[str, Any], float]:
    """A tiny case on unequal servers, with windows, walltimes and quotas, in half slots."""
    document, slot = tiny_case(seed)
    rng = random.Random(f"limits {seed}")
    cluster, table = document["cluster"], document["workload"]
    sizes = [max(1, size + rng.choice([-1, 0, 0, 1])) for size in server_sizes(cluster)]
    sizes[-1] += max(0, max(table["gpus"]) - sum(sizes))
    del cluster["gpus_per_server"]
    cluster["servers"] = [{"gpus": size, "count": 1} for size in sizes]
    cluster |= {"maintenance": [], "quotas": {}, "priorities": {"users": {"a": rng.randint(-1, 1)}}}
    for _ in range(rng.randint(0, 3)):
        start = min(table["submit_time"]) + rng.randint(-4, 16) * slot / 2
        servers = rng.sample(range(len(sizes)), rng.randint(1, len(sizes)))
        end = start + rng.randint(1, 8) * slot / 2
        cluster["maintenance"].append({"servers": servers, "start": start, "end": end})
    for kind in ("user", "group"):
        table[kind] = [rng.choice("ab") for _ in table["gpus"]]
        quotas = cluster["quotas"][f"{kind}s"] = {}
        for name in rng.sample("ab", rng.randint(0, 2)):
            needed = [g for g, n in zip(table["gpus"], table[kind], strict=True) if n == name]
            quotas[name] = max(needed, default=0) + rng.randint(0, 2)
    table["walltime"] = [rng.choice([None, rng.randint(1, 16) * slot / 2]) for _ in table["gpus"]]
    return document, slot


def _model(rng: random.Random, gpus: int) -> dict[str, Any]:
    """A job of one to three stages; one in two communicates so much that its GPUs' places count."""
    stages = rng.randint(1, min(3, gpus))
    cuts = sorted(rng.sample(range(1, gpus), stages - 1))
    replicas = [b - a for a, b in zip([0, *cuts], [*cuts, gpus], strict=True)]
    scale = rng.choice([0.0, 0.0, 1e8, 4e8])
    sent = [scale * rng.randint(1, 3) for _ in replicas[1:]]
    return {
        "model": "drawn",
        "all_reduce": rng.choice(["ring", "double-tree"]),
        "stages": [
            {
                "name": f"s{s}",
                "replicas": k,
                "forward_time": rng.choice([0.25, 0.5, 1.0]),
                "backward_time": rng.choice([0.0, 0.25, 0.5]),
                "input_bytes": sent[s - 1] / k if s else 0.0,
                "output_bytes": sent[s] / k if s < stages - 1 else 0.0,
                "parameter_bytes": scale * rng.choice([0, 1]),
            }
            for s, k in enumerate(replicas)
        ],
    }
