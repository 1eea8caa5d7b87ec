"""The models: arc-flow whole and by column generation agree; every component has its equation."""

from dataclasses import replace

import pyomo.environ as pyo
import pytest
from oracles.selection import Oracle
from oracles.selection_cases import tiny
from scales import in_units

from optsched import build_model, solve
from optsched.backends.models import solve_model
from optsched.generators.selection import SelectionSettings, generate_selection
from optsched.result import Settings, Termination
from optsched.selection.assignment import expected_cost
from optsched.selection.cost import tables_of
from optsched.selection.exact import grouping
from optsched.selection.instance import SelectionInstance
from optsched.selection.models.pattern_decode import assignment_of
from optsched.selection.models.patterns import build, pattern_data, read_solution
from optsched.selection.options import SelectionOptions


@pytest.mark.parametrize("opening", ["free", "printed"])
def test_arc_flow_model_equals_column_generation(opening: str) -> None:
    options = {"node_opening": opening}
    for seed in range(4):
        instance = tiny(seed)
        result = solve(instance, "columns", options=options)
        if result.objective is None:
            continue
        model = build_model(instance, "columns", options)
        answer = solve_model(model, Settings())
        unit = tables_of(instance, SelectionOptions(opening)).money_unit
        assert answer.objective * unit == pytest.approx(result.objective, rel=1e-7)


@pytest.mark.parametrize("method", ["minlp", "milp", "patterns", "columns"])
def test_every_component_carries_its_equation(method: str) -> None:
    model = build_model(tiny(3), method, {"node_opening": "printed"})
    for kind in (pyo.Constraint, pyo.Objective, pyo.Var):
        for component in model.component_objects(kind):
            assert component.doc, component.name
    for component in model.component_objects(pyo.Constraint):
        assert component.doc.startswith("("), component.name


def test_a_solution_that_is_no_vertex_is_still_decoded() -> None:
    instance = tiny(5)
    tables = tables_of(instance, SelectionOptions())
    model = build(pattern_data(tables))
    solve_model(model, Settings())
    counted = read_solution(model)
    halves = dict.fromkeys(counted.leaders, 0.5)
    seats = assignment_of(tables, replace(counted, leaders=halves))
    best = expected_cost(tables, assignment_of(tables, counted))
    assert expected_cost(tables, seats) == pytest.approx(best, rel=1e-9)


@pytest.mark.full
def test_grouped_columns_keep_a_valid_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = SelectionSettings(nodes=12, jobs=24, gpus_per_node=2, cost_classes=0)
    instance = generate_selection(settings, seed=5)
    exact = solve(instance, "columns", gap=1e-4)
    monkeypatch.setattr(grouping, "MAX_CLASSES", 1)
    monkeypatch.setattr(grouping, "GROUPS", 3)
    grouped = solve(instance, "columns", gap=1e-4)
    assert grouped.check.feasible
    assert grouped.bound <= exact.objective * (1 + 1e-9)
    assert grouped.objective >= exact.bound * (1 - 1e-9)
    assert grouped.gap < 0.01


@pytest.mark.parametrize("method", ["patterns", "milp", "columns"])
def test_what_is_proved_does_not_know_the_files_unit(method: str) -> None:
    """The models count money in a unit of their own, in which solvers' tolerances are absolute."""
    given = tiny(3).to_dict()
    for scale in (1e-9, 1.0, 1e9):
        instance = SelectionInstance.from_dict(in_units(given, {"money": scale}))
        result = solve(instance, method)
        assert result.termination is Termination.OPTIMAL
        assert result.objective == pytest.approx(scale * Oracle(given).optimum(), rel=1e-6)
