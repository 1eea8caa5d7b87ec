"""Instances, starts and models as a user of Python meets them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyomo.environ as pyo
import pytest
from matplotlib.figure import Figure
from pyomo.contrib.solver.common.factory import SolverFactory
from sampling import first

import optsched
from optsched.errors import InputError, MethodWarning, NotApplicableError

NAMES = ("placement/fig2", "makespan/fig2", "selection/3x6", "rolling/three-by-hand")
CHANGED = {
    "placement": lambda frame: {"job": {"stages": frame}},
    "makespan": lambda frame: {"jobs": frame},
}
TABLES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "frame": lambda frame: frame,
    "records": lambda frame: frame.to_dict("records"),
    "columns": lambda frame: frame.to_dict("list"),
    "arrays": lambda frame: {name: frame[name].to_numpy() for name in frame},
}


@pytest.mark.parametrize("given", TABLES)
@pytest.mark.parametrize("name", NAMES)
def test_lists_as_tables(name: str, given: str) -> None:
    instance = optsched.load(name)
    table = TABLES[given](instance.to_frame())
    changed = CHANGED.get(name.partition("/")[0], CHANGED["makespan"])(table)
    assert instance.with_(**changed) == instance


def test_an_instance_from_a_frame_and_numpy_alone() -> None:
    stages = pd.DataFrame({"name": ["a", "b"], "replicas": [2, 1]}).assign(
        forward_time=0.01,
        backward_time=0.02,
        input_bytes=[0.0, 4e6],
        output_bytes=[2e6, 0.0],
        parameter_bytes=np.float32(1e8),
        tensor_parallel=[np.nan, 1],  # a missing cell takes the field's default
    )
    stages["tensor_parallel"] = stages["tensor_parallel"].astype("Int64")
    instance = optsched.PlacementInstance(
        name="mine",
        cluster={"gpus_per_server": 4, "inter_bandwidth": 1e9, "intra_bandwidth": 1e11},
        free_gpus=np.array([2, 1]),
        job={"model": "two", "all_reduce": "ring", "stages": stages},
    )
    assert instance.job.stages[0].tensor_parallel == 1
    assert optsched.load(instance.to_dict()) == instance
    assert optsched.solve(instance.to_dict()).proved


def test_a_variant_keeps_what_is_not_named() -> None:
    given = optsched.load("placement/fig2")
    variant = given.with_(cluster={"inter_bandwidth": 1e8}, provenance={})
    assert variant.cluster == given.cluster.with_(inter_bandwidth=1e8)
    assert (variant.name, variant.job, variant.provenance) == (given.name, given.job, {})
    assert given.with_(name="other").name == "other"
    assert list(optsched.load("selection/3x6").to_frame("nodes")["gpus"]) == [2, 2, 2]


def test_a_workload_as_a_frame() -> None:
    given = optsched.load("online/small-400x40")
    frame = given.to_frame()
    assert given.with_(workload=frame).to_dict() == given.to_dict()
    fewer = given.with_(workload=frame.head(20))
    assert fewer.to_frame().equals(frame.head(20))
    assert optsched.solve(fewer, "fifo").check.feasible
    with pytest.raises(InputError, match="jobs: found 1, expected no such field"):
        given.with_(jobs=1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda given: optsched.PlacementInstance(given), "found .* expected fields by name"),
        (lambda given: given.with_(bandwidth=1), "bandwidth: found 1, expected no such key"),
        (lambda given: given.with_(job={"stages": 3}), r"stages: found 3, expected an array"),
        (lambda given: given.with_(job={"stages": {"name": 3}}), r"stages: found .* an array"),
        (
            lambda given: given.with_(job={"stages": {"name": ["a"], "replicas": [1, 2]}}),
            "stages: found columns of .* expected columns of one length",
        ),
        (
            lambda given: given.with_(job={"stages": given.to_frame().assign(replicas=1.5)}),
            r"stages\[0\].replicas: found 1.5, expected an integer",
        ),
        (
            lambda given: given.with_(job={"stages": given.to_frame().drop(columns="name")}),
            r"stages\[0\].name: missing required field",
        ),
        (
            lambda given: given.with_(
                job={"stages": given.to_frame().rename(columns={"name": "n"})}
            ),
            r"stages\[0\].name: missing required field; 'n' is no field of it",
        ),
        (
            lambda given: given.with_(stages=given.to_frame()),
            "stages: found a table of name, replicas, .*, expected no such key",
        ),
        (lambda given: given.to_frame("nodes"), "records: found 'nodes', expected stages"),
        (lambda given: optsched.load(3), "load: found 3, expected a name"),
        (lambda given: optsched.load({"schema": "no"}), "schema: found 'no'"),
        (lambda given: optsched.solve(None), "instance: found None"),
        (lambda given: optsched.compare([given, 3], ["heavy-edge"]), "found 3"),
        (
            lambda given: optsched.compare(given, ["heavy-edge"], on_error="no"),
            "on_error: found 'no', expected warn or raise",
        ),
        (lambda given: optsched.solution_of(pyo.ConcreteModel()), "made by optsched.build_model"),
        (lambda given: optsched.check(given, optsched.build_model(given)), "found no value"),
    ],
)
def test_refused_in_one_line(make: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        make(optsched.load("placement/fig2"))
    assert len(str(caught.value).splitlines()) == 1


def test_compare_takes_any_iterable() -> None:
    names = ["placement/fig2", "placement/vgg19-16"]
    right = optsched.compare(names, ["heavy-edge"])

    def instances() -> Iterator[Any]:
        yield optsched.load(names[0])
        yield optsched.load(names[1]).to_dict()

    for given in (instances(), pd.Series(names), np.array(names), map(Path, names)):
        table = optsched.compare(given, ["heavy-edge"])
        assert table.drop(columns="seconds").equals(right.drop(columns="seconds"))


def failing(instance: object, options: object, settings: object) -> object:
    raise ZeroDivisionError("nothing to divide by")


def test_a_failure_is_seen() -> None:
    with pytest.warns(MethodWarning, match="failing failed on fig2 .*tracebacks"):
        table = optsched.compare("placement/fig2", ["heavy-edge", failing])
    (text,) = table.attrs["tracebacks"].values()
    assert 'raise ZeroDivisionError("nothing to divide by")' in text
    with pytest.raises(optsched.errors.MethodError, match="nothing to divide by"):
        optsched.compare("placement/fig2", [failing], on_error="raise")
    model = optsched.build_model("placement/fig2", "ilp")
    table = optsched.compare("placement/vgg19-16", [model])
    assert "those of the model, of fig2" in table.attrs["messages"]["vgg19-16: model placement"]
    with pytest.raises(optsched.InputError, match="those of the model, of fig2"):
        optsched.compare("placement/vgg19-16", [model], on_error="raise")


# Starts.


@pytest.mark.parametrize("solver", ["highs", "scip"])
def test_a_start_reaches_the_solver(solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a heuristic's placement the first incumbent can only be the start's."""
    from optsched.placement.heuristics import repartition

    given = optsched.load("placement/vgg19-16")
    start = optsched.solve(given, "exact")
    nothing = repartition.StartingPlacement("none", None, optsched.result.Termination.NO_SOLUTION)
    monkeypatch.setattr(repartition, "improved_start", lambda *_: (nothing, 0))
    seen: list[float] = []
    result = optsched.solve(
        given,
        "ilp",
        start=start,
        solver=solver,
        time_limit=60,
        callback=lambda event: seen.append(event.incumbent) if event.incumbent else None,
    )
    assert result.proved
    assert seen[0] == pytest.approx(start.objective)
    assert optsched.solve(given, "ilp", solver=solver, time_limit=5).objective is None


STARTED = {
    "placement/vgg19-16": ("ilp", "columns", "exact"),
    "makespan/fig2": ("ilp", "exact"),
    "selection/3x6": ("milp", "patterns", "columns", "exact"),
}


@pytest.mark.parametrize(("name", "method"), [(n, m) for n, ms in STARTED.items() for m in ms])
def test_the_result_is_no_worse_than_its_start(name: str, method: str) -> None:
    start = optsched.solve(name)
    result = optsched.solve(name, method, start=start.solution, time_limit=0)
    assert result.objective == pytest.approx(start.objective)


def test_a_start_that_breaks_a_rule_is_refused_with_the_rule() -> None:
    given = optsched.load("placement/fig2")
    solution = optsched.solve(given, "heavy-edge").solution
    rows = [list(row) for row in solution.counts]
    rows[0][0] -= 1
    with pytest.raises(InputError, match=r"start: not a feasible solution: .* violated at stage 0"):
        optsched.solve(given, "ilp", start=solution.model_copy(update={"counts": rows}))
    with pytest.raises(NotApplicableError, match="a start, expected one of columns, ilp, exact"):
        optsched.solve(given, "heavy-edge", start=solution)


# Models.

SOLVERS: dict[str, Callable[[], Any]] = {
    "contrib highs": lambda: SolverFactory("highs"),
    "contrib scip": lambda: SolverFactory("scip_direct"),
    "appsi_highs": lambda: pyo.SolverFactory("appsi_highs"),
    "cbc": lambda: pyo.SolverFactory("cbc", executable=cbc()),
}


def cbc() -> str:
    return str(pytest.importorskip("pulp").PULP_CBC_CMD().path)


SOLVED = (("placement/vgg19-16", "ilp"), ("makespan/fig2", "ilp"), ("selection/3x6", "columns"))
PAIRS = [
    (solver, *SOLVED[(at + shift) % 3]) for shift in range(3) for at, solver in enumerate(SOLVERS)
]
"""Each solver with each model; by default each solver once."""


@pytest.mark.parametrize(("solver", "name", "method"), first(4, PAIRS))
def test_a_solution_whatever_solved_the_model(solver: str, name: str, method: str) -> None:
    given = optsched.load(name)
    given = given.with_(horizon=12) if name == "makespan/fig2" else given
    model = optsched.build_model(given, method).clone()
    SOLVERS[solver]().solve(model)
    table = optsched.compare(given, ["exact", model])
    assert table["checked"].tolist() == [True, True]
    assert table["objective"][1] == pytest.approx(table["objective"][0], rel=1e-6)
    assert table["method"][1] == f"model {model.name}"
    assert type(optsched.explain(given, model)) is type(optsched.explain(given))
    assert optsched.plot(model, ax=Figure().subplots()).get_title(loc="left")


def test_a_model_stands_for_its_own_instance_and_options_alone() -> None:
    model = optsched.build_model("placement/fig2")
    pyo.SolverFactory("appsi_highs").solve(model)
    names = ["placement/fig2", "placement/vgg19-16"]
    table = optsched.compare(names, ["heavy-edge", model], full=True)
    assert table["termination"].tolist() == ["feasible", "feasible", "feasible", "error"]
    model.place[0, 0, 1, 1] = 0.5
    with pytest.raises(InputError, match=r"place\[0,0,1,1\]: found 0.5, expected an integer"):
        optsched.solution_of(model)
    for variable in model.place.values():
        variable.set_value(0)
    with pytest.raises(InputError, match="model placement: not a feasible solution: replicas, "):
        optsched.solution_of(model)
    for method in ("patterns", "columns", "milp"):
        model = optsched.build_model("selection/3x6", method)
        for variable in model.component_data_objects(pyo.Var):
            variable.set_value(1, skip_validation=True)
        with pytest.raises(InputError, match="found inconsistent values, expected those of"):
            optsched.solution_of(model)
    with pytest.raises(NotApplicableError, match="method theta: found a model of a bound"):
        optsched.solution_of(optsched.build_model("makespan/fig2", "theta"))


def test_a_policy_s_model_has_the_selection_of_its_first_decision() -> None:
    model = optsched.build_model("rolling/three-by-hand", "patterns")
    pyo.SolverFactory("appsi_highs").solve(model)
    assert optsched.check(model.origin.instance, model).feasible


def test_a_model_is_summarised() -> None:
    model = optsched.build_model("placement/fig2")
    model.mine = pyo.Constraint(model.SERVERS, rule=lambda m, s: m.present[0, s] <= 1)
    rows = {row[1]: row for row in optsched.explain(model).rows}
    assert rows["slowest"] == (
        *("constraints", "slowest", "STAGES x SERVERS", "9"),
        *("(2a) alpha >= base - saving", ""),
    )
    assert rows["alpha"][2:5] == ("", "1", "alpha: iteration time")
    assert rows["alpha"][5].endswith(" s")
    assert rows["mine"][:5] == ("constraints", "mine", "SERVERS", "3", "")
    assert "54 constraints" in str(optsched.explain(model))


@pytest.mark.parametrize(
    ("name", "method"),
    [
        *(("placement/fig2", method) for method in ("ilp", "ilp-vertex", "min-cut")),
        *(("makespan/fig2", method) for method in ("ilp", "ilp-relaxed", "ilp-schedules", "theta")),
        *(("selection/3x6", method) for method in ("milp", "minlp", "patterns", "columns")),
    ],
)
def test_every_part_of_a_model_is_described(name: str, method: str) -> None:
    for kind, part, _, _, meaning, _ in optsched.explain(optsched.build_model(name, method)).rows:
        assert len(meaning.split()) > 1, (kind, part, meaning)
