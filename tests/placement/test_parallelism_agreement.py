"""Slices, experts and micro-batches: every method against brute force, infeasible offers included.

The oracle lets micro-batches pass the stages one by one; methods use the sum that this comes to.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from oracles import placement as oracle

import optsched
from optsched.errors import NotApplicableError
from optsched.placement.instance import PlacementInstance
from optsched.result import Result, Termination
from optsched.verbs.judging import certificate_violations

DRAWN = range(30)
NIGHTLY = range(1000, 1450)
EXACT = ("ilp", "ilp-vertex", "exact")
ASYNCHRONOUS = ("columns",)
OWN = ("repartition",)
ROUNDING = 1e-9


def document(seed: int) -> dict[str, Any]:
    return oracle.random_parallel_instance(random.Random(seed))


def optimum_of(given: dict[str, Any], reading: str) -> float | None:
    if next(oracle.placements(given), None) is None:
        return None
    return oracle.brute_force(given, all_reduce_bandwidth=reading)[0]


def refused(method: str, given: dict[str, Any], reading: str) -> bool:
    by_pipeline = "micro_batches" in given["job"] and method in ASYNCHRONOUS
    return by_pipeline or (reading == "bottleneck" and method in OWN)


def solved(made: PlacementInstance, method: str, reading: str) -> Result:
    limit = 20 if method == "columns" else None
    options = {"all_reduce_bandwidth": reading}
    return optsched.solve(made, method, gap=0.0, options=options, time_limit=limit)


def assert_agreement(seed: int) -> None:
    """Bound <= optimum <= objective of each method, the exact ones at it; or none finds any."""
    given = document(seed)
    made = PlacementInstance.from_dict(given)
    for reading in ("own", "bottleneck"):
        optimum = optimum_of(given, reading)
        for method in (*EXACT, "columns", "repartition", "heavy-edge", "min-cut"):
            if refused(method, given, reading):
                with pytest.raises(NotApplicableError, match=f"method {method}"):
                    solved(made, method, reading)
                continue
            result = solved(made, method, reading)
            if optimum is None:
                nothing = method == "heavy-edge"
                said = Termination.NO_SOLUTION if nothing else Termination.INFEASIBLE
                assert (result.termination, result.solution) == (said, None), method
                continue
            if method == "heavy-edge" and result.solution is None:
                assert result.termination is Termination.NO_SOLUTION
                assert "left over" in result.details["message"]
                continue
            assert result.check is not None
            assert result.check.feasible, method
            assert optimum * (1 - ROUNDING) <= result.objective, method
            assert result.bound <= optimum * (1 + ROUNDING), method
            if method in EXACT:
                assert result.termination is Termination.OPTIMAL, method
                assert result.objective <= optimum * (1 + ROUNDING), method
            if result.certificate is not None:
                assert not certificate_violations(made, result.certificate, result.options)


@pytest.mark.parametrize("seed", DRAWN)
def test_every_method_against_brute_force(seed: int) -> None:
    assert_agreement(seed)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", NIGHTLY)
def test_every_method_against_brute_force_at_length(seed: int) -> None:
    assert_agreement(seed)


@pytest.mark.parametrize("seed", range(100))
def test_heavy_edge_is_its_literal_twin(seed: int) -> None:
    """Replica by replica, edge by edge: what it places, and whether it leaves any over."""
    from optsched.placement.heuristics.heavy_edge import graph_arrays, heavy_edge_counts

    given = document(seed)
    made = PlacementInstance.from_dict(given)
    counts = heavy_edge_counts(graph_arrays(made.job), made.free_gpus)
    assert counts.tolist() == oracle.heavy_edge(given)
    ended = optsched.solve(made, "heavy-edge", bound=False).termination
    assert (ended is Termination.FEASIBLE) == oracle.is_placement(given, counts.tolist())


@pytest.mark.parametrize("seed", range(100))
@pytest.mark.parametrize("reading", ["own", "bottleneck"])
def test_cost_checker_and_explanation_against_the_oracle(seed: int, reading: str) -> None:
    import numpy as np

    from optsched.placement.cost import iteration_time
    from optsched.placement.options import PlacementOptions
    from optsched.placement.solution import PlacementSolution

    given, rng = document(seed), random.Random(seed)
    placements = list(oracle.placements(given))
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
    expected = pytest.approx(oracle.alpha(given, counts, **options), rel=1e-12)
    assert iteration_time(made, np.array(counts), chosen) == expected
    assert optsched.check(made, solution, options).objective == expected
    assert explained.iteration_time == expected
    assert sum(explained.causes.values()) == expected


def test_the_random_instances_cover_what_they_should() -> None:
    """Each alone and together, offers that are exact, too large and impossible."""
    drawn = [document(seed) for seed in DRAWN]
    keys = [
        {
            "slices": max(oracle.slices(d)) > 1,
            "tensor": any(s.get("tensor_bytes") for s in d["job"]["stages"]),
            "experts": any(s.get("expert_bytes") for s in d["job"]["stages"]),
            "micro-batches": "micro_batches" in d["job"],
            "infeasible": optimum_of(d, "own") is None,
            "slack": sum(d["free_gpus"])
            > sum(k * q for k, q in zip(oracle.replicas(d), oracle.slices(d), strict=True)),
        }
        for d in drawn
    ]
    for name in keys[0]:
        assert 3 <= sum(each[name] for each in keys) <= len(keys) - 3, name
    assert any(k["slices"] and k["experts"] and k["micro-batches"] for k in keys)
    assert any(k["slices"] and k["slack"] and not k["infeasible"] for k in keys)
