"""Solver results, and their termination status by the requested gap."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from optsched.result import Settings, Termination, TracePoint, is_solved

FEASIBILITY_TOL = 1e-9
"""Feasibility and integrality tolerance, set in every solver but GLPK, which has no such option."""


@dataclass(frozen=True)
class SolverResult:
    """Result of a solver run; `values` are None for a Pyomo model, whose variables have them."""

    termination: Termination
    objective: float | None
    bound: float | None
    build_time: float = 0.0
    solve_time: float = 0.0
    solver: str = "highs"
    values: NDArray[np.float64] | None = None
    trace: tuple[TracePoint, ...] = ()

    @property
    def has_solution(self) -> bool:
        return self.objective is not None

    def scaled_trace(self, unit: float) -> tuple[TracePoint, ...]:
        """Return the trace multiplied by `unit`: from the model's unit to the problem's."""

        def scaled(value: float | None) -> float | None:
            return None if value is None else value * unit

        return tuple(TracePoint(p.time, scaled(p.incumbent), scaled(p.bound)) for p in self.trace)


def timed_out(settings: Settings, build_time: float = 0.0) -> SolverResult:
    return SolverResult(Termination.TIME_LIMIT, None, None, build_time, 0.0, settings.solver)


def result_at_end(
    settings: Settings,
    objective: float | None,
    bound: float | None,
    build_time: float,
    solve_time: float,
    infeasible: bool,
    hit_limit: bool,
) -> SolverResult:
    """Return the result of a solver that reports its incumbent only when it ends."""
    termination = termination_status(objective, bound, settings, infeasible, hit_limit)
    trace = (TracePoint(solve_time, objective, bound),)
    return SolverResult(
        termination, objective, bound, build_time, solve_time, settings.solver, trace=trace
    )


def termination_status(
    objective: float | None,
    bound: float | None,
    settings: Settings,
    infeasible: bool,
    hit_limit: bool,
) -> Termination:
    """Return the termination by the requested gap; solvers report "optimal" for their own gap.

    Without a proof it is "time-limit" only if a limit ended the run (`hit_limit`), and "feasible"
    if the solver's tolerances stopped it before the gap was reached.
    """
    if infeasible:
        return Termination.INFEASIBLE
    if objective is not None and bound is not None and is_solved(objective, bound, settings.gap):
        return Termination.OPTIMAL
    return Termination.TIME_LIMIT if hit_limit or objective is None else Termination.FEASIBLE


def finite(value: float) -> float | None:
    """Return a solver's value; None for infinity, which is 1e30 or more in every solver."""
    return float(value) if abs(value) < 1e29 else None
