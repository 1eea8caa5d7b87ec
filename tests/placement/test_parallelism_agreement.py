"""Slices, experts and micro-batches: every method against brute force, infeasible offers included.

The oracle lets micro-batches pass the stages one by one; methods use the sum that this comes to.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from oracles import placement as oracle

import optsched
from optsched.placement.instance import PlacementInstance
from optsched.result import Termination

DRAWN = range(30)


def document(seed: int) -> dict[str, Any]:
    return oracle.random_parallel_instance(random.Random(seed))


@pytest.mark.parametrize("seed", range(100))
def test_heavy_edge_is_its_literal_twin(seed: int) -> None:
    """Replica by replica, edge by edge: what it places, and whether it leaves any over."""
    from optsched.placement.heuristics.heavy_edge import graph_arrays, heavy_edge_counts

    given = document(seed)
    made = PlacementInstance.from_dict(given)
    counts = heavy_edge_counts(graph_arrays(made.job), made.free_gpus)
    assert counts.tolist() == oracle.heavy_edge(given)
    ended = optsched.solve(made, "heavy-edge", bound=False).termination
    assert (ended is Termination.FEASIBLE) == (oracle.broken_rule(given, counts.tolist()) is None)


@pytest.mark.parametrize("seed", range(100))
@pytest.mark.parametrize("reading", ["own", "bottleneck"])
def test_cost_checker_and_explanation_against_the_oracle(seed: int, reading: str) -> None:
    import numpy as np

    from optsched.placement.cost import iteration_time
    from optsched.placement.options import PlacementOptions
    from optsched.placement.solution import PlacementSolution

    given, rng = document(seed), random.Random(seed)
    placements = oracle.tables(given).tolist()
    if not placements:
        return
    counts = rng.choice(placements)
    options = {
        "all_reduce_bandwidth": reading,
        "backward_overlap": rng.choice([0.0, 0.5, 1.0, 3.0]),
        "all_reduce_overlap": rng.choice([0.0, 0.25, 1.0]),
    }
    made, chosen = PlacementInstance.from_dict(given), PlacementOptions.from_dict(options)
    solution = PlacementSolution.of(made.name, counts)
    explained = optsched.explain(made, solution, options=options)
    expected = pytest.approx(oracle.alpha(given, counts, options), rel=1e-12)
    assert iteration_time(made, np.array(counts), chosen) == expected
    assert optsched.check(made, solution, options).objective == expected
    assert explained.iteration_time == expected
    assert sum(explained.causes.values()) == expected


def test_the_random_instances_cover_what_they_should() -> None:
    """Each alone and together, offers that are exact, too large and impossible."""
    drawn = [document(seed) for seed in DRAWN]
    keys = [
        {
            "slices": max(oracle.gpus_each(d)) > 1,
            "tensor": any(s.get("tensor_bytes") for s in d["job"]["stages"]),
            "experts": any(s.get("expert_bytes") for s in d["job"]["stages"]),
            "micro-batches": "micro_batches" in d["job"],
            "infeasible": not len(oracle.tables(d)),
            "slack": sum(d["free_gpus"])
            > sum(k * q for k, q in zip(oracle.replicas(d), oracle.gpus_each(d), strict=True)),
        }
        for d in drawn
    ]
    for name in keys[0]:
        assert 3 <= sum(each[name] for each in keys) <= len(keys) - 3, name
    assert any(k["slices"] and k["experts"] and k["micro-batches"] for k in keys)
    assert any(k["slices"] and k["slack"] and not k["infeasible"] for k in keys)
