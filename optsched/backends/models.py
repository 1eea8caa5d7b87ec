"""Solving Pyomo models, by HiGHS, SCIP or another solver of Pyomo's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from optsched.backends.answer import FEASIBILITY, Answer, finite, judged, unsolved
from optsched.backends.by_pyomo import solve_with_pyomo
from optsched.backends.highs import BRANCHING, COARSE, holding, run_steadily, set_options
from optsched.backends.running import InterruptibleScip
from optsched.backends.sizes import require_time
from optsched.backends.solvers import require_solver
from optsched.deadline import OutOfTimeError, clock
from optsched.errors import SolverError
from optsched.progress import SolverListener
from optsched.result import Settings, Termination, TracePoint

if TYPE_CHECKING:
    import pyomo.environ as pyo

FINER = 64.0
"""Factor by which a cautious solve enlarges objective and continuous columns.

HiGHS 1.15 and 1.16 with tolerances of 1e-9, on models whose best known time is 1, returned
"optimal" above the optimum in 17 of 450 runs on three models, and with a factor of 32 in 112 of 160
runs on two more. With 64 and branching with `COARSE`: in none of 320 runs on these two, and in none
of 18,884 on random ones."""


def solve_model(
    model: pyo.ConcreteModel,
    settings: Settings,
    *,
    start: bool = False,
    build_time: float = 0.0,
    restarts: bool = True,
    cautious: bool = False,
    listener: SolverListener | None = None,
) -> Answer:
    """Solve a Pyomo model and load its incumbent, integers rounded, into its variables.

    `start` passes the variables' values as a first solution to a solver that takes one; SCIP is
    given none. `restarts` and `cautious`, which scales the model by `FINER`, are for HiGHS alone.
    `listener` receives incumbents and bounds: during HiGHS's run, else once at the end.
    """
    require_solver(settings.solver)
    if not settings.deadline.has(build_time):
        return unsolved(settings, build_time)
    if settings.solver == "highs":
        return _solve_with_highs(model, settings, start, build_time, restarts, cautious, listener)
    if settings.solver == "scip":
        answer = _solve_with_scip(model, settings, build_time)
    else:
        answer = solve_with_pyomo(model, settings, start, build_time)
    if answer.has_solution:
        _round_integers(model)
    if listener is not None:
        listener(answer.objective, answer.bound)
    return answer


def state_and_solve(
    build: Callable[[], pyo.ConcreteModel],
    nonzeros: float,
    settings: Settings,
    *,
    began: float,
    **how: Any,
) -> tuple[Answer, pyo.ConcreteModel | None]:
    """Build a model and solve it as `solve_model` does; no model where there is no time to."""
    try:
        require_time(settings.deadline, nonzeros)
        model = build()
        answer = solve_model(model, settings, build_time=clock() - began, **how)
    except OutOfTimeError:
        return unsolved(settings, clock() - began), None
    return answer, model


def relax_model(
    model: pyo.ConcreteModel, settings: Settings
) -> tuple[float, NDArray[np.float64]] | None:
    """Return the optimum without integrality and the reduced costs, by HiGHS; None if not found."""
    import pyomo.environ as pyo

    from optsched.backends.quiet import drop_integrality, pyomo_highs

    solver = pyomo_highs(model)
    highs = solver._solver_model  # private: the public interface cannot drop integrality
    highs.silent()
    set_options(highs, settings)
    drop_integrality(highs)
    ended = run_steadily(highs, settings)
    if ended.termination is not Termination.OPTIMAL or ended.objective is None:
        return None
    duals, columns = highs.getSolution().col_dual, solver._pyomo_var_to_solver_var_map
    variables = model.component_data_objects(pyo.Var, active=True)
    return ended.objective, np.array([duals[columns[id(x)]] for x in variables])


def _solve_with_highs(
    model: pyo.ConcreteModel,
    settings: Settings,
    start: bool,
    build_time: float,
    restarts: bool,
    cautious: bool,
    listener: SolverListener | None,
) -> Answer:
    from optsched.backends.quiet import pyomo_highs

    began = clock()
    solver = pyomo_highs(model)
    highs = solver._solver_model  # private: the public interface knows no start and no callback
    highs.setOptionValue("log_to_console", False)
    set_options(highs, settings)
    highs.setOptionValue("mip_allow_restart", restarts)
    scale, finer, branching = np.ones(highs.getNumCol()), 1.0, FEASIBILITY
    if cautious:
        scale, finer, branching = _made_finer(highs), FINER, COARSE
        highs.setOptionValue(BRANCHING, branching)
    value = _hand_over_start(solver, highs, model, scale, finer) if start else None
    recorder = _Recorder(listener, branching, finer)
    highs.cbMipLogging.subscribe(recorder)
    highs.cbMipImprovingSolution.subscribe(recorder)
    highs.cbLogging.subscribe(lambda event: recorder.log.append(event.message))
    built = recorder.began = clock()
    # Not by Pyomo's interface, which would capture what a listener prints.
    ended = run_steadily(highs, settings, value, recorder.tell)
    objective, bound = _in_unit(ended.objective, finer), _in_unit(ended.bound, finer)
    solved = clock()
    if listener is not None:
        listener(objective, bound)
    if ended.values is not None:
        for identity, column in solver._pyomo_var_to_solver_var_map.items():
            found = float(ended.values[column] / scale[column])
            solver._vars[identity][0].set_value(found, skip_validation=True)
        _round_integers(model)
    return Answer(
        ended.termination,
        objective,
        bound,
        build_time + built - began,
        solved - built,
        "highs",
        trace=(*recorder.points, TracePoint(solved - built, objective, bound)),
        log="".join(recorder.log),
    )


def _in_unit(value: float | None, finer: float) -> float | None:
    """Return a value of a scaled model in the model's own unit."""
    return None if value is None else value / finer


@dataclass(eq=False)
class _Recorder:
    """Collects log and trace from HiGHS's callbacks, which come from the thread of the solver.

    It is itself a callback, and equal to itself only: HiGHS 1.16 keeps callbacks in a dictionary.
    """

    listener: SolverListener | None = None
    branching: float = FEASIBILITY
    finer: float = 1.0
    began: float = field(default_factory=clock)
    points: list[TracePoint] = field(default_factory=list)
    log: list[str] = field(default_factory=list)

    def __call__(self, event: Any) -> None:
        out = event.data_out
        point = TracePoint(
            clock() - self.began,
            _in_unit(finite(out.mip_primal_bound), self.finer),
            _in_unit(holding(finite(out.mip_dual_bound), self.branching), self.finer),
        )
        last = self.points[-1] if self.points else None
        if last is None or (last.incumbent, last.bound) != (point.incumbent, point.bound):
            self.points.append(point)

    def tell(self) -> None:
        """Report the last point, in the thread that waits for the solver."""
        if self.listener is not None and self.points:
            self.listener(self.points[-1].incumbent, self.points[-1].bound)


def _made_finer(highs: Any) -> NDArray[np.float64]:
    """Multiply objective and continuous columns by `FINER`; return the columns' scale."""
    import highspy

    lp = highs.getLp()
    whole = np.array([kind == highspy.HighsVarType.kInteger for kind in lp.integrality_], bool)
    scale = np.where(whole, 1.0, FINER) if len(whole) else np.ones(lp.num_col_)
    matrix, lower, upper = lp.a_matrix_, np.array(lp.col_lower_), np.array(lp.col_upper_)
    column = np.array(matrix.index_)
    if matrix.format_ == highspy.MatrixFormat.kColwise:
        column = np.repeat(np.arange(lp.num_col_), np.diff(matrix.start_))
    matrix.value_ = np.array(matrix.value_) / scale[column]
    lp.col_lower_, lp.col_upper_ = lower * scale, upper * scale
    lp.col_cost_, lp.offset_ = FINER * np.array(lp.col_cost_) / scale, FINER * lp.offset_
    highs.passModel(lp)
    return scale


def _hand_over_start(
    solver: Any, highs: Any, model: pyo.ConcreteModel, scale: NDArray[np.float64], finer: float
) -> float | None:
    """Pass the variables' values, scaled, to HiGHS; return their objective in its unit."""
    import highspy
    import pyomo.environ as pyo

    values = np.zeros(highs.getNumCol())
    for identity, column in solver._pyomo_var_to_solver_var_map.items():
        value = solver._vars[identity][0].value
        values[column] = 0.0 if value is None else value
    solution = highspy.HighsSolution()
    solution.col_value = list(values * scale)
    highs.setSolution(solution)
    objective = next(model.component_data_objects(pyo.Objective, active=True))
    value = pyo.value(objective, exception=False)
    return None if value is None else float(value) * finer


def _solve_with_scip(model: pyo.ConcreteModel, settings: Settings, build_time: float) -> Answer:
    from pyomo.contrib.solver.common.factory import SolverFactory
    from pyomo.contrib.solver.common.results import TerminationCondition

    solver = SolverFactory("scip_direct")
    create = solver._create_solver_model  # private: the public interface cannot be interrupted

    def create_interruptible(*arguments: Any) -> tuple[Any, ...]:
        made, *rest = create(*arguments)
        return InterruptibleScip(made, settings.deadline), *rest

    solver._create_solver_model = create_interruptible
    began = clock()
    results = solver.solve(
        model,
        load_solutions=False,
        raise_exception_on_nonoptimal_result=False,
        rel_gap=settings.gap,
        abs_gap=0.0,
        time_limit=settings.deadline.left,
        solver_options={"display/verblevel": 0, "numerics/feastol": FEASIBILITY},
    )
    seconds = clock() - began
    objective, bound = results.incumbent_objective, results.objective_bound
    bound = None if bound is None else finite(bound)
    if objective is not None:
        results.solution_loader.load_vars()
    ended = results.termination_condition
    infeasible = ended is TerminationCondition.provenInfeasible
    limits = (
        TerminationCondition.maxTimeLimit,
        TerminationCondition.iterationLimit,
        TerminationCondition.interrupted,
    )
    limited = ended in limits or settings.deadline.is_over
    if objective is None and not infeasible and not limited:
        raise SolverError(f"SCIP ended with {ended.name}")
    status = judged(objective, bound, settings, infeasible, limited)
    return Answer(
        status,
        objective,
        bound,
        build_time,
        seconds,
        "scip",
        trace=(TracePoint(seconds, objective, bound),),
    )


def _round_integers(model: pyo.ConcreteModel) -> None:
    import pyomo.environ as pyo

    for variable in model.component_data_objects(pyo.Var, active=True):
        if variable.value is not None and variable.is_integer():
            variable.set_value(round(variable.value), skip_validation=True)
