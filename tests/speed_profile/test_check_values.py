"""What the checker says of profiles worked out by hand: energy, and each violation in full."""

from typing import Any

import pytest
from oracles.speed_profile_cases import document

from optsched.checking import Violation
from optsched.speed_profile.check import check
from optsched.speed_profile.instance import SpeedProfileInstance
from optsched.speed_profile.solution import SpeedProfileSolution

Pieces = list[tuple[float, float, int]]

DISCRETE = {"values": [2, 6, 10], "probabilities": [0.2, 0.3, 0.5]}
LINEAR = {"points": [0, 4, 10], "survival": [1, 0.5, 0]}


def instance(**update: Any) -> SpeedProfileInstance:
    """2 of at most 10 epochs are done; energy per epoch is 3, 2.5 and 4."""
    made = document("by hand", [1, 2, 4], [3, 5, 16], DISCRETE)
    return SpeedProfileInstance.from_dict({**made, "deadline": 3, "completed": 2, **update})


def solution(pieces: Pieces, status: str = "slack", **update: Any) -> SpeedProfileSolution:
    made = {"schema": "optsched/speed-profile-solution", "version": 1, "instance": "by hand"}
    several = [{"from": a, "to": b, "speed": k} for a, b, k in pieces]
    whole = SpeedProfileSolution.from_dict({**made, "pieces": several, "status": status})
    return whole.model_copy(update=update)


GOOD: Pieces = [(2, 5, 1), (5, 10, 2)]
"""1.5 s and 1.25 s."""


def violations(made: SpeedProfileInstance, *args: Any, **update: Any) -> list[Violation]:
    return list(check(made, solution(*args, **update)).violations)


THREE_SPANS = {"points": [0, 2, 6, 10], "survival": [1, 0.8, 0.4, 0]}


@pytest.mark.parametrize(
    ("work", "completed", "pieces", "energy", "terms"),
    [
        # W = 2 is ruled out: 6 with 3/8, 10 with 5/8; epochs run: 3 by 5, 6.5 by 10
        (DISCRETE, 2, GOOD, 2.5 * 3 + 4 * 3.5, 2.5 * 1 * 5 + 4 * 1 * 10),
        # of W = 6 and 10 only 10 goes on from 6, with 5/8: 4 epochs by 6 and 4 x 5/8 after it
        (DISCRETE, 2, [(2, 6, 1), (6, 10, 2)], 2.5 * 4 + 4 * 2.5, 2.5 * 1 * 6 + 4 * 0.625 * 10),
        # F^c = 0.8 - 0.1 (w - 2) from 2 to 6: 0.7 at 3, 0.4 at 6; 0.2 at 8, 0 at 10
        (THREE_SPANS, 3, [(3, 8, 0), (8, 10, 2)],
         3 * (0.55 * 3 + 0.3 * 2) / 0.7 + 4 * (0.1 * 2) / 0.7, 3 * 1 * 8 + 4 * (0.2 / 0.7) * 10),
        # F^c(1) = 0.875; (0.875 + 0.625) / 2 * 2 by 3, then (0.625 + 0.5) / 2 + 6 * 0.25 by 10
        (LINEAR, 1, [(1, 3, 0), (3, 10, 2)], (3 * 1.5 + 4 * (0.5625 + 1.5)) / 0.875,
         3 * 1 * 3 + 4 * (0.625 / 0.875) * 10),
        # a span past, one begun: (5/12 + 1/4) / 2 * 2 from 5 to 7, then 1/4 * 3 / 2 by 10
        (LINEAR, 5, [(5, 7, 1), (7, 10, 2)], (2.5 * 2 / 3 + 4 * 0.375) / (5 / 12),
         2.5 * 1 * 7 + 4 * 0.6 * 10),
        (LINEAR, 4, [(4, 10, 0)], 3 * 1.5 / 0.5, 3 * 1 * 10),
    ],
)  # fmt: skip
def test_energy(
    work: dict[str, Any], completed: float, pieces: Pieces, energy: float, terms: float
) -> None:
    """`terms` are by piece rate x F^c at its start x its end: the rounding of an end counts."""
    report = check(instance(work=work, completed=completed, deadline=20), solution(pieces))
    assert report.violations == ()
    assert report.objective == pytest.approx(energy, rel=1e-12)
    assert report.rounding == pytest.approx((energy + terms) * 2.0**-46, rel=1e-12, abs=0)


@pytest.mark.parametrize(
    ("off", "seen"), [(0.9e-6, False), (-0.9e-6, False), (1.1e-6, True), (-1.1e-6, True)]
)
def test_a_claim_just_inside_and_just_outside_its_tolerance(off: float, seen: bool) -> None:
    found = violations(instance(), GOOD, objective=21.5 * (1 + off))
    amount = pytest.approx(1.1e-6, rel=1e-4)
    wrong = Violation("claimed objective", "objective", "objective", amount, 1e-6)
    assert found == ([wrong] if seen else [])


def test_a_claim_on_a_tail_that_few_runs_reach() -> None:
    """The last 1e-5 epochs alone cost: 10 x 1e-5 x 1e-5 / 6 / 2, as F^c ends at 0."""
    work = {"points": [0, 4, 10], "survival": [1.0, 1.0, 0.0]}
    made = instance(work=work, completed=0, deadline=20, power=[0.0, 20.0, 40.0])
    pieces: Pieces = [(0, 10 - 1e-5, 0), (10 - 1e-5, 10, 2)]
    energy = 10 * 1e-5 * (1e-5 / 6) / 2
    assert check(made, solution(pieces)).objective == pytest.approx(energy, rel=1e-9, abs=0)
    assert violations(made, pieces, objective=energy) == []
    (wrong,) = violations(made, pieces, objective=1.01 * energy)
    assert wrong.rule == "claimed objective"


def test_another_instances_profile() -> None:
    report = check(instance(), solution(GOOD, instance="other"))
    told = "the solution is for 'other', not for 'by hand'"
    assert report.objective is None
    assert report.violations == (Violation("instance", "file", told, 1),)


BROKEN: list[tuple[Pieces, list[Violation]]] = [
    ([], [Violation("pieces", "(P3.3)", "no piece", 1)]),
    ([(2.5, 5, 1), (5, 10, 2)],
     [Violation("pieces", "(P3.3)", "before piece 0", 0.5, 2.5e-9)]),
    ([(1, 5, 1), (5, 10, 2)], [Violation("pieces", "(P3.3)", "before piece 0", 1, 4e-9)]),
    ([(2, 5, 1), (5.5, 10, 2)], [Violation("pieces", "(P3.3)", "before piece 1", 0.5, 3e-9)]),
    ([(2, 5, 1), (4, 10, 2)], [Violation("pieces", "(P3.3)", "before piece 1", 1, 3e-9)]),
    ([(2, 5, 1), (5, 9, 2)], [Violation("pieces", "(P3.3)", "before piece 2", 1, 4e-9)]),
    ([(2, 5, 1), (5, 12, 2)], [Violation("pieces", "(P3.3)", "before piece 2", 2, 7e-9)]),
    ([(2, 7, 1), (7, 5, 1), (5, 10, 2)], [Violation("pieces", "(P3.3)", "piece 1", 2)]),
    ([(2, 5, 3), (5, 10, -1)],
     [Violation("speed", "s_k", "piece 0", 1), Violation("speed", "s_k", "piece 1", 1)]),
]  # fmt: skip


@pytest.mark.parametrize(("pieces", "found"), BROKEN)
def test_broken_pieces(pieces: Pieces, found: list[Violation]) -> None:
    report = check(instance(), solution(pieces))
    assert report.objective is None
    told = [(v.rule, v.equation, v.where, v.amount) for v in report.violations]
    assert told == [(v.rule, v.equation, v.where, v.amount) for v in found]
    allowed = [v.tolerance for v in report.violations]
    assert allowed == pytest.approx([v.tolerance for v in found], rel=1e-9, abs=0)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("at", [0, 1, 2])
def test_pieces_meet_within_rounding(at: int, sign: int) -> None:
    """1e-9 of the piece before, of the first at the start: 3, 3 and 5 epochs."""
    for share, feasible in ((0.9, True), (1.1, False)):
        off = [0.0, 0.0, 0.0]
        off[at] = sign * share * 1e-9 * (3, 3, 5)[at]
        pieces = [(2 + off[0], 5, 1), (5 + off[1], 10 + off[2], 2)]
        assert check(instance(), solution(pieces)).feasible == feasible


def test_a_piece_of_no_length_is_a_piece() -> None:
    assert violations(instance(), [(2, 5, 1), (5, 5, 0), (5, 10, 2)]) == []


def late(amount: float, allowed: float) -> list[Violation]:
    amounts = pytest.approx(amount, rel=1e-5), pytest.approx(allowed, rel=1e-6, abs=0)
    return [Violation("deadline", "(P2.2)", "time", *amounts)]


def test_the_deadline() -> None:
    """2.75 s; 1e-9 of the deadline, or of the 2 s that the fastest takes, is allowed."""
    assert violations(instance(deadline=2.75 - 2.5e-9), GOOD, "binding") == []
    assert violations(instance(deadline=2.75 - 3e-9), GOOD) == late(3e-9, 2.75e-9)
    assert violations(instance(deadline=1), GOOD) == late(1.75, 2e-9)
    assert check(instance(deadline=1), solution(GOOD)).objective is None


def test_infeasible_is_infeasible() -> None:
    """Even at 4 epochs/s the 8 that are left take 2 s."""
    assert violations(instance(deadline=1.5), [], "infeasible") == []
    assert violations(instance(deadline=2 - 1e-11), [], "infeasible") == []
    for deadline, amount in ((2, 0), (2 + 1.8e-9, 1.8e-9), (3, 1)):
        wrong = Violation("status", "(P2.2)", "infeasible", pytest.approx(amount, rel=1e-5))
        assert violations(instance(deadline=deadline), [], "infeasible") == [wrong]
    pieces = Violation("pieces", "(P3.3)", "infeasible", 2)
    assert violations(instance(deadline=1.5), GOOD, "infeasible") == [pieces]
    assert check(instance(deadline=1.5), solution([], "infeasible")).objective is None


def test_slack_leaves_time_or_costs_nothing() -> None:
    """2.75 s are met exactly at 21.5 J; without a deadline 2.5 J an epoch do, 4 s in all."""
    amounts = pytest.approx(5.25), pytest.approx(2.15e-8)
    for deadline in (2.75, 2.75 + 2e-9):
        found = violations(instance(deadline=deadline), GOOD, "slack")
        assert found == [Violation("status", "(P2.2)", "slack", *amounts)]
    assert violations(instance(deadline=2.75 + 4e-9), GOOD, "slack") == []
    assert violations(instance(deadline=4), [(2, 10, 1)], "slack") == []


def test_binding_is_within_1e7_of_the_deadline() -> None:
    assert violations(instance(deadline=2.75 + 2.5e-7), GOOD, "binding") == []
    assert violations(instance(deadline=2.75 + 3e-7), GOOD, "slack") == []
    found = violations(instance(deadline=2.75 + 3e-7), GOOD, "binding", objective=43.0)
    spare, allowed = pytest.approx(3e-7, rel=1e-5), pytest.approx(2.75e-7, rel=1e-6)
    assert found == [
        Violation("status", "(P2.2)", "binding", spare, allowed),
        Violation("claimed objective", "objective", "objective", pytest.approx(0.5), 1e-6),
    ]
