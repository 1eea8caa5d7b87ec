"""What a solver answered, and our own reading of its gap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from optsched.result import SOLVED, Settings, Termination, TracePoint

FEASIBILITY = 1e-9
"""Primal and integer feasibility tolerance asked of every solver."""


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

    def trace_in(self, unit: float) -> tuple[TracePoint, ...]:
        """The trace of a model that counts its objective in `unit`s, in one of the problem's."""

        def scaled(value: float | None) -> float | None:
            return None if value is None else value * unit

        return tuple(TracePoint(p.time, scaled(p.incumbent), scaled(p.bound)) for p in self.trace)


def unsolved(settings: Settings, build_time: float = 0.0) -> Answer:
    """The answer where the limit leaves no time to state the model, or to hand it over."""
    return Answer(Termination.TIME_LIMIT, None, None, build_time, 0.0, settings.solver)


def judged(
    objective: float | None,
    bound: float | None,
    settings: Settings,
    infeasible: bool,
    limited: bool,
) -> Termination:
    """Our own reading of the gap: the solvers say "optimal" at whatever gap they were given.

    What is not proved is "time-limit" only where a limit ended the run (`limited`); a solver that
    stopped by itself short of the gap, as its tolerances may make it, leaves "feasible".
    """
    if infeasible:
        return Termination.INFEASIBLE
    if objective is not None and bound is not None:
        # Solvers' tolerances are absolute in the model's own unit, not in the file's: the best
        # known time, a slot, the mean cost of postponing. That much is left open also about 0.
        rounding = SOLVED * max(abs(objective), 1.0)
        if abs(objective - bound) <= max(settings.gap * abs(objective), rounding):
            return Termination.OPTIMAL
    return Termination.TIME_LIMIT if limited or objective is None else Termination.FEASIBLE


def finite(value: float) -> float | None:
    """A solver's value; None where it means infinity."""
    return float(value) if abs(value) < 1e29 else None
