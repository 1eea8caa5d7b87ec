"""Bound <= optimum <= heuristics, least cuts and costs, against the oracle on random instances."""

from __future__ import annotations

import random
from typing import Any

import pytest
from oracles import placement as oracle

import optsched
from optsched.placement.instance import PlacementInstance

REDUCED = range(60)
FULL = range(1000, 1320)
EXACT = 1e-9


def instance(seed: int) -> tuple[dict[str, Any], PlacementInstance]:
    document = oracle.random_instance(random.Random(seed))
    return document, PlacementInstance.from_dict(document)


def assert_order(seed: int) -> None:
    """Bound <= optimum <= repartition <= Heavy-Edge, and Heavy-Edge's literal twin."""
    document, made = instance(seed)
    optimum = oracle.optimum(document)
    greedy = optsched.solve(made, "heavy-edge")
    searched = optsched.solve(made, "repartition")
    assert [list(row) for row in greedy.solution.counts] == oracle.heavy_edge(document)
    assert greedy.bound <= optimum * (1 + EXACT)
    assert optimum <= searched.objective * (1 + EXACT)
    assert searched.objective <= greedy.objective * (1 + EXACT)


@pytest.mark.parametrize("seed", REDUCED)
def test_bound_optimum_heuristics_in_order(seed: int) -> None:
    assert_order(seed)


@pytest.mark.full
@pytest.mark.parametrize("seed", FULL)
def test_bound_optimum_heuristics_in_order_in_full(seed: int) -> None:
    assert_order(seed)


def test_the_random_instances_cover_what_they_should() -> None:
    """Single-GPU and equal servers, chains, zero activations, both trees."""
    documents = [instance(seed)[0] for seed in REDUCED]
    seen = {
        "single GPU": any(1 in d["free_gpus"] for d in documents),
        "equal": any(len(set(d["free_gpus"])) < len(d["free_gpus"]) for d in documents),
        "chain": any(
            len(d["job"]["stages"]) > 1 and all(s["replicas"] == 1 for s in d["job"]["stages"])
            for d in documents
        ),
        "zero activations": any(
            len(d["job"]["stages"]) > 1 and all(s["output_bytes"] == 0 for s in d["job"]["stages"])
            for d in documents
        ),
        "ring": any(d["job"]["all_reduce"] == "ring" for d in documents),
        "tree": any(d["job"]["all_reduce"] == "double-tree" for d in documents),
        "four stages": any(len(d["job"]["stages"]) == 4 for d in documents),
        "four servers": any(len(d["free_gpus"]) == 4 for d in documents),
        "greedy fails": any(
            optsched.solve(PlacementInstance.from_dict(d), "heavy-edge").excess > 0.01
            for d in documents
        ),
    }
    assert all(seen.values()), seen


@pytest.mark.parametrize("seed", range(40))
def test_least_cut_equals_brute_force(seed: int) -> None:
    document, made = instance(seed)
    if sum(oracle.replicas(document)) > 7:
        document["job"]["stages"] = document["job"]["stages"][:1]
        document["job"]["stages"][0]["output_bytes"] = 0
        document["free_gpus"] = _offer(
            document["job"]["stages"][0]["replicas"], document["cluster"]["gpus_per_server"]
        )
        made = PlacementInstance.from_dict(document)
    least = min(oracle.cut_bytes(document, counts) for counts in oracle.tables(document).tolist())
    result = optsched.solve(made, "min-cut", gap=0.0)
    assert result.details["cut_termination"] == "optimal"
    assert result.details["cut_bytes"] == pytest.approx(float(least), rel=1e-7, abs=1e-3)
    counts = [list(row) for row in result.solution.counts]
    assert float(oracle.cut_bytes(document, counts)) == pytest.approx(
        float(least), rel=1e-7, abs=1e-3
    )
    assert result.objective == pytest.approx(oracle.alpha(document, counts), rel=1e-12)


def _offer(gpus: int, most: int) -> list[int]:
    half = min(most, (gpus + 1) // 2)
    offer = [half] * (gpus // half)
    return offer + ([gpus - sum(offer)] if sum(offer) < gpus else [])


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("reading", ["own", "bottleneck"])
def test_cost_equals_the_oracle_with_overlap(seed: int, reading: str) -> None:
    """Any placement, any coefficients: the vectorised cost, the checker and the oracle agree."""
    document, made = instance(seed)
    rng = random.Random(seed)
    placements = oracle.tables(document).tolist()
    counts = rng.choice(placements)
    options = {
        "all_reduce_bandwidth": reading,
        "backward_overlap": rng.choice([0.0, 0.5, 1.0]),
        "all_reduce_overlap": rng.choice([0.0, 0.25, 1.0]),
    }
    from optsched.placement.cost import iteration_time
    from optsched.placement.options import PlacementOptions
    from optsched.placement.solution import PlacementSolution

    expected = oracle.alpha(document, counts, options)
    solution = PlacementSolution.of(made.name, counts)
    import numpy as np

    parsed = PlacementOptions.from_dict(options)
    assert iteration_time(made, np.array(counts), parsed) == pytest.approx(expected, rel=1e-12)
    assert optsched.check(made, solution, options).objective == pytest.approx(expected, rel=1e-12)
    breakdown = optsched.explain(made, solution, options=options)
    assert breakdown.iteration_time == pytest.approx(expected, rel=1e-12)
