"""The price policy's parts, by hand and against brute force."""

import itertools

import numpy as np
import pytest
from rolling.small import instance, job

from optsched.generators.rolling import generate_rolling, rolling_settings
from optsched.result import Settings
from optsched.rolling.policies.by_name import make_policy
from optsched.rolling.policies.fewest_migrations import Placed
from optsched.rolling.policies.price import Price, PricePatterns
from optsched.rolling.simulator.world import View, World
from optsched.selection.cost import Tables


def total(tables: Tables, gain: np.ndarray, placed: Placed) -> float:
    return float(gain[placed.job, tables.kind_of[placed.node], placed.configuration].sum())


def fits(tables: Tables, choice: tuple[tuple[int, int], ...]) -> bool:
    """Two GPUs on the one node of each type: whole GPUs and the fractions of shared ones."""
    for t, kind in enumerate(tables.kinds):
        held = [kind.configurations[c] for u, c in choice if u == t]
        whole = sum(each.gpus for each in held if not each.shares)
        shares = [each.fraction for each in held if each.shares]
        if whole > 2 or not any(
            all(sum(s for s, b in zip(shares, bins, strict=True) if b == g) <= 1 for g in (0, 1))
            for bins in itertools.product(range(2 - whole), repeat=len(shares))
        ):
            return False
    return True


@pytest.mark.parametrize("seed", range(6))
def test_seating_by_patterns_is_optimal(seed: int) -> None:
    """Against brute force on 2 nodes x 2 GPUs and 4 jobs; greedy seating is never better."""
    asked = rolling_settings(2, jobs=4, gpus_per_node=2, arrivals="load", load=1.0)
    world = World(generate_rolling(asked, seed=seed))
    view = View(world, 0.0, tuple(range(4)), (0.0,) * 4, {}, frozenset())
    tables, rng = view.tables, np.random.default_rng(seed)
    gain = np.where(
        np.isfinite(tables.seconds), rng.normal(0.5, 1.0, tables.seconds.shape), -np.inf
    )
    options = [
        [(-1, -1), *((int(t), int(c)) for t, c in np.argwhere(gain[j] > 0))] for j in range(4)
    ]
    best = max(
        sum(gain[j, t, c] for j, (t, c) in enumerate(choice) if t >= 0)
        for choice in itertools.product(*options)
        if fits(tables, choice)
    )
    policy = PricePatterns(view.world, "price-patterns", Settings())
    free, urgency = np.zeros(len(tables.kinds)), gain.reshape(4, -1).max(axis=1)
    found = total(tables, gain, policy.assign(view, gain, free, urgency))
    assert found == pytest.approx(best, rel=1e-3)
    assert total(tables, gain, Price(view.world).assign(view, gain, free, urgency)) <= best + 1e-9


def test_jobs_with_ample_time_run_now_all_the_same() -> None:
    """At M = 0 the cheapest GPUs gain exactly what they cost: rounding must not decide."""
    for rate in (0.1, 0.3, 0.7, 1.1):
        node = {"name": "n", "gpu_type": "A", "gpus": 2, "cost_rate": [rate, 2 * rate]}
        for seconds in (1.7, 2.3, 3.1):
            times = {"A": [seconds, seconds / 1.6]}
            one = instance([job("a", 0.0, 1e4, 10, epoch_time=times)], nodes=[node])
            world = World(one)
            view = View(world, 0.0, (0,), (0.0,), {}, frozenset())
            for name in ("price", "price-patterns"):
                plan = make_policy(name, world, Settings()).decide(view)
                assert len(plan.placements[0].gpus) == 1
