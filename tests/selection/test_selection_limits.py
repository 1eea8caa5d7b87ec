"""A limit is kept with the best that is known; a model too large is refused before it is stated."""

from __future__ import annotations

import pytest
from oracles.random_selection import tiny

import optsched
from optsched.deadline import Deadline
from optsched.errors import NotApplicableError
from optsched.result import Settings, Termination
from optsched.selection import known
from optsched.selection.cost import tables_of
from optsched.selection.exact import exact
from optsched.selection.formulation import formulation_data
from optsched.selection.milp import build as build_milp
from optsched.selection.options import SelectionOptions
from optsched.selection.patterns import build as build_patterns
from optsched.selection.patterns import nonzeros, pattern_data

METHODS = ("exact", "patterns", "columns", "milp", "minlp")


@pytest.mark.parametrize("method", METHODS)
def test_an_incumbent_at_any_limit(method: str) -> None:
    """At no time at all the answer is at least as good as the heuristics', with a bound."""
    instance = optsched.load("selection/5x10")
    best = min(optsched.solve(instance, name).objective for name in ("sts", "avg-dp"))
    result = optsched.solve(instance, method, time_limit=0.0)
    assert result.termination is Termination.TIME_LIMIT
    assert result.check.feasible
    assert result.objective <= best * (1 + 1e-12)
    assert result.bound is not None
    assert 0 <= result.bound <= result.objective


@pytest.mark.parametrize("name", ["100x400", "100x400-distinct"])
def test_exact_has_an_incumbent_where_no_model_fits(name: str) -> None:
    instance = optsched.load(f"selection/{name}")
    passed = Settings(time_limit=1.0).within(Deadline(1.0, began=Deadline().began - 1.0))
    outcome = exact(instance, SelectionOptions(), passed)
    assert outcome.termination is Termination.TIME_LIMIT
    assert outcome.claimed is not None
    assert optsched.check(instance, outcome.solution).feasible


def test_without_a_limit_the_optimum_is_still_proved() -> None:
    for seed in range(4):
        found = {m: optsched.solve(tiny(seed), m) for m in ("patterns", "columns", "milp")}
        assert {r.termination for r in found.values()} == {Termination.OPTIMAL}


@pytest.mark.parametrize("method", ["milp", "minlp"])
def test_a_model_too_large_is_refused_by_its_size(method: str) -> None:
    with pytest.raises(NotApplicableError, match=r"about \d+ nonzeros, expected at most 3000000"):
        optsched.solve("selection/100x400-distinct", method)


def test_patterns_are_refused_by_their_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "MOST_NONZEROS", 10)
    with pytest.raises(NotApplicableError, match="nonzeros, expected at most 10: use columns"):
        optsched.solve("selection/3x6", "patterns")


@pytest.mark.parametrize("name", ["3x6", "5x10", "10x20", "12x6-light"])
def test_sizes_are_estimated_from_above_but_not_wildly(name: str) -> None:
    """What the guards count without building, beside what is built."""
    import pyomo.environ as pyo
    from pyomo.repn import generate_standard_repn

    tables = tables_of(optsched.load(f"selection/{name}"), SelectionOptions())
    data = formulation_data(tables, "milp")
    for estimate, model in (
        (data.nonzeros, build_milp(data)),
        (nonzeros(tables), build_patterns(pattern_data(tables))),
    ):
        rows = model.component_data_objects(pyo.Constraint)
        built = sum(len(generate_standard_repn(row.body).linear_vars) for row in rows)
        assert built <= 1.3 * estimate
        assert estimate <= 3 * built
