"""The gap table as bars: how far each method is above the best bound proved."""

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
    literal,
    robust_scale,
    short,
)
from optsched.plotting.labels import make_room
from optsched.plotting.strips import plot_strips
from optsched.problems import PROBLEMS
from optsched.result import Termination, is_proved

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

COLUMNS = ("instance", "method", "status", "objective", "bound")
STORED = ("problem", "sha256", "method", "options", "seed", "status", "objective", "bound")
PROVED_GAP = 1e-6
LEAST = 0.1
"""Per cent that are hardly above a bound."""
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

    Raises
    ------
    InputError
        If columns are missing, the frame is empty or a row comes twice.
    MissingExtraError
        If matplotlib is not installed.
    """
    frame = frame if "status" in frame else frame.rename(columns={"termination": "status"})
    _require_rows(frame)
    instances = list(dict.fromkeys(frame["instance"]))
    methods = list(dict.fromkeys(frame["method"]))
    rows = {(row["instance"], row["method"]): row for row in frame.to_dict("records")}
    ax = axes(ax, WIDTH, 1.8 + len(instances) * max(0.2 * len(methods) + 0.12, 0.5))
    thick = GROUP / len(methods)
    for number, method in enumerate(methods):
        present = [i for i, name in enumerate(instances) if (name, method) in rows]
        positions = [i + (number + 0.5) * thick - GROUP / 2 for i in present]
        chosen = [rows[instances[i], method] for i in present]
        excess = [_percent(row) for row in chosen]
        colour = COLOURS[number % len(COLOURS)]
        ax.barh(positions, [x or 0.0 for x in excess], thick, color=colour, label=method)
        for position, value, row in zip(positions, excess, chosen, strict=True):
            _annotate(ax, position, value, row)
    _label_axes(ax, instances, [_bound_of(frame, name) for name in instances])
    robust_scale(ax.xaxis, [_percent(row) for row in rows.values()], LEAST)
    headed(ax, handles=[*ax.get_legend_handles_labels()[0], _star()])
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
    missing = [name for name in STORED if name not in frame.columns]
    if missing:
        raise InputError("frame", "columns", f"no {', '.join(missing)}", "those of read_store")
    best = _best_bounds(frame)
    excess: dict[str, list[float]] = {}
    for (_, row), bound in zip(frame.iterrows(), best, strict=True):
        percent = _percent({"objective": row["objective"], "bound": bound})
        if percent is not None and row["status"] == "done":
            excess.setdefault(str(row["method"]), []).append(percent)
    if not excess:
        raise InputError("frame", "", "no run with an objective and a bound", "at least one")
    named = {f"{name} ({len(values)})": values for name, values in excess.items()}
    ax = plot_strips(named, "excess over the best bound proved, %, and its mean", ax)
    robust_scale(ax.xaxis, [x for values in named.values() for x in values], LEAST)
    return ax


def _best_bounds(frame: pd.DataFrame) -> list[float | None]:
    """For each run the best bound that a run of its instance proved; over time for its seed."""
    rows = frame.to_dict("records")
    keys = []
    for row in rows:
        problem = PROBLEMS.get(row["problem"])
        seed = row["seed"] if problem is not None and problem.over_time else None
        keys.append((row["sha256"], repr(sorted((row["options"] or {}).items())), seed))
    best: dict[Any, float] = {}
    for key, row in zip(keys, rows, strict=True):
        bound = _number(row["bound"])
        if bound is not None and row["status"] == "done":
            best[key] = max(bound, best.get(key, bound))
    return [best.get(key) for key in keys]


def _require_rows(frame: pd.DataFrame) -> None:
    missing = [name for name in COLUMNS if name not in frame.columns]
    if missing:
        raise InputError("frame", "columns", f"no {', '.join(missing)}", "those of compare")
    if frame.empty:
        raise InputError("frame", "", "no rows", "at least one")
    twice = frame[frame.duplicated(["instance", "method"])]
    if len(twice):
        name, method = twice.iloc[0][["instance", "method"]]
        raise InputError("frame", "", f"{method} on {name} twice", "each instance and method once")


def _percent(row: dict[Any, Any]) -> float | None:
    """Excess of a row in percent, with rounding below zero cut off; None without both values."""
    excess = relative_excess(_number(row["objective"]), _number(row["bound"]))
    return None if excess is None else max(100 * excess, 0.0)


def _is_proved(row: dict[Any, Any]) -> bool:
    objective, bound = _number(row["objective"]), _number(row["bound"])
    if row["status"] == Termination.ERROR or objective is None:
        return False
    if row["status"] == Termination.OPTIMAL:
        return True
    return bound is not None and is_proved(objective, bound, PROVED_GAP)


def _number(value: Any) -> float | None:
    """A cell's number; None for pandas' missing values."""
    return None if value is None or value != value else float(value)


def _annotate(ax: Axes, position: float, percent: float | None, row: dict[Any, Any]) -> None:
    proved = _is_proved(row)
    note = ax.annotate(
        ("★ " if proved else "") + _words(percent, row),
        (percent or 0.0, position),
        (3, 0),
        textcoords="offset points",
        va="center",
        fontsize="x-small",
    )
    if proved:
        note.set_gid(f"proved {row['instance']} {row['method']}")


def _words(percent: float | None, row: dict[Any, Any]) -> str:
    if percent is None:
        return "no value" if _number(row["objective"]) is None else "no bound"
    return "" if percent <= 100 * PROVED_GAP else f"{percent:.3g} %"


def _bound_of(frame: pd.DataFrame, instance: str) -> str:
    row = frame[frame["instance"] == instance].iloc[0]
    value = _number(row["bound"])
    problem = PROBLEMS.get(row.get("problem", frame.attrs.get("problem", "")))
    if value is None:
        return "no bound"
    unit = "" if problem is None else f" {problem.unit}"
    scale = 1.0 if problem is None else problem.shown_per_unit
    source = row.get("bound_source")
    return f"bound {figures(value * scale)}{unit}" + (f", {source}" if source else "")


def _label_axes(ax: Axes, instances: list[str], bounds: list[str]) -> None:
    labels = [f"{short(name)}\n{bound}" for name, bound in zip(instances, bounds, strict=True)]
    ax.set_yticks(range(len(instances)), [literal(label) for label in labels], fontsize="small")
    ax.set_ylim(len(instances) - 0.5, -0.5)
    ax.set_xlim(left=0)
    ax.set_xlabel("excess over the best bound proved, %")


def _star() -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], color=MARK, marker="$★$", linestyle="none", label="proved optimal")
