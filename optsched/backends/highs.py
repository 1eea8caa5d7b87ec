"""HiGHS's options, and how a run of it ended."""

from __future__ import annotations

from typing import Any

from optsched.backends.answer import FEASIBILITY, finite, judged
from optsched.errors import SolverError
from optsched.result import Settings, Termination

_threads_in_use: int | None = None


def set_options(highs: Any, settings: Settings) -> None:
    """Hand our settings to HiGHS, the time that is left among them.

    Raises
    ------
    SolverError
        If it refuses an option.
    """
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
    left = settings.deadline.left
    if left is not None:
        options["time_limit"] = left
    for name, value in options.items():
        if highs.setOptionValue(name, value) != highspy.HighsStatus.kOk:
            raise SolverError(f"HiGHS refuses the option {name}={value!r}")


def status_of(highs: Any, settings: Settings) -> tuple[Termination, float | None, float | None]:
    """How a run ended, its incumbent's value and its bound; raises SolverError if it failed."""
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
        bound = finite(info.mip_dual_bound)
    else:  # a linear programme: optimal is its own bound
        bound = objective if status == highspy.HighsModelStatus.kOptimal else None
    return judged(objective, bound, settings, infeasible), objective, bound
