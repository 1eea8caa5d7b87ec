"""Strips: a row a name, a dot each value, a mark at their mean or median."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from optsched.plotting.axes import COLOURS, MARK, WIDTH, axes, headed, house_style, short
from optsched.plotting.labels import name_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_LETTERS = 30
MAX_DOTS = 1500
"""Dots of a row: more only make a file larger."""


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
    for row, (name, numbers) in enumerate(values.items()):
        shown = sorted(numbers)[:: max(1, -(-len(numbers) // MAX_DOTS))]
        ax.scatter(
            shown, [row] * len(shown), s=20, alpha=0.6, color=COLOURS[row % len(COLOURS)],
            label=name, zorder=2, clip_on=False,
        )  # fmt: skip
        if numbers:
            mark = middle(numbers)
            ax.vlines(mark, row - 0.3, row + 0.3, color=MARK, gid=f"middle {name}", zorder=3)
    name_rows(ax, [short(name, MAX_LETTERS) for name in values])
    largest = max((x for numbers in values.values() for x in numbers), default=0)
    ax.set_xlim(left=0 if largest else None)
    ax.set_xlabel(label)
    headed(ax, handles=[])
    return ax
