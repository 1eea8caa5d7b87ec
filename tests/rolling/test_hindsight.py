"""The search that knows everything: its cost is the simulator's, above the bound, audited."""

from __future__ import annotations

import numpy as np
import pytest

from optsched.generators.rolling import generate_rolling, rolling_settings
from optsched.rolling.audit import audit
from optsched.rolling.bounds.clairvoyant import clairvoyant_bound
from optsched.rolling.metrics import compute_metrics
from optsched.rolling.policies._hindsight_kernel import Wanted, cost_in_order
from optsched.rolling.policies.hindsight import InOrder, hindsight_run, known_jobs
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
def test_an_order_costs_what_its_run_costs(seed: int) -> None:
    world, rng = drawn(seed), np.random.default_rng(seed)
    epochs = true_epochs(world.instance, seed)
    known = known_jobs(world, epochs)
    fits = np.isfinite(known.seconds.reshape(len(epochs), -1))
    choice = np.array([rng.choice(np.flatnonzero(row)) for row in fits])
    wanted = Wanted(rng.permutation(len(epochs)), choice)
    nodes, moments = nodes_of(world.instance, world.all.kind_of), np.sort(known.release)
    cost = cost_in_order(wanted, known, nodes, moments, np.inf)
    policy = InOrder(world, wanted, known.seconds.shape[2])
    run = simulate_rolling(world, policy, epochs=epochs)
    assert audit(world.instance, run, epochs=epochs).feasible
    assert compute_metrics(world.instance, run).total_cost == pytest.approx(cost, rel=1e-9)
    assert cost_in_order(wanted, known, nodes, moments, 0.99 * cost) == np.inf


def test_a_search_lies_between_its_start_and_the_bound() -> None:
    world = drawn(2)
    epochs = true_epochs(world.instance, 2)
    costs = []
    for steps in (1, 3000):
        run = hindsight_run(world, epochs, 100.0, seed=1, steps=steps)
        assert audit(world.instance, run, epochs=epochs).feasible
        costs.append(compute_metrics(world.instance, run).total_cost)
    assert clairvoyant_bound(world, epochs, costs[0]).bound < costs[1] < 0.8 * costs[0]
