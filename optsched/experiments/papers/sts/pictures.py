"""Pictures of the runs over time: ratios against the cluster's size, both loads on the axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from optsched.experiments.papers.pictures import new_figure
from optsched.experiments.papers.sts.runs import Row, average, late_share, of, ratios
from optsched.plotting.axes import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Panels = Mapping[str, Mapping[str, tuple[Sequence[Row], Sequence[Row]]]]
"""By panel and line: rows, and those that they are divided by, in the same order."""


def by_size(panels: Panels, field: str, label: str, *, parts: bool = False) -> Figure:
    """A panel a group, a line a method: mean ratio by nodes, and its range over seeds.

    Both loads stand on the axis; where each line has a base of its own, in the legend instead.
    With `parts`, below each panel: energy and tardiness over the base's total, all sizes together,
    and the share of late jobs.
    """
    count = 2 if parts else 1
    figure = new_figure(4.4 * len(panels), 3.4 * count)
    axes = figure.subplots(count, len(panels), squeeze=False)
    for column, (title, lines) in enumerate(panels.items()):
        _lines(axes[0][column], lines, field)
        axes[0][column].set_title(title, loc="left", fontsize="medium")
        axes[0][column].set_ylabel(label if column == 0 else "")
        if parts:
            _parts(axes[1][column], lines)
        if column == 0 or _loads_differ(lines):
            axes[0][column].legend(fontsize="small", frameon=False)
    if parts:
        axes[1][0].legend(fontsize="small", frameon=False)
    return figure


def _loads_differ(lines: Mapping[str, tuple[Sequence[Row], Sequence[Row]]]) -> bool:
    return len({row.case for _, base in lines.values() for row in base}) > 1


def _lines(ax: Axes, lines: Mapping[str, tuple[Sequence[Row], Sequence[Row]]], field: str) -> None:
    ticks: dict[int, str] = {}
    differ = _loads_differ(lines)
    for (name, (own, base)), colour in zip(lines.items(), COLOURS, strict=False):
        sizes = sorted({row.nodes for row in own})
        found = [ratios(of(own, nodes=n), of(base, nodes=n), field) for n in sizes]
        middle = [
            average(of(own, nodes=n), field) / average(of(base, nodes=n), field) for n in sizes
        ]
        low, high = [min(f) for f in found], [max(f) for f in found]
        ax.fill_between(sizes, low, high, color=colour, alpha=0.15, linewidth=0)
        label = f"{name}: rho, plan {_loads(base, ', ')}" if differ else name
        ax.plot(sizes, middle, marker="o", color=colour, label=label, clip_on=False)
        for n in sizes:
            ticks[n] = str(n) if differ else f"{n}\n{_loads(of(base, nodes=n), chr(10))}"
    ax.set_xscale("log")
    ax.set_xticks(list(ticks), list(ticks.values()))
    ax.minorticks_off()
    ax.set_xlabel("nodes" if differ else "nodes; rho; fullest type of the clairvoyant plan")
    ax.set_ylim(bottom=0)
    ax.spines[["top", "right"]].set_visible(False)


def _loads(rows: Sequence[Row], between: str) -> str:
    return f"{average(rows, 'rho'):.2f}{between}{average(rows, 'utilisation'):.2f}"


def _parts(ax: Axes, lines: Mapping[str, tuple[Sequence[Row], Sequence[Row]]]) -> None:
    names = list(lines)
    energy, tardiness, late = [], [], []
    for own, base in lines.values():
        total = average(base, "total")
        energy.append(average(own, "energy") / total)
        tardiness.append(average(own, "tardiness") / total)
        late.append(late_share(own))
    ax.bar(names, energy, color=COLOURS[3], label="energy")
    ax.bar(names, tardiness, bottom=energy, color=COLOURS[1], label="tardiness")
    for i, share in enumerate(late):
        ax.annotate(
            f"{share:.1f}% late",
            (i, energy[i] + tardiness[i]),
            ha="center",
            va="bottom",
            fontsize="x-small",
        )
    ax.tick_params(axis="x", labelrotation=20)
    ax.spines[["top", "right"]].set_visible(False)
