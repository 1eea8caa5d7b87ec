"""HiGHS at its limits: other options before giving up, no incumbent lost, statuses that are so."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pyomo.environ as pyo
import pytest
from placement.jobs import slow_network
from pyomo.common.errors import ApplicationError

from optsched.backends import highs, pyomo_solvers
from optsched.backends.models import solve_model
from optsched.backends.pyomo_solvers import solve_with_pyomo
from optsched.backends.solver_result import SolverResult
from optsched.deadline import Deadline
from optsched.errors import SolverError
from optsched.placement.cost import tables_of
from optsched.placement.heuristics.repartition import starting_placement
from optsched.placement.instance import PlacementInstance
from optsched.placement.models import formulation
from optsched.placement.options import PlacementOptions
from optsched.result import Settings, Termination


def uncapped() -> pyo.ConcreteModel:
    """A placement on a network 1e7 times slower, coefficients as they come: "Solve error"."""
    instance, options = PlacementInstance.from_dict(slow_network(50)), PlacementOptions()
    counts = starting_placement(instance, options).counts
    data = formulation.model_data(instance, options, counts, 0.0, pruned=True)
    model = formulation.build(replace(data, tables=tables_of(instance)))
    formulation.set_start(model, data, counts)
    return model


def test_other_options_are_tried() -> None:
    answer = solve_model(uncapped(), Settings())
    assert answer.objective == pytest.approx(1.0, abs=1e-6)
    assert answer.bound <= 1.0
    assert answer.termination in (Termination.OPTIMAL, Termination.FEASIBLE)


def test_a_failure_that_stays_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(highs, "RETRY_OPTIONS", ({"presolve": "off"},))
    with pytest.raises(SolverError, match="HiGHS ended with Solve error"):
        solve_model(uncapped(), Settings())


def test_a_start_outlives_every_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(highs, "_read_run", lambda *_: "Solve error")
    model = uncapped()
    answer = solve_model(model, Settings(), start=True)
    assert (answer.termination, answer.bound) == (Termination.FEASIBLE, None)
    assert answer.objective == pytest.approx(1.0, abs=1e-6)
    assert sum(round(pyo.value(x)) for x in model.place.values()) > 0
    passed = Settings(time_limit=1.0).within(Deadline(1.0, began=Deadline().began - 2.0))
    late = solve_model(uncapped(), passed, start=True)
    assert late.termination is Termination.TIME_LIMIT


def test_a_start_outlives_a_process_that_crashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """CBC ends with a segmentation fault, now and then, when its time is short."""

    def crash(*_: object, **__: object) -> None:
        raise ApplicationError("Solver (cbc) did not exit normally")

    crashing = SimpleNamespace(solve=crash, warm_start_capable=lambda: False)
    monkeypatch.setattr(pyomo_solvers, "_solver", lambda _: crashing)
    model = uncapped()
    answer = solve_with_pyomo(model, Settings(solver="cbc"), True, 0.0)
    assert (answer.termination, answer.bound) == (Termination.FEASIBLE, None)
    assert answer.objective == pytest.approx(1.0, abs=1e-6)
    with pytest.raises(SolverError, match=r"cbc: Solver .* did not exit"):
        solve_with_pyomo(model, Settings(solver="cbc"), False, 0.0)


def test_an_incumbent_outlives_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(4), domain=pyo.Binary)
    model.rows = pyo.Constraint(expr=sum((i + 2) * model.x[i] for i in model.x) >= 5)
    model.cost = pyo.Objective(expr=sum((i + 1) * model.x[i] for i in model.x))
    monkeypatch.setattr(highs, "_read_run", lambda *_: "Postsolve error")
    answer = solve_model(model, Settings())
    assert (answer.termination, answer.objective) == (Termination.FEASIBLE, 3.0)
    assert pyo.value(model.cost) == pytest.approx(3.0)


@pytest.mark.parametrize(("limit", "ends"), [(0.0, Termination.TIME_LIMIT), (60.0, None)])
def test_infeasible_of_a_refused_solution_proves_nothing(
    limit: float, ends: Termination | None
) -> None:
    """As HiGHS 1.16 says it of `uncapped`: after a limit that was the limit, else a failure."""
    import highspy

    statuses, nothing = highspy.SolutionStatus, SimpleNamespace(mip_dual_bound=float("inf"))
    solver = SimpleNamespace(
        getModelStatus=lambda: highspy.HighsModelStatus.kInfeasible,
        modelStatusToString=lambda _: "Infeasible",
        getInfo=lambda: nothing,
    )
    nothing.mip_node_count = 0
    nothing.primal_solution_status = int(statuses.kSolutionStatusInfeasible)
    ended = highs._read_run(solver, Settings(time_limit=limit), 0.0, False)
    assert ended == (SolverResult(ends, None, None) if ends else "Infeasible without a solution")
    nothing.primal_solution_status = int(statuses.kSolutionStatusNone)
    ended = highs._read_run(solver, Settings(time_limit=limit), 0.0, False)
    assert ended == SolverResult(Termination.INFEASIBLE, None, None)


@pytest.mark.parametrize(
    ("hit_limit", "expected"), [(True, Termination.TIME_LIMIT), (False, Termination.FEASIBLE)]
)
def test_a_status_says_what_happened(hit_limit: bool, expected: Termination) -> None:
    from optsched.backends.solver_result import termination_status

    arguments: dict[str, Any] = {"settings": Settings(gap=0.0), "infeasible": False}
    assert termination_status(2.0, 1.0, hit_limit=hit_limit, **arguments) is expected
    assert termination_status(2.0, 2.0, hit_limit=hit_limit, **arguments) is Termination.OPTIMAL
