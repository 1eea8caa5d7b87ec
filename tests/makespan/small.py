"""Makespan instances that several tests draw."""

from typing import Any

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


def crowded(seed: int, jobs: int = 24, servers: int = 8, **more: Any) -> MakespanInstance:
    """Jobs of up to 8 GPUs, on servers of 2, 4 and 8 with slow links between them."""
    usual = {"contention": "strong", "server_sizes": (2, 4, 8), "largest_job": 8, "slot": 30.0}
    return generate_makespan(jobs, servers, seed=seed, **{**usual, **more})
