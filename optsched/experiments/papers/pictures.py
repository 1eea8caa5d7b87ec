"""Pictures of artefacts: figures of one style, without a screen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from optsched.extras import require_extras
from optsched.plotting.axes import COLOURS, MARK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLE = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": "medium",
    "legend.frameon": False,
    "legend.fontsize": "small",
    "savefig.dpi": 160,
    "svg.fonttype": "none",
    "svg.hashsalt": "optsched",
}


@contextmanager
def house_style() -> Iterator[None]:
    """Draw and save figures in the one style; raises MissingExtraError without matplotlib."""
    require_extras(["matplotlib"])
    from matplotlib import rc_context

    with rc_context(STYLE):
        yield


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
        for row, (values, colour) in enumerate(zip(methods.values(), COLOURS, strict=False)):
            ax.plot(values, [row] * len(values), "o", color=colour, alpha=0.6, clip_on=False)
            if values:
                ax.plot([sum(values) / len(values)], [row], "|", color=MARK, markersize=16)
        ax.set_yticks(range(len(methods)), list(methods))
        ax.set_ylim(len(methods) - 0.5, -0.5)
        ax.set_xlim(0, 1.03 * most or 1.0)
        ax.set_title(title)
        ax.set_xlabel(label)
    return figure
