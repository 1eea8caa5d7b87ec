"""Pictures of artefacts: figures of one style, without a screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from optsched.plotting.axes import wrap
from optsched.plotting.strips import plot_strips

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from optsched.experiments.papers.verdict import Verdict


def panels(
    width: float, height: float, columns: int = 1, rows: int = 1, *, sharey: bool = False
) -> tuple[Figure, list[Axes]]:
    """A figure of so many inches and its panels, row by row."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharey=sharey)
    return figure, list(axes.flat)


def strips(groups: Mapping[str, Mapping[str, Sequence[float]]], label: str) -> Figure:
    """A panel a group, a strip a method: a dot each value, a tick at the mean."""
    count = max(len(methods) for methods in groups.values())
    figure, every = panels(4.2 * len(groups), 1.4 + 0.32 * count, len(groups))
    most = max((x for methods in groups.values() for v in methods.values() for x in v), default=0)
    for ax, (title, methods) in zip(every, groups.items(), strict=True):
        plot_strips(methods, label, ax)
        ax.set_xlim(0, 1.03 * most or 1.0)
        ax.set_title(title)
    return figure


def with_verdict(figure: Figure, verdict: Verdict, where: str, key: str = "") -> Figure:
    """What the paper claims and what was found, in words above the panels; `key` explains marks."""
    said = (f"Paper: {verdict.paper}.", f"Found: {verdict.finding}. {where}", key)
    return headline(figure, "\n".join(filter(None, said)))


def headline(figure: Figure, words: str) -> Figure:
    """Words above all panels, in lines that fit; the figure grows by them."""
    drawn = figure.suptitle("", fontsize="medium", x=0.01, ha="left")
    wrap(drawn, words, figure.bbox.width - 16)
    lines = drawn.get_text().count("\n") + 1
    figure.set_figheight(figure.get_figheight() + 0.2 * lines)
    return figure
