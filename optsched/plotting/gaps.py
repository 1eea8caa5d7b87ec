"""Tables of results: how far each method is above the best bound proved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from optsched.checking import relative_excess
from optsched.errors import InputError
from optsched.plotting.axes import (
    COLOURS,
    MARK,
    WIDTH,
    axes,
    figures,
    headed,
    house_style,
    robust_scale,
    short,
)
from optsched.plotting.labels import make_room, name_rows
from optsched.plotting.strips import plot_strips
from optsched.problems import PROBLEMS
from optsched.result import Termination, is_proved

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

COLUMNS = ("instance", "method", "status", "objective", "bound")
STORE_COLUMNS = ("problem", "sha256", "method", "options", "seed", "status", "objective", "bound")
PROVED_GAP = 1e-6
LEAST = 0.1
"""Excesses up to this many per cent do not widen the linear part of a symlog scale."""
GROUP = 0.84
"""Share of an instance's row that its bars fill."""


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
        One container of bars a method, labelled by it. A star stands at a row whose value is
        proved optimal, "no value" at one that has none; the bound is below the instance's name.
    """
    from matplotlib.lines import Line2D

    frame = frame if "status" in frame else frame.rename(columns={"termination": "status"})
    _require_rows(frame)
    instances = list(dict.fromkeys(frame["instance"]))
    methods = list(dict.fromkeys(frame["method"]))
    rows = {(row["instance"], row["method"]): row for row in frame.to_dict("records")}
    excess = {key: _percent(row["objective"], row["bound"]) for key, row in rows.items()}
    ax = axes(ax, WIDTH, 1.8 + len(instances) * max(0.2 * len(methods) + 0.12, 0.5))
    thickness = GROUP / len(methods)
    for number, method in enumerate(methods):
        places = {
            (name, method): i + (number + 0.5) * thickness - GROUP / 2
            for i, name in enumerate(instances)
            if (name, method) in rows
        }
        widths = [excess[key] or 0.0 for key in places]
        colour = COLOURS[number % len(COLOURS)]
        ax.barh(list(places.values()), widths, thickness, color=colour, label=method)
        for key, place in places.items():
            _annotate(ax, place, excess[key], rows[key])
    bounds = [_stated_bound(frame, name) for name in instances]
    name_rows(
        ax, [f"{short(name)}\n{bound}" for name, bound in zip(instances, bounds, strict=True)]
    )
    ax.set_xlim(left=0)
    ax.set_xlabel("excess over the best bound proved, %")
    robust_scale(ax.xaxis, excess.values(), LEAST)
    star = Line2D([], [], color=MARK, marker="$★$", linestyle="none", label="proved optimal")
    headed(ax, handles=[*ax.get_legend_handles_labels()[0], star])
    make_room(ax)
    return ax


@house_style()
def plot_excess(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the excess of each method's runs over the best bound of their instances: a dot a run.

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
    require_columns(frame, STORE_COLUMNS, "read_store")
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
    robust_scale(ax.xaxis, [x for values in named.values() for x in values], LEAST)
    return ax


def require_columns(frame: pd.DataFrame, columns: tuple[str, ...], source: str) -> None:
    """Raise InputError if a frame lacks columns."""
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise InputError("frame", "columns", f"no {', '.join(missing)}", f"those of {source}")


def _case(row: dict[Any, Any]) -> tuple[object, ...]:
    """Runs of one case share their bounds: instance, options and, over time, the seed."""
    problem = PROBLEMS.get(row["problem"])
    seed = row["seed"] if problem is not None and problem.over_time else None
    return row["sha256"], repr(sorted((row["options"] or {}).items())), seed


def _require_rows(frame: pd.DataFrame) -> None:
    require_columns(frame, COLUMNS, "compare")
    if frame.empty:
        raise InputError("frame", "", "no rows", "at least one")
    repeated = frame[frame.duplicated(["instance", "method"])]
    if len(repeated):
        name, method = repeated.iloc[0][["instance", "method"]]
        raise InputError("frame", "", f"{method} on {name} twice", "each instance and method once")


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
        words = "no value" if _number(row["objective"]) is None else "no bound"
    else:
        words = "" if percent <= 100 * PROVED_GAP else f"{percent:.3g} %"
    note = ax.annotate(
        f"★ {words}" if proved else words, (percent or 0.0, place), (3, 0), va="center",
        textcoords="offset points", fontsize="x-small",
    )  # fmt: skip
    if proved:
        note.set_gid(f"proved {row['instance']} {row['method']}")


def _stated_bound(frame: pd.DataFrame, instance: str) -> str:
    row = frame[frame["instance"] == instance].iloc[0]
    value = _number(row["bound"])
    problem = PROBLEMS.get(row.get("problem", frame.attrs.get("problem", "")))
    if value is None:
        return "no bound"
    unit = "" if problem is None else f" {problem.unit}"
    scale = 1.0 if problem is None else problem.shown_per_unit
    source = row.get("bound_source")
    return f"bound {figures(value * scale)}{unit}" + (f", {source}" if source else "")
