"""Small inputs that once gave wrong answers, with the right values."""

import math
from pathlib import Path

import pytest
from oracles.selection import Oracle
from sampling import first

import optsched
from optsched.errors import InputError
from optsched.selection.instance import SelectionInstance

CASES = Path(__file__).parents[1] / "cases" / "selection"


@pytest.mark.parametrize("method", ["milp", "minlp"])
@pytest.mark.parametrize(("case", "optimum"), [("a", 0.437829), ("b", 17.453404), ("c", 0.0466673)])
def test_choices_far_below_postponing_are_proved(case: str, optimum: float, method: str) -> None:
    """A postponement penalty of 1e6: what is left to decide is 1e-7 of the mean postponement."""
    result = optsched.solve(CASES / f"milp-stops-{case}.json", method)
    assert result.termination == "optimal"
    assert result.objective == pytest.approx(optimum, rel=1e-5)
    assert result.bound == pytest.approx(result.objective, rel=1e-6)


@pytest.mark.parametrize("method", first(2, ["dp", "sts", "avg-dp", "edf", "fifo", "rg", "avg-rg"]))
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


def test_costs_beyond_what_files_hold_are_refused_at_load() -> None:
    document = optsched.load(CASES / "milp-stops-a.json").to_dict()
    document["jobs"][0]["tardiness_weight"] = 1e15
    with pytest.raises(InputError, match=r"jobs\[0\].*costs of up to .* larger unit"):
        SelectionInstance.from_dict(document)


def test_tails_of_truncated_exponentials() -> None:
    """Probabilities down to 3e-18; the milder half of the epochs is already done."""
    document = optsched.load(CASES / "milp-stops-b.json").to_dict()
    weights = [math.exp(-4 * k) for k in range(11)]
    chances = [weight / sum(weights) for weight in weights]
    for job in document["jobs"]:
        job["epochs"] = {"values": list(range(1, 12)), "probabilities": chances}
        job["completed_epochs"] = 5
    instance = SelectionInstance.from_dict(document)
    results = [optsched.solve(instance, method) for method in ("milp", "patterns", "columns")]
    assert {result.termination for result in results} == {"optimal"}
    costs = [result.objective for result in results]
    assert costs == pytest.approx([Oracle(document).optimum()] * 3, rel=1e-6)
