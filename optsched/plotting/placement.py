"""A placement: the replicas on each server's GPUs, and the time of each stage in parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from optsched.display import counted
from optsched.placement.explain import PARTS, Breakdown, StageTime
from optsched.placement.instance import PlacementInstance
from optsched.plotting.arguments import breakdown_of, instance_of
from optsched.plotting.axes import (
    COLOURS,
    MARK_COLOUR,
    WIDTH,
    add_heading,
    axes,
    compact,
    house_style,
    short,
)
from optsched.plotting.labels import (
    Label,
    label_gpu_rows,
    label_inside,
    name_rows,
    thin_rows,
    widen_for_labels,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Patch

    from optsched.typing import InstanceLike, SolutionLike

Colour = tuple[float, float, float, float]

MAX_SEPARATED_GPUS = 24
"""Cells of larger servers are too narrow for lines between them and a number."""
NOT_OFFERED: dict[str, Any] = {
    "facecolor": "#e6e6e6", "edgecolor": "#bbbbbb", "hatch": "////", "linewidth": 0
}  # fmt: skip
BAR = 0.8
PART_COLOURS = {
    "compute": COLOURS[0],
    "inter_server": COLOURS[1],
    "intra_server": COLOURS[6],
    "tensor": COLOURS[3],
    "experts": COLOURS[5],
    "all_reduce": COLOURS[4],
}
"""Colours of the parts of a `StageTime`, by attribute, in the order of the stack."""
MAX_STACKS = 64


class Cells(NamedTuple):
    """Contiguous GPUs of a server, from `first` on, used by replicas of one stage."""

    time: StageTime
    first: int

    @property
    def gpus(self) -> int:
        return self.time.replicas if self.time.gpus is None else self.time.gpus

    @property
    def replica_edges(self) -> list[int]:
        return [*range(self.first, self.first + self.gpus + 1, self.gpus // self.time.replicas)]


@house_style()
def plot_placement(
    instance: InstanceLike,
    solution: SolutionLike,
    options: Mapping[str, Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the stages' replicas on the servers' GPUs, and mark the bottleneck.

    A row is a server, a cell one of its GPUs, or a whole replica if replicas take several. GPUs
    that a server does not offer are hatched, free ones empty. A legend shows up to nine stages;
    more have a number in each cell and a colour bar.

    Parameters
    ----------
    instance, solution : objects, names or paths
        A placement that `optsched.check` accepts.
    options : mapping, optional
        Options of the cost; by default the solution's own.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    Axes
        Each run of cells is a bar with the gid ``stage-S-server-M``; the bottleneck's frame has
        the gid ``bottleneck``.
    """
    loaded = instance_of(instance, PlacementInstance)
    breakdown = breakdown_of(loaded, solution, Breakdown, options)
    stages, servers = loaded.shape
    has_legend = stages <= len(COLOURS)
    height = 1.7 + 0.34 * servers + (0.18 * -(-stages // 2) if has_legend else 0.0)
    ax = axes(ax, WIDTH, min(height, 14))
    colour = _stage_colours(stages)
    cells = _draw_replicas(ax, breakdown, colour)
    gpus = loaded.cluster.gpus_per_server
    for server, free in enumerate(loaded.free_gpus):
        if free < gpus:
            gid = f"not-offered-server-{server}"
            ax.barh(server, gpus - free, BAR, left=free, gid=gid, **NOT_OFFERED)
    _separate_cells(ax, loaded, cells)
    names = [f"server {m} ({free} free)" for m, free in enumerate(loaded.free_gpus)]
    label_gpu_rows(ax, names, gpus)
    add_heading(ax, _title(breakdown), _stage_handles(loaded, colour) if has_legend else [])
    if not has_legend:
        _add_colour_bar(ax, stages)
    worst = next(run for run in cells if run.time == breakdown.bottleneck)
    _frame(ax, (worst.first, worst.gpus), worst.time.server)
    ax.set_xlim(0, gpus)
    _annotate_row(ax, gpus, worst.time.server, "bottleneck")
    thin_rows(ax)
    if not has_legend and gpus <= MAX_SEPARATED_GPUS:
        label_inside(ax, [label for run in cells for label in _stage_numbers(run, colour)])
    return ax


def _stage_colours(stages: int) -> Callable[[int], Colour]:
    from matplotlib import colormaps
    from matplotlib.colors import to_rgba

    if stages <= len(COLOURS):
        return lambda stage: to_rgba(COLOURS[stage])
    return lambda stage: colormaps["viridis"](stage / (stages - 1))


def _draw_replicas(ax: Axes, breakdown: Breakdown, colour: Callable[[int], Colour]) -> list[Cells]:
    used: dict[int, int] = {}
    cells = []
    for time in breakdown.rows:
        run = Cells(time, used.get(time.server, 0))
        gid = f"stage-{time.stage}-server-{time.server}"
        ax.barh(time.server, run.gpus, BAR, left=run.first, color=colour(time.stage), gid=gid)
        used[time.server] = run.first + run.gpus
        cells.append(run)
    return cells


def _separate_cells(ax: Axes, instance: PlacementInstance, cells: list[Cells]) -> None:
    """Draw white lines between GPUs, or between replicas that take several."""
    gpus = instance.cluster.gpus_per_server
    if gpus > MAX_SEPARATED_GPUS:
        return
    if not instance.job.has_tensor_slices:
        ax.vlines(range(1, gpus), -0.5, len(instance.free_gpus) - 0.5, color="white", linewidth=1.5)
        return
    for run in cells:
        low, high = run.time.server - 0.5, run.time.server + 0.5
        ax.vlines(run.replica_edges[1:], low, high, color="white", linewidth=2.5)


def _stage_numbers(run: Cells, colour: Callable[[int], Colour]) -> list[Label]:
    y = (run.time.server - BAR / 2, run.time.server + BAR / 2)
    words, face = str(run.time.stage), colour(run.time.stage)
    return [Label(words, x, y, face) for x in pairwise(run.replica_edges)]


def _add_colour_bar(ax: Axes, stages: int) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    scale = ScalarMappable(Normalize(0, stages - 1), "viridis")
    ax.figure.colorbar(scale, ax=ax, label="stage, counted from 0", fraction=0.05, pad=0.02)


def _stage_handles(instance: PlacementInstance, colour: Callable[[int], Colour]) -> list[Patch]:
    from matplotlib.patches import Patch

    handles = []
    for s, stage in enumerate(instance.job.stages):
        slices = f" of {stage.tensor_parallel} GPUs" if stage.tensor_parallel > 1 else ""
        first, more, _ = stage.name.partition(".")
        name = f"{short(first)}{'…' if more else ''}"
        label = f"stage {s} ({counted(stage.replicas, 'replica')}{slices}): {name}"
        handles.append(Patch(color=colour(s), label=label))
    if min(instance.free_gpus) < instance.cluster.gpus_per_server:
        handles.append(Patch(**NOT_OFFERED, label="used by other jobs"))
    return handles


def _title(breakdown: Breakdown) -> str:
    worst = breakdown.bottleneck
    causes = {name.removesuffix(" transfer"): part for name, part in breakdown.causes.items()}
    split = " + ".join(f"{name} {compact(1e3 * seconds)}" for name, seconds in causes.items())
    where = f"(stage {worst.stage}, server {worst.server})"
    return f"{_head(breakdown)} {where}\n= {split} ms"


def _head(breakdown: Breakdown) -> str:
    milliseconds = compact(1e3 * breakdown.iteration_time)
    return f"{short(breakdown.instance)}: {milliseconds} ms per iteration"


@house_style()
def plot_breakdown(
    instance: InstanceLike,
    solution: SolutionLike,
    options: Mapping[str, Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the time of each stage on each server as a stacked bar.

    Parameters
    ----------
    instance, solution, options, ax
        As in `plot_placement`.

    Returns
    -------
    Axes
        One container of bars per part, labelled by it. Of more than 64 rows the slowest are drawn,
        and the axis says so.
    """
    breakdown = breakdown_of(instance, solution, Breakdown, options)
    pipeline = breakdown.pipeline
    decisive = {row: row.work if pipeline else row.total for row in breakdown.rows}
    slowest = sorted(breakdown.rows, key=lambda row: -decisive[row])[:MAX_STACKS]
    rows = [row for row in breakdown.rows if row in slowest]
    ax = axes(ax, WIDTH, 2.0 + 0.24 * len(rows))
    left = [0.0] * len(rows)
    for part in rows[0].seconds:
        times = [1e3 * row.seconds[part] for row in rows]
        ax.barh(
            range(len(rows)),
            times,
            BAR,
            left=left,
            color=PART_COLOURS[part],
            label=PARTS[part],
        )
        left = [start + time for start, time in zip(left, times, strict=True)]
    name_rows(ax, [f"{short(r.name)} on server {r.server} (x{r.replicas})" for r in rows])
    if len(rows) < len(breakdown.rows):
        ax.set_ylabel(f"the {len(rows)} slowest of {len(breakdown.rows)}")
    ax.set_xlabel("time per iteration, milliseconds")
    title = _head(breakdown)
    if pipeline:
        title += (
            f" of {counted(pipeline.micro_batches, 'micro-batch', 'micro-batches')}\n"
            f"= slowest work {compact(1e3 * pipeline.bottleneck)} "
            f"+ fill and drain {compact(1e3 * pipeline.fill_and_drain)} "
            f"+ exposed all-reduce {compact(1e3 * pipeline.exposed_all_reduce)} ms"
        )
    add_heading(ax, title)
    worst = breakdown.bottleneck
    position, length = rows.index(worst), 1e3 * decisive[worst]
    _frame(ax, (0, length), position)
    ax.axvline(length, color=MARK_COLOUR, linewidth=1, linestyle=":", zorder=0)
    ax.set_xlim(0, 1.02 * max(left) or 1.0)
    words = f"{'slowest work' if pipeline else 'bottleneck'}, {compact(length)} ms"
    _annotate_row(ax, 1e3 * worst.total, position, words)
    return ax


def _frame(ax: Axes, x: tuple[float, float], row: int) -> None:
    """Frame the bottleneck: black, with a white edge that separates it from dark bars."""
    from matplotlib.patches import Rectangle

    for colour, width in (("white", 5.0), (MARK_COLOUR, 2.5)):
        frame = ax.add_patch(Rectangle((x[0], row - BAR / 2), x[1], BAR, fill=False, zorder=4))
        frame.set(edgecolor=colour, linewidth=width, clip_on=False)
    frame.set_gid("bottleneck")


def _annotate_row(ax: Axes, x: float, row: int, words: str) -> None:
    ax.text(x, row, f" ◀ {words}", fontsize="small", fontweight="bold", va="center")
    widen_for_labels(ax)
