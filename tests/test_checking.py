"""Claims, bounds, rounding and reports: each tolerance from just inside and from just outside."""

import math
from types import SimpleNamespace

import pytest

from optsched.checking import (
    CheckReport,
    Violation,
    another_instance,
    bound_violation,
    claim_violation,
    relative_excess,
    share_of,
    slack,
)
from optsched.result import is_proved


@pytest.mark.parametrize(
    ("length", "readings", "allowed"),
    [
        (0.0, (), 0.0),
        (2.0, (), 2e-9),
        (-2.0, (), 2e-9),
        (3.0, (1.0, 2.0), 3e-9),
        (3.0, (2.0**40, 1.0), 2.0**-6),  # 64 units of 2 ** (40 - 52)
        (3.0, (1.0, -(2.0**40)), 2.0**-6),
        (2.0**30, (2.0**20,), 2.0**30 * 1e-9),
    ],
)
def test_what_rounding_may_change(
    length: float, readings: tuple[float, ...], allowed: float
) -> None:
    assert slack(length, *readings) == pytest.approx(allowed, rel=1e-12, abs=0)


@pytest.mark.parametrize(
    ("claimed", "recomputed", "amount"),
    [
        (100.0, 100.0, None),
        (100 + 0.9e-4, 100.0, None),
        (100 - 0.9e-4, 100.0, None),
        (-100 - 0.9e-4, -100.0, None),
        (100 + 1.1e-4, 100.0, 1.1e-4 / (100 + 1.1e-4)),
        (100 - 1.1e-4, 100.0, 1.1e-6),
        (-100 + 1.1e-4, -100.0, 1.1e-6),
        (1.0, 4.0, 0.75),
        (4.0, 1.0, 0.75),
        (-1.0, 1.0, 2.0),
        (0.5, 0.0, 1.0),
        (0.0, 0.0, None),
        (math.inf, 1.0, 1.0),
    ],
)
def test_a_claim(claimed: float, recomputed: float, amount: float | None) -> None:
    found = claim_violation(claimed, recomputed)
    if amount is None:
        assert found is None
        return
    assert found == Violation(
        "claimed objective", "objective", "objective", pytest.approx(amount, rel=1e-9), 1e-6
    )


@pytest.mark.parametrize(
    ("bound", "objective", "amount"),
    [
        (1.0, 100.0, None),
        (100.0, 100.0, None),
        (100 + 0.9e-7, 100.0, None),
        (-100 + 0.9e-7, -100.0, None),
        (100 + 1.1e-7, 100.0, 1.1e-9),
        (-100 + 1.1e-7, -100.0, 1.1e-9),
        (4.0, 1.0, 0.75),
        (-1.0, -4.0, 0.75),
        (0.5, 0.0, 1.0),
        (math.inf, 1.0, 1.0),
    ],
)
def test_a_bound(bound: float, objective: float, amount: float | None) -> None:
    found = bound_violation(bound, objective)
    if amount is None:
        assert found is None
        return
    approx = pytest.approx(amount, rel=1e-5)  # of a difference of 1e-7 floats hold so much
    assert found == Violation("bound", "bound <= objective", "bound", approx, 1e-9)


def test_the_rounding_of_the_objective_is_allowed_where_it_is_more() -> None:
    for violation in (claim_violation, bound_violation):
        assert violation(5.0, 0.0, 5.5) is None
        found = violation(5.0, 0.0, 4.5)
        assert found is not None
        assert found.amount == 1.0
        assert violation(100 + 0.9e-7, 100.0, 1e-12) is None


@pytest.mark.parametrize(
    ("objective", "bound", "excess"),
    [
        (3.0, 2.0, 0.5),
        (0.0, 0.0, 0.0),
        (2.0, None, None),
        (None, 2.0, None),
        (1.0, 0.0, None),
        (1.0, -1.0, None),
        (0.437829, 2.7e-20, None),
        (0.0, 2.5e-13, None),
        (3e-20, 2e-20, 0.5),
    ],
)
def test_an_excess_is_null_over_a_bound_of_about_0(
    objective: float | None, bound: float | None, excess: float | None
) -> None:
    found = relative_excess(objective, bound)
    assert found == (None if excess is None else pytest.approx(excess))


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1.0, 1e300])
def test_proofs_are_relative(scale: float) -> None:
    assert is_proved(scale, scale * (1 - 3e-6), 1e-5)
    assert not is_proved(scale, scale * (1 - 3e-6), 1e-6)
    assert not is_proved(scale, 0.0, 1e-6)
    assert is_proved(0.0, 0.0, 0.0)


def test_a_share_is_of_the_larger() -> None:
    assert share_of(3.0, -4.0, 2.0) == 0.75
    assert share_of(3.0, 2.0, -4.0) == 0.75
    assert share_of(8.0, -4.0, 4.0) == 2.0
    assert share_of(math.inf, math.inf, 1.0) == 1.0
    assert share_of(math.nan, math.nan, 1.0) == 1.0


def test_a_report() -> None:
    late = Violation("deadline", "(9)", "job a", 1.5)
    more = Violation("capacity", "(2)", "server 1", 2, 0.25)
    assert str(late) == "deadline, (9), violated at job a by 1.5"
    assert late.to_dict() == {
        "rule": "deadline", "equation": "(9)", "where": "job a", "amount": 1.5, "tolerance": 0.0,
    }  # fmt: skip
    good, bad = CheckReport(7.0), CheckReport(None, (late, more))
    assert good.feasible
    assert not bad.feasible
    assert good.rounding == 0.0
    assert good.facts() == {"check": "feasible", "objective": "7"}
    assert list(bad.facts().items())[2:] == [("violation 1", str(late)), ("violation 2", str(more))]
    assert bad.facts()["check"] == "2 violations"
    assert good.to_dict() == {"feasible": True, "objective": 7.0, "violations": []}
    assert bad.to_dict()["violations"] == [late.to_dict(), more.to_dict()]


@pytest.mark.parametrize(
    ("name", "sha256", "found"),
    [
        ("this", None, None),
        ("this", "12ab", None),
        ("this", "34cd", "the solution is for another 'this', by its instance_sha256"),
        ("other", None, "the solution is for 'other', not for 'this'"),
        ("other", "12ab", "the solution is for 'other', not for 'this'"),
    ],
)
def test_a_file_about_another_instance(name: str, sha256: str | None, found: str | None) -> None:
    solution = SimpleNamespace(instance=name, instance_sha256=sha256)
    report = another_instance(solution, "this", lambda: "12ab")
    if found is None:
        assert report is None
    else:
        assert report == CheckReport(None, (Violation("instance", "file", found, 1),))
