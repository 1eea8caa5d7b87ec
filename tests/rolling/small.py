"""Small rolling instances for the tests."""

from typing import Any

from oracles.selection_cases import document

from optsched.result import Settings
from optsched.rolling.instance import SCHEMA, RollingInstance
from optsched.rolling.options import RollingOptions
from optsched.rolling.policies.by_name import make_policy
from optsched.rolling.records import Records
from optsched.rolling.simulator.engine import simulate_rolling
from optsched.rolling.simulator.world import World


def job(name: str, submit: float, due: float, epochs: Any, **more: Any) -> dict[str, Any]:
    """A job of two speeds: 2 s an epoch on one GPU, 1.25 s on two."""
    if not isinstance(epochs, dict):
        epochs = {"values": [epochs], "probabilities": [1.0]}
    return {
        "name": name,
        "submit_time": submit,
        "due_date": due,
        "tardiness_weight": 10.0,
        "memory_bytes": 4.0,
        "epochs": epochs,
        "epoch_time": {"A": [2.0, 1.25]},
    } | more


def costing(*rates: float) -> dict[str, Any]:
    """A node of two GPUs at such dollars a second for one of them and for both."""
    return {"nodes": [{"name": "n", "gpu_type": "A", "gpus": 2, "cost_rate": list(rates)}]}


def instance(jobs: list[dict[str, Any]], **more: Any) -> RollingInstance:
    """One node of two GPUs at 1 $/s each."""
    types = {"A": {"memory_bytes": 8.0, "slowdown": {}}}
    usual = {"interval": 1000.0, "postponement_penalty": 2.0, "schema": SCHEMA}
    made = document("small", types, [], jobs, **usual)
    return RollingInstance.from_dict({**made, **costing(1.0, 2.0), **more})


def three_jobs(**more: Any) -> RollingInstance:
    jobs = [job("a", 0.0, 100.0, 10), job("b", 4.0, 19.5, 10), job("c", 15.0, 18.0, 4)]
    return instance(jobs, **more)


def run_on(
    instance: RollingInstance,
    name: str,
    seed: int = 0,
    epochs: tuple[float, ...] | None = None,
    limits: dict[str, Any] | None = None,
    **options: Any,
) -> Records:
    world = World(instance, RollingOptions.from_dict(options))
    settings = Settings(seed=seed, **({"iterations": 3, "time_limit": 60.0} | (limits or {})))
    return simulate_rolling(world, make_policy(name, world, settings), seed=seed, epochs=epochs)
