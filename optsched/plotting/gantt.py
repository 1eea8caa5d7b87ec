"""The Gantt chart of jobs on GPUs; for too many jobs, the utilisation of each server over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from optsched.plotting.axes import NOTE_COLOUR, WIDTH, add_heading, axes, literal
from optsched.plotting.labels import MAX_ROW_NAMES, Label, label_inside, thin_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INTERVALS = 400
"""Columns of a utilisation picture."""
MAX_ROWS = 400
"""Rows of a utilisation picture; more servers share rows."""


class Bar(NamedTuple):
    """A job on `height` GPUs of a group, from GPU `low` on, from `start` to `end`."""

    group: int
    low: float
    height: float
    start: float
    end: float
    name: str
    colour: str
    gid: str
    hatch: str | None = None


class Chart(NamedTuple):
    """The groups of GPUs in a chart: their names, sizes and kind; the time axis; the title."""

    names: Sequence[str]
    sizes: Sequence[int]
    kind: str
    xlabel: str
    title: str


def draw_gantt(
    ax: Axes | None, chart: Chart, bars: Sequence[Bar], handles: Sequence[Any] = (), end: float = 0
) -> Axes:
    """Draw bars, with names where they are wide enough, and lines between the groups."""
    firsts = np.concatenate(([0], np.cumsum(chart.sizes)))
    ax = axes(ax, WIDTH, float(np.clip(1.6 + 0.14 * firsts[-1], 3.0, 14.0)))
    labels = []
    for bar in bars:
        low = float(firsts[bar.group] + bar.low)
        ax.broken_barh(
            [(bar.start, bar.end - bar.start)],
            (low, bar.height),
            facecolor=bar.colour,
            edgecolor="white",
            linewidth=0.5,
            hatch=bar.hatch,
            gid=bar.gid,
        )
        labels.append(Label(bar.name, (bar.start, bar.end), (low, low + bar.height), bar.colour))
    for first in firsts[1:-1]:
        ax.axhline(first, color=NOTE_COLOUR, linewidth=0.6)
    shown = range(0, len(chart.sizes), -(-len(chart.sizes) // MAX_ROW_NAMES))
    middles = [(firsts[g] + firsts[g + 1]) / 2 for g in shown]
    ax.set_yticks(middles, [literal(chart.names[g]) for g in shown])
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(firsts[-1], 0)
    ax.set_xlim(0, end or None)
    ax.set_xlabel(chart.xlabel)
    add_heading(ax, chart.title, list(handles))
    thin_rows(ax)
    label_inside(ax, labels)
    return ax


def draw_utilisation(ax: Axes | None, chart: Chart, usage: np.ndarray) -> Axes:
    """Draw each group's share of GPUs in use; `usage` has rows of group, start, end, GPUs."""
    ax = axes(ax, WIDTH, 4.6)
    last = float(usage[:, 2].max(initial=0.0)) or 1.0
    picture = ax.imshow(
        utilisation(usage, chart.sizes, last), aspect="auto", cmap="Blues", vmin=0.0, vmax=1.0,
        extent=(0.0, last, len(chart.sizes), 0.0), interpolation="nearest",
    )  # fmt: skip
    bar = ax.figure.colorbar(picture, ax=ax, fraction=0.05, pad=0.02)
    bar.set_ticks([0, 0.25, 0.5, 0.75, 1], labels=["0", "25", "50", "75", "100"])
    bar.set_label("GPUs in use, %")
    ax.set_ylabel(f"{chart.kind}s, the busiest first")
    ax.set_xlabel(chart.xlabel)
    add_heading(ax, chart.title, [])
    return ax


def utilisation(usage: np.ndarray, sizes: Sequence[int], last: float) -> np.ndarray:
    """Share of GPUs in use, by group (the busiest first) and interval from 0 to `last`."""
    edges = np.linspace(0.0, last, INTERVALS + 1)
    used = np.zeros((len(sizes), INTERVALS))
    for group, start, end, gpus in usage:
        overlap = np.diff(np.clip(edges, start, end))
        used[int(group)] += gpus * overlap / edges[1]
    order = np.argsort(-used.sum(axis=1) / sizes, kind="stable")
    starts = np.arange(0, len(sizes), -(-len(sizes) // MAX_ROWS))
    total = np.add.reduceat(np.asarray(sizes, dtype=float)[order], starts)
    return np.asarray(np.add.reduceat(used[order], starts) / total[:, None])
