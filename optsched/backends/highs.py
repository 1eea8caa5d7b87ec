"""HiGHS: silence, options, retries after numerical failures, results of runs."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray

from optsched.backends.running import run_highs
from optsched.backends.solver_result import (
    FEASIBILITY_TOL,
    SolverResult,
    finite,
    termination_status,
)
from optsched.checking import bound_violation
from optsched.errors import SolverError
from optsched.result import SOLVER_RTOL, Settings, Termination

INTEGRALITY_OPTION = "mip_feasibility_tolerance"
"""Name of HiGHS's integrality tolerance, at least 1e-10."""


class QuietHighs(highspy.Highs):  # type: ignore[misc]  # it is untyped
    """HiGHS that prints nothing.

    In the constructor, HiGHS 1.16 prints its banner when it sets the callbacks, past Python's own
    standard output and into that of `--json`.
    """

    def enableCallbacks(self) -> None:  # noqa: N802 (HiGHS's name)
        """Silence HiGHS, then set the callbacks."""
        self.silent()
        super().enableCallbacks()


def set_options(highs: Any, settings: Settings) -> None:
    """Set HiGHS's options from ours, with the time left as its limit."""
    options: dict[str, Any] = {
        "threads": settings.threads,
        "random_seed": settings.seed % 2**31,
        "mip_rel_gap": settings.gap,
        "mip_abs_gap": 0.0,
        INTEGRALITY_OPTION: FEASIBILITY_TOL,
        "primal_feasibility_tolerance": FEASIBILITY_TOL,
        "dual_feasibility_tolerance": FEASIBILITY_TOL,
    }
    left = settings.deadline.left
    if left is not None:
        options["time_limit"] = left
    for name, value in options.items():
        if highs.setOptionValue(name, value) != highspy.HighsStatus.kOk:
            raise SolverError(f"HiGHS rejected the option {name}={value!r}")


DEFAULT_TOL = 1e-7
"""HiGHS's default tolerance, used in retries."""
_LOOSE_LP = dict.fromkeys(
    ("primal_feasibility_tolerance", "dual_feasibility_tolerance"), DEFAULT_TOL
)
RETRY_OPTIONS: tuple[dict[str, Any], ...] = (
    {"presolve": "off"},
    {"presolve": "off", "simplex_scale_strategy": 4},
    {**_LOOSE_LP, INTEGRALITY_OPTION: DEFAULT_TOL},
    {**_LOOSE_LP, INTEGRALITY_OPTION: 10 * DEFAULT_TOL, "presolve": "off"},
)
"""Options of successive retries: numerical failures rarely repeat with other ones."""


def safe_bound(bound: float | None, tolerance: float, loose: bool = False) -> float | None:
    """Lower a bound by the tolerance below which HiGHS ignores improvements.

    With `loose` (LP tolerances of 1e-7) it is relative for bounds above 1.
    """
    if bound is None or tolerance <= FEASIBILITY_TOL:
        return bound
    return bound - tolerance * (max(abs(bound), 1.0) if loose else 1.0)


def run_with_retries(
    highs: Any,
    settings: Settings,
    start: SolverResult | None = None,
    on_poll: Callable[[], None] | None = None,
) -> SolverResult:
    """Run HiGHS, with `RETRY_OPTIONS` after failures; return the best incumbent, or the start."""
    best = start or SolverResult(Termination.FEASIBLE, None, None)
    failures: list[str] = []
    usual = highs.getOptionValue(INTEGRALITY_OPTION)[1]
    for options in ({}, *RETRY_OPTIONS):
        if options:
            highs.clearSolver()
            set_options(highs, settings)
            for name, value in {INTEGRALITY_OPTION: usual, **options}.items():
                highs.setOptionValue(name, value)
        run_highs(highs, settings.deadline, on_poll)
        loose = _LOOSE_LP.items() <= options.items()
        run = _read_run(highs, settings, options.get(INTEGRALITY_OPTION, usual), loose)
        if isinstance(run, SolverResult):
            return _merge_with_best(run, best, settings)
        failures.append(run)
        best = _update_incumbent(highs, best)
        if settings.deadline.is_over:
            break
    if best.objective is None:
        raise SolverError(f"HiGHS ended with {', '.join(dict.fromkeys(failures))}")
    timed_out = settings.deadline.is_over
    return replace(best, termination=Termination.TIME_LIMIT if timed_out else Termination.FEASIBLE)


def _merge_with_best(run: SolverResult, best: SolverResult, settings: Settings) -> SolverResult:
    """Return a run's result with the earlier incumbent, if that is better beyond rounding."""
    if run.termination is Termination.INFEASIBLE or best.objective is None:
        return run
    rounding = SOLVER_RTOL * max(abs(best.objective), 1.0)
    if run.objective is not None and run.objective <= best.objective + rounding:
        return run
    bound = run.bound
    if bound is not None and bound_violation(bound, best.objective) is not None:
        bound = None  # refuted by the better incumbent
    hit_limit = run.termination is Termination.TIME_LIMIT
    termination = termination_status(best.objective, bound, settings, False, hit_limit)
    return replace(best, termination=termination, bound=bound)


def _update_incumbent(highs: Any, best: SolverResult) -> SolverResult:
    """Return the incumbent of a failed run if it is better; its bound cannot be trusted."""
    info = highs.getInfo()
    if info.primal_solution_status != int(highspy.SolutionStatus.kSolutionStatusFeasible):
        return best
    value = float(info.objective_function_value)
    if best.objective is not None and best.objective <= value:
        return best
    return replace(best, objective=value, values=np.array(highs.getSolution().col_value))


def _read_run(highs: Any, settings: Settings, tolerance: float, loose: bool) -> SolverResult | str:
    """Return a run's result with a safe bound, or HiGHS's text of a failure."""
    status, info = highs.getModelStatus(), highs.getInfo()
    of = highspy.HighsModelStatus
    if status == of.kModelEmpty:
        return SolverResult(Termination.OPTIMAL, 0.0, 0.0, values=np.array([]))
    limits = (of.kTimeLimit, of.kIterationLimit, of.kSolutionLimit, of.kInterrupt)
    final = (of.kOptimal, of.kInfeasible, of.kObjectiveBound, of.kObjectiveTarget)
    hit_limit = status in limits or settings.deadline.is_over
    if status not in final and not hit_limit:
        return str(highs.modelStatusToString(status))
    is_mip, solution = info.mip_node_count >= 0, highspy.SolutionStatus
    incumbent = info.primal_solution_status == int(solution.kSolutionStatusFeasible)
    # HiGHS rejected its own incumbent after rounding: "infeasible" proves nothing then.
    infeasible_incumbent = int(solution.kSolutionStatusInfeasible)
    rejected = is_mip and info.primal_solution_status == infeasible_incumbent
    objective = float(info.objective_function_value) if incumbent else None
    values = np.array(highs.getSolution().col_value) if incumbent else None
    if values is not None and not _has_value(highs, values, objective):
        return f"{highs.modelStatusToString(status)} with an objective that its solution lacks"
    if is_mip:
        bound = finite(info.mip_dual_bound)
    else:  # a linear programme: optimal is its own bound
        bound = objective if status == of.kOptimal else None
    bound = safe_bound(bound, tolerance, loose)
    infeasible = status == of.kInfeasible and not rejected
    if objective is None and not infeasible and not hit_limit:
        return f"{highs.modelStatusToString(status)} without a solution"
    if bound is None and status == of.kOptimal:  # rounding in presolve excluded the incumbent
        return f"{highs.modelStatusToString(status)} without a bound"
    termination = termination_status(objective, bound, settings, infeasible, hit_limit)
    return SolverResult(termination, objective, bound, values=values)


def _has_value(highs: Any, values: NDArray[np.float64], objective: float | None) -> bool:
    """Whether a solution has the objective that HiGHS reports for it."""
    lp = highs.getLp()
    terms = np.array(lp.col_cost_) * values
    tolerance = SOLVER_RTOL * max(float(np.abs(terms).sum()) + abs(lp.offset_), 1.0)
    return objective is not None and abs(lp.offset_ + terms.sum() - objective) <= tolerance
