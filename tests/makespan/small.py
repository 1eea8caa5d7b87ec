"""Makespan instances that several tests draw."""

from typing import Any

import optsched
from optsched.generators.makespan import generate_makespan
from optsched.makespan.instance import MakespanInstance

FREE = {
    "inter_bandwidth": 1e9, "intra_bandwidth": 1e9, "contention_share": 1.0, "degradation": 0.0,
    "overhead_per_server": 0.0, "overhead_on_one_server": False,
}  # fmt: skip
"""Links so fast, without an overhead, that small jobs lose nothing on them."""


def job(gpus: int, iterations: int, seconds: float = 1.0, **more: Any) -> dict[str, Any]:
    """A job whose iterations take so many seconds each and exchange nothing."""
    usual = {"gradient_bytes": 0, "batch_size": 0, "forward_time_per_sample": 0}
    return {"gpus": gpus, "iterations": iterations, "backward_time": seconds, **usual, **more}


def unit_jobs(servers: list[int], jobs: list[tuple[int, int]]) -> MakespanInstance:
    """Jobs of (GPUs, slots) that exchange nothing: an iteration takes a slot on any GPUs."""
    document = optsched.load("makespan/theorem5-2x1").to_dict() | {"servers": servers}
    document["horizon"] = 40
    document["jobs"] = [
        {**document["jobs"][0], "name": f"j{i}", "gpus": gpus, "iterations": slots}
        for i, (gpus, slots) in enumerate(jobs)
    ]
    return MakespanInstance.from_dict(document)


def crowded(seed: int, jobs: int = 24, servers: int = 8, **more: Any) -> MakespanInstance:
    """Jobs of up to 8 GPUs, on servers of 2, 4 and 8 with slow links between them."""
    usual = {"contention": "strong", "server_sizes": (2, 4, 8), "largest_job": 8, "slot": 30.0}
    return generate_makespan(jobs, servers, seed=seed, **{**usual, **more})
