"""The clairvoyant bound: its inner problem is a linear programme, its limit the whole one."""

import numpy as np
import pytest
from rolling.small import costing, instance, job, run_on
from sampling import first
from scipy.optimize import linprog

from optsched.generators.rolling import generate_rolling, rolling_settings
from optsched.rolling.bounds.clairvoyant import (
    BoundSettings,
    Workload,
    clairvoyant_bound,
    lagrangian,
    workload_of,
)
from optsched.rolling.epochs import draw_epochs
from optsched.rolling.metrics import compute_metrics
from optsched.rolling.options import RollingOptions
from optsched.rolling.simulator.world import World


def linear_programme(
    load: Workload, edges: np.ndarray, prices: np.ndarray | None, integral: bool = False
) -> float:
    """All completions by slot at once: capacities as rows, or priced where prices are given.

    Variables for job j completing in slot i: z (share), x (time in slot i), late (tardiness), and
    seconds y[h, c]. Rows: sum z = 1; sum_c y[h] <= length z, for h = i <= x <= length z; work done
    = W z; late >= (start_i - d) z + x. With integral z no job is half early and half late.
    """
    costs: list[float] = []
    shares: list[int] = []
    equal: list[tuple[list[tuple[int, float]], float]] = []
    below: list[tuple[list[tuple[int, float]], float]] = []
    slots = len(edges) - 1
    use: dict[tuple[int, int], list[tuple[int, float]]] = {}

    def variable(cost: float) -> int:
        costs.append(cost)
        return len(costs) - 1

    for j, (arrival, work, due, weight) in enumerate(load.jobs):
        once = []
        for i in range(slots):
            if edges[i + 1] <= arrival:
                continue
            start = max(edges[i], arrival)
            z, x, late = variable(0.0), variable(0.0), variable(weight)
            once.append((z, 1.0))
            shares.append(z)
            done = []
            for h in range(i + 1):
                length = edges[h + 1] - max(edges[h], arrival)
                if length <= 0:
                    continue
                spent = []
                for c in range(load.start[j], load.start[j + 1]):
                    t, size = load.kind[c], load.size[c]
                    price = 0.0 if prices is None else prices[t, h] * size
                    y = variable(load.energy[c] + price)
                    spent.append((y, 1.0))
                    done.append((y, load.speed[c]))
                    use.setdefault((t, h), []).append((y, size))
                below.append(([*spent, (z, -length) if h < i else (x, -1.0)], 0.0))
            below.append(([(x, 1.0), (z, -(edges[i + 1] - start))], 0.0))
            below.append(([(z, start - due), (x, 1.0), (late, -1.0)], 0.0))
            equal.append(([*done, (z, -work)], 0.0))
        equal.append((once, 1.0))
    if prices is None:
        for (t, h), terms in use.items():
            if h < slots - 1:
                below.append((terms, load.gpus[t] * (edges[h + 1] - edges[h])))

    def dense(rows: list) -> tuple[np.ndarray, list[float]]:
        matrix = np.zeros((len(rows), len(costs)))
        for r, (terms, _) in enumerate(rows):
            for column, value in terms:
                matrix[r, column] += value
        return matrix, [limit for _, limit in rows]

    a_ub, b_ub = dense(below)
    a_eq, b_eq = dense(equal)
    whole = np.zeros(len(costs))
    whole[shares] = integral
    answer = linprog(costs, a_ub, b_ub, a_eq, b_eq, integrality=whole)
    assert answer.status == 0
    paid = 0.0 if prices is None else (prices * load.gpus[:, None] * np.diff(edges)).sum()
    return float(answer.fun - paid)


def small(seed: int) -> tuple[World, tuple[float, ...]]:
    settings = rolling_settings(
        2, jobs=4, gpus_per_node=2, arrivals="load", load=2.5, sharing=bool(seed % 2)
    )
    made = generate_rolling(settings, seed=seed)
    world = World(made, RollingOptions.from_dict({"sharing": "on" if seed % 2 else "off"}))
    return world, draw_epochs(made, seed)


def grid(load: Workload, slots: int) -> np.ndarray:
    begin = load.jobs[:, 0].min()
    end = load.jobs[:, :2].sum(axis=0)[0] / len(load.jobs) + load.jobs[:, 2].max()
    return np.append(np.linspace(begin, end, slots), end + 1e6)


@pytest.mark.parametrize("seed", range(6))
def test_at_any_prices_the_inner_problems_are_linear_programmes(seed: int) -> None:
    world, epochs = small(seed)
    load = workload_of(world, epochs)
    edges = grid(load, 6)
    prices = np.random.default_rng(seed).uniform(0, 3e-3, size=(len(load.gpus), len(edges) - 1))
    prices[:, -1] = 0.0
    for given in (np.zeros_like(prices), prices):
        value, _ = lagrangian(load, edges, given)
        assert value == pytest.approx(linear_programme(load, edges, given), rel=1e-6)


@pytest.mark.parametrize("seed", first(2, range(4)))
def test_the_best_prices_come_close_to_the_linear_programme(seed: int) -> None:
    world, epochs = small(seed)
    found = clairvoyant_bound(world, epochs, 100.0, BoundSettings(iterations=400, slot=4000.0))
    load = workload_of(world, epochs)
    best = linear_programme(load, found.slot_edges, None)
    assert found.bound <= best * (1 + 1e-7)
    assert found.bound >= found.uncapacitated
    assert found.bound >= 0.98 * best


@pytest.mark.parametrize("seed", first(2, [0, 2, 4]))
def test_completing_in_one_slot_costs_the_bound_or_more_and_a_run_or_less(seed: int) -> None:
    world, epochs = small(seed)
    run = run_on(world.instance, "price", epochs=epochs, sharing="off")
    cost = compute_metrics(world.instance, run).total_cost
    found = clairvoyant_bound(world, epochs, cost, BoundSettings(iterations=300, slot=6000.0))
    best = linear_programme(workload_of(world, epochs), found.slot_edges, None, integral=True)
    assert 0.999 * best <= found.bound <= best * (1 + 1e-6)
    assert best <= cost * (1 + 1e-6)


def test_more_gpu_seconds_than_there_are_cost_more() -> None:
    """Two jobs of 10 epochs, 10 s each from 0 on, one node of two GPUs at 1 $/s each.

    Alone each would take y slow epochs: 2 y + 1.25 (10 - y) = 14, y = 2, at 2 x 2 + 8 x 2.5 = 24 $.
    Together they need 48 GPU seconds by 14, of which there are 28: the rest is late, at 10 $/s.
    """
    two = instance([job("a", 0.0, 14.0, 10), job("b", 0.0, 14.0, 10)])
    world = World(two)
    found = clairvoyant_bound(world, (10.0, 10.0), 200.0, BoundSettings(slot=1.0), until=30.0)
    assert found.uncapacitated == pytest.approx(48.0, rel=1e-6)
    assert found.bound > 1.2 * found.uncapacitated


def test_lateness_bounds_a_job_whose_gpus_are_free() -> None:
    """Ten epochs of 1.25 s at best, due in 5 s, 10 $/s, no energy to pay: 75 $, and not 0."""
    given = instance([job("a", 0.0, 5.0, 10)], **costing(0.0, 0.0))
    found = clairvoyant_bound(World(given), (10.0,), 75.0)
    assert [found.uncapacitated, found.bound] == pytest.approx([75.0, 75.0], rel=1e-9)
