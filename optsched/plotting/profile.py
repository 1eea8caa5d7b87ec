"""Performance profiles: on what share of the instances a method is how close to the best one."""

from __future__ import annotations

from math import inf, isfinite
from typing import TYPE_CHECKING

import numpy as np

from optsched.errors import InputError
from optsched.experiments.store.row import FAILURES
from optsched.plotting.axes import WIDTH, axes, figures, headed, house_style, look
from optsched.plotting.gaps import require_columns
from optsched.result import Termination

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

SHORTEST_END = 1.1
MAX_TICKS = 8
TICKS = (1.02, 1.05, 1.1, 1.2, 1.3, 1.4, 1.5, 2, 3, 5, 10, 30, 100, 1000, 10_000)
FAILED = (Termination.ERROR, *FAILURES)


@house_style()
def plot_profile(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw Dolan and Moré's performance profile: a line a method, its ratios to the best method.

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
    by_method = performance_ratios(frame)
    ax = axes(ax, WIDTH, 3.8)
    end = max(SHORTEST_END, *(1.05 * x for ratios in by_method.values() for x in ratios if x < inf))
    for number, (method, ratios) in enumerate(by_method.items()):
        solved = np.sort([x for x in ratios if isfinite(x)])
        shares = 100 * np.arange(1, len(solved) + 1) / len(ratios)
        x, y = [1.0, *solved, end], [0.0, *shares, shares[-1]]
        ax.step(x, y, where="post", gid=method, **look(number, method))
    ax.set_xscale("log")
    ax.set_xlim(1 / (1 + 0.02 * np.log(end)), end)
    ticks = [1.0]
    for tick in TICKS:
        if ticks[-1] * end ** (1 / MAX_TICKS) <= tick <= end:
            ticks.append(tick)
    ax.set_xticks(ticks, [figures(x) for x in ticks])
    ax.minorticks_off()
    ax.set_ylim(0, 102)
    ax.set_xlabel("at most so many times the best method's objective")
    ax.set_ylabel("instances, %")
    headed(ax)
    return ax


def performance_ratios(frame: pd.DataFrame) -> dict[str, list[float]]:
    """Each method's objectives over the least one of each instance; inf where it has none."""
    require_columns(frame, ("instance", "method", "objective"), "compare or read_store")
    objectives: dict[tuple[str, ...], dict[str, float]] = {}
    for row in frame.to_dict("records"):
        value = row["objective"]
        if value is None or value != value or row.get("status", row.get("termination")) in FAILED:
            continue
        case = [row["instance"], row.get("sha256"), row.get("seed"), row.get("options")]
        of_case = objectives.setdefault(tuple(map(repr, case)), {})
        method = str(row["method"])
        of_case[method] = min(float(value), of_case.get(method, inf))
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
