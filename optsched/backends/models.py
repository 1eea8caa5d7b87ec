"""Solving Pyomo models, by HiGHS, SCIP or another solver of Pyomo's."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import highspy
import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray
from pyomo.contrib.solver.common.factory import SolverFactory
from pyomo.contrib.solver.common.results import TerminationCondition

from optsched.backends.highs import (
    DEFAULT_TOL,
    INTEGRALITY_OPTION,
    run_with_retries,
    safe_bound,
    set_options,
)
from optsched.backends.pyomo_solvers import require_solver, solve_with_pyomo
from optsched.backends.running import InterruptibleScip
from optsched.backends.sizes import require_time
from optsched.backends.solver_result import (
    FEASIBILITY_TOL,
    SolverResult,
    finite,
    result_at_end,
    timed_out,
)
from optsched.deadline import OutOfTimeError, clock
from optsched.errors import SolverError
from optsched.progress import SolverListener
from optsched.result import Settings, Termination, TracePoint

CAUTIOUS_SCALE = 64.0
"""Factor by which a cautious solve scales the objective and the continuous columns.

With tolerances of 1e-9 and values near 1, HiGHS 1.15 and 1.16 returned a wrong "optimal" in 17 of
450 runs, and with a factor of 32 in 112 of 160. With 64 and an integrality tolerance of
`DEFAULT_TOL`: in none of 19,204 runs."""
AGGREGATOR = 1 << 12
"""HiGHS's presolve rule that a cautious solve leaves out: it lost the optimum of one of 435 drawn
placements under all_reduce_bandwidth="bottleneck" (1.16), and without it of none."""


def solve_model(
    model: pyo.ConcreteModel,
    settings: Settings,
    *,
    start: bool = False,
    build_time: float = 0.0,
    restarts: bool = True,
    cautious: bool = False,
    listener: SolverListener | None = None,
) -> SolverResult:
    """Solve a Pyomo model and load its incumbent, integers rounded, into its variables.

    `start` makes the variables' values the first incumbent: a MIP start, but for HiGHS, which
    returned wrong optima with one (1.12 to 1.16, 5 of 2,300 drawn models), only what is returned if
    it finds nothing better. For HiGHS only: `restarts` is its mip_allow_restart, and `cautious`
    scales the model against the bug at `CAUTIOUS_SCALE`.
    `listener` receives incumbents and bounds, for HiGHS during the run, else once at the end.
    """
    require_solver(settings.solver)
    if not settings.deadline.has(build_time):
        return timed_out(settings, build_time)
    if settings.solver == "highs":
        return _solve_with_highs(model, settings, start, build_time, restarts, cautious, listener)
    if settings.solver == "scip":
        answer = _solve_with_scip(model, settings, start, build_time)
    else:
        answer = solve_with_pyomo(model, settings, start, build_time)
    if answer.has_solution:
        _round_integers(model)
    if listener is not None:
        listener(answer.objective, answer.bound)
    return answer


def build_and_solve(
    build: Callable[[], pyo.ConcreteModel],
    nonzeros: float,
    settings: Settings,
    *,
    began: float,
    **solve_arguments: Any,
) -> tuple[SolverResult, pyo.ConcreteModel | None]:
    """Build a model and solve it by `solve_model`; no model if the deadline passes first."""
    try:
        require_time(settings.deadline, nonzeros)
        model = build()
        answer = solve_model(model, settings, build_time=clock() - began, **solve_arguments)
    except OutOfTimeError:
        return timed_out(settings, clock() - began), None
    return answer, model


def _solve_with_highs(
    model: pyo.ConcreteModel,
    settings: Settings,
    start: bool,
    build_time: float,
    restarts: bool,
    cautious: bool,
    listener: SolverListener | None,
) -> SolverResult:
    began = clock()
    solver = pyomo_highs(model)
    highs = solver._solver_model  # private: the public interface has no MIP start or callbacks
    highs.setOptionValue("log_to_console", False)
    set_options(highs, settings)
    highs.setOptionValue("mip_allow_restart", restarts)
    scale, factor, tolerance = np.ones(highs.getNumCol()), 1.0, FEASIBILITY_TOL
    if cautious:
        scale, factor, tolerance = _scale_model(highs), CAUTIOUS_SCALE, DEFAULT_TOL
        highs.setOptionValue(INTEGRALITY_OPTION, tolerance)
        highs.setOptionValue("presolve_rule_off", AGGREGATOR)
    incumbent = _values_of(solver, highs, model, scale, factor) if start else None
    first = None if incumbent is None else _unscale(incumbent.objective, factor)
    recorder = _Recorder(listener, tolerance, factor, first)
    highs.cbMipLogging.subscribe(recorder)
    highs.cbMipImprovingSolution.subscribe(recorder)
    built = recorder.began = clock()
    # Run HiGHS directly: Pyomo's interface would capture the listener's output.
    run = run_with_retries(highs, settings, incumbent, recorder.report)
    objective, bound = _unscale(run.objective, factor), _unscale(run.bound, factor)
    solved = clock()
    if listener is not None:
        listener(objective, bound)
    if run.values is not None:
        for identity, column in solver._pyomo_var_to_solver_var_map.items():
            value = float(run.values[column] / scale[column])
            solver._vars[identity][0].set_value(value, skip_validation=True)
        _round_integers(model)
    return SolverResult(
        run.termination,
        objective,
        bound,
        build_time + built - began,
        solved - built,
        trace=(*recorder.points, TracePoint(solved - built, objective, bound)),
    )


_capture_lock = threading.Lock()


def pyomo_highs(model: Any) -> Any:
    """Return Pyomo's interface to HiGHS with a model in it.

    Pyomo captures the output of the whole process meanwhile: two threads that did so at the same
    time would deadlock.
    """
    solver = SolverFactory("highs")
    with _capture_lock:
        solver.set_instance(model)
    return solver


def _unscale(value: float | None, factor: float) -> float | None:
    return None if value is None else value / factor


@dataclass(eq=False)
class _Recorder:
    """Collects the trace from HiGHS's callbacks, which come from the thread of the solver.

    Hashable by identity (eq=False), because HiGHS 1.16 stores callbacks in a dictionary.
    """

    listener: SolverListener | None = None
    tolerance: float = FEASIBILITY_TOL
    factor: float = 1.0
    start: float | None = None
    began: float = field(default_factory=clock)
    points: list[TracePoint] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.start is not None:
            self.points.append(TracePoint(0.0, self.start, None))

    def __call__(self, event: Any) -> None:
        out = event.data_out
        bound = safe_bound(finite(out.mip_dual_bound), self.tolerance)
        found = _unscale(finite(out.mip_primal_bound), self.factor)
        incumbent = min((v for v in (found, self.start) if v is not None), default=None)
        point = TracePoint(clock() - self.began, incumbent, _unscale(bound, self.factor))
        last = self.points[-1] if self.points else None
        if last is None or (last.incumbent, last.bound) != (point.incumbent, point.bound):
            self.points.append(point)

    def report(self) -> None:
        """Pass the last point to the listener, in the thread that waits for the solver."""
        if self.listener is not None and self.points:
            self.listener(self.points[-1].incumbent, self.points[-1].bound)


def _scale_model(highs: Any) -> NDArray[np.float64]:
    """Scale objective and continuous columns by `CAUTIOUS_SCALE`; return the columns' scale."""
    lp = highs.getLp()
    is_integer = np.array([kind == highspy.HighsVarType.kInteger for kind in lp.integrality_], bool)
    scale = np.where(is_integer, 1.0, CAUTIOUS_SCALE) if len(is_integer) else np.ones(lp.num_col_)
    matrix, lower, upper = lp.a_matrix_, np.array(lp.col_lower_), np.array(lp.col_upper_)
    column = np.array(matrix.index_)
    if matrix.format_ == highspy.MatrixFormat.kColwise:
        column = np.repeat(np.arange(lp.num_col_), np.diff(matrix.start_))
    matrix.value_ = np.array(matrix.value_) / scale[column]
    lp.col_lower_, lp.col_upper_ = lower * scale, upper * scale
    lp.col_cost_ = CAUTIOUS_SCALE * np.array(lp.col_cost_) / scale
    lp.offset_ *= CAUTIOUS_SCALE
    highs.passModel(lp)
    return scale


def _values_of(
    solver: Any, highs: Any, model: pyo.ConcreteModel, scale: NDArray[np.float64], factor: float
) -> SolverResult | None:
    """The variables' values and objective in HiGHS's units; None where one has no value."""
    values = np.zeros(highs.getNumCol())
    for identity, column in solver._pyomo_var_to_solver_var_map.items():
        value = solver._vars[identity][0].value
        values[column] = 0.0 if value is None else value
    objective = next(model.component_data_objects(pyo.Objective, active=True))
    value = pyo.value(objective, exception=False)
    if value is None:
        return None
    return SolverResult(Termination.FEASIBLE, float(value) * factor, None, values=values * scale)


def _solve_with_scip(
    model: pyo.ConcreteModel, settings: Settings, start: bool, build_time: float
) -> SolverResult:
    solver = SolverFactory("scip_direct")
    create = solver._create_solver_model  # private: the public interface cannot be interrupted

    def create_interruptible(*arguments: Any) -> tuple[Any, ...]:
        scip_model, *rest = create(*arguments)
        return InterruptibleScip(scip_model, settings.deadline), *rest

    solver._create_solver_model = create_interruptible
    began = clock()
    results = solver.solve(
        model,
        load_solutions=False,
        raise_exception_on_nonoptimal_result=False,
        rel_gap=settings.gap,
        abs_gap=0.0,
        time_limit=settings.deadline.left,
        warmstart_discrete_vars=start,
        solver_options={"display/verblevel": 0, "numerics/feastol": FEASIBILITY_TOL},
    )
    seconds = clock() - began
    objective, bound = results.incumbent_objective, results.objective_bound
    bound = None if bound is None else finite(bound)
    if objective is not None:
        results.solution_loader.load_vars()
    condition = results.termination_condition
    infeasible = condition is TerminationCondition.provenInfeasible
    limits = (
        TerminationCondition.maxTimeLimit,
        TerminationCondition.iterationLimit,
        TerminationCondition.interrupted,
    )
    hit_limit = condition in limits or settings.deadline.is_over
    if objective is None and not infeasible and not hit_limit:
        raise SolverError(f"SCIP ended with {condition.name}")
    return result_at_end(settings, objective, bound, build_time, seconds, infeasible, hit_limit)


def _round_integers(model: pyo.ConcreteModel) -> None:
    for variable in model.component_data_objects(pyo.Var, active=True):
        if variable.value is not None and variable.is_integer():
            variable.set_value(round(variable.value), skip_validation=True)
