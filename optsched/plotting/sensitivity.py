"""A heuristic and the optimum against each parameter: objectives above, the gap below."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from optsched.errors import InputError
from optsched.plotting.axes import (
    COLOURS,
    MARK_COLOUR,
    UNITS,
    add_heading,
    house_style,
    literal,
    short,
)
from optsched.verbs.sensitivity import Curve, Sensitivity

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOG_RATIO = 4.0
"""Ratio of the largest to the smallest parameter value from which the x axis is logarithmic."""


@house_style()
def plot_sensitivity(study: Sensitivity) -> Axes:
    """Draw one column per parameter: both objectives above, the heuristic's excess below.

    Parameters
    ----------
    study : Sensitivity
        Of `optsched.verbs.sensitivity.sensitivity`.

    Returns
    -------
    Axes
        The first of the upper row. Lines have the gids ``heuristic``, ``optimum`` and ``excess``;
        a dashed line marks the instance's own value, a hollow mark where the optimum is not
        proved.
    """
    import matplotlib.pyplot as plt

    if not study.curves:
        raise InputError("plot", study.instance, "no curve", "a parameter that is varied")
    columns = len(study.curves)
    figure, grid = plt.subplots(
        2, columns, figsize=(2.8 * columns + 1, 5.2), layout="constrained",
        sharex="col", sharey="row", squeeze=False,
    )  # fmt: skip
    for number, curve in enumerate(study.curves):
        _draw(grid[0][number], grid[1][number], study, curve)
    grid[0][0].set_ylabel(f"{study.objective}, {UNITS.get(study.unit, study.unit)}")
    grid[1][0].set_ylabel("above the optimum, %")
    figure.suptitle(literal(short(study.instance, 60)), x=0.01, ha="left")
    upper: Axes = grid[0][0]
    add_heading(upper)
    return upper


def _draw(above: Axes, below: Axes, study: Sensitivity, curve: Curve) -> None:
    scale = study.shown_per_unit
    heuristic = {"gid": "heuristic", "label": study.heuristic, "color": COLOURS[1]}
    optimum = {"gid": "optimum", "label": "optimum", "color": COLOURS[3]}
    excess = {"gid": "excess", "color": COLOURS[0]}
    for ax, factor, style in (
        (above, scale, heuristic),
        (above, scale, optimum),
        (below, 100, excess),
    ):
        known = [p for p in curve.points if getattr(p, style["gid"]) is not None]
        _line(ax, [(p.value, factor * getattr(p, style["gid"]), p.proved) for p in known], style)
    for ax in (above, below):
        for point in curve.points:
            if point.own:
                ax.axvline(point.value, color=MARK_COLOUR, linewidth=0.8, linestyle="--", gid="own")
    values = [point.value for point in curve.points]
    if min(values) > 0 and max(values) / min(values) >= LOG_RATIO:
        below.set_xscale("log")
    below.set_ylim(bottom=0)
    below.set_xlabel(f"{curve.parameter}{f', {curve.unit}' if curve.unit else ''}")


def _line(ax: Axes, points: list[tuple[float, float, bool]], style: dict[str, Any]) -> None:
    """A line with marks, hollow where the optimum is not proved."""
    ax.plot([x for x, _, _ in points], [y for _, y, _ in points], linewidth=1.6, **style)
    for x, y, proved in points:
        face = style["color"] if proved or style["gid"] == "heuristic" else "white"
        ax.plot([x], [y], "o", markersize=5, color=style["color"], markerfacecolor=face)
