"""Solvers by name, and MIP solvers run through Pyomo: CBC, GLPK, Gurobi, CPLEX, Xpress.

Most run in a process of their own that reads the model from a file, so that no incumbents are
reported during the run. Their bounds are trusted like those of HiGHS and SCIP.
"""

from __future__ import annotations

import logging
import math
import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from optsched.backends.solver_result import (
    FEASIBILITY_TOL,
    SolverResult,
    finite,
    result_at_end,
    timed_out,
)
from optsched.deadline import OutOfTimeError, clock
from optsched.errors import InputError, SolverError, one_line, require_extras
from optsched.result import Settings

if TYPE_CHECKING:
    import pyomo.environ as pyo


@dataclass(frozen=True)
class _SolverOptions:
    """Names of a solver's options: its relative gap, and its tolerances."""

    gap: str | None
    tolerances: tuple[str, ...] = ()
    integral_time_limit: bool = False


SOLVER_OPTIONS = {
    "cbc": _SolverOptions("ratioGap", ("primalT", "integerT")),
    "cplex": _SolverOptions(
        "mip_tolerances_mipgap", ("simplex_tolerances_feasibility", "mip_tolerances_integrality")
    ),
    "glpk": _SolverOptions(None, integral_time_limit=True),  # with a gap set, GLPK reports no bound
    "gurobi": _SolverOptions("MIPGap", ("FeasibilityTol", "IntFeasTol")),
    "xpress": _SolverOptions("miprelstop", ("feastol", "miptol")),
}
"""By Pyomo's name of the solver without the suffix ``_direct``."""


def require_solver(name: str) -> None:
    """Raise InputError if a solver is unknown or MissingExtraError if it is not installed."""
    if name == "scip":
        require_extras(["pyscipopt"])
    elif name != "highs":
        _require_pyomo_solver(name)


def solver_version(name: str) -> str:
    require_solver(name)
    if name == "highs":
        import highspy as of

        return f"{of.HIGHS_VERSION_MAJOR}.{of.HIGHS_VERSION_MINOR}.{of.HIGHS_VERSION_PATCH}"
    if name == "scip":
        import pyscipopt

        return str(pyscipopt.Model().version())
    with _quiet():
        return ".".join(str(part) for part in _solver(name).version() or ())


def _require_pyomo_solver(name: str) -> None:
    import pyomo.environ as pyo

    expected = ", ".join(["highs", "scip", *SOLVER_OPTIONS])
    if _options_of(name) is None or name not in list(pyo.SolverFactory):
        raise InputError("settings", "solver", repr(name), f"one of {expected}")
    with _quiet():
        if name == "cbc" and shutil.which("cbc") is None:
            require_extras(["pulp.solverdir"])
        if not _solver(name).available(False):
            found = f"{name!r}, which is not installed or not licensed"
            raise InputError("settings", "solver", found, f"an installed one of {expected}")


def solve_with_pyomo(
    model: pyo.ConcreteModel, settings: Settings, start: bool, build_time: float
) -> SolverResult:
    """Solve a model with the solver of that name; its incumbent is loaded into the variables."""
    from pyomo.common.errors import ApplicationError
    from pyomo.common.tempfiles import TempfileManager

    left = settings.deadline.left
    names = _options_of(settings.solver)
    assert names is not None
    options: dict[str, Any] = dict.fromkeys(names.tolerances, FEASIBILITY_TOL)
    if names.gap is not None:
        options[names.gap] = settings.gap
    arguments: dict[str, Any] = {"load_solutions": False, "options": options}
    seconds = math.inf
    if left is not None:
        seconds = left - build_time  # writing the file takes about as long as building the model
        if seconds <= 0:
            return timed_out(settings, build_time)
        if names.integral_time_limit:
            seconds = max(math.floor(seconds), 1)
        arguments["timelimit"] = seconds
    began = clock()
    with _quiet(), TempfileManager:  # a killed process leaves its files behind
        solver = _solver(settings.solver)
        if start and solver.warm_start_capable():
            arguments["warmstart"] = True
        try:
            results = solver.solve(model, **arguments)
        except (subprocess.TimeoutExpired, OutOfTimeError):
            return timed_out(settings, build_time)
        except (OSError, RuntimeError, ValueError, ApplicationError) as error:
            if not start:
                raise SolverError(f"{settings.solver}: {one_line(str(error))}") from None
            late, spent = settings.deadline.is_over, clock() - began  # the start is all there is
            return result_at_end(settings, _value(model), None, build_time, spent, False, late)
        spent = clock() - began
        return _read(model, results, settings, names, build_time, spent, spent >= seconds)


def _read(
    model: pyo.ConcreteModel,
    results: Any,
    settings: Settings,
    names: _SolverOptions,
    build_time: float,
    seconds: float,
    is_cut: bool,
) -> SolverResult:
    import pyomo.environ as pyo

    condition = results.solver.termination_condition
    is_optimal = condition == pyo.TerminationCondition.optimal
    reported_infeasible = condition in (
        pyo.TerminationCondition.infeasible,
        pyo.TerminationCondition.infeasibleOrUnbounded,
    )
    # CBC also reports it when its time limit is reached in presolve.
    infeasible = reported_infeasible and not is_cut
    # CBC reports it at a limit, with the solution of the LP relaxation.
    fractional = condition == pyo.TerminationCondition.intermediateNonInteger
    objective = bound = None
    if len(results.solution) and not reported_infeasible and not fractional:
        model.solutions.load_from(results)
        objective = _value(model)
    if not reported_infeasible:
        bound = finite(float(results.problem.lower_bound))
        if bound is None and is_optimal and objective is not None:
            bound = objective - (settings.gap if names.gap else 0.0) * abs(objective)
    limits = (pyo.TerminationCondition.maxTimeLimit, pyo.TerminationCondition.userInterrupt)
    hit_limit = settings.deadline.is_over or fractional or reported_infeasible
    hit_limit = hit_limit or condition in limits
    if objective is None and not infeasible and not hit_limit and names.gap is not None:
        raise SolverError(f"{settings.solver} ended with {condition}")
    return result_at_end(settings, objective, bound, build_time, seconds, infeasible, hit_limit)


def _value(model: pyo.ConcreteModel) -> float:
    import pyomo.environ as pyo

    return float(pyo.value(next(model.component_data_objects(pyo.Objective, active=True))))


def _options_of(name: str) -> _SolverOptions | None:
    return SOLVER_OPTIONS.get(name.removesuffix("_direct"))


def _solver(name: str) -> Any:
    import pyomo.environ as pyo

    if name == "cbc" and shutil.which("cbc") is None:
        from pulp import PULP_CBC_CMD

        return pyo.SolverFactory("cbc", executable=PULP_CBC_CMD().path)
    return pyo.SolverFactory(name)


def _quiet() -> Any:
    """Silence Pyomo's log, which repeats statuses and exceptions on standard error."""
    from pyomo.common.log import LoggingIntercept

    return LoggingIntercept(module="pyomo", level=logging.CRITICAL)
