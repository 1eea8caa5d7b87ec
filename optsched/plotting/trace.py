"""A solver's progress: incumbent and bound over time."""

from __future__ import annotations

from math import isfinite, nan
from typing import TYPE_CHECKING

from optsched.errors import InputError
from optsched.plotting.axes import (
    COLOURS,
    FAINT,
    UNITS,
    WIDTH,
    add_heading,
    axes,
    house_style,
    robust_scale,
    short,
)
from optsched.problems import PROBLEMS
from optsched.result import ARITHMETIC_RTOL, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@house_style()
def plot_trace(result: Result, ax: Axes | None = None) -> Axes:
    """Draw the incumbent and the bound of a result's trace as steps over the solver's time.

    Parameters
    ----------
    result : Result
        One with a trace: its method called a MILP solver.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    Axes
        Two lines, labelled "incumbent" and "bound", in the unit of the problem's tables.
    """
    if not isinstance(result, Result) or not result.trace:
        expected = "a trace: use a method with a MILP solver, such as ilp"
        raise InputError("result", "trace", "no points", expected)
    ax = axes(ax, WIDTH, 3.6)
    problem = PROBLEMS[result.problem]
    times = [point.time for point in result.trace]
    incumbents = [_scaled(point.incumbent, problem.shown_per_unit) for point in result.trace]
    bounds = [_scaled(point.bound, problem.shown_per_unit) for point in result.trace]
    ax.step(times, incumbents, where="post", marker=".", color=COLOURS[1], label="incumbent")
    ax.step(times, bounds, "--", where="post", marker=".", color=COLOURS[0], label="bound")
    ax.fill_between(times, bounds, incumbents, step="post", color=FAINT, label="gap", zorder=0)
    ax.set_xlabel("time since the solver's start, seconds")
    ax.set_ylabel(f"{problem.objective}, {UNITS.get(problem.unit, problem.unit)}")
    robust_scale(ax.xaxis, times)
    robust_scale(ax.yaxis, [*incumbents, *bounds])
    gap = ""
    if result.gap is not None:
        gap = f", gap {100 * result.gap if result.gap > ARITHMETIC_RTOL else 0:.3g} %"
    add_heading(ax, f"{short(result.instance)} by {result.method}: {result.termination.value}{gap}")
    return ax


def _scaled(value: float | None, scale: float) -> float:
    """A value in the unit shown; nan, which is not drawn, if there is none."""
    return nan if value is None or not isfinite(value) else value * scale
