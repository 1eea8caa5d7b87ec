"""Strips: a row a name, a dot each value, a mark at their middle."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from optsched.plotting.axes import (
    COLOURS,
    MARK,
    WIDTH,
    axes,
    headed,
    house_style,
    literal,
    short,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_LETTERS = 30
MOST_DOTS = 1500
"""Of a row: more of them only make a file large."""


@house_style()
def plot_strips(
    values: Mapping[str, Sequence[float]],
    label: str,
    ax: Axes | None = None,
    *,
    middle: Callable[[Sequence[float]], float] = fmean,
) -> Axes:
    """Draw values by name."""
    ax = axes(ax, WIDTH, 1.4 + 0.32 * len(values))
    for place, (name, found) in enumerate(values.items()):
        colour = COLOURS[place % len(COLOURS)]
        shown = sorted(found)[:: max(1, -(-len(found) // MOST_DOTS))]
        ax.scatter(
            *(shown, [place] * len(shown)),
            s=20,
            alpha=0.6,
            color=colour,
            label=name,
            zorder=2,
            clip_on=False,
        )
        if found:
            at = middle(found)
            ax.vlines(at, place - 0.3, place + 0.3, color=MARK, gid=f"middle {name}", zorder=3)
    ax.set_yticks(range(len(values)), [literal(short(name, MOST_LETTERS)) for name in values])
    ax.set_ylim(len(values) - 0.5, -0.5)
    ax.set_xlim(left=0 if max((x for found in values.values() for x in found), default=0) else None)
    ax.set_xlabel(label)
    headed(ax, handles=[])
    return ax
