"""A heuristic and the optimum against each parameter: objectives above, the gap below."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from optsched.errors import InputError
from optsched.plotting.axes import COLOURS, MARK, headed, house_style, in_words, literal, short
from optsched.verbs.sensitivity import Curve, Sensitivity

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOGARITHMIC = 4.0
"""Ratio of the largest value to the least from which a scale is logarithmic."""


@house_style()
def plot_sensitivity(found: Sensitivity) -> Axes:
    """Draw a column a parameter: both objectives above, the heuristic's excess below.

    Parameters
    ----------
    found : Sensitivity
        Of `optsched.verbs.sensitivity.sensitivity`.

    Returns
    -------
    Axes
        The first of the upper row. Lines have the gids ``heuristic``, ``optimum`` and ``excess``;
        a dashed line stands at the instance's own value, a hollow mark where the optimum is not
        proved.

    Raises
    ------
    InputError
        If there is no curve.
    MissingExtraError
        If matplotlib is not installed.
    """
    import matplotlib.pyplot as plt

    if not found.curves:
        raise InputError("plot", found.instance, "no curve", "a parameter that is varied")
    figure, grid = plt.subplots(
        2,
        len(found.curves),
        figsize=(2.8 * len(found.curves) + 1, 5.2),
        layout="constrained",
        sharex="col",
        sharey="row",
        squeeze=False,
    )
    for number, curve in enumerate(found.curves):
        _draw(grid[0][number], grid[1][number], found, curve)
    grid[0][0].set_ylabel(f"{found.objective}, {in_words(found.unit)}")
    grid[1][0].set_ylabel("above the optimum, %")
    figure.suptitle(literal(short(found.instance, 60)), x=0.01, ha="left")
    upper: Axes = grid[0][0]
    headed(upper)
    return upper


def _draw(above: Axes, below: Axes, found: Sensitivity, curve: Curve) -> None:
    unit = found.shown_per_unit
    for gid, label, colour in (
        ("heuristic", found.heuristic, COLOURS[1]),
        ("optimum", "optimum", COLOURS[3]),
    ):
        points = [(p.value, getattr(p, gid), p.proved) for p in curve.points]
        known = [(x, y * unit, proved) for x, y, proved in points if y is not None]
        _line(above, known, gid, label, colour, hollow=gid == "optimum")
    known = [(p.value, 100 * p.excess, p.proved) for p in curve.points if p.excess is not None]
    _line(below, known, "excess", None, COLOURS[0], hollow=True)
    for ax in (above, below):
        for point in curve.points:
            if point.own:
                ax.axvline(point.value, color=MARK, linewidth=0.8, linestyle="--", gid="own")
    values = [point.value for point in curve.points]
    if min(values) > 0 and max(values) / min(values) >= LOGARITHMIC:
        below.set_xscale("log")
    below.set_ylim(bottom=0)
    below.set_xlabel(f"{curve.parameter}{f', {curve.unit}' if curve.unit else ''}")


def _line(
    ax: Axes,
    known: list[tuple[float, float, bool]],
    gid: str,
    label: str | None,
    colour: str,
    *,
    hollow: bool,
) -> None:
    style: dict[str, Any] = {"color": colour, "gid": gid, "linewidth": 1.6}
    ax.plot([x for x, _, _ in known], [y for _, y, _ in known], label=label, **style)
    for x, y, proved in known:
        face = "white" if hollow and not proved else colour
        ax.plot([x], [y], marker="o", markersize=5, color=colour, markerfacecolor=face)
