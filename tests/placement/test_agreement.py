"""Heavy-Edge, least cuts and costs against the oracle, where ties are ties in any arithmetic."""

import random
from typing import Any

import numpy as np
import pytest
from oracles import placement as oracle

import optsched
from optsched.placement.cost import iteration_time
from optsched.placement.heuristics.heavy_edge import graph_arrays, heavy_edge_counts
from optsched.placement.instance import PlacementInstance
from optsched.placement.options import PlacementOptions
from optsched.placement.solution import PlacementSolution
from optsched.result import Termination


def instance(seed: int) -> tuple[dict[str, Any], PlacementInstance]:
    document = oracle.random_instance(random.Random(seed))
    return document, PlacementInstance.from_dict(document)


@pytest.mark.parametrize("seed", range(40))
def test_least_cut_equals_brute_force(seed: int) -> None:
    document, made = instance(seed)
    if sum(oracle.replicas(document)) > 7:
        first = document["job"]["stages"][0] | {"output_bytes": 0}
        document["job"]["stages"] = [first]
        document["free_gpus"] = _offer(first["replicas"], document["cluster"]["gpus_per_server"])
        made = PlacementInstance.from_dict(document)
    least = min(oracle.cut_bytes(document, counts) for counts in oracle.tables(document).tolist())
    result = optsched.solve(made, "min-cut", gap=0.0)
    assert result.details["cut_termination"] == "optimal"
    expected = pytest.approx(float(least), rel=1e-7, abs=1e-3)
    assert result.details["cut_bytes"] == expected
    counts = [list(row) for row in result.solution.counts]
    assert float(oracle.cut_bytes(document, counts)) == expected
    assert result.objective == pytest.approx(oracle.alpha(document, counts), rel=1e-12)


def _offer(gpus: int, most: int) -> list[int]:
    half = min(most, (gpus + 1) // 2)
    offer = [half] * (gpus // half)
    return offer + ([gpus - sum(offer)] if sum(offer) < gpus else [])


DRAWS = {
    "asynchronous": oracle.random_instance,
    "parallel": oracle.random_parallel_instance,  # slices, experts, micro-batches
}


FULL = [pytest.param(seed, marks=pytest.mark.full) for seed in range(1000, 1320)]


@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("seed", [*range(100), *FULL])
def test_heavy_edge_is_its_literal_twin(seed: int, draw: str) -> None:
    """Replica by replica, edge by edge: what it places, and whether it leaves any over."""
    given = DRAWS[draw](random.Random(seed))
    made = PlacementInstance.from_dict(given)
    counts = heavy_edge_counts(graph_arrays(made.job), made.free_gpus)
    assert counts.tolist() == oracle.heavy_edge(given)
    ended = optsched.solve(made, "heavy-edge", bound=False).termination
    assert (ended is Termination.FEASIBLE) == (oracle.violated_rule(given, counts.tolist()) is None)


@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("seed", range(100))
@pytest.mark.parametrize("reading", ["own", "bottleneck"])
def test_cost_checker_and_explanation_are_the_oracles(seed: int, reading: str, draw: str) -> None:
    rng = random.Random(seed)
    given = DRAWS[draw](random.Random(seed))
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


@pytest.mark.parametrize("seed", range(40))
def test_micro_batches_never_take_less_than_the_asynchronous_job(seed: int) -> None:
    """So that every bound of the one is a bound of the other."""
    given = oracle.random_parallel_instance(random.Random(seed))
    given["job"].pop("micro_batches", None)
    for counts in oracle.tables(given)[:3]:
        never = iteration_time(PlacementInstance.from_dict(given), counts)
        for batches in (1, 2, 7, 64):
            cut = {**given, "job": {**given["job"], "micro_batches": batches}}
            assert iteration_time(PlacementInstance.from_dict(cut), counts) >= never * (1 - 1e-12)


def test_the_parallel_instances_cover_what_they_should() -> None:
    """Each alone and together, offers that are exact, too large and impossible."""
    drawn = [oracle.random_parallel_instance(random.Random(seed)) for seed in range(30)]
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
