"""The search that knows everything: its cost is the simulator's, above the bound, audited."""

from __future__ import annotations

import numpy as np
import pytest
from rolling.small import instance, job

from optsched.generators.rolling import generate_rolling, rolling_settings
from optsched.rolling.audit import audit
from optsched.rolling.bounds.clairvoyant import BoundSettings, clairvoyant_bound
from optsched.rolling.metrics import compute_metrics
from optsched.rolling.policies._hindsight_kernel import States, cost_of_worths
from optsched.rolling.policies.hindsight import ByWorth, hindsight_run, known_jobs
from optsched.rolling.simulator.engine import simulate_rolling
from optsched.rolling.simulator.true_epochs import true_epochs
from optsched.rolling.simulator.world import World
from optsched.selection.heuristics._best_fit_kernel import nodes_of


def drawn(seed: int) -> World:
    settings = rolling_settings(
        3, jobs=15, gpus_per_node=1 + seed % 4, cost_classes=seed % 3, arrivals="load", load=1.5
    )
    return World(generate_rolling(settings, seed=seed))


@pytest.mark.parametrize("seed", range(8))
def test_worths_cost_what_their_run_costs(seed: int) -> None:
    """Also from the state before any job's arrival on."""
    world, rng = drawn(seed), np.random.default_rng(seed)
    epochs = true_epochs(world.instance, seed)
    known, nodes = known_jobs(world, epochs), nodes_of(world.instance, world.all.kind_of)
    worth = known.floor * np.exp(rng.normal(2.0, 2.0, size=len(epochs)).clip(0.0))
    states = States(np.zeros((15, 15)), np.zeros((15, 2)))
    states.left[0], states.money[0, 1] = known.work, known.release[0]
    cost = cost_of_worths(worth, known, nodes, 0, np.inf, states)
    run = simulate_rolling(world, ByWorth(world, known, worth), epochs=epochs)
    assert audit(world.instance, run, epochs=epochs).feasible
    assert compute_metrics(world.instance, run).total_cost == pytest.approx(cost, rel=1e-9)
    assert cost_of_worths(worth, known, nodes, 0, 0.99 * cost, states) == np.inf
    for first in range(15):
        assert cost_of_worths(worth, known, nodes, first, np.inf, states) == cost


def test_a_search_lies_between_its_start_and_the_bound() -> None:
    world = drawn(2)
    epochs = true_epochs(world.instance, 2)
    costs = []
    for steps in (1, 3000):
        run = hindsight_run(world, epochs, 100.0, seed=1, steps=steps)
        assert audit(world.instance, run, epochs=epochs).feasible
        costs.append(compute_metrics(world.instance, run).total_cost)
    assert clairvoyant_bound(world, epochs, costs[0]).bound < costs[1] < 0.8 * costs[0]


@pytest.mark.parametrize("seed", range(3))
def test_on_one_gpu_late_jobs_run_in_the_order_that_is_known_to_be_best(seed: int) -> None:
    """All late from the start: by weight over length (Smith's rule), which the bound is below."""
    rng = np.random.default_rng(seed)
    lengths, weights = rng.integers(1, 20, size=7).astype(float), rng.uniform(1, 10, size=7)
    nodes = [{"name": "n", "gpu_type": "A", "gpus": 1, "cost_rate": [1.0]}]
    jobs = [
        job(f"j{i}", 0.0, 0.0, float(w), tardiness_weight=float(eta), epoch_time={"A": [1.0]})
        for i, (w, eta) in enumerate(zip(lengths, weights, strict=True))
    ]
    world, epochs = World(instance(jobs, nodes=nodes)), tuple(lengths)
    order = np.argsort(lengths / weights)
    best = lengths.sum() + weights[order] @ np.cumsum(lengths[order])
    run = hindsight_run(world, epochs, best, seed=seed, steps=3000)
    assert compute_metrics(world.instance, run).total_cost == pytest.approx(best, rel=1e-9)
    effort = BoundSettings(iterations=200, slot=1.0)
    found = clairvoyant_bound(world, epochs, best, effort, until=float(lengths.sum()))
    assert 0.8 * best < found.bound <= best * (1 + 1e-9)


def test_free_jobs_that_may_wait_are_run_all_the_same() -> None:
    nodes = [{"name": "n", "gpu_type": "A", "gpus": 2, "cost_rate": [0.0, 0.0]}]
    jobs = [job(str(i), 0.0, 1e3, 10, tardiness_weight=0.0) for i in range(4)]
    world = World(instance(jobs, nodes=nodes))
    run = hindsight_run(world, (10.0,) * 4, 1.0, steps=20)
    assert audit(world.instance, run, epochs=(10.0,) * 4).feasible


def test_a_run_that_costs_nothing_is_searched_from() -> None:
    """GPUs for nothing and nobody late: any run costs 0, and so does the one that is found."""
    free = drawn(0).instance
    document = free.to_dict()
    for node in document["nodes"]:
        node["cost_rate"] = [0.0] * node["gpus"]
    for each in document["jobs"]:
        each["tardiness_weight"] = 0.0
    world = World(type(free).from_dict(document))
    epochs = true_epochs(world.instance, 0)
    run = hindsight_run(world, epochs, 0.0, steps=20)
    assert audit(world.instance, run, epochs=epochs).feasible
    assert compute_metrics(world.instance, run).total_cost == 0.0
