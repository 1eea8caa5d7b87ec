"""Small inputs that once gave wrong answers, with the right values."""

from pathlib import Path

import pytest

import optsched

CASES = Path(__file__).parents[1] / "cases" / "speed_profile"


@pytest.mark.parametrize("method", ["hull", "dichotomy", "exact"])
def test_every_speed_costs_the_same_energy(method: str) -> None:
    result = optsched.solve(CASES / "speed-profile-same-energy.json", method)
    assert result.termination == "optimal"
    assert result.objective == pytest.approx(27.310188, abs=5e-7)


@pytest.mark.parametrize("claim", ["slack", "infeasible"])
def test_a_false_status_is_refused(claim: str) -> None:
    """The deadline is met exactly and costs energy; a deadline of exactly w^max / s_K is met."""
    case = CASES / f"claim-{claim}.json"
    report = optsched.check(case, CASES / f"claim-{claim}.solution.json")
    assert [violation.rule for violation in report.violations] == ["status"]
    assert optsched.solve(case).termination == "optimal"
