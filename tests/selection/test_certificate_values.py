"""Price certificates by hand, to the last unit of 2^-200: what they prove, and by how much not."""

from __future__ import annotations

from fractions import Fraction

import pytest

from optsched.checking import BOUND_TOLERANCE, CLAIM_TOLERANCE
from optsched.selection import check_certificate as checker
from optsched.selection.check_certificate import (
    _down,
    _fill_values,
    _least_reduced_cost,
    _lower_envelope,
    _packing_values,
    _postponed,
    _seconds,
    _slot_prices,
    _work_left,
    certificate_violations,
    price_bound,
)
from optsched.selection.instance import SCHEMA, SelectionInstance
from optsched.selection.options import SelectionOptions
from optsched.selection.solution import Certificate

ONE = 2**200
JOB = {  # 4 epochs left, due in 2 s: 8 s and 12 $ late on a GPU of A, 12 s and 20 $ on half of one
    "name": "j0",
    "due_date": 52.0,
    "tardiness_weight": 2.0,
    "memory_bytes": 6.0,
    "epochs": {"values": [4.0], "probabilities": [1.0]},
    "epoch_time": {"A": [2.0]},
}


def instance(*jobs: dict[str, object], idle: bool = True, **changes: object) -> SelectionInstance:
    """Two nodes of A with a GPU each; if `idle`, one of a type that no job knows."""
    nodes = [
        {"name": "a", "gpu_type": "A", "gpus": 1, "cost_rate": [1.0]},
        {"name": "b", "gpu_type": "A", "gpus": 1, "cost_rate": [1.0]},
        {"name": "idle", "gpu_type": "D", "gpus": 1, "cost_rate": [1.0]},
    ]
    return SelectionInstance.from_dict(
        {
            "schema": SCHEMA,
            "version": 1,
            "name": "prices",
            "now": 50.0,
            "interval": 100.0,
            "postponement_penalty": 3.0,
            "gpu_types": {
                "A": {"memory_bytes": 40.0, "slowdown": {"0.5": 1.5}},
                "D": {"memory_bytes": 4.0, "slowdown": {}},
            },
            "nodes": nodes if idle else nodes[:2],
            "jobs": list(jobs or (JOB,)),
            **changes,
        }
    )


def prices(
    *jobs: float, a: tuple[float, float] = (0.0, 0.0), d: float | None = 0.0, **more: float
) -> Certificate:
    slots = {"A": a} if d is None else {"A": a, "D": (d,)}
    return Certificate(jobs=jobs, slots=slots, **{"bound": 0.0, **more})


FREE = SelectionOptions()


# --- costs and prices


def test_what_is_left_to_run_and_how_fast() -> None:
    some = {"values": [2.0, 6.0, 12.0], "probabilities": [0.5, 0.25, 0.25]}
    given = instance({**JOB, "epochs": some, "completed_epochs": 2.0})
    assert _work_left(given.jobs[0]) == [(4 * ONE, ONE // 2), (10 * ONE, ONE // 2)]
    halves = (Fraction(1, 2), Fraction(1, 8))  # an eighth of 40 bytes does not hold 6
    kind = given.gpu_types["A"].model_copy(update={"slowdown": {"0.5": 1.5, "0.125": 2.0}})
    assert _seconds(kind, given.jobs[0], "A", 1, halves) == [2 * ONE, 3 * ONE, None]
    known = given.jobs[0].model_copy(update={"epoch_time": {"D": (1.0,)}})  # 4 bytes
    assert _seconds(given.gpu_types["D"], known, "D", 1, ()) == [None]
    assert _seconds(given.gpu_types["D"], given.jobs[0], "D", 1, ()) == [None]


@pytest.mark.parametrize(
    ("due", "weight", "dollars"),
    [
        (30.0, 2.0, 2 * 3 * (100 + 80 - 30)),
        (-30.0, 0.5, 0.5 * (3 * (100 + 80 + 30) + 30)),
        (1000.0, 1.0, 0),
    ],
)
def test_postponing_costs(due: float, weight: float, dollars: float) -> None:
    given = instance({**JOB, "due_date": 50 + due, "tardiness_weight": weight})
    work = [(10 * ONE, ONE // 2), (4 * ONE, ONE // 2)]
    assert _postponed(given, given.jobs[0], work, 8 * ONE) == dollars * ONE


def test_a_larger_slot_costs_no_less() -> None:
    certificate = Certificate(jobs=(), slots={"A": (5.0, 1.0, 2.0, 7.0)}, bound=0.0)
    assert _slot_prices(certificate, "A", 3) == [5 * ONE, 5 * ONE, 5 * ONE, 7 * ONE]


def test_fills_and_packings() -> None:
    halves = (Fraction(1, 2), Fraction(1, 4))
    # a quarter 2, a half 5, three quarters 7, all 10
    assert _fill_values(halves, [5, 2]) == [10, 5, 7]
    assert _fill_values((), []) == [0]
    assert _packing_values([3, 10, 11], 4) == [0, 4, 10, 14]


@pytest.mark.parametrize(("most", "found"), [(5, [10, 5, 7]), (4, None)])
def test_rooms_are_counted(
    most: int, found: list[int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A half and a quarter leave 1, 3/4, 1/2, 1/4 and nothing."""
    monkeypatch.setattr(checker, "MOST_ROOMS", most)
    assert _fill_values((Fraction(1, 2), Fraction(1, 4)), [5, 2]) == found


# --- leaders


@pytest.mark.parametrize(
    ("lines", "hull", "ends"),
    [
        ([(2, 8), (5, 3), (3, 7), (8, 0)], [(8, 0), (5, 3), (2, 8)], [1, Fraction(5, 3)]),
        (
            [(8, 0), (5, 3), (3, 7), (1, 20)],
            [(8, 0), (5, 3), (3, 7), (1, 20)],
            [1, 2, Fraction(13, 2)],
        ),
        ([(8, 10), (8, 11), (3, 2)], [(3, 2)], []),
        ([], [], []),
    ],
)
def test_lower_envelopes(
    lines: list[tuple[int, int]], hull: list[tuple[int, int]], ends: list[Fraction]
) -> None:
    assert _lower_envelope(lines) == (hull, ends)


def test_the_best_leader_and_usage() -> None:
    none: tuple[list, list] = ([], [])
    line = ([(10 * ONE, 5 * ONE)], [])
    rates, packing, fills = (1.0, 1.5), [0, 7 * ONE, 12 * ONE], [9 * ONE, 4 * ONE, 2 * ONE]

    def least(*envelopes: tuple[list, list]) -> int | None:
        return _least_reduced_cost(rates, list(envelopes), packing, fills)

    assert least(none, none, none, none) is None
    assert least(line, none, none, none) == (15 + 5 - 7) * ONE  # 15 alone, a second GPU pays 7
    assert least(none, line, none, none) == (15 + 5) * ONE
    assert least(none, none, line, none) == (15 + 5 - 7 - 4) * ONE
    assert least(none, none, none, line) == (15 + 5 - 7 - 2) * ONE


# --- the bound


@pytest.mark.parametrize(
    ("certificate", "bound"),
    [
        (prices(50.0), 12),  # lam' = 12, the follower on a GPU; its leader pays 8 $ more
        (prices(7.0), 7),
        # postponed at 2 x 3 (112 - 2); in a half 20 + 12 - 660, beside a half for 1000
        (prices(1000.0, a=(1000.0, 1000.0)), 660 + 2 * (20 + 12 - 660 - 1000)),
        # lam' = 32: alone 12 + 8 - 32; in a half 20 + 12 - 32 beside a half for 15
        (prices(50.0, a=(20.0, 15.0)), 32 - 2 * 15),
    ],
)
def test_bounds_by_hand(certificate: Certificate, bound: float) -> None:
    assert price_bound(instance(), certificate, FREE) == bound
    assert price_bound(instance(idle=False), certificate, FREE) == bound


def test_the_unit() -> None:
    assert _down(1.0) == ONE
    assert price_bound(instance(), prices(2.0**-200), FREE) == Fraction(1, ONE)
    assert price_bound(instance(), prices(2.0**-201), FREE) == 0  # rounded down


# --- violations: where, amount and tolerance


def broken(
    certificate: Certificate, objective: float = 1000.0, **more: float
) -> list[tuple[str, str, float, float]]:
    found = certificate_violations(instance(), certificate, FREE, objective, **more)
    return [(v.equation, v.where, v.amount, v.tolerance) for v in found]


def test_prices_of_the_wrong_shape_or_sign() -> None:
    wrong = [("prices", "a price for each job and slot", 1, 0.0)]
    assert broken(prices()) == wrong
    assert broken(prices(1.0, d=None)) == wrong
    negative = [("mu >= 0", "slot prices", 3.0, 0.0)]
    assert broken(prices(1.0, a=(20.0, -3.0))) == negative
    assert broken(prices(1.0, a=(20.0, 1.0), d=-3.0)) == negative
    assert broken(prices(1.0, opening=-2.0)) == [("theta = 0", "opening", 2.0, 0.0)]


def test_fractions_too_fine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checker, "MOST_ROOMS", 2)  # a half leaves three
    assert broken(prices(1.0)) == [("h_t(L)", "fractions too fine to check", 1, 0.0)]


def test_a_bound_overstated() -> None:
    def claimed(bound: float) -> list[tuple[str, str, float, float]]:
        return broken(prices(50.0, bound=bound))

    assert claimed(12 * (1 + 0.9e-6)) == []
    assert claimed(0.0) == []
    assert claimed(24.0) == [("LB", "the bound claimed", 0.5, CLAIM_TOLERANCE)]
    ((_, _, over, _),) = claimed(12 * (1 + 1.1e-6))
    assert over == pytest.approx(1.1e-6, rel=1e-4)


def test_a_bound_above_the_objective() -> None:
    def above(objective: float, **more: float) -> list[tuple[str, str, float, float]]:
        return broken(prices(50.0, bound=12.0), objective, **more)

    third = [("LB <= objective", "the bound", 1 / 3, BOUND_TOLERANCE)]
    assert above(8.0) == third
    assert above(8.0, rounding=3.5) == third
    assert above(8.0, rounding=4.5) == []
    assert len(above(11.5)) == 1
    assert above(12 * (1 - 0.9e-9)) == []
    assert len(above(12 * (1 - 1.1e-9))) == 1


@pytest.mark.parametrize(("over", "violations"), [(31.0, 0), (33.0, 1)])
def test_what_cancels_leaves_rounding(over: float, violations: int) -> None:
    """theta = 2^50 opens two nodes and is paid back: 64 ulps of 2^51 are 32 dollars."""
    given = instance(*({**JOB, "name": f"j{j}"} for j in range(3)), idle=False)
    printed = SelectionOptions(node_opening="printed")
    certificate = prices(50.0, 50.0, 50.0, d=None, opening=2.0**50, bound=3 * 12 + 2 * 8 + over)
    assert price_bound(given, certificate, printed) == 3 * 12 + 2 * 8
    found = list(certificate_violations(given, certificate, printed, 1000.0))
    assert [v.equation for v in found] == ["LB"] * violations
