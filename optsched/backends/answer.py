"""Answers of solvers, and the termination by our own gap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from optsched.result import SOLVED, Settings, Termination, TracePoint

FEASIBILITY = 1e-9
"""Primal and integer feasibility tolerance, set in every solver but GLPK."""


@dataclass(frozen=True)
class Answer:
    """The end of a solver's run.

    Attributes
    ----------
    termination : Termination
        "optimal" only if incumbent and bound differ by `Settings.gap` or by rounding at most.
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

    def trace_in(self, unit: float) -> tuple[TracePoint, ...]:
        """Return the trace in the problem's unit, of a model whose objective is in `unit`."""

        def scaled(value: float | None) -> float | None:
            return None if value is None else value * unit

        return tuple(TracePoint(p.time, scaled(p.incumbent), scaled(p.bound)) for p in self.trace)


def unsolved(settings: Settings, build_time: float = 0.0) -> Answer:
    """Return the answer if no time is left to build the model or to pass it to the solver."""
    return Answer(Termination.TIME_LIMIT, None, None, build_time, 0.0, settings.solver)


def judged(
    objective: float | None,
    bound: float | None,
    settings: Settings,
    infeasible: bool,
    limited: bool,
) -> Termination:
    """Return the termination by our own gap: solvers call any gap they were given "optimal".

    Without a proof it is "time-limit" only if a limit ended the run (`limited`), and "feasible" if
    the solver's tolerances ended it short of the gap.
    """
    if infeasible:
        return Termination.INFEASIBLE
    if objective is not None and bound is not None:
        # Solvers' tolerances are absolute in the model's unit (the best known time, a slot, the
        # mean cost of postponing), so near 0 they bound the gap that can be proved.
        rounding = SOLVED * max(abs(objective), 1.0)
        if abs(objective - bound) <= max(settings.gap * abs(objective), rounding):
            return Termination.OPTIMAL
    return Termination.TIME_LIMIT if limited or objective is None else Termination.FEASIBLE


def finite(value: float) -> float | None:
    """Return a solver's value; None for infinity."""
    return float(value) if abs(value) < 1e29 else None
