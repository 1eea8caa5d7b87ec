"""What the checker says of placements worked out by hand: each violation in full, each time."""

from __future__ import annotations

from typing import Any

import pytest
from placement import by_hand

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
    for off in (0.9e-6, -0.9e-6):
        claim = solution(by_hand.SPREAD, objective=42.25 * (1 + off))
        assert check(INSTANCE, claim).feasible
    for off in (1.1e-6, -1.1e-6):
        claim = solution(by_hand.SPREAD, objective=42.25 * (1 + off))
        report = check(INSTANCE, claim)
        amount = pytest.approx(1.1e-6, rel=1e-4)
        expected = Violation("claimed objective", "objective", "objective", amount, 1e-6)
        assert report.violations == (expected,)
        assert report.objective == pytest.approx(42.25)
