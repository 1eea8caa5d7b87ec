"""The one Gantt chart: bars on rows of GPUs, grouped by server or node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from optsched.plotting.axes import WIDTH, WORDS, axes, headed, literal
from optsched.plotting.density import draw_density
from optsched.plotting.labels import Label, label_inside, thin_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_GROUP_NAMES = 40


class Bar(NamedTuple):
    """A job on some GPUs of a group, from its GPU `low` on, and its times on the axis."""

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
    """The groups of a chart: their names, their GPUs and their kind; the time axis; the title."""

    names: Sequence[str]
    sizes: Sequence[int]
    kind: str
    xlabel: str
    title: str


def draw_gantt(
    ax: Axes | None, chart: Chart, bars: Sequence[Bar], handles: Sequence[Any] = (), end: float = 0
) -> Axes:
    """Draw bars, named where they are wide enough; a line parts the groups."""
    firsts = np.concatenate(([0], np.cumsum(chart.sizes)))
    ax = axes(ax, WIDTH, float(np.clip(1.6 + 0.14 * firsts[-1], 3.0, 14.0)))
    labels = []
    for bar in bars:
        rows = (float(firsts[bar.group] + bar.low), bar.height)
        ax.broken_barh(
            [(bar.start, bar.end - bar.start)],
            rows,
            facecolor=bar.colour,
            edgecolor="white",
            linewidth=0.5,
            hatch=bar.hatch,
            gid=bar.gid,
        )
        box = (rows[0], rows[0] + rows[1])
        labels.append(Label(bar.name, (bar.start, bar.end), box, bar.colour))
    for first in firsts[1:-1]:
        ax.axhline(first, color=WORDS, linewidth=0.6)
    shown = range(0, len(chart.sizes), -(-len(chart.sizes) // MAX_GROUP_NAMES))
    middles = [(firsts[g] + firsts[g + 1]) / 2 for g in shown]
    ax.set_yticks(middles, [literal(chart.names[g]) for g in shown])
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(firsts[-1], 0)
    ax.set_xlim(0, end or None)
    ax.set_xlabel(chart.xlabel)
    headed(ax, chart.title, list(handles))
    thin_rows(ax)
    label_inside(ax, labels)
    return ax


def draw_use(ax: Axes | None, chart: Chart, held: np.ndarray) -> Axes:
    """Draw the share of each group's GPUs in use instead, for runs of too many bars.

    `held` has a column a piece: group, start, end, GPUs.
    """
    ax = axes(ax, WIDTH, 4.6)
    draw_density(ax, held, chart.sizes, chart.kind)
    ax.set_xlabel(chart.xlabel)
    headed(ax, chart.title, [])
    return ax
