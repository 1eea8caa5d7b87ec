"""The solver adapter: starts, limits, traces, threads; it rests on private names of Pyomo's."""

import io
import logging
from types import SimpleNamespace

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.common import Executable
from pyomo.opt import Solution, SolverResults
from scipy.sparse import csr_array

import optsched
from optsched import deadline
from optsched.backends import highs, models, pyomo_solvers
from optsched.backends.arrays import MilpArrays, solve_arrays
from optsched.backends.highs import safe_bound
from optsched.backends.models import solve_model
from optsched.backends.pyomo_solvers import solve_with_pyomo, solver_version
from optsched.backends.running import run_highs
from optsched.deadline import Deadline
from optsched.errors import InputError
from optsched.placement.bounds.combinatorial import combinatorial_bound
from optsched.placement.cost import iteration_time, tables_of
from optsched.placement.heuristics.heavy_edge import graph_arrays, heavy_edge_counts
from optsched.placement.models import formulation
from optsched.placement.options import PlacementOptions
from optsched.result import Settings, Termination


def knapsack(seed: int = 0, items: int = 60, rows: int = 12) -> pyo.ConcreteModel:
    """A multi-dimensional knapsack that takes HiGHS more than an instant."""
    rng = np.random.default_rng(seed)
    model = pyo.ConcreteModel()
    model.take = pyo.Var(range(items), domain=pyo.Binary)
    model.rows = pyo.ConstraintList()
    for _ in range(rows):
        weights = rng.integers(10, 100, items)
        used = sum(int(w) * model.take[i] for i, w in enumerate(weights))
        model.rows.add(used <= int(weights.sum() // 2))
    value = sum(int(v) * model.take[i] for i, v in enumerate(rng.integers(10, 100, items)))
    model.value = pyo.Objective(expr=-value)
    return model


def started_model() -> tuple[pyo.ConcreteModel, float]:
    """The placement MILP with Heavy-Edge's placement set as its start, and that one's value."""
    instance = optsched.load("placement/vgg19-16")
    options = PlacementOptions()
    counts = heavy_edge_counts(graph_arrays(instance.job), instance.free_gpus)
    bound = combinatorial_bound(instance, tables_of(instance, options))
    data = formulation.model_data(instance, options, counts, bound.value, pruned=True)
    model = formulation.build(data)
    formulation.set_start(model, data, counts)
    return model, iteration_time(instance, counts, options) / data.unit


def test_a_start_is_the_first_incumbent() -> None:
    model, value = started_model()
    answer = solve_model(model, Settings(gap=0.0), start=True)
    assert answer.trace[0].incumbent == pytest.approx(value, rel=1e-8)


def test_caution_changes_nothing_that_is_told() -> None:
    """Start, values, objective and bound are in the model's own unit."""
    model, value = started_model()
    plain = solve_model(model, Settings(gap=0.0), start=True)
    model, _ = started_model()
    cautious = solve_model(model, Settings(gap=0.0), start=True, cautious=True)
    assert cautious.trace[0].incumbent == pytest.approx(value, rel=1e-8)
    assert cautious.objective == pytest.approx(plain.objective, rel=1e-8)
    assert cautious.bound == pytest.approx(plain.bound, rel=1e-8)
    assert pyo.value(model.alpha) == pytest.approx(plain.objective, rel=1e-8)


@pytest.mark.parametrize(
    ("branching", "coarse", "holds"),
    [(1e-9, True, 32.0), (1e-3, False, 31.999), (1e-3, True, 31.968)],
)
def test_a_bound_is_lowered_by_what_is_not_looked_for(
    branching: float, coarse: bool, holds: float
) -> None:
    """32 less 0.001, or less 32 x 0.001; nothing where the tolerance is that of all else."""
    assert safe_bound(32.0, branching, coarse) == pytest.approx(holds, rel=1e-12)


def test_a_limit_keeps_incumbent_bound_and_trace() -> None:
    for seconds in (1.0, 5.0, 25.0):  # until an incumbent has come, also on a slow machine
        answer = solve_model(knapsack(3, 400, 40), Settings(gap=0.0, time_limit=seconds))
        assert answer.termination is Termination.TIME_LIMIT
        if answer.objective is not None:
            break
    assert answer.bound < answer.objective < 0
    incumbents = [p.incumbent for p in answer.trace if p.incumbent is not None]
    bounds = [p.bound for p in answer.trace if p.bound is not None]
    times = [p.time for p in answer.trace]
    assert incumbents == sorted(incumbents, reverse=True)
    assert bounds == sorted(bounds)
    assert times == sorted(times)
    assert incumbents[-1] == answer.objective
    assert len(set(incumbents)) > 1


def test_infeasible_is_a_status() -> None:
    model = knapsack(items=3)
    model.more = pyo.Constraint(expr=sum(model.take[i] for i in range(3)) >= 4)
    answer = solve_model(model, Settings())
    assert answer.termination is Termination.INFEASIBLE
    assert answer.objective is None


def test_integers_come_back_as_integers() -> None:
    model = knapsack()
    solve_model(model, Settings())
    assert {model.take[i].value for i in model.take} == {0, 1}


def test_scip_proves_the_same_optimum() -> None:
    pytest.importorskip("pyscipopt")
    highs = solve_model(knapsack(items=30), Settings(gap=0.0))
    scip = solve_model(knapsack(items=30), Settings(gap=0.0, solver="scip"))
    assert scip.termination is highs.termination is Termination.OPTIMAL
    assert scip.objective == pytest.approx(highs.objective, rel=1e-9)
    result = optsched.solve("placement/vgg19-16", "ilp", solver="scip")
    assert result.solver == "scip"
    assert result.solver_version == solver_version("scip")
    assert result.objective == pytest.approx(optsched.solve("placement/vgg19-16").objective)


def test_scip_that_is_stopped_before_it_has_a_bound_has_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Stopped in presolve it says minus infinity, which no bound in slots could be made of."""
    pytest.importorskip("pyscipopt")
    from pyomo.contrib.solver.common.results import TerminationCondition

    ended = SimpleNamespace(
        incumbent_objective=None,
        objective_bound=-np.inf,
        termination_condition=TerminationCondition.maxTimeLimit,
    )
    scip = SimpleNamespace(_create_solver_model=None, solve=lambda *_, **__: ended)
    monkeypatch.setattr(models, "SolverFactory", lambda _: scip)
    answer = solve_model(knapsack(items=30), Settings(time_limit=9.0, solver="scip"))
    assert answer.termination is Termination.TIME_LIMIT
    assert (answer.objective, answer.bound) == (None, None)


def test_a_solver_of_pyomos_agrees() -> None:
    """CBC proves what HiGHS proves, from a process of its own; its bound is read with its gap."""
    highs = solve_model(knapsack(items=15, rows=4), Settings(gap=0.0))
    cbc = solve_model(knapsack(items=15, rows=4), Settings(gap=0.0, solver="cbc"))
    assert cbc.termination is Termination.OPTIMAL
    assert cbc.objective == pytest.approx(highs.objective, rel=1e-9)
    loose = solve_model(knapsack(items=15, rows=4), Settings(gap=0.2, solver="cbc"))
    assert loose.bound <= highs.objective <= loose.objective
    result = optsched.solve("placement/vgg19-16", "ilp", solver="cbc")
    assert result.termination is Termination.OPTIMAL
    assert result.objective == pytest.approx(optsched.solve("placement/vgg19-16").objective)
    assert result.solver_version == solver_version("cbc")


def test_a_limit_ends_a_solver_of_pyomos() -> None:
    """Half a second of a knapsack that takes far longer: no proof, and no exception."""
    answer = solve_model(knapsack(items=2000), Settings(gap=0.0, solver="cbc", time_limit=0.5))
    assert answer.termination is Termination.TIME_LIMIT
    assert answer.solver == "cbc"
    if answer.has_solution and answer.bound is not None:
        assert answer.bound <= answer.objective


@pytest.mark.parametrize(
    ("seconds", "ends"), [(0.0, Termination.INFEASIBLE), (10.0, Termination.TIME_LIMIT)]
)
def test_infeasible_is_believed_before_the_limit_alone(
    monkeypatch: pytest.MonkeyPatch, seconds: float, ends: Termination
) -> None:
    """CBC calls a feasible model infeasible if its time is over during its presolve."""
    now, results = [100.0], SolverResults()
    results.solver.termination_condition = pyo.TerminationCondition.infeasible
    monkeypatch.setattr(deadline, "clock", lambda: now[0])
    monkeypatch.setattr(pyomo_solvers, "clock", lambda: now[0])
    limits = []

    def solve(_: object, timelimit: float, **__: object) -> SolverResults:
        limits.append(timelimit)
        now[0] += seconds
        return results

    solver = SimpleNamespace(solve=solve, warm_start_capable=lambda: False)
    monkeypatch.setattr(pyomo_solvers, "_solver", lambda _: solver)
    settings = Settings(solver="cbc", time_limit=10.0).within(Deadline(10.0, now[0]))
    answer = solve_with_pyomo(knapsack(), settings, False, 3.0)
    assert limits == [7.0]  # less what building took: writing the file takes about as long
    assert (answer.termination, answer.objective, answer.bound) == (ends, None, None)


def test_a_relaxation_is_no_solution_of_cbcs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped before an integer solution, CBC writes what its relaxation has."""
    model, results = knapsack(), SolverResults()
    results.solver.termination_condition = pyo.TerminationCondition.intermediateNonInteger
    results.problem.lower_bound = -3.0
    results.solution.insert(Solution())
    solver = SimpleNamespace(solve=lambda *_, **__: results, warm_start_capable=lambda: False)
    monkeypatch.setattr(pyomo_solvers, "_solver", lambda _: solver)
    answer = solve_with_pyomo(model, Settings(solver="cbc"), False, 0.0)
    assert not answer.has_solution
    assert (answer.termination, answer.bound) == (Termination.TIME_LIMIT, -3.0)


@pytest.mark.parametrize("name", ["magic", "ipopt", "gurobi_persistent"])
def test_unknown_solver_is_refused(name: str) -> None:
    """ipopt would answer with the relaxation: not every solver of Pyomo's is one for integers."""
    with pytest.raises(InputError, match="expected one of highs, scip, cbc"):
        solve_model(knapsack(), Settings(solver=name))


def test_a_solver_that_is_not_installed_is_refused() -> None:
    glpsol = Executable("glpsol")
    glpsol.disable()
    try:
        with pytest.raises(InputError, match="'glpk', which is not installed"):
            solve_model(knapsack(), Settings(solver="glpk"))
    finally:
        glpsol.rehash()


def test_arrays_by_hand() -> None:
    """min -x - 2y, x + y <= 1.5, integers in 0..1: (0, 1), value -2."""
    problem = MilpArrays(
        cost=np.array([-1.0, -2.0]),
        matrix=csr_array(np.array([[1.0, 1.0]])),
        row_lower=np.array([-np.inf]),
        row_upper=np.array([1.5]),
        lower=np.zeros(2),
        upper=np.ones(2),
        integer=np.array([True, True]),
    )
    answer = solve_arrays(problem, Settings())
    assert answer.objective == -2
    assert answer.values.tolist() == [0, 1]


def test_a_run_told_to_stop_writes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a limit too: ``--json`` has the standard output for itself."""
    stop_at_once, log = Deadline(0.0), io.StringIO()
    handler = logging.StreamHandler(log)
    monkeypatch.setattr(highs, "run_highs", lambda solver, *_: run_highs(solver, stop_at_once))
    logging.getLogger("pyomo").addHandler(handler)
    try:
        answer = solve_model(knapsack(items=200, rows=40), Settings(time_limit=60.0))
    finally:
        logging.getLogger("pyomo").removeHandler(handler)
    assert answer.termination is Termination.TIME_LIMIT
    assert log.getvalue() == ""
