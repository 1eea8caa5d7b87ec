"""Pictures and text tables of artefacts, in one style."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from optsched.experiments.statistics import spread
from optsched.plotting.axes import legend_below, look, robust_scale, wrap
from optsched.plotting.strips import plot_strips

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def summary(rows: pd.DataFrame, by: Sequence[str], values: Sequence[str]) -> list[str]:
    """A Markdown table: medians and ranges of some columns, by groups of rows."""
    lines = [
        f"| {' | '.join((*by, *values))} |",
        f"{'|---' * len(by)}{'|---:' * len(values)}|",
    ]
    for key, own in rows.groupby(list(by), sort=False, dropna=False):
        columns = [list(own[name].dropna()) for name in values]
        cells = [*map(str, key), *(spread(column, ".4g", to=" to ") for column in columns)]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def panels(
    width: float, height: float, columns: int = 1, rows: int = 1, *, sharey: bool = False
) -> tuple[Figure, list[Axes]]:
    """A figure of so many inches and its panels, row by row."""
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

    A row of panels a column of `values` (with its label), a column of panels a value of `panel`,
    a line a value of `line`; `axis` are properties of each x axis.
    """
    groups = [("", rows)] if panel is None else list(rows.groupby(panel, sort=False))
    figure, every = panels(4.4 * len(groups) + 1, 3.4 * len(values), len(groups), len(values))
    places, names = sorted(set(rows[x])), list(dict.fromkeys(rows[line]))
    for at, (column, label) in enumerate(values.items()):
        for (title, group), ax in zip(groups, every[at * len(groups) :], strict=False):
            for number, name in enumerate(names):
                own = group[group[line] == name].dropna(subset=column).groupby(x)[column]
                middle = own.median()
                reach = [middle - own.min(), own.max() - middle]
                # One place: the lines stand side by side.
                at_x = [number] * len(middle) if len(places) == 1 else list(middle.index)
                ax.errorbar(at_x, middle, yerr=reach, marker="o", capsize=3, **look(number, name))
            ax.set(title=title)
            if len(places) == 1:
                ax.set_xticks(range(len(names)), [name.replace("-", "-\n") for name in names])
            else:
                ax.set(**{"xlabel": x, **axis})
                ax.set_xlabel(textwrap.fill(ax.get_xlabel(), 40))
            if 1 < len(places) < 10:
                ax.set_xticks(places, [f"{place:g}" for place in places])
                ax.minorticks_off()
            robust_scale(ax.yaxis, group[column].dropna())
            if ax.get_yscale() == "linear" and group[column].min() >= 0:
                ax.set_ylim(bottom=0)
        every[at * len(groups)].set_ylabel(textwrap.fill(label, 30))
    legend_below(figure, every[0])
    return figure


def strips(groups: Mapping[str, Mapping[str, Sequence[float]]], label: str) -> Figure:
    """A panel a group, a strip a method: a dot each value, a tick at the median."""
    count = max(len(methods) for methods in groups.values())
    figure, every = panels(4.2 * len(groups), 1.4 + 0.32 * count, len(groups))
    values = [x for methods in groups.values() for each in methods.values() for x in each]
    for ax, (title, methods) in zip(every, groups.items(), strict=True):
        plot_strips(methods, label, ax, middle=median)
        ax.set_xlim(0, 1.03 * max(values, default=0) or 1.0)
        ax.set_title(title)
    return figure


def headline(figure: Figure, words: str) -> Figure:
    """Write words above all panels, in lines that fit; the figure grows by them."""
    title = figure.suptitle("", fontsize="medium", x=0.01, ha="left")
    wrap(title, words, figure.bbox.width - 16)
    lines = title.get_text().count("\n") + 1
    figure.set_figheight(figure.get_figheight() + 0.2 * lines)
    return figure
