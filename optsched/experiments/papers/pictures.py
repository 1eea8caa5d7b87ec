"""Pictures and text tables of artefacts."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from optsched.experiments.papers.claims import Claim, select
from optsched.experiments.statistics import spread
from optsched.plotting.axes import legend_below, line_style, robust_scale, wrap
from optsched.plotting.results import plot_strips

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


HOLDS, FAILS = "#88ccee", "#eecc99"
"""Colours of cells in which a claim holds, and fails."""


def summary(rows: pd.DataFrame, by: Sequence[str], values: Sequence[str]) -> list[str]:
    """A Markdown table: medians and ranges of some columns, by groups of rows."""
    lines = [
        f"| {' | '.join((*by, *values))} |",
        f"{'|---' * len(by)}{'|---:' * len(values)}|",
    ]
    for key, group in rows.groupby(list(by), sort=False, dropna=False):
        columns = [list(group[name].dropna()) for name in values]
        cells = [*map(str, key), *(spread(column, ".4g", to=" to ") for column in columns)]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def panels(
    width: float, height: float, columns: int = 1, rows: int = 1, *, sharey: bool = False
) -> tuple[Figure, list[Axes]]:
    """Create a figure, its size in inches, with a grid of axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharey=sharey)
    return figure, list(axes.flat)


def curves(
    rows: pd.DataFrame,
    x: str,
    values: Mapping[str, str],
    *,
    line: str,
    panel: str | None = None,
    **axis: Any,
) -> Figure:
    """Medians of columns against another, with their ranges.

    One row of panels per entry of `values` (column and label), one column of panels per value of
    `panel`, one line per value of `line`; `axis` are properties of each x axis.
    """
    groups = [("", rows)] if panel is None else list(rows.groupby(panel, sort=False))
    figure, axes = panels(4.4 * len(groups) + 1, 3.4 * len(values), len(groups), len(values))
    x_values, names = sorted(set(rows[x])), list(dict.fromkeys(rows[line]))
    panel_axes = iter(axes)
    for column, label in values.items():
        for place, (title, group) in enumerate(groups):
            ax = next(panel_axes)
            for number, name in enumerate(names):
                by_x = group[group[line] == name].dropna(subset=column).groupby(x)[column]
                medians = by_x.median()
                error_bars = [medians - by_x.min(), by_x.max() - medians]
                # With a single x value, the lines are drawn next to each other.
                at_x = [number] * len(medians) if len(x_values) == 1 else list(medians.index)
                ax.errorbar(
                    at_x, medians, error_bars, marker="o", capsize=3, **line_style(number, name)
                )
            ax.set(title=title)
            if len(x_values) == 1:
                ax.set_xticks(range(len(names)), [name.replace("-", "-\n") for name in names])
            else:
                ax.set(**{"xlabel": x, **axis})
                ax.set_xlabel(textwrap.fill(ax.get_xlabel(), 40))
            if 1 < len(x_values) < 10:
                ax.set_xticks(x_values, [f"{value:g}" for value in x_values])
                ax.minorticks_off()
            robust_scale(ax.yaxis, group[column].dropna())
            if ax.get_yscale() == "linear" and group[column].min() >= 0:
                ax.set_ylim(bottom=0)
            if place == 0:
                ax.set_ylabel(textwrap.fill(label, 30))
    legend_below(figure, axes[0])
    return figure


def strips(groups: Mapping[str, Mapping[str, Sequence[float]]], label: str) -> Figure:
    """One panel per group, one strip per method, a dot per value, a tick at the median."""
    count = max(len(methods) for methods in groups.values())
    figure, axes = panels(4.2 * len(groups), 1.4 + 0.32 * count, len(groups))
    largest = max((x for g in groups.values() for values in g.values() for x in values), default=0)
    for ax, (title, methods) in zip(axes, groups.items(), strict=True):
        plot_strips(methods, label, ax, middle=median)
        ax.set_xlim(0, 1.03 * largest or 1.0)
        ax.set_title(title)
    return figure


def headline(figure: Figure, text: str) -> Figure:
    title = figure.suptitle("", fontsize="medium", x=0.01, ha="left")
    wrap(title, text, figure.bbox.width - 16)
    lines = title.get_text().count("\n") + 1
    figure.set_figheight(figure.get_figheight() + 0.2 * lines)
    return figure


def maps(claims: Sequence[Claim], cells: pd.DataFrame, place: str) -> Figure:
    """A panel a claim: worlds by places, each with its value, blue where the claim holds."""
    worlds, places = (list(dict.fromkeys(cells[name])) for name in ("world", "at"))
    width, height = 2.6 + 0.6 * len(places), 0.9 + 0.24 * len(worlds)
    longest = max(map(len, worlds), default=0)
    columns = min(len(claims), max(1, int(12 / width)))
    rows = -(-len(claims) // columns)
    figure, axes = panels(0.06 * longest + width * columns, height * rows, columns, rows)
    for number, (ax, claim) in enumerate(zip(axes, claims, strict=False)):
        for cell in select(cells, claim=claim.text).to_dict("records"):
            x, y = places.index(cell["at"]), worlds.index(cell["world"])
            ax.barh(y, 1, 1, x - 0.5, color=HOLDS if cell["holds"] else FAILS, edgecolor="white")
            text = f"{cell['value']:{claim.form}}"
            ax.text(x, y, text, ha="center", va="center", fontsize="x-small")
        unit = f", {claim.unit}" if claim.unit else ""
        title = f"{claim.text}\n{claim.quantity}{unit}; paper: {claim.paper}"
        ax.set_title(
            "\n".join(textwrap.fill(line, int(14 * width)) for line in title.split("\n")),
            fontsize="small",
        )
        ax.set(xlim=(-0.5, len(places) - 0.5), ylim=(len(worlds) - 0.5, -0.5))
        ax.set_xlabel(place, fontsize="small")
        ax.set_xticks(range(len(places)), places, fontsize="x-small")
        ax.set_yticks(range(len(worlds)), worlds if number % columns == 0 else [])
        ax.tick_params(axis="y", labelsize="x-small")
    for ax in axes[len(claims) :]:
        ax.set_axis_off()
    return figure
