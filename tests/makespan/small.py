"""Makespan instances that several tests draw."""

from typing import Any

from optsched.generators.makespan import generate_makespan
from optsched.makespan.instance import MakespanInstance


def crowded(seed: int, jobs: int = 24, servers: int = 8, **more: Any) -> MakespanInstance:
    """Jobs of up to 8 GPUs, on servers of 2, 4 and 8 with slow links between them."""
    usual = {"contention": "strong", "server_sizes": (2, 4, 8), "largest_job": 8, "slot": 30.0}
    return generate_makespan(jobs, servers, seed=seed, **{**usual, **more})
