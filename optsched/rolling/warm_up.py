"""Loading the compiled loops before anything is timed."""

from __future__ import annotations

from functools import lru_cache

from optsched.result import Settings
from optsched.rolling.instance import SCHEMA, RollingInstance
from optsched.rolling.policies.by_name import make_policy
from optsched.rolling.simulator.engine import simulate_rolling
from optsched.rolling.simulator.world import World


@lru_cache
def warm_up() -> None:
    """Run the policies with compiled loops once on a tiny instance."""
    world = World(tiny_instance())
    for name in ("sts", "rg", "dp", "price"):
        simulate_rolling(world, make_policy(name, world, Settings()))


def tiny_instance() -> RollingInstance:
    """Two jobs on one node of two GPUs."""
    job = {
        "tardiness_weight": 1.0,
        "memory_bytes": 4.0,
        "epochs": {"values": [5, 10], "probabilities": [0.5, 0.5]},
        "epoch_time": {"A": [2.0, 1.2]},
        "true_epochs": 10,
    }
    return RollingInstance.from_dict(
        {
            "schema": SCHEMA,
            "version": 1,
            "name": "tiny",
            "now": 0.0,
            "interval": 10.0,
            "postponement_penalty": 2.0,
            "gpu_types": {"A": {"memory_bytes": 8.0, "slowdown": {"0.5": 1.1}}},
            "nodes": [{"name": "n", "gpu_type": "A", "gpus": 2, "cost_rate": [0.1, 0.2]}],
            "jobs": [
                {"name": "a", "submit_time": 0.0, "due_date": 15.0, **job},
                {"name": "b", "submit_time": 3.0, "due_date": 18.0, **job},
            ],
        }
    )
