"""Pictures of artefacts: figures without a screen, kept as PNG and PDF."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from optsched.extras import require_extras
from optsched.plotting.axes import COLOURS, MARK
from optsched.writing import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOTS_PER_INCH = 160


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of so many inches; raises MissingExtraError without matplotlib."""
    require_extras(["matplotlib"])
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def save(figure: Figure, folder: Path, name: str) -> None:
    """Keep a figure as ``NAME.png`` and ``NAME.pdf``; raises InputError."""
    for kind, hidden in (("png", "Software"), ("pdf", "CreationDate")):
        with replacing(folder / f"{name}.{kind}") as made:
            figure.savefig(made, format=kind, dpi=DOTS_PER_INCH, metadata={hidden: None})


def strips(groups: Mapping[str, Mapping[str, Sequence[float]]], label: str) -> Figure:
    """A panel a group, a strip a method: a dot each value, a tick at the mean."""
    figure = new_figure(4.2 * len(groups), 1.4 + 0.32 * max(len(g) for g in groups.values()))
    most = max((x for methods in groups.values() for v in methods.values() for x in v), default=0)
    panels = figure.subplots(1, len(groups), squeeze=False)[0]
    for ax, (title, methods) in zip(panels, groups.items(), strict=True):
        for row, (values, colour) in enumerate(zip(methods.values(), COLOURS, strict=False)):
            ax.plot(values, [row] * len(values), "o", color=colour, alpha=0.6, clip_on=False)
            if values:
                ax.plot([sum(values) / len(values)], [row], "|", color=MARK, markersize=16)
        ax.set_yticks(range(len(methods)), list(methods))
        ax.set_ylim(len(methods) - 0.5, -0.5)
        ax.set_xlim(0, 1.03 * most or 1.0)
        ax.set_title(title, loc="left", fontsize="medium")
        ax.set_xlabel(label)
        ax.spines[["top", "right"]].set_visible(False)
    return figure
