"""Small inputs that once gave wrong answers, with the right values."""

from __future__ import annotations

from pathlib import Path

import pytest

import optsched

CASES = Path(__file__).parents[1] / "cases" / "selection"


@pytest.mark.parametrize("method", ["milp", "minlp"])
@pytest.mark.parametrize(("case", "optimum"), [("a", 0.437829), ("b", 17.453404), ("c", 0.0466673)])
def test_choices_far_below_the_cost_of_postponing_are_proved(
    case: str, optimum: float, method: str
) -> None:
    """A postponement penalty of 1e6: what is left to decide is 1e-7 of the mean postponement."""
    result = optsched.solve(CASES / f"milp-stops-{case}.json", method)
    assert result.termination == "optimal"
    assert result.objective == pytest.approx(optimum, rel=1e-5)
    assert result.bound == pytest.approx(result.objective, rel=1e-6)


@pytest.mark.parametrize("method", ["dp", "avg-dp", "sts", "edf", "fifo", "rg", "avg-rg"])
@pytest.mark.parametrize(
    ("case", "other", "factor", "tolerance"),
    [
        ("dp-dollars-a", "dp-millidollars-a", 1000, 1e-12),
        ("dp-unit-b", "dp-unit-1024th-b", 1024, 0),
    ],
)
def test_decisions_do_not_depend_on_the_unit_of_money(
    case: str, other: str, factor: float, tolerance: float, method: str
) -> None:
    """1,024 is exact in binary floating point, 1,000 is not."""
    cost, scaled = (
        optsched.solve(CASES / f"{name}.json", method).objective for name in (case, other)
    )
    assert scaled == pytest.approx(factor * cost, rel=tolerance, abs=0)
