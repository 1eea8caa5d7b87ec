"""A placement as rows of GPUs, one a server, coloured by stage."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optsched.placement.explain import Breakdown, StageTime
from optsched.placement.instance import PlacementInstance, Stage
from optsched.placement.solution import PlacementSolution
from optsched.plotting.arguments import breakdown_of, instance_of
from optsched.plotting.axes import (
    COLOURS,
    MARK,
    WIDTH,
    axes,
    figures,
    headed,
    house_style,
    short,
)
from optsched.plotting.labels import Label, label_inside, make_room, thin_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Patch

Colour = tuple[float, float, float, float]

MOST_NUMBERED_GPUS = 24
"""Cells of wider servers are too narrow for a number."""
MOST_LABELLED_SERVERS = 40
NOT_OFFERED, HATCH = "#e6e6e6", "#bbbbbb"
BAR = 0.8


@house_style()
def plot_placement(
    instance: PlacementInstance | str | Path,
    solution: PlacementSolution | str | Path,
    options: Mapping[str, Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw where each stage's replicas stand, and which of them the job waits for.

    A row is a server, a cell one of its GPUs, or a whole replica where replicas take several; the
    hatched cells are those it does not offer, the empty ones those that stay free. Up to nine
    stages are named in a legend; more are numbered in their cells, beside a colour bar.

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
        Each run of cells is a bar with the gid ``stage-S-server-M``; the bottleneck's frame has
        the gid ``bottleneck``.

    Raises
    ------
    InputError
        If a file cannot be used or the solution breaks a rule.
    MissingExtraError
        If matplotlib is not installed.
    """
    given = instance_of(instance, PlacementInstance)
    breakdown = breakdown_of(given, solution, Breakdown, options)
    stages, servers = given.shape
    names = -(-stages // 2) if stages <= len(COLOURS) else 0
    ax = axes(ax, WIDTH, min(1.7 + 0.34 * servers + 0.18 * names, 14))
    colour = _stage_colours(stages)
    starts = _draw_replicas(ax, breakdown.rows, colour)
    _draw_not_offered(ax, given)
    _separate_cells(ax, given, breakdown.rows, starts)
    _label_axes(ax, given)
    named = stages <= len(COLOURS)
    headed(ax, _title(breakdown), _stage_handles(given, colour) if named else [])
    if not named:
        _add_colour_bar(ax, stages)
    _mark_bottleneck(ax, given, breakdown.bottleneck, starts)
    thin_rows(ax)
    if not named:
        label_inside(ax, _numbers(given, breakdown.rows, starts, colour))
    return ax


def _stage_colours(stages: int) -> Callable[[int], Colour]:
    from matplotlib import colormaps
    from matplotlib.colors import to_rgba

    if stages <= len(COLOURS):
        return lambda stage: to_rgba(COLOURS[stage])
    return lambda stage: colormaps["viridis"](stage / (stages - 1))


def _draw_replicas(
    ax: Axes, rows: Sequence[StageTime], colour: Callable[[int], Colour]
) -> dict[tuple[int, int], int]:
    """Draw each row's bar; returns the cell it starts at by stage and server."""
    used: dict[int, int] = {}
    starts = {}
    for row in rows:
        start = used.get(row.server, 0)
        bar = ax.barh(row.server, _gpus(row), BAR, left=start, color=colour(row.stage))[0]
        bar.set_gid(f"stage-{row.stage}-server-{row.server}")
        starts[row.stage, row.server] = start
        used[row.server] = start + _gpus(row)
    return starts


def _gpus(row: StageTime) -> int:
    """GPUs of the row's replicas."""
    return row.replicas if row.gpus is None else row.gpus


def _draw_not_offered(ax: Axes, instance: PlacementInstance) -> None:
    has = instance.cluster.gpus_per_server
    for server, free in enumerate(instance.free_gpus):
        if free < has:
            ax.barh(
                server,
                has - free,
                BAR,
                left=free,
                facecolor=NOT_OFFERED,
                edgecolor=HATCH,
                linewidth=0,
                hatch="////",
                gid=f"not-offered-server-{server}",
            )


def _separate_cells(
    ax: Axes,
    instance: PlacementInstance,
    rows: Sequence[StageTime],
    starts: Mapping[tuple[int, int], int],
) -> None:
    has = instance.cluster.gpus_per_server
    if has > MOST_NUMBERED_GPUS:
        return
    if not instance.job.is_sliced:
        ax.vlines(range(1, has), -0.5, len(instance.free_gpus) - 0.5, color="white", linewidth=1.5)
        return
    for row in rows:
        start, each = starts[row.stage, row.server], _gpus(row) // row.replicas
        ends = [start + each * (replica + 1) for replica in range(row.replicas)]
        low, high = row.server - 0.5, row.server + 0.5
        lines = ax.vlines(ends, low, high, color="white", linewidth=2.5)
        lines.set_gid(f"replicas-{row.stage}-server-{row.server}")


def _numbers(
    instance: PlacementInstance,
    rows: Sequence[StageTime],
    starts: Mapping[tuple[int, int], int],
    colour: Callable[[int], Colour],
) -> list[Label]:
    """The stage of each replica, for its cell."""
    labels = []
    for row in rows if instance.cluster.gpus_per_server <= MOST_NUMBERED_GPUS else ():
        each = _gpus(row) // row.replicas
        for replica in range(row.replicas):
            left = starts[row.stage, row.server] + each * replica
            tall = (row.server - BAR / 2, row.server + BAR / 2)
            labels.append(Label(str(row.stage), (left, left + each), tall, colour(row.stage)))
    return labels


def _add_colour_bar(ax: Axes, stages: int) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    scale = ScalarMappable(Normalize(0, stages - 1), "viridis")
    ax.figure.colorbar(scale, ax=ax, label="stage, counted from 0", fraction=0.05, pad=0.02)


def _stage_handles(instance: PlacementInstance, colour: Callable[[int], Colour]) -> list[Patch]:
    from matplotlib.patches import Patch

    handles = [
        Patch(color=colour(s), label=f"{short(stage.name)} ({_size(stage)})")
        for s, stage in enumerate(instance.job.stages)
    ]
    if any(free < instance.cluster.gpus_per_server for free in instance.free_gpus):
        look: dict[str, Any] = {"facecolor": NOT_OFFERED, "edgecolor": HATCH, "hatch": "////"}
        handles.append(Patch(**look, linewidth=0, label="not offered"))
    return handles


def _size(stage: Stage) -> str:
    each = stage.tensor_parallel
    return f"x{stage.replicas}" + (f" of {each} GPUs" if each > 1 else "")


def _mark_bottleneck(
    ax: Axes,
    instance: PlacementInstance,
    worst: StageTime,
    starts: Mapping[tuple[int, int], int],
) -> None:
    from matplotlib.patches import Rectangle

    corner = (starts[worst.stage, worst.server], worst.server - BAR / 2)
    for colour, width in (("white", 5.0), (MARK, 2.5)):
        frame = ax.add_patch(Rectangle(corner, _gpus(worst), BAR, fill=False, zorder=4))
        frame.set(edgecolor=colour, linewidth=width, clip_on=False)
    frame.set_gid("bottleneck")
    has = instance.cluster.gpus_per_server
    ax.set_xlim(0, has)
    ax.text(has, worst.server, " ◀ bottleneck", fontsize="small", fontweight="bold", va="center")
    make_room(ax)


def _label_axes(ax: Axes, instance: PlacementInstance) -> None:
    servers, has = len(instance.free_gpus), instance.cluster.gpus_per_server
    step = -(-servers // MOST_LABELLED_SERVERS)
    shown = range(0, servers, step)
    ax.set_yticks(shown, [f"server {m} ({instance.free_gpus[m]} free)" for m in shown])
    ax.set_ylim(servers - 0.4, -0.6)
    step = -(-has // 8)
    ax.set_xticks(range(0, has + 1, step))
    ax.set_xlabel("GPUs")
    ax.spines["left"].set_visible(False)
    ax.spines["bottom"].set_bounds(0, has)
    ax.set_xlim(0, has)
    ax.tick_params(axis="y", length=0)


def _title(breakdown: Breakdown) -> str:
    worst = breakdown.bottleneck
    causes = {name.removesuffix(" transfer"): part for name, part in breakdown.causes.items()}
    split = " + ".join(f"{name} {figures(1e3 * seconds)}" for name, seconds in causes.items())
    return (
        f"{short(breakdown.instance)}: {figures(1e3 * breakdown.iteration_time)} ms an iteration, "
        f"set by stage {worst.stage} ({short(worst.name)}) on server {worst.server}\n= {split} ms"
    )
