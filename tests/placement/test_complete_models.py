"""What `build_model` returns holds for every placement: a constraint of the user's may be added."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pyomo.environ as pyo
import pytest
from oracles import placement as oracle

import optsched
from optsched.backends import solve_model
from optsched.placement.instance import PlacementInstance
from optsched.placement.solution import PlacementSolution
from optsched.result import Settings, Termination

SEEDS = range(20)

Rule = tuple[Callable[[list[list[int]]], bool], Callable[[pyo.ConcreteModel], None]]
"""A side constraint: whether counts meet it, and how it is added to a model."""


def drawn(seed: int) -> tuple[PlacementInstance, dict[str, Any], list[oracle.Counts]]:
    """A random instance of two stages and servers or more, a reading, all of its placements."""
    rng = random.Random(seed)
    while True:
        draw = oracle.random_instance if seed % 2 else oracle.random_parallel_instance
        document = draw(rng)
        cluster = document["cluster"]
        nic_share = cluster["inter_bandwidth"] / cluster["gpus_per_server"]
        largest = max(oracle.gpus_each(document))
        if len(oracle.replicas(document)) < 2 or len(document["free_gpus"]) < 2:
            continue
        if largest * nic_share > cluster["intra_bandwidth"]:
            continue  # `ilp` refuses these
        known = oracle.tables(document).tolist()
        if len(known) > 1:
            reading = {"all_reduce_bandwidth": rng.choice(["own", "bottleneck"])}
            return PlacementInstance.from_dict(document), reading, known


def apart(pair: tuple[int, int]) -> Rule:
    """Two stages are never on one server."""

    def add(model: pyo.ConcreteModel) -> None:
        model.apart = pyo.Constraint(
            model.SERVERS, rule=lambda model, m: sum(model.present[s, m] for s in pair) <= 1
        )

    return lambda x: not any(a and b for a, b in zip(x[pair[0]], x[pair[1]], strict=True)), add


def fixed(wanted: dict[tuple[int, int], int]) -> Rule:
    """Some stages have given counts on some servers."""

    def add(model: pyo.ConcreteModel) -> None:
        model.fixed = pyo.Constraint(
            list(wanted), rule=lambda model, s, m: model.count[s, m] == wanted[s, m]
        )

    return lambda x: all(x[s][m] == count for (s, m), count in wanted.items()), add


def rules(rng: random.Random, known: list[oracle.Counts]) -> list[Rule]:
    """A forbidden pair of stages, and the counts of some stages in a placement drawn."""
    stages, servers = len(known[0]), len(known[0][0])
    chosen = rng.choice(known)
    cells = [(s, m) for s in range(stages) for m in range(servers) if rng.random() < 0.6]
    pair = rng.sample(range(stages), 2)
    return [apart((pair[0], pair[1])), fixed({(s, m): chosen[s][m] for s, m in cells or [(0, 0)]})]


@pytest.mark.parametrize("method", ["ilp", "ilp-vertex"])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_side_constraint_leaves_the_best_placement_that_meets_it(seed: int, method: str) -> None:
    instance, reading, known = drawn(seed)

    def seconds(counts: list[list[int]]) -> float:
        report = optsched.check(instance, PlacementSolution.of(instance.name, counts), reading)
        assert report.feasible
        return float(report.objective)

    for meets, add in rules(random.Random(seed), known):
        times = [seconds(counts) for counts in known if meets(counts)]
        model = optsched.build_model(instance, method, reading)
        add(model)
        answer = solve_model(model, Settings())
        if not times:
            assert answer.termination is Termination.INFEASIBLE
            continue
        assert answer.termination is Termination.OPTIMAL
        stages, servers = instance.shape
        counts = [
            [round(pyo.value(model.count[s, m])) for m in range(servers)] for s in range(stages)
        ]
        assert meets(counts)
        assert seconds(counts) == pytest.approx(min(times), rel=1e-6, abs=1e-12)


def test_the_pruned_model_is_smaller_and_symmetric_placements_stay_in_the_complete_one() -> None:
    instance = optsched.load("placement/vgg19-32")
    complete, pruned = (
        optsched.build_model(instance, "ilp", pruned=pruned) for pruned in (False, True)
    )
    stages, servers = instance.job.stages, instance.free_gpus
    assert len(complete.COLUMNS) == sum(min(s.replicas, g) for s in stages for g in servers)
    assert len(pruned.COLUMNS) < len(complete.COLUMNS)
    assert pruned.alpha.ub < complete.alpha.ub
    assert not hasattr(complete, "ordered")
