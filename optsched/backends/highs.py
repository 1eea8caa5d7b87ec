"""HiGHS: its options, repeated runs after failures, and the end of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optsched.backends.answer import FEASIBILITY, finite, judged
from optsched.backends.running import run_highs
from optsched.checking import bound_violation
from optsched.errors import SolverError
from optsched.result import Settings, Termination

BRANCHING = "mip_feasibility_tolerance"
"""HiGHS's option for the tolerance of integers and of branching; at least 1e-10."""


def set_options(highs: Any, settings: Settings) -> None:
    """Set HiGHS's options from ours, with the time left as its limit."""
    import highspy

    options: dict[str, Any] = {
        "threads": settings.threads,
        "random_seed": settings.seed % 2**31,
        "mip_rel_gap": settings.gap,
        "mip_abs_gap": 0.0,
        BRANCHING: FEASIBILITY,
        "primal_feasibility_tolerance": FEASIBILITY,
        "dual_feasibility_tolerance": FEASIBILITY,
    }
    left = settings.deadline.left
    if left is not None:
        options["time_limit"] = left
    for name, value in options.items():
        if highs.setOptionValue(name, value) != highspy.HighsStatus.kOk:
            raise SolverError(f"HiGHS refuses the option {name}={value!r}")


COARSE = 1e-7
"""HiGHS's default tolerance, for runs that fail with ours."""
_COARSE = dict.fromkeys(("primal_feasibility_tolerance", "dual_feasibility_tolerance"), COARSE)
SECOND_TRIES: tuple[dict[str, Any], ...] = (
    {"presolve": "off"},
    {"presolve": "off", "simplex_scale_strategy": 4},
    {**_COARSE, BRANCHING: COARSE},
    {**_COARSE, BRANCHING: 10 * COARSE, "presolve": "off"},
)
"""Options after a failed run, in turn: numerical failures rarely repeat on another path."""


def holding(bound: float | None, branching: float, coarse: bool = False) -> float | None:
    """Weaken a bound by the solver's tolerance while branching.

    HiGHS ignores improvements below this tolerance, so the bound is lowered by it. With `coarse`
    tolerances of the linear programmes it is relative to bounds above 1.
    """
    if bound is None or branching <= FEASIBILITY:
        return bound
    return bound - branching * (max(abs(bound), 1.0) if coarse else 1.0)


@dataclass(frozen=True)
class Ended:
    """The end of a run: termination, incumbent's value, bound, and the incumbent's columns."""

    termination: Termination
    objective: float | None
    bound: float | None
    values: NDArray[np.float64] | None


def run_steadily(
    highs: Any,
    settings: Settings,
    start: float | None = None,
    meanwhile: Callable[[], None] | None = None,
) -> Ended:
    """Run HiGHS; after a failure run it with other options, and return the best incumbent."""
    given = np.array(highs.getSolution().col_value) if start is not None else None
    best = Ended(Termination.FEASIBLE, start, None, given)
    failures: list[str] = []
    branching = highs.getOptionValue(BRANCHING)[1]
    for options in ({}, *SECOND_TRIES):
        if options:
            highs.clearSolver()
            set_options(highs, settings)
            for name, value in {BRANCHING: branching, **options}.items():
                highs.setOptionValue(name, value)
        run_highs(highs, settings.deadline, meanwhile)
        tolerance, coarse = options.get(BRANCHING, branching), _COARSE.items() <= options.items()
        ended = _ended(highs, settings, tolerance, coarse)
        if isinstance(ended, Ended):
            if failures or ended.objective is None:
                return _with_best(ended, best, settings)
            return ended
        failures.append(ended)
        best = _with_incumbent(highs, best)
        if settings.deadline.is_over:
            break
    if best.objective is None:
        raise SolverError(f"HiGHS ended with {', '.join(dict.fromkeys(failures))}")
    late = settings.deadline.is_over
    return replace(best, termination=Termination.TIME_LIMIT if late else Termination.FEASIBLE)


def _with_best(ended: Ended, best: Ended, settings: Settings) -> Ended:
    """Return a run's end with the earlier incumbent, if that is better."""
    if ended.termination is Termination.INFEASIBLE or best.objective is None:
        return ended
    if ended.objective is not None and ended.objective <= best.objective:
        return ended
    bound = ended.bound
    if bound is not None and bound_violation(bound, best.objective) is not None:
        bound = None  # refuted by the better incumbent
    limited = ended.termination is Termination.TIME_LIMIT
    status = judged(best.objective, bound, settings, False, limited)
    return Ended(status, best.objective, bound, best.values)


def _with_incumbent(highs: Any, best: Ended) -> Ended:
    """Return the incumbent of a failed run if it is better; its bound cannot be trusted."""
    import highspy

    info = highs.getInfo()
    if info.primal_solution_status != int(highspy.SolutionStatus.kSolutionStatusFeasible):
        return best
    value = float(info.objective_function_value)
    if best.objective is not None and best.objective <= value:
        return best
    return replace(best, objective=value, values=np.array(highs.getSolution().col_value))


def _ended(highs: Any, settings: Settings, branching: float, coarse: bool = False) -> Ended | str:
    """Return a run's end, its bound weakened by the tolerances, or HiGHS's text of a failure."""
    import highspy

    status, info = highs.getModelStatus(), highs.getInfo()
    known = highspy.HighsModelStatus
    if status == known.kModelEmpty:
        return Ended(Termination.OPTIMAL, 0.0, 0.0, np.array([]))
    limits = (known.kTimeLimit, known.kIterationLimit, known.kSolutionLimit, known.kInterrupt)
    ends = (known.kOptimal, known.kInfeasible, known.kObjectiveBound, known.kObjectiveTarget)
    limited = status in limits or settings.deadline.is_over
    if status not in ends and not limited:
        return str(highs.modelStatusToString(status))
    is_mip, solution = info.mip_node_count >= 0, highspy.SolutionStatus
    incumbent = info.primal_solution_status == int(solution.kSolutionStatusFeasible)
    # HiGHS rejected its own incumbent after rounding: "infeasible" proves nothing then.
    refused = is_mip and info.primal_solution_status == int(solution.kSolutionStatusInfeasible)
    objective = float(info.objective_function_value) if incumbent else None
    values = np.array(highs.getSolution().col_value) if incumbent else None
    if is_mip:
        bound = finite(info.mip_dual_bound)
    else:  # a linear programme: optimal is its own bound
        bound = objective if status == known.kOptimal else None
    bound = holding(bound, branching, coarse)
    infeasible = status == known.kInfeasible and not refused
    if objective is None and not infeasible and not limited:
        return f"{highs.modelStatusToString(status)} without a solution"
    if bound is None and status == known.kOptimal:  # rounding in presolve excluded the incumbent
        return f"{highs.modelStatusToString(status)} without a bound"
    return Ended(judged(objective, bound, settings, infeasible, limited), objective, bound, values)
