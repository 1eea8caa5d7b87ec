"""The checker catches each corruption, and only that."""

from __future__ import annotations

import random

import pytest
from oracles import placement as oracle

import optsched
from optsched.placement.instance import PlacementInstance
from optsched.placement.solution import PlacementSolution

Counts = list[list[int]]


@pytest.fixture(params=["placement/vgg19-16", "placement/fig2", "placement/bert-large-32-tree"])
def solved(request: pytest.FixtureRequest) -> tuple[PlacementInstance, PlacementSolution]:
    instance = optsched.load(request.param)
    return instance, optsched.solve(instance).solution


def broken(instance: PlacementInstance, solution: PlacementSolution) -> set[str]:
    return {violation.rule for violation in optsched.check(instance, solution).violations}


def changed(solution: PlacementSolution, counts: Counts) -> PlacementSolution:
    return solution.model_copy(update={"counts": tuple(tuple(row) for row in counts)})


def as_lists(solution: PlacementSolution) -> Counts:
    return [list(row) for row in solution.counts]


def test_accepts_what_the_methods_return(solved: tuple) -> None:
    assert broken(*solved) == set()
    assert optsched.check(*solved).objective == solved[1].objective


def test_catches_a_missing_replica(solved: tuple) -> None:
    instance, solution = solved
    counts = as_lists(solution)
    row = next(row for row in counts if max(row) > 0)
    row[row.index(max(row))] -= 1
    assert broken(instance, changed(solution, counts)) == {"replicas"}


def test_catches_an_overfull_server(solved: tuple) -> None:
    instance, solution = solved
    counts = as_lists(solution)
    row = next(row for row in counts if max(row) > 0)
    giver = next(m for m, x in enumerate(row) if x > 0)
    row[giver] -= 1
    row[(giver + 1) % len(row)] += 1
    report = optsched.check(instance, changed(solution, counts))
    assert [v.rule for v in report.violations] == ["capacity"]
    assert report.violations[0].amount == 1
    assert report.violations[0].where == f"server {(giver + 1) % len(row)}"


def test_catches_a_negative_count(solved: tuple) -> None:
    instance, solution = solved
    counts = as_lists(solution)
    counts[0][0] -= 50
    counts[0][1] += 50
    assert broken(instance, changed(solution, counts)) == {"non-negative"}


@pytest.mark.parametrize("shape", ["stage missing", "stage more", "server missing", "ragged"])
def test_catches_a_wrong_shape(solved: tuple, shape: str) -> None:
    instance, solution = solved
    counts = as_lists(solution)
    if shape == "stage missing":
        counts.pop()
    elif shape == "stage more":
        counts.append([0] * len(counts[0]))
    elif shape == "server missing":
        counts = [row[:-1] for row in counts]
    else:
        counts[-1].append(0)
    report = optsched.check(instance, changed(solution, counts))
    assert {v.rule for v in report.violations} == {"shape"}
    assert report.objective is None


def test_catches_two_swapped_stages_of_different_replicas() -> None:
    instance = optsched.load("placement/vgg19-16")
    solution = optsched.solve(instance).solution
    counts = as_lists(solution)
    counts[0], counts[1] = counts[1], counts[0]
    assert broken(instance, changed(solution, counts)) == {"replicas"}


def test_catches_two_swapped_stages_of_equal_replicas() -> None:
    """The counts still fit; only the claimed objective gives the swap away."""
    instance = optsched.load("placement/fig2")
    solution = optsched.solve(instance).solution
    counts = as_lists(solution)
    counts[0], counts[2] = counts[2], counts[0]
    assert broken(instance, changed(solution, counts)) == {"claimed objective"}


@pytest.mark.parametrize("factor", [1 + 1e-5, 1 - 1e-5])
def test_catches_a_claim_off_by_1e5(solved: tuple, factor: float) -> None:
    instance, solution = solved
    claim = solution.model_copy(update={"objective": solution.objective * factor})
    assert broken(instance, claim) == {"claimed objective"}
    near = solution.model_copy(update={"objective": solution.objective * (1 + 1e-8)})
    assert broken(instance, near) == set()


def test_catches_another_instances_solution(solved: tuple) -> None:
    instance, solution = solved
    other = solution.model_copy(update={"instance": "somebody else"})
    assert broken(instance, other) == {"instance"}


def test_applies_the_solutions_own_options() -> None:
    instance = optsched.load("placement/vgg19-16")
    result = optsched.solve(instance, "heavy-edge", options={"all_reduce_overlap": 0.5})
    assert broken(instance, result.solution) == set()
    stripped = result.solution.model_copy(update={"options": {"all_reduce_overlap": 0.25}})
    full = optsched.check(instance, result.solution, {"all_reduce_overlap": 1.0})
    assert optsched.check(instance, stripped).objective <= result.objective
    assert full.objective >= result.objective


@pytest.mark.parametrize("seed", range(100))
def test_recomputes_the_objective_of_any_placement(seed: int) -> None:
    rng = random.Random(seed)
    document = oracle.random_instance(rng)
    counts = rng.choice(oracle.tables(document).tolist())
    instance = PlacementInstance.from_dict(document)
    report = optsched.check(instance, PlacementSolution.of(instance.name, counts))
    assert report.objective == pytest.approx(oracle.alpha(document, counts), rel=1e-12)
