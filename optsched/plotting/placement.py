"""A placement as rows of GPUs, one a server, coloured by stage."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optsched.placement.explain import Breakdown, StageTime
from optsched.placement.instance import PlacementInstance, Stage
from optsched.placement.solution import PlacementSolution
from optsched.plotting.arguments import breakdown_of, instance_of
from optsched.plotting.axes import COLOURS, MARK, axes, figures, ink, literal, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Colour = tuple[float, float, float, float]

MOST_NUMBERED_GPUS = 24
"""Cells of wider servers are too narrow for a number."""
MOST_LABELLED_SERVERS = 40
NOT_OFFERED = "#e6e6e6"
BAR = 0.8


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
    ax = axes(ax, 10.0, min(1.6 + 0.32 * max(servers, stages if stages <= len(COLOURS) else 0), 16))
    colour = _stage_colours(stages)
    starts = _draw_replicas(ax, breakdown.rows, colour)
    _draw_not_offered(ax, given)
    _separate_cells(ax, given, breakdown.rows, starts)
    if stages > len(COLOURS):
        _add_numbers(ax, given, breakdown.rows, starts, colour)
        _add_colour_bar(ax, stages)
    else:
        _add_legend(ax, given, colour)
    _mark_bottleneck(ax, given, breakdown.bottleneck, starts)
    _label_axes(ax, given)
    ax.set_title(literal(_title(breakdown)), loc="left", fontsize="medium")
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
                edgecolor="#bbbbbb",
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


def _add_numbers(
    ax: Axes,
    instance: PlacementInstance,
    rows: Sequence[StageTime],
    starts: Mapping[tuple[int, int], int],
    colour: Callable[[int], Colour],
) -> None:
    if instance.cluster.gpus_per_server > MOST_NUMBERED_GPUS:
        return
    for row in rows:
        each = _gpus(row) // row.replicas
        for replica in range(row.replicas):
            ax.text(
                starts[row.stage, row.server] + each * (replica + 0.5),
                row.server,
                str(row.stage),
                color=ink(colour(row.stage)),
                fontsize="x-small",
                ha="center",
                va="center",
            )


def _add_colour_bar(ax: Axes, stages: int) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    scale = ScalarMappable(Normalize(0, stages - 1), "viridis")
    ax.figure.colorbar(scale, ax=ax, label="stage, counted from 0", fraction=0.05, pad=0.02)


def _add_legend(ax: Axes, instance: PlacementInstance, colour: Callable[[int], Colour]) -> None:
    from matplotlib.patches import Patch

    stages = instance.job.stages
    handles = [Patch(color=colour(s), label=str(s)) for s in range(len(stages))]
    names = [f"{short(stage.name)} ({_size(stage)})" for stage in stages]
    if any(free < instance.cluster.gpus_per_server for free in instance.free_gpus):
        handles.append(
            Patch(facecolor=NOT_OFFERED, edgecolor="#bbbbbb", linewidth=0, hatch="////", label="-")
        )
        names.append("not offered")
    legend = ax.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(1.01, 1.0),
        borderaxespad=0,
        frameon=False,
    )
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_text(literal(name))  # not a handle's label: "_name" would be left out


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
    ax.text(has * 1.015, worst.server, "◀ bottleneck", color=MARK, fontweight="bold", va="center")
    ax.set_xlim(0, has * 1.22)


def _label_axes(ax: Axes, instance: PlacementInstance) -> None:
    servers, has = len(instance.free_gpus), instance.cluster.gpus_per_server
    step = -(-servers // MOST_LABELLED_SERVERS)
    shown = range(0, servers, step)
    ax.set_yticks(shown, [f"server {m} ({instance.free_gpus[m]} free)" for m in shown])
    ax.set_ylim(servers - 0.4, -0.6)
    step = -(-has // 8)
    ax.set_xticks(range(0, has + 1, step))
    ax.set_xlabel("GPUs")
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.spines["bottom"].set_bounds(0, has)
    ax.tick_params(axis="y", length=0)


def _title(breakdown: Breakdown) -> str:
    worst = breakdown.bottleneck
    causes = {name.removesuffix(" transfer"): part for name, part in breakdown.causes.items()}
    split = " + ".join(f"{name} {figures(1e3 * seconds)}" for name, seconds in causes.items())
    return (
        f"{short(breakdown.instance)}: {figures(1e3 * breakdown.iteration_time)} ms an iteration, "
        f"set by stage {worst.stage} ({short(worst.name)}) on server {worst.server}\n= {split} ms"
    )
