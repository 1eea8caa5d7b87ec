"""Results: excesses over bounds, performance profiles, strips, traces."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf, isfinite, nan
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from optsched.checking import relative_excess
from optsched.errors import InputError
from optsched.experiments.store.store import FAILURES
from optsched.plotting.axes import (
    COLOURS,
    FAINT,
    MARK_COLOUR,
    UNITS,
    WIDTH,
    add_heading,
    axes,
    compact,
    house_style,
    line_style,
    robust_scale,
    short,
)
from optsched.plotting.labels import name_rows, widen_for_labels
from optsched.problems import PROBLEMS
from optsched.result import ARITHMETIC_RTOL, Result, Termination, is_proved

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

COLUMNS = ("instance", "method", "status", "objective", "bound")
STORE_COLUMNS = ("problem", "sha256", "method", "options", "seed", "status", "objective", "bound")
PROVED_GAP = 1e-6
LINEAR_UP_TO_PERCENT = 0.1
"""Excesses up to this many per cent do not widen the linear part of a symlog scale."""
BAR_SHARE = 0.84
"""Share of an instance's row that its bars fill."""
MAX_LETTERS = 30
MAX_DOTS = 1500
"""Dots of a row: more only make a file larger."""
SHORTEST_END = 1.1
"""The axis shows at least 10 % above the best, even if all methods are closer."""
MAX_TICKS = 8
TICKS = (1.02, 1.05, 1.1, 1.2, 1.3, 1.4, 1.5, 2, 3, 5, 10, 30, 100, 1000, 10_000)
FAILED = (Termination.ERROR, *FAILURES)


@house_style()
def plot_gaps(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the excess of each method on each instance over the instance's bound.

    Parameters
    ----------
    frame : pandas.DataFrame
        What `optsched.compare` returns, or some of its rows: each instance and method once.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    Axes
        One container of bars a method, labelled by it. A star marks a row whose value is
        proved optimal, "no value" at one that has none; the bound is below the instance's name.
    """
    from matplotlib.lines import Line2D

    frame = frame if "status" in frame else frame.rename(columns={"termination": "status"})
    _require_columns(frame, COLUMNS, "compare")
    if frame.empty:
        raise InputError("frame", "", "no rows", "at least one")
    repeated = frame[frame.duplicated(["instance", "method"])]
    if len(repeated):
        name, method = repeated.iloc[0][["instance", "method"]]
        raise InputError("frame", "", f"{method} on {name} twice", "each instance and method once")
    instances = list(dict.fromkeys(frame["instance"]))
    methods = list(dict.fromkeys(frame["method"]))
    rows = {(row["instance"], row["method"]): row for row in frame.to_dict("records")}
    excess = {key: _percent(row["objective"], row["bound"]) for key, row in rows.items()}
    ax = axes(ax, WIDTH, 1.8 + len(instances) * max(0.2 * len(methods) + 0.12, 0.5))
    thickness = BAR_SHARE / len(methods)
    for number, method in enumerate(methods):
        places = {
            (name, method): i + (number + 0.5) * thickness - BAR_SHARE / 2
            for i, name in enumerate(instances)
            if (name, method) in rows
        }
        widths = [excess[key] or 0.0 for key in places]
        colour = COLOURS[number % len(COLOURS)]
        ax.barh(list(places.values()), widths, thickness, color=colour, label=method)
        for key, place in places.items():
            _annotate(ax, place, excess[key], rows[key])
    bounds = [_bound_label(frame, name) for name in instances]
    name_rows(
        ax, [f"{short(name)}\n{bound}" for name, bound in zip(instances, bounds, strict=True)]
    )
    ax.set_xlim(left=0)
    ax.set_xlabel("excess over the best bound proved, %")
    robust_scale(ax.xaxis, excess.values(), LINEAR_UP_TO_PERCENT)
    star = Line2D([], [], color=MARK_COLOUR, marker="$★$", linestyle="none", label="proved optimal")
    add_heading(ax, handles=[*ax.get_legend_handles_labels()[0], star])
    widen_for_labels(ax)
    return ax


@house_style()
def plot_excess(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the excess of each method's runs over their instances' best bounds, one dot per run.

    Parameters
    ----------
    frame : pandas.DataFrame
        What `optsched.read_store` returns, or some of its rows.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    Axes
        One collection of dots a method, labelled by it and the number of its runs; a line marks
        each mean (gid ``middle METHOD (RUNS)``).
    """
    _require_columns(frame, STORE_COLUMNS, "read_store")
    rows = frame[frame["status"] == "done"].to_dict("records")
    best: dict[Any, float] = {}
    for row in rows:
        bound = _number(row["bound"])
        if bound is not None:
            best[_case(row)] = max(bound, best.get(_case(row), bound))
    excess: dict[str, list[float]] = {}
    for row in rows:
        percent = _percent(row["objective"], best.get(_case(row)))
        if percent is not None:
            excess.setdefault(str(row["method"]), []).append(percent)
    if not excess:
        raise InputError("frame", "", "no run with an objective and a bound", "at least one")
    named = {f"{name} ({len(values)})": values for name, values in excess.items()}
    ax = plot_strips(named, "excess over the best bound proved, %, and its mean", ax)
    robust_scale(ax.xaxis, [x for values in named.values() for x in values], LINEAR_UP_TO_PERCENT)
    return ax


@house_style()
def plot_profile(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw Dolan and Moré's performance profile: one line per method.

    At x the line of a method stands at the share of the instances that it solved to at most x times
    the least objective that any method of the table has there.

    Parameters
    ----------
    frame : pandas.DataFrame
        What `optsched.compare` or `optsched.read_store` returns, or some of its rows.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    Axes
        Steps with the gid of their method; a method without any objective has no line. The x axis
        is logarithmic.
    """
    by_method = _performance_ratios(frame)
    ax = axes(ax, WIDTH, 3.8)
    end = max(SHORTEST_END, *(1.05 * x for ratios in by_method.values() for x in ratios if x < inf))
    for number, (method, ratios) in enumerate(by_method.items()):
        solved = np.sort([x for x in ratios if isfinite(x)])
        shares = 100 * np.arange(1, len(solved) + 1) / len(ratios)
        x, y = [1.0, *solved, end], [0.0, *shares, shares[-1]]
        ax.step(x, y, where="post", gid=method, **line_style(number, method))
    ax.set_xscale("log")
    ax.set_xlim(1 / (1 + 0.02 * np.log(end)), end)
    ticks = [1.0]
    for tick in TICKS:
        if ticks[-1] * end ** (1 / MAX_TICKS) <= tick <= end:
            ticks.append(tick)
    ax.set_xticks(ticks, [compact(x) for x in ticks])
    ax.minorticks_off()
    ax.set_ylim(0, 102)
    ax.set_xlabel("ratio to the best objective, at most")
    ax.set_ylabel("instances, %")
    add_heading(ax)
    return ax


def _performance_ratios(frame: pd.DataFrame) -> dict[str, list[float]]:
    """Each method's objectives over the least one of each instance; inf where it has none."""
    _require_columns(frame, ("instance", "method", "objective"), "compare or read_store")
    objectives: dict[tuple[str, ...], dict[str, float]] = {}
    for row in frame.to_dict("records"):
        value = row["objective"]
        if value is None or value != value or row.get("status", row.get("termination")) in FAILED:
            continue
        case = [row["instance"], row.get("sha256"), row.get("seed"), row.get("options")]
        case_objectives = objectives.setdefault(tuple(map(repr, case)), {})
        method = str(row["method"])
        case_objectives[method] = min(float(value), case_objectives.get(method, inf))
    if not objectives:
        raise InputError("frame", "", "no row with an objective", "at least one")
    ratios: dict[str, list[float]] = {}
    for method in dict.fromkeys(str(name) for name in frame["method"]):
        ratios[method] = [
            _ratio(values.get(method, inf), min(values.values())) for values in objectives.values()
        ]
    return {name: values for name, values in ratios.items() if any(map(isfinite, values))}


def _ratio(value: float, best: float) -> float:
    if best > 0:
        return value / best
    return 1.0 if value == best else inf


@house_style()
def plot_strips(
    values: Mapping[str, Sequence[float]],
    label: str,
    ax: Axes | None = None,
    *,
    middle: Callable[[Sequence[float]], float] = fmean,
) -> Axes:
    ax = axes(ax, WIDTH, 1.4 + 0.32 * len(values))
    for row, (name, numbers) in enumerate(values.items()):
        shown = sorted(numbers)[:: max(1, -(-len(numbers) // MAX_DOTS))]
        ax.scatter(
            shown, [row] * len(shown), s=20, alpha=0.6, color=COLOURS[row % len(COLOURS)],
            label=name, zorder=2, clip_on=False,
        )  # fmt: skip
        if numbers:
            mark = middle(numbers)
            ax.vlines(mark, row - 0.3, row + 0.3, color=MARK_COLOUR, gid=f"middle {name}", zorder=3)
    name_rows(ax, [short(name, MAX_LETTERS) for name in values])
    largest = max((x for numbers in values.values() for x in numbers), default=0)
    ax.set_xlim(left=0 if largest else None)
    ax.set_xlabel(label)
    add_heading(ax, handles=[])
    return ax


def _require_columns(frame: pd.DataFrame, columns: tuple[str, ...], source: str) -> None:
    """Raise InputError if a frame lacks columns."""
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise InputError("frame", "columns", f"no {', '.join(missing)}", f"those of {source}")


def _case(row: dict[Any, Any]) -> tuple[object, ...]:
    """Runs of one case share their bounds: instance, options and, over time, the seed."""
    problem = PROBLEMS.get(row["problem"])
    seed = row["seed"] if problem is not None and problem.over_time else None
    return row["sha256"], repr(sorted((row["options"] or {}).items())), seed


def _number(value: Any) -> float | None:
    """A cell's number; None for pandas' missing values."""
    return None if value is None or value != value else float(value)


def _percent(objective: Any, bound: Any) -> float | None:
    """Excess in per cent, at least 0; None without both values."""
    excess = relative_excess(_number(objective), _number(bound))
    return None if excess is None else max(100 * excess, 0.0)


def _is_proved(row: dict[Any, Any]) -> bool:
    objective, bound = _number(row["objective"]), _number(row["bound"])
    if row["status"] == Termination.ERROR or objective is None:
        return False
    if row["status"] == Termination.OPTIMAL:
        return True
    return bound is not None and is_proved(objective, bound, PROVED_GAP)


def _annotate(ax: Axes, place: float, percent: float | None, row: dict[Any, Any]) -> None:
    proved = _is_proved(row)
    if percent is None:
        label = "no value" if _number(row["objective"]) is None else "no bound"
    else:
        label = "" if percent <= 100 * PROVED_GAP else f"{percent:.3g} %"
    note = ax.annotate(
        f"★ {label}" if proved else label, (percent or 0.0, place), (3, 0), va="center",
        textcoords="offset points", fontsize="x-small",
    )  # fmt: skip
    if proved:
        note.set_gid(f"proved {row['instance']} {row['method']}")


def _bound_label(frame: pd.DataFrame, instance: str) -> str:
    row = frame[frame["instance"] == instance].iloc[0]
    value = _number(row["bound"])
    problem = PROBLEMS.get(row.get("problem", frame.attrs.get("problem", "")))
    if value is None:
        return "no bound"
    unit = "" if problem is None else f" {problem.unit}"
    scale = 1.0 if problem is None else problem.shown_per_unit
    source = row.get("bound_source")
    return f"bound {compact(value * scale)}{unit}" + (f", {source}" if source else "")


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
