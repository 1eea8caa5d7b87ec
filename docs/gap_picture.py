"""The picture of docs/results.md, drawn from the summary rows of docs/gaps.md; `gaps.py` writes it.

A row a family and method, the paper's heuristic or First Fit: a tick at its mean excess, a bar for
the 95% interval, a thin line to the largest. The axis is logarithmic in 1 + excess, so that 2% and
2000% both can be read.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from optsched.plotting.axes import COLOURS, FAINT, house_style, literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TICKS = (0, 1, 3, 10, 30, 100, 300, 1000, 10_000, 100_000, 1_000_000)


class Row(NamedTuple):
    """A row of the summary: a family, its method, and that method's excess in percent."""

    plan: str
    family: str
    method: str
    mean: float
    low: float
    high: float
    largest: float

    @classmethod
    def of(cls, line: str) -> Self | None:
        """The row of a line of the table; None for a family without a gap."""
        plan, family, method, _, excess, largest, _ = (
            cell.strip() for cell in line.strip("| ").split(" | ")
        )
        if excess == "-":
            return None
        mean, _, interval = excess.rstrip("]").partition(" [")
        low, high = interval.split(" to ") if interval else (mean, mean)
        return cls(plan, family, method, *map(float, (mean, low, high, largest)))

    @property
    def label(self) -> str:
        """What stands beside it."""
        return f"{self.plan}: {self.family}, {self.method}"


def write_picture(lines: Sequence[str], path: Path) -> None:
    """Write the picture of a summary table's lines as SVG."""
    with house_style():
        draw(lines).savefig(path, metadata={"Date": None})


def draw(lines: Sequence[str]) -> Figure:
    """The picture: what is drawn of a family has the gid of its part, as "mean", and its label."""
    from matplotlib.figure import Figure

    rows = [row for row in map(Row.of, lines) if row is not None]
    plans = list(dict.fromkeys(row.plan for row in rows))
    figure = Figure(figsize=(10.0, 1.2 + 0.27 * len(rows)), layout="constrained")
    ax = figure.subplots()
    for at, row in enumerate(rows):
        _draw_row(ax, at, row, COLOURS[plans.index(row.plan) % len(COLOURS)])
    most = max((row.largest for row in rows), default=1.0)
    ticks = [tick for tick in TICKS if tick <= most]
    ax.set_xscale("function", functions=(np.log1p, np.expm1))
    ax.set_xlim(0, 4 * most)  # room for the words
    ax.set_xticks(ticks, [f"{tick:,}" for tick in ticks], fontsize="small")
    ax.set_yticks(range(len(rows)), [literal(row.label) for row in rows])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color=FAINT)
    ax.set_axisbelow(True)
    ax.set_xlabel("excess, %: mean, its 95% interval, largest")
    figure.suptitle("How far the papers' heuristics and First Fit are above the best proven bound")
    return figure


def _draw_row(ax: Axes, at: int, row: Row, colour: str) -> None:
    ax.plot(
        [row.mean, row.largest], [at, at], color=colour, linewidth=1, gid=f"largest {row.label}"
    )
    width = row.high - row.low
    bars = ax.barh(at, width, 0.4, row.low, color=colour, alpha=0.45)
    bars[0].set_gid(f"interval {row.label}")
    ax.vlines(row.mean, at - 0.35, at + 0.35, color=colour, linewidth=3, gid=f"mean {row.label}")
    ax.annotate(
        f"mean {row.mean:.1f}", (row.largest, at), (5, 0), textcoords="offset points", va="center"
    )
