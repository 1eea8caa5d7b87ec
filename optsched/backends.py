"""Solvers: the only file that knows Pyomo's solver interfaces and HiGHS's own.

Two ways in: a Pyomo model (`solve_model`) and bare arrays (`solve_arrays`, for probes too small
and too many for a model each). Values come back rounded where a variable is integer.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from optsched.errors import InputError, MissingExtraError, SolverError
from optsched.result import ARITHMETIC, Settings, Termination, TracePoint

if TYPE_CHECKING:
    import pyomo.environ as pyo
    from scipy.sparse import csr_array

SOLVERS = ("highs", "scip")
FEASIBILITY = 1e-9
"""Primal and integer feasibility tolerance asked of every solver."""

_threads_in_use: int | None = None


@dataclass(frozen=True)
class Answer:
    """How a solver ended.

    Attributes
    ----------
    termination : Termination
        "optimal" only if the gap between incumbent and bound is at most the one asked.
    objective, bound : float or None
        Incumbent's value and best proven bound.
    values : array or None
        Variables of `solve_arrays`; a Pyomo model carries its own.
    trace : tuple of TracePoint
        Incumbent and bound over time.
    log : str
        The solver's own log, where it was kept.
    """

    termination: Termination
    objective: float | None
    bound: float | None
    build_time: float
    solve_time: float
    solver: str
    values: NDArray[np.float64] | None = None
    trace: tuple[TracePoint, ...] = ()
    log: str = ""

    @property
    def has_solution(self) -> bool:
        """True when there is an incumbent."""
        return self.objective is not None


@dataclass(frozen=True)
class MilpArrays:
    """A mixed-integer linear programme: min c x, row and column bounds, integrality."""

    cost: NDArray[np.float64]
    matrix: csr_array
    row_lower: NDArray[np.float64]
    row_upper: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    integer: NDArray[np.bool_]


def solver_version(solver: str) -> str:
    """The installed version of a solver."""
    if solver == "scip":
        return str(_pyscipopt().Model().version())
    import highspy

    parts = (
        highspy.HIGHS_VERSION_MAJOR,
        highspy.HIGHS_VERSION_MINOR,
        highspy.HIGHS_VERSION_PATCH,
    )
    return ".".join(str(part) for part in parts)


def require_solver(name: str) -> None:
    """Refuse a solver that is unknown or not installed.

    Raises
    ------
    InputError
        If the name is unknown.
    MissingExtraError
        If the solver comes with an extra that is not installed.
    """
    if name not in SOLVERS:
        raise InputError("settings", "solver", repr(name), " or ".join(SOLVERS))
    if name == "scip":
        _pyscipopt()


def solve_model(
    model: pyo.ConcreteModel, settings: Settings, *, start: bool = False, build_time: float = 0.0
) -> Answer:
    """Solve a Pyomo model and load its incumbent, integers rounded, into its variables.

    Parameters
    ----------
    start : bool
        Hand the variables' present values to the solver as a first incumbent.
    build_time : float
        Seconds already spent on building the model; added to the answer's.

    Raises
    ------
    SolverError
        If the solver fails.
    """
    require_solver(settings.solver)
    if settings.solver == "scip":
        return _solve_with_scip(model, settings, build_time)
    return _solve_with_highs(model, settings, start, build_time)


def relax_model(
    model: pyo.ConcreteModel, settings: Settings
) -> tuple[float, NDArray[np.float64]] | None:
    """The optimum of a Pyomo model with integrality dropped, by HiGHS.

    Returns
    -------
    (objective, reduced costs) or None
        Reduced costs in the order of ``model.component_data_objects(Var)``; None when the
        relaxation is not solved: infeasible, or out of time.

    Raises
    ------
    SolverError
        If the solver fails.
    """
    import highspy
    import pyomo.environ as pyo
    from pyomo.contrib.solver.common.factory import SolverFactory

    solver = SolverFactory("highs")
    solver.set_instance(model)
    highs = solver._solver_model  # private: the public interface cannot drop integrality
    highs.silent()
    _set_options(highs, settings)
    count = highs.getNumCol()
    kinds = np.full(count, int(highspy.HighsVarType.kContinuous), dtype=np.uint8)
    highs.changeColsIntegrality(count, np.arange(count, dtype=np.int32), kinds)
    highs.run()
    status, objective, _ = _status(highs, settings)
    if status is not Termination.OPTIMAL or objective is None:
        return None
    duals, columns = highs.getSolution().col_dual, solver._pyomo_var_to_solver_var_map
    variables = model.component_data_objects(pyo.Var, active=True)
    return objective, np.array([duals[columns[id(x)]] for x in variables])


def solve_arrays(problem: MilpArrays, settings: Settings) -> Answer:
    """Solve a programme given as arrays with HiGHS.

    Raises
    ------
    SolverError
        If the solver fails.
    """
    import highspy

    began = time.perf_counter()
    highs = highspy.Highs()
    highs.silent()
    _set_options(highs, settings)
    highs.passModel(_highs_lp(problem))
    built = time.perf_counter()
    highs.run()
    solved = time.perf_counter()
    status, objective, bound = _status(highs, settings)
    values = None
    if objective is not None:
        values = np.array(highs.getSolution().col_value)
        values[problem.integer] = np.rint(values[problem.integer])
    return Answer(status, objective, bound, built - began, solved - built, "highs", values)


class GrowingLp:
    """A linear programme in HiGHS that gains columns between solves and keeps its basis."""

    def __init__(self, problem: MilpArrays, settings: Settings) -> None:
        import highspy

        self._highs = highspy.Highs()
        self._highs.silent()
        _set_options(self._highs, settings)
        self._highs.passModel(_highs_lp(problem))

    def add_columns(self, cost: NDArray[np.float64], matrix: csr_array) -> None:
        """Add non-negative columns; row i of `matrix` holds column i's coefficients by row."""
        count = len(cost)
        self._highs.setOptionValue("simplex_strategy", 4)  # primal: the old basis stays feasible
        self._highs.addCols(
            count,
            np.asarray(cost, dtype=float),
            np.zeros(count),
            np.full(count, np.inf),
            matrix.nnz,
            matrix.indptr[:-1].astype(np.int32),
            matrix.indices.astype(np.int32),
            matrix.data.astype(float),
        )

    def solve(self, time_limit: float | None = None) -> LpAnswer | None:
        """Solve; None when a limit was hit or the programme is infeasible."""
        import highspy

        if time_limit is not None:
            spent = self._highs.getRunTime()  # counted over all solves
            self._highs.setOptionValue("time_limit", spent + max(time_limit, 0.0))
        self._highs.run()
        if self._highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        solution = self._highs.getSolution()
        return LpAnswer(
            float(self._highs.getInfo().objective_function_value),
            np.array(solution.col_value),
            np.array(solution.row_dual),
        )


@dataclass(frozen=True)
class LpAnswer:
    """Optimal value, column values and row duals (change of the value per unit of the row)."""

    objective: float
    values: NDArray[np.float64]
    duals: NDArray[np.float64]


@dataclass
class _Recorder:
    """Collects the trace from HiGHS's callbacks."""

    began: float = field(default_factory=time.perf_counter)
    points: list[TracePoint] = field(default_factory=list)

    def __call__(self, event: Any) -> None:
        out = event.data_out
        point = TracePoint(
            time.perf_counter() - self.began,
            _finite(out.mip_primal_bound),
            _finite(out.mip_dual_bound),
        )
        last = self.points[-1] if self.points else None
        if last is None or (last.incumbent, last.bound) != (point.incumbent, point.bound):
            self.points.append(point)


def _solve_with_highs(
    model: pyo.ConcreteModel, settings: Settings, start: bool, build_time: float
) -> Answer:
    from pyomo.contrib.solver.common.factory import SolverFactory

    began = time.perf_counter()
    solver = SolverFactory("highs")
    solver.config.load_solutions = False
    solver.config.raise_exception_on_nonoptimal_result = False
    solver.set_instance(model)
    highs = solver._solver_model  # private: the public interface knows no start and no callback
    _set_options(highs, settings)
    if start:
        _hand_over_start(solver, highs)
    recorder = _Recorder()
    highs.cbMipLogging.subscribe(recorder)
    highs.cbMipImprovingSolution.subscribe(recorder)
    built = time.perf_counter()
    recorder.began = built
    results = solver.solve(model)
    solved = time.perf_counter()
    status, objective, bound = _status(highs, settings)
    if objective is not None:
        results.solution_loader.load_vars()
        _round_integers(model)
    trace = (*recorder.points, TracePoint(solved - built, objective, bound))
    return Answer(
        status,
        objective,
        bound,
        build_time + built - began,
        solved - built,
        "highs",
        trace=trace,
        log=results.solver_log,
    )


def _hand_over_start(solver: Any, highs: Any) -> None:
    import highspy

    values = np.zeros(highs.getNumCol())
    for identity, column in solver._pyomo_var_to_solver_var_map.items():
        value = solver._vars[identity][0].value
        values[column] = 0.0 if value is None else value
    solution = highspy.HighsSolution()
    solution.col_value = list(values)
    highs.setSolution(solution)


def _solve_with_scip(model: pyo.ConcreteModel, settings: Settings, build_time: float) -> Answer:
    from pyomo.contrib.solver.common.factory import SolverFactory
    from pyomo.contrib.solver.common.results import TerminationCondition

    solver = SolverFactory("scip_direct")
    began = time.perf_counter()
    results = solver.solve(
        model,
        load_solutions=False,
        raise_exception_on_nonoptimal_result=False,
        rel_gap=settings.gap,
        abs_gap=0.0,
        time_limit=settings.time_limit,
        solver_options={"display/verblevel": 0, "numerics/feastol": FEASIBILITY},
    )
    seconds = time.perf_counter() - began
    objective, bound = results.incumbent_objective, results.objective_bound
    if objective is not None:
        results.solution_loader.load_vars()
        _round_integers(model)
    infeasible = results.termination_condition is TerminationCondition.provenInfeasible
    status = _judged(objective, bound, settings, infeasible)
    return Answer(
        status,
        objective,
        bound,
        build_time,
        seconds,
        "scip",
        trace=(TracePoint(seconds, objective, bound),),
    )


def _set_options(highs: Any, settings: Settings) -> None:
    import highspy

    global _threads_in_use
    if _threads_in_use not in (None, settings.threads):
        # HiGHS keeps one pool of threads a process; asked for another size it answers "unknown".
        highspy.Highs.resetGlobalScheduler(True)
    _threads_in_use = settings.threads
    options: dict[str, Any] = {
        "threads": settings.threads,
        "random_seed": settings.seed % 2**31,
        "mip_rel_gap": settings.gap,
        "mip_abs_gap": 0.0,
        "mip_feasibility_tolerance": FEASIBILITY,
        "primal_feasibility_tolerance": FEASIBILITY,
        "dual_feasibility_tolerance": FEASIBILITY,
    }
    if settings.time_limit is not None:
        options["time_limit"] = max(settings.time_limit, 0.0)
    for name, value in options.items():
        if highs.setOptionValue(name, value) != highspy.HighsStatus.kOk:
            raise SolverError(f"HiGHS refuses the option {name}={value!r}")


def _status(highs: Any, settings: Settings) -> tuple[Termination, float | None, float | None]:
    import highspy

    status, info = highs.getModelStatus(), highs.getInfo()
    failed = (
        highspy.HighsModelStatus.kLoadError,
        highspy.HighsModelStatus.kModelError,
        highspy.HighsModelStatus.kPresolveError,
        highspy.HighsModelStatus.kSolveError,
        highspy.HighsModelStatus.kPostsolveError,
        highspy.HighsModelStatus.kMemoryLimit,
    )
    if status in failed:
        raise SolverError(f"HiGHS ended with {highs.modelStatusToString(status)}")
    if status == highspy.HighsModelStatus.kModelEmpty:
        return Termination.OPTIMAL, 0.0, 0.0
    infeasible = status == highspy.HighsModelStatus.kInfeasible
    incumbent = info.primal_solution_status == int(highspy.SolutionStatus.kSolutionStatusFeasible)
    objective = info.objective_function_value if incumbent else None
    if info.mip_node_count >= 0:
        bound = _finite(info.mip_dual_bound)
    else:  # a linear programme: optimal is its own bound
        bound = objective if status == highspy.HighsModelStatus.kOptimal else None
    return _judged(objective, bound, settings, infeasible), objective, bound


def _judged(
    objective: float | None, bound: float | None, settings: Settings, infeasible: bool
) -> Termination:
    """Our own reading of the gap: the solvers say "optimal" at whatever gap they were given."""
    if infeasible:
        return Termination.INFEASIBLE
    if objective is None or bound is None:
        return Termination.TIME_LIMIT
    # An objective of 0 has no relative gap; the models' units make 1 a large value.
    rounding = ARITHMETIC * max(abs(objective), 1.0)
    proved = abs(objective - bound) <= max(settings.gap * abs(objective), rounding)
    return Termination.OPTIMAL if proved else Termination.TIME_LIMIT


def _highs_lp(problem: MilpArrays) -> Any:
    import highspy

    lp = highspy.HighsLp()
    rows, columns = problem.matrix.shape
    lp.num_col_, lp.num_row_ = columns, rows
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = problem.cost, problem.lower, problem.upper
    lp.row_lower_, lp.row_upper_ = problem.row_lower, problem.row_upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = problem.matrix.indptr.astype(np.int32)
    lp.a_matrix_.index_ = problem.matrix.indices.astype(np.int32)
    lp.a_matrix_.value_ = problem.matrix.data
    kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
    lp.integrality_ = [kinds[int(flag)] for flag in problem.integer]
    return lp


def _round_integers(model: pyo.ConcreteModel) -> None:
    import pyomo.environ as pyo

    for variable in model.component_data_objects(pyo.Var, active=True):
        if variable.value is not None and variable.is_integer():
            variable.set_value(round(variable.value), skip_validation=True)


def _finite(value: float) -> float | None:
    return float(value) if abs(value) < 1e29 else None


def _pyscipopt() -> Any:
    try:
        import pyscipopt
    except ImportError:
        raise MissingExtraError("pyscipopt", "scip") from None
    return pyscipopt
