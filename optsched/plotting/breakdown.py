"""A placement's time by stage and server, split into its parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optsched.display import counted
from optsched.placement.explain import PARTS, Breakdown, StageTime
from optsched.placement.instance import PlacementInstance
from optsched.placement.solution import PlacementSolution
from optsched.plotting.arguments import breakdown_of
from optsched.plotting.axes import (
    COLOURS,
    MARK,
    WIDTH,
    axes,
    figures,
    headed,
    house_style,
    literal,
    short,
)
from optsched.plotting.labels import make_room

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOUR = {
    "compute": COLOURS[0],
    "inter_server": COLOURS[1],
    "intra_server": COLOURS[6],
    "tensor": COLOURS[3],
    "experts": COLOURS[5],
    "all_reduce": COLOURS[4],
}
"""Colour of each part of a `StageTime` by its attribute, in the order they are stacked."""

MOST_ROWS = 64
BAR = 0.8


@house_style()
def plot_breakdown(
    instance: PlacementInstance | str | Path,
    solution: PlacementSolution | str | Path,
    options: Mapping[str, Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the time of each stage on each server as a stacked bar.

    Parameters
    ----------
    instance, solution : objects, names or paths
        A placement that `optsched.check` accepts.
    options : mapping, optional
        Readings of the cost; by default the solution's own.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    Axes
        One container of bars a part, labelled by it. Of more than 64 rows the slowest are drawn,
        and the axis says so.

    Raises
    ------
    InputError
        If a file cannot be used or the solution breaks a rule.
    MissingExtraError
        If matplotlib is not installed.
    """
    breakdown = breakdown_of(instance, solution, Breakdown, options)
    rows = _slowest(breakdown)
    ax = axes(ax, WIDTH, 2.0 + 0.24 * len(rows))
    _draw_parts(ax, rows)
    names = [f"{short(row.name)} on server {row.server} (x{row.replicas})" for row in rows]
    ax.set_yticks(range(len(rows)), [literal(name) for name in names])
    ax.set_ylim(len(rows) - 0.4, -0.6)
    if len(rows) < len(breakdown.rows):
        ax.set_ylabel(f"the {len(rows)} slowest of {len(breakdown.rows)}")
    ax.set_xlabel("time an iteration, milliseconds")
    time = figures(1e3 * breakdown.iteration_time)
    title = f"{short(breakdown.instance)}: {time} ms an iteration{_pipeline(breakdown)}"
    headed(ax, title)
    _mark_bottleneck(ax, rows, breakdown)
    return ax


def _pipeline(breakdown: Breakdown) -> str:
    """Of an iteration of micro-batches: what it is besides the work of the slowest stage."""
    pipeline = breakdown.pipeline
    if pipeline is None:
        return ""
    return (
        f" of {counted(pipeline.micro_batches, 'micro-batch', 'micro-batches')}\n"
        f"= slowest work {figures(1e3 * pipeline.bottleneck)} "
        f"+ fill and drain {figures(1e3 * pipeline.fill_and_drain)} "
        f"+ exposed all-reduce {figures(1e3 * pipeline.exposed_all_reduce)} ms"
    )


def _slowest(breakdown: Breakdown) -> list[StageTime]:
    """The slowest rows, in their own order; the first among equals stay."""
    rows = breakdown.rows
    kept = sorted(range(len(rows)), key=lambda index: -_time(breakdown, rows[index]))[:MOST_ROWS]
    return [rows[index] for index in sorted(kept)]


def _time(breakdown: Breakdown, row: StageTime) -> float:
    """What makes a row the bottleneck."""
    return row.work if breakdown.pipeline else row.total


def _draw_parts(ax: Axes, rows: Sequence[StageTime]) -> None:
    left = [0.0] * len(rows)
    for attribute in rows[0].seconds:
        times = [1e3 * row.seconds[attribute] for row in rows]
        name, colour = PARTS[attribute], COLOUR[attribute]
        ax.barh(range(len(rows)), times, BAR, left=left, color=colour, label=name)
        left = [start + time for start, time in zip(left, times, strict=True)]


def _mark_bottleneck(ax: Axes, rows: Sequence[StageTime], breakdown: Breakdown) -> None:
    from matplotlib.patches import Rectangle

    worst = breakdown.bottleneck
    position, total = rows.index(worst), 1e3 * _time(breakdown, worst)
    frame = Rectangle((0, position - BAR / 2), total, BAR, fill=False, zorder=4, clip_on=False)
    frame.set(edgecolor=MARK, linewidth=2.5, gid="bottleneck")
    ax.add_patch(frame)
    ax.axvline(total, color=MARK, linewidth=1, linestyle=":", zorder=0)
    end = 1e3 * worst.total
    words = f" ◀ {'slowest work' if breakdown.pipeline else 'bottleneck'}, {figures(total)} ms"
    ax.text(end, position, words, fontsize="small", fontweight="bold", va="center")
    ax.set_xlim(0, 1.02e3 * max(row.total for row in rows) or 1.0)
    make_room(ax)
