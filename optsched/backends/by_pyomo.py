"""Models solved by MIP solvers that Pyomo runs by name: CBC, GLPK, Gurobi, CPLEX, Xpress.

Most run in a process of their own that reads the model from a file, so that an incumbent is known
only when they end. Their bounds are trusted like those of HiGHS and SCIP.
"""

from __future__ import annotations

import logging
import math
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from optsched.backends.answer import FEASIBILITY, Answer, finite, judged, unsolved
from optsched.deadline import OutOfTimeError, clock
from optsched.errors import InputError, SolverError, one_line
from optsched.extras import require_extras
from optsched.result import Settings, TracePoint

if TYPE_CHECKING:
    import pyomo.environ as pyo


@dataclass(frozen=True)
class _Family:
    """Names of a solver's options: its relative gap, and its tolerances."""

    gap: str | None
    tolerances: tuple[str, ...] = ()
    whole_seconds: bool = False


FAMILIES = {
    "cbc": _Family("ratioGap", ("primalT", "integerT")),
    "cplex": _Family(
        "mip_tolerances_mipgap", ("simplex_tolerances_feasibility", "mip_tolerances_integrality")
    ),
    "glpk": _Family(None, whole_seconds=True),  # with a gap set, GLPK reports no bound
    "gurobi": _Family("MIPGap", ("FeasibilityTol", "IntFeasTol")),
    "xpress": _Family("miprelstop", ("feastol", "miptol")),
}
"""By a solver's name in Pyomo, or its first part (gurobi_direct, cplex_direct, xpress_direct)."""


def require_pyomo_solver(name: str) -> None:
    """Refuse a solver that is not one of `FAMILIES` in Pyomo, or not installed."""
    import pyomo.environ as pyo

    expected = ", ".join(["highs", "scip", *FAMILIES])
    if _family(name) is None or name not in list(pyo.SolverFactory):
        raise InputError("settings", "solver", repr(name), f"one of {expected}")
    with _quiet():
        if name == "cbc" and shutil.which("cbc") is None:
            require_extras(["pulp.solverdir"])
        if not _solver(name).available(False):
            found = f"{name!r}, which Pyomo cannot run here"
            raise InputError("settings", "solver", found, f"an installed one of {expected}")


def pyomo_solver_version(name: str) -> str:
    """Return the installed version of a solver; raises as `require_pyomo_solver`."""
    require_pyomo_solver(name)
    with _quiet():
        return ".".join(str(part) for part in _solver(name).version() or ())


def solve_with_pyomo(
    model: pyo.ConcreteModel, settings: Settings, start: bool, build_time: float
) -> Answer:
    """Solve a model with the solver of that name; its incumbent is loaded into the variables."""
    from pyomo.common.errors import ApplicationError
    from pyomo.common.tempfiles import TempfileManager

    left = settings.deadline.left
    family = _family(settings.solver)
    assert family is not None
    options: dict[str, Any] = dict.fromkeys(family.tolerances, FEASIBILITY)
    if family.gap is not None:
        options[family.gap] = settings.gap
    arguments: dict[str, Any] = {"load_solutions": False, "options": options}
    seconds = math.inf
    if left is not None:
        seconds = left - build_time  # writing the file takes about as long as building the model
        if seconds <= 0:
            return unsolved(settings, build_time)
        if family.whole_seconds:
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
            return unsolved(settings, build_time)
        except (OSError, RuntimeError, ValueError, ApplicationError) as error:
            if not start:
                raise SolverError(f"{settings.solver}: {one_line(str(error))}") from None
            return _start_alone(model, settings, build_time, clock() - began)
        spent = clock() - began
        return _read(model, results, settings, family, build_time, spent, spent >= seconds)


def _read(
    model: pyo.ConcreteModel,
    results: Any,
    settings: Settings,
    family: _Family,
    build_time: float,
    seconds: float,
    is_cut: bool,
) -> Answer:
    import pyomo.environ as pyo

    ended = results.solver.termination_condition
    proved = ended == pyo.TerminationCondition.optimal
    is_said = ended in (
        pyo.TerminationCondition.infeasible,
        pyo.TerminationCondition.infeasibleOrUnbounded,
    )
    infeasible = is_said and not is_cut  # CBC also says so if its time ends in its presolve
    fractional = ended == pyo.TerminationCondition.intermediateNonInteger  # a limit, and CBC's LP
    objective = bound = None
    if len(results.solution) and not is_said and not fractional:
        model.solutions.load_from(results)
        objective = _value(model)
    if not is_said:
        bound = finite(float(results.problem.lower_bound))
        if bound is None and proved and objective is not None:
            bound = objective - (settings.gap if family.gap else 0.0) * abs(objective)
    limits = (pyo.TerminationCondition.maxTimeLimit, pyo.TerminationCondition.userInterrupt)
    limited = settings.deadline.is_over or fractional or is_said or ended in limits
    if objective is None and not infeasible and not limited and family.gap is not None:
        raise SolverError(f"{settings.solver} ended with {ended}")
    return Answer(
        judged(objective, bound, settings, infeasible, limited),
        objective,
        bound,
        build_time,
        seconds,
        settings.solver,
        trace=(TracePoint(seconds, objective, bound),),
    )


def _start_alone(
    model: pyo.ConcreteModel, settings: Settings, build_time: float, seconds: float
) -> Answer:
    """Return the answer of a failed run: the start, whose values the variables still have."""
    value = _value(model)
    ended = judged(value, None, settings, infeasible=False, limited=settings.deadline.is_over)
    trace = (TracePoint(seconds, value, None),)
    return Answer(ended, value, None, build_time, seconds, settings.solver, trace=trace)


def _value(model: pyo.ConcreteModel) -> float:
    """Return the objective at the variables' values."""
    import pyomo.environ as pyo

    return float(pyo.value(next(model.component_data_objects(pyo.Objective, active=True))))


def _family(name: str) -> _Family | None:
    return FAMILIES.get(name.removesuffix("_direct"))


def _solver(name: str) -> Any:
    import pyomo.environ as pyo

    if name == "cbc" and shutil.which("cbc") is None:
        from pulp import PULP_CBC_CMD

        return pyo.SolverFactory("cbc", executable=PULP_CBC_CMD().path)
    return pyo.SolverFactory(name)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence Pyomo's log, which repeats statuses and exceptions on standard error."""
    log = logging.getLogger("pyomo")
    before = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(before)
