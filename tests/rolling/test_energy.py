"""One job on free GPUs: the run's energy is what its speed profile expects."""

from typing import Any

import numpy as np
import pytest
from oracles.speed_profile_cases import document
from rolling.small import instance, job, run_on

import optsched
from optsched.rolling.instance import RollingInstance
from optsched.rolling.metrics import compute_metrics
from optsched.speed_profile.instance import SpeedProfileInstance


def alone(seed: int, epochs: dict[str, Any] | None = None, **more: Any) -> RollingInstance:
    """A random job on one node of four GPUs, due within what its speeds can do."""
    rng = np.random.default_rng(seed)
    if epochs is None:
        epochs = {"values": [float(rng.integers(10, 100))], "probabilities": [1.0]}
    times = (rng.uniform(10, 60) / np.arange(1, 5) ** rng.uniform(0.5, 0.95)).tolist()
    most = max(epochs["values"]) - more.get("completed_epochs", 0)
    due = 100.0 + most * float(rng.uniform(times[-1], times[0] * 1.1))
    rates = (0.3 * np.arange(1, 5) ** rng.uniform(0.8, 1.2)).tolist()
    node = {"name": "n", "gpu_type": "A", "gpus": 4, "cost_rate": rates}
    one = job("a", 100.0, due, epochs, epoch_time={"A": times}, **more)
    return instance([one], nodes=[node], interval=float(rng.uniform(200, 4000)))


def expected_energy(rolling: RollingInstance) -> float:
    """The optimum of (P3), by the speed-profile slice's exact method and checker."""
    one, node = rolling.jobs[0], rolling.nodes[0]
    speeds = [1 / t for t in one.epoch_time["A"]]
    made = document("p", speeds, node.cost_rate, one.epochs.model_dump())
    made |= {"deadline": one.due_date - one.submit_time, "completed": one.completed_epochs}
    return optsched.solve(SpeedProfileInstance.from_dict(made), "hull").objective


def energy(rolling: RollingInstance, *epochs: float) -> float:
    return compute_metrics(rolling, run_on(rolling, "sts", epochs=epochs or None)).energy_cost


RANDOM = {"values": [12.0, 30.0, 47.0, 80.0, 100.0], "probabilities": [0.2, 0.3, 0.1, 0.25, 0.15]}


@pytest.mark.parametrize("seed", range(20))
def test_deterministic_epochs_cost_the_profiles_energy(seed: int) -> None:
    rolling = alone(seed)
    assert energy(rolling) == pytest.approx(expected_energy(rolling), rel=1e-9)


@pytest.mark.parametrize(("seed", "done"), [(0, 0), (1, 0), (2, 15), (3, 0), (4, 47), (5, 0)])
def test_random_epochs_weighted_cost_the_profiles_energy(seed: int, done: float) -> None:
    """Stronger than a mean of draws: every value of W once, exactly weighted."""
    rolling = alone(seed, RANDOM, completed_epochs=done)
    left = [
        (w, p) for w, p in zip(RANDOM["values"], RANDOM["probabilities"], strict=True) if w > done
    ]
    mean = sum(p * energy(rolling, w) for w, p in left) / sum(p for _, p in left)
    assert mean == pytest.approx(expected_energy(rolling), rel=1e-9)
