"""Relations whose variables have all been left out: left out, or infeasible, never an exception."""

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyomo.environ as pyo
import pytest
from oracles import placement as oracle

import optsched
from optsched.backends.models import solve_model
from optsched.backends.relations import stated
from optsched.makespan.models import formulation as makespan
from optsched.makespan.models.data import model_data
from optsched.placement.heuristics.repartition import starting_placement
from optsched.placement.instance import PlacementInstance
from optsched.placement.models import formulation as placement
from optsched.placement.options import PlacementOptions
from optsched.result import Settings, Termination

SOLVERS = ("highs", "scip", "cbc")


def small(kind: str, holds: bool) -> pyo.ConcreteModel:
    """min x + y where x + y >= 1, and a constant relation in one of its disguises."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(domain=pyo.Binary)
    model.y = pyo.Var(bounds=(0, 3))
    model.nothing = pyo.Expression(expr=0)
    model.least = pyo.Objective(expr=model.x + model.y)
    model.enough = pyo.Constraint(expr=model.x + model.y >= 1)
    right = 0 if holds else 2
    relations = {
        "bool": sum([]) >= right,
        "numpy": np.float64(0.0) >= np.float64(right),
        "expression": model.nothing >= right,
    }
    model.constant = pyo.Constraint([1, 2], rule=lambda m, _: stated(m, relations[kind]))
    return model


@pytest.mark.parametrize("kind", ["bool", "numpy", "expression"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_constants_hold_or_make_the_model_infeasible(
    kind: str, solver: str, tmp_path: Path
) -> None:
    settings = Settings(solver=solver)
    assert solve_model(small(kind, True), settings).objective == pytest.approx(1.0)
    answer = solve_model(small(kind, False), settings)
    assert (answer.termination, answer.objective) == (Termination.INFEASIBLE, None)
    for suffix in ("lp", "mps", "nl"):
        small(kind, False).write(str(tmp_path / f"model.{suffix}"))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("method", ["ilp", "ilp-vertex", "min-cut"])
def test_a_server_without_gpus_has_constant_rows(method: str, solver: str) -> None:
    document = oracle.random_instance(random.Random(3))
    document["free_gpus"].append(0)
    instance = PlacementInstance.from_dict(document)
    expected = optsched.solve(instance, "exact").objective
    result = optsched.solve(instance, method, solver=solver)
    assert result.check.feasible
    if method != "min-cut":
        assert result.termination is Termination.OPTIMAL
        assert result.objective == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_stage_without_columns_is_infeasible(solver: str) -> None:
    """A unit of time that no placement meets leaves no column at all."""
    instance, options = optsched.load("placement/fig2"), PlacementOptions()
    counts = starting_placement(instance, options).counts
    data = placement.model_data(instance, options, counts, 0.0, pruned=True)
    model = placement.build(replace(data, unit=1e-3 * data.unit))
    assert len(model.COLUMNS) == 0
    assert solve_model(model, Settings(solver=solver)).termination is Termination.INFEASIBLE


def test_a_job_without_runs_is_infeasible() -> None:
    """A horizon below every job's length leaves no run of any."""
    instance = optsched.load("makespan/fig2")
    model = makespan.build(model_data(instance, 1, 0))
    assert solve_model(model, Settings()).termination is Termination.INFEASIBLE
