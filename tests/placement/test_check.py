"""The checker, on placements worked out by hand and on corrupted solutions of the methods."""

from typing import Any

import pytest
from placement import by_hand

import optsched
from optsched.checking import Violation
from optsched.placement.check import check, iteration_time
from optsched.placement.instance import PlacementInstance
from optsched.placement.solution import PlacementSolution

INSTANCE = by_hand.instance()


def solution(counts: Any, name: str = "by hand", **update: Any) -> PlacementSolution:
    return PlacementSolution.of(name, counts).model_copy(update=update)


@pytest.mark.parametrize("slow", [None, 0, 1, 2])
@pytest.mark.parametrize(("counts", "options", "times"), by_hand.TIMES)
def test_the_time_of_an_iteration(
    counts: Any, options: dict[str, Any], times: list[list[float]], slow: int | None
) -> None:
    """With 100 s more in one stage it is that stage's slowest server that counts."""
    alpha = max(map(max, times)) if slow is None else 100 + max(times[slow])
    report = check(by_hand.instance(slow), solution(counts, options=options))
    assert report.violations == ()
    assert report.objective == pytest.approx(alpha, rel=1e-12)
    assert check(by_hand.instance(slow), solution(counts), options) == report


def test_without_options_the_printed_reading() -> None:
    job, cluster = INSTANCE.job, INSTANCE.cluster
    assert iteration_time(job, cluster, by_hand.GATHERED) == pytest.approx(34.25, rel=1e-12)


def test_a_stage_alone_sends_nothing() -> None:
    document = by_hand.document()
    document["job"]["stages"] = [{**document["job"]["stages"][0], "output_bytes": 0}]
    document["free_gpus"] = [2]
    single = PlacementInstance.from_dict(document)
    assert check(single, solution([[2]])).objective == 1.5 + 3 / 8


VIOLATIONS: list[tuple[PlacementSolution, list[Violation]]] = [
    (solution(by_hand.SPREAD, "other"),
     [Violation("instance", "file", "the solution is for 'other', not for 'by hand'", 1)]),
    (solution([[2, 0, 0]]), [Violation("shape", "x[s,m]", "counts", 2)]),
    (solution([*by_hand.SPREAD, (0, 0, 0), (0, 0, 0)]),
     [Violation("shape", "x[s,m]", "counts", 2)]),
    (solution([[1, 1, 0], [2], [0, 1, 0, 0, 0]]),
     [Violation("shape", "x[s,m]", "counts[1]", 2),
      Violation("shape", "x[s,m]", "counts[2]", 2)]),
    (solution([[1, 1, 0], [2, 3, -2], [0, 1, 0]]),
     [Violation("non-negative", "x[s,m] >= 0", "stage 1 on server 2", 2)]),
    (solution([[1, 1, 0], [0, 0, 1], [0, 1, 0]]),
     [Violation("replicas", "(2)", "stage 1 (b)", 2)]),
    (solution([[2, 0, 0], [2, 0, 1], [1, 0, 0]]), [Violation("capacity", "(3)", "server 0", 2)]),
    (solution([[1, 1, 0], [2, 0, 1], [1, 2, 2]]),
     [Violation("replicas", "(2)", "stage 2 (c)", 4),
      Violation("capacity", "(3)", "server 0", 1),
      Violation("capacity", "(3)", "server 1", 1),
      Violation("capacity", "(3)", "server 2", 2)]),
]  # fmt: skip


@pytest.mark.parametrize(("wrong", "violations"), VIOLATIONS)
def test_violations_in_full(wrong: PlacementSolution, violations: list[Violation]) -> None:
    report = check(INSTANCE, wrong)
    assert report.objective is None
    assert list(report.violations) == violations


def test_a_claim_just_inside_and_just_outside_its_tolerance() -> None:
    amount = pytest.approx(1.1e-6, rel=1e-4)
    wrong = Violation("claimed objective", "objective", "objective", amount, 1e-6)
    for off, found in ((0.9e-6, ()), (-0.9e-6, ()), (1.1e-6, (wrong,)), (-1.1e-6, (wrong,))):
        report = check(INSTANCE, solution(by_hand.SPREAD, objective=42.25 * (1 + off)))
        assert report.violations == found
        assert report.objective == pytest.approx(42.25)


Counts = list[list[int]]


def moved(counts: Counts, amount: int, to: int | None) -> Counts:
    """Replicas of the first stage taken off its first server that has any, put on another."""
    row = counts[0]
    giver = next(m for m, x in enumerate(row) if x > 0)
    row[giver] -= amount
    if to is not None:
        row[(giver + to) % len(row)] += amount
    return counts


CORRUPTIONS: dict[str, tuple[str, Any]] = {
    "a replica missing": ("replicas", lambda counts: moved(counts, 1, None)),
    "a server overfull": ("capacity", lambda counts: moved(counts, 1, 1)),
    "a count below 0": ("non-negative", lambda counts: moved(counts, 50, 1)),
    "a stage missing": ("shape", lambda counts: counts[1:]),
    "a stage more": ("shape", lambda counts: [*counts, [0] * len(counts[0])]),
    "a server missing": ("shape", lambda counts: [row[:-1] for row in counts]),
    "a row longer": ("shape", lambda counts: [*counts[:-1], [*counts[-1], 0]]),
}


@pytest.mark.parametrize("name", ["vgg19-16", "fig2", "bert-large-32-tree"])
def test_corrupted_solutions_violate_the_rule(name: str) -> None:
    instance = optsched.load(f"placement/{name}")
    solved = optsched.solve(instance).solution
    report = optsched.check(instance, solved)
    assert (report.violations, report.objective) == ((), solved.objective)
    for case, (rule, corrupt) in CORRUPTIONS.items():
        counts = corrupt([list(row) for row in solved.counts])
        wrong = solved.model_copy(update={"counts": tuple(map(tuple, counts))})
        report = optsched.check(instance, wrong)
        assert {violation.rule for violation in report.violations} == {rule}, case
        assert report.objective is None, case
    for factor, feasible in ((1 + 1e-5, False), (1 - 1e-5, False), (1 + 1e-8, True)):
        claim = solved.model_copy(update={"objective": solved.objective * factor})
        assert optsched.check(instance, claim).feasible == feasible


@pytest.mark.parametrize(
    ("name", "stages", "rule"),
    [("vgg19-16", (0, 1), "replicas"), ("fig2", (0, 2), "claimed objective")],
)
def test_two_stages_swapped(name: str, stages: tuple[int, int], rule: str) -> None:
    """Of equal replicas the counts still fit; only the claimed objective gives the swap away."""
    instance = optsched.load(f"placement/{name}")
    solved = optsched.solve(instance).solution
    counts = list(solved.counts)
    a, b = stages
    counts[a], counts[b] = counts[b], counts[a]
    report = optsched.check(instance, solved.model_copy(update={"counts": tuple(counts)}))
    assert {violation.rule for violation in report.violations} == {rule}


def test_the_solutions_own_options_apply() -> None:
    instance = optsched.load("placement/vgg19-16")
    result = optsched.solve(instance, "heavy-edge", options={"all_reduce_overlap": 0.5})
    assert optsched.check(instance, result.solution).feasible
    fewer = result.solution.model_copy(update={"options": {"all_reduce_overlap": 0.25}})
    assert optsched.check(instance, fewer).objective <= result.objective
    full = optsched.check(instance, result.solution, {"all_reduce_overlap": 1.0})
    assert full.objective >= result.objective
