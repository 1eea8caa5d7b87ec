"""What the pictures share: axes to draw on, colours, and text that stays text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from optsched.extras import require_extras

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

COLOURS = (
    "#88ccee",
    "#cc6677",
    "#ddcc77",
    "#117733",
    "#aa4499",
    "#44aa99",
    "#332288",
    "#999933",
    "#882255",
)
"""Paul Tol's muted scheme: distinguishable to colour-blind eyes, and none of them grey."""

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
"""Of every figure that is kept in a file."""

MARK = "#000000"
LONGEST_LABEL = 24
LEGEND_COLUMNS = 4


@contextmanager
def house_style() -> Iterator[None]:
    """Draw and save figures in the one style; raises MissingExtraError without matplotlib."""
    require_extras(["matplotlib"])
    from matplotlib import rc_context

    with rc_context(STYLE):
        yield


def axes(ax: Axes | None, width: float, height: float) -> Axes:
    """The axes given, or those of a new figure of so many inches.

    Parameters
    ----------
    ax : Axes or None
        Where to draw; by default on a new figure.
    width : float
        Inches.
    height : float
        Inches.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    require_extras(["matplotlib"])
    import matplotlib.pyplot as plt

    if ax is not None:
        return ax
    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def legend_above(ax: Axes, handles: Sequence[Artist]) -> None:
    """Put the legend between the axes and the title, where no bar or label can reach it.

    Parameters
    ----------
    ax : Axes
        The picture.
    handles : sequence of Artist
        What the legend names.
    """
    rows = -(-len(handles) // LEGEND_COLUMNS)
    ax.legend(
        handles=handles,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=LEGEND_COLUMNS,
        borderaxespad=0.2,
        frameon=False,
        fontsize="small",
    )
    ax.set_title(ax.get_title(loc="left"), loc="left", fontsize="medium", pad=8 + 16 * rows)


def literal(words: str) -> str:
    """Words as matplotlib draws them unchanged: a "$" in a name starts no formula."""
    return words.replace("$", r"\$")


def figures(value: float) -> str:
    """A number in four figures or all before its point, never in powers of ten when large."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def short(name: str, longest: int = LONGEST_LABEL) -> str:
    """A name as a label shows it, cut in its middle.

    Parameters
    ----------
    name : str
        The whole name.
    longest : int, optional
        Characters at most.
    """
    if len(name) <= longest:
        return name
    kept = (longest - 1) // 2
    return f"{name[: longest - 1 - kept]}…{name[-kept:]}"


def ink(colour: tuple[float, float, float, float]) -> str:
    """Black or white, whichever reads better on a colour."""
    red, green, blue, _ = colour
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"
