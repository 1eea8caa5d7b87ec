"""The style of every picture: size, colours, scales, and text that fits its space.

A picture is as wide as a printed column. A drawing function is decorated with ``@house_style()``,
takes its Axes from `axes`, and ends with `add_heading`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from optsched.errors import require_extras

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.text import Text

COLOURS = (
    *("#332288", "#cc6677", "#44aa99", "#117733", "#ddcc77"),
    *("#aa4499", "#88ccee", "#999933", "#882255"),
)
"""Paul Tol's muted scheme: colour-blind readers can distinguish it, and none of it is grey."""
DASHES = ("-", "--", "-.", ":")
"""Line styles: they distinguish lines without colours too."""
MARK_COLOUR = "#000000"
FAINT = "#d9d9d9"
"""Colour of shapes behind the data."""
NOTE_COLOUR = "#595959"
"""Colour of the text that describes faint shapes."""

STYLE = {
    "axes.prop_cycle": f"cycler('color', {list(COLOURS)})",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": "medium",
    "figure.labelsize": "medium",
    "figure.titlesize": "medium",
    "font.size": 11.0,
    "hatch.linewidth": 0.6,
    "legend.fontsize": "small",
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "savefig.dpi": 160,
    "svg.fonttype": "none",
    "svg.hashsalt": "optsched",
    "xtick.labelsize": "small",
    "ytick.labelsize": "small",
}
"""matplotlib's settings for every figure."""

WIDTH = 6.6
"""Width of a picture with one panel, inches."""
LONGEST_LABEL, LONGEST_IN_LEGEND = 24, 40
MIN_LINE_LETTERS = 12
LEGEND_COLUMNS = 4
NARROW_LEGENDS = ((1, 28), (1, 16), (1, 8))
"""Columns and letters of a name to try when a legend of `LONGEST_IN_LEGEND` does not fit."""
UNITS = {"ms": "milliseconds", "s": "seconds", "h": "hours", "$": "dollars", "J": "joules"}
"""Units of the tables, as an axis names them."""
LINEAR_RATIO = 20.0
"""Ratio of the largest value to the median up to which a scale stays linear."""
SYMLOG_RATIO = 1e5
"""Largest ratio of the maximum to the linear threshold of a symlog scale."""
SHOWN_SHARE, STRETCH = 0.98, 1.5
"""A time axis is clipped if the last 2% of the ends would stretch it more than 1.5 times."""


@contextmanager
def house_style() -> Iterator[None]:
    """Draw and save figures in the one style; raises MissingExtraError without matplotlib."""
    require_extras(["matplotlib"])
    from matplotlib import interactive, is_interactive, rc_context

    with rc_context(STYLE):
        try:
            yield
        finally:
            shows = is_interactive()
    interactive(shows)  # loading a notebook backend switches it on


def axes(ax: Axes | None, width: float, height: float) -> Axes:
    """Return the axes given, or those of a new figure of this size in inches."""
    import matplotlib.pyplot as plt

    if ax is None:
        return plt.subplots(figsize=(width, height), layout="constrained")[1]
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def stacked(ax: Axes | None, rows: int, width: float, height: float) -> list[Axes]:
    """Return panels below each other that share an x axis, in place of `ax` or on a new figure."""
    ax = axes(ax, width, height)
    if rows == 1:
        return [ax]
    place = ax.get_subplotspec()
    assert place is not None
    figure = ax.figure
    ax.remove()
    panels: list[Axes] = []
    grid = place.subgridspec(rows, 1)
    for row in range(rows):
        panels.append(figure.add_subplot(grid[row], sharex=panels[0] if panels else None))
    for panel in panels[:-1]:
        panel.tick_params(labelbottom=False)
    return panels


def add_heading(ax: Axes, title: str = "", handles: Sequence[Any] | None = None) -> None:
    """Put the title above the axes, wrapped to their width, and the legend between the two."""
    handles = ax.get_legend_handles_labels()[0] if handles is None else handles
    width = _available_width(ax)
    legend_height = 0.0
    columns_and_letters = [
        *((n, LONGEST_IN_LEGEND) for n in range(min(LEGEND_COLUMNS, len(handles)), 0, -1)),
        *NARROW_LEGENDS,
    ]
    for columns, longest in columns_and_letters if handles else ():
        legend = ax.legend(
            handles,
            [str(number) for number in range(len(handles))],
            loc="lower left",
            bbox_to_anchor=(0.0, 1.0),
            ncols=columns,
            borderaxespad=0.2,
            columnspacing=1.4,
            fontsize="small",
            frameon=False,
        )
        for text, handle in zip(legend.get_texts(), handles, strict=True):
            text.set_text(literal(short(str(handle.get_label()), longest)))
        box = legend.get_window_extent()
        legend_height = box.height * 72 / ax.figure.dpi
        if box.width <= width:
            break
    wrap(ax.xaxis.label, ax.get_xlabel().replace("\\$", "$"), width)
    wrap(ax.set_title("", loc="left", fontsize="medium", pad=6 + legend_height), title, width)


def faint_axis(ax: Axes, label: str, top: float) -> Axes:
    """A second y axis from 0 to `top` for a shape behind the data."""
    right_axis = ax.twinx()
    right_axis.set_ylim(0, top)
    right_axis.set_ylabel(label, color=NOTE_COLOUR)
    right_axis.spines["right"].set_visible(True)
    ax.set_zorder(right_axis.get_zorder() + 1)
    ax.patch.set_visible(False)
    return right_axis


def legend_below(figure: Figure, ax: Axes) -> None:
    """Put one legend below all panels, with the names of one panel's lines."""
    handles, names = ax.get_legend_handles_labels()
    for columns in range(LEGEND_COLUMNS, 0, -1):
        legend = figure.legend(handles, names, loc="outside lower center", ncols=columns)
        if legend.get_window_extent().width <= figure.bbox.width or columns == 1:
            break
        legend.remove()


def wrap(drawn: Text, words: str, width: float) -> None:
    """Wrap text to a width in pixels; existing line ends stay."""
    lines = words.split("\n")
    letters = max(map(len, lines))
    drawn.set_text(literal(words))
    while (drawn_width := drawn.get_window_extent().width) > width and letters > MIN_LINE_LETTERS:
        letters = max(min(int(letters * width / drawn_width), letters - 1), MIN_LINE_LETTERS)
        parts = (textwrap.wrap(line, letters, break_on_hyphens=False) for line in lines)
        drawn.set_text(literal("\n".join(part for wrapped in parts for part in wrapped)))


def _available_width(ax: Axes) -> float:
    """Pixels from the left of the axes to the right end of its part of the figure."""
    place = ax.get_subplotspec()
    if place is None or ax.figure.get_layout_engine() is None:
        return float(ax.bbox.width)
    whole = place.get_topmost_subplotspec()
    share = len(whole.colspan) / whole.get_gridspec().ncols
    labels = ax.yaxis.get_tightbbox()
    label_width = 0.0 if labels is None else labels.width
    return float(max(ax.figure.bbox.width * share - label_width - 12, 60.0))


def robust_scale(axis: Axis, values: Iterable[float | None], ignore_below: float = 0.0) -> None:
    """Make a scale symlog if the largest values would flatten the others on a linear one."""
    finite = np.sort([abs(v) for v in values if v is not None and np.isfinite(v)])
    finite = finite[finite > ignore_below]
    if not len(finite) or finite[-1] <= LINEAR_RATIO * finite[(len(finite) - 1) // 2]:
        return
    threshold = 10.0 ** np.floor(np.log10(max(finite[len(finite) // 4], finite[-1] / SYMLOG_RATIO)))
    from matplotlib.axis import XAxis
    from matplotlib.ticker import SymmetricalLogLocator

    across = isinstance(axis, XAxis)
    subs = [1, 3] if finite[-1] / threshold <= (100 if across else 1e4) else [1]
    (axis.axes.set_xscale if across else axis.axes.set_yscale)("symlog", linthresh=threshold)
    axis.set_major_locator(SymmetricalLogLocator(base=10, linthresh=threshold, subs=subs))
    axis.set_major_formatter(lambda value, _: compact(value))


def robust_end(ax: Axes, ends: Sequence[float] | np.ndarray, what: str) -> str:
    """Limit the x axis if a few late ends would stretch it; return a note that counts them."""
    finite = np.sort(np.asarray(ends, dtype=np.float64))
    if not len(finite):
        return ""
    shared_axes = ax.get_shared_x_axes().get_siblings(ax)
    ax.set_xlim(left=min(panel.dataLim.x0 for panel in shared_axes))
    last = float(np.quantile(finite, SHOWN_SHARE)) * 1.05
    if finite[-1] <= STRETCH * last:
        return ""
    ax.set_xlim(right=last)
    clipped = int((finite > last).sum())
    return f"; {clipped} of {len(finite):,} {what} later, the last at {compact(float(finite[-1]))}"


def time_unit(last: float) -> tuple[float, str]:
    """Unit of a time axis that ends at `last` seconds: its length in seconds, and its name."""
    for seconds, name in ((3600.0, "hours"), (60.0, "minutes")):
        if last > 2 * seconds:
            return seconds, name
    return 1.0, "seconds"


def literal(words: str) -> str:
    """Escape "$", which would start a formula."""
    return words.replace("$", r"\$")


def line_style(number: int, label: str | None = None) -> dict[str, Any]:
    colour, dash = COLOURS[number % len(COLOURS)], DASHES[number % len(DASHES)]
    return {"color": colour, "linestyle": dash, "label": label}


def compact(value: float) -> str:
    """A number with four significant digits, or as an integer from 1,000 on."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def short(name: str, longest: int = LONGEST_LABEL) -> str:
    """Shorten a name by cutting out its middle."""
    if len(name) <= longest:
        return name
    tail = (longest - 1) // 2
    return f"{name[: longest - 1 - tail]}…{name[-tail:]}"


def text_colour(colour: str | tuple[float, ...]) -> str:
    """Black or white, whichever reads better on a colour."""
    from matplotlib.colors import to_rgb

    red, green, blue = to_rgb(colour)
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"
