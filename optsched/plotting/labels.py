"""Words inside of bars and beside them, where there is room for them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from optsched.plotting.axes import ink, literal, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Label(NamedTuple):
    """Words for a box of some colour, in the units of the data."""

    words: str
    x: tuple[float, float]
    y: tuple[float, float]
    face: str | tuple[float, ...] = "white"


def label_inside(ax: Axes, labels: Iterable[Label]) -> None:
    """Write each label into its box, where it fits: as it is, cut in its middle, or not at all."""
    settle(ax)
    where = ax.transData.transform
    size = ax.text(0, 0, "0", fontsize="x-small", in_layout=False)
    letter = size.get_window_extent()
    size.remove()
    for label in labels:
        corners = where([(label.x[0], label.y[0]), (label.x[1], label.y[1])])
        wide, tall = np.abs(corners[1] - corners[0]) - 2
        if tall < letter.height or wide < letter.width:
            continue
        text = ax.text(
            sum(label.x) / 2, sum(label.y) / 2, "", color=ink(label.face), ha="center", va="center",
            fontsize="x-small", zorder=6, in_layout=False,
            bbox={"facecolor": label.face, "edgecolor": "none", "pad": 0.5},
        )  # fmt: skip
        for words in dict.fromkeys((label.words, *(short(label.words, n) for n in (12, 8, 5)))):
            text.set_text(literal(words))
            box = text.get_window_extent()
            if box.width <= wide and box.height <= tall + 2:
                break
        else:
            text.remove()


def make_room(ax: Axes) -> None:
    """Widen the x axis until the words that stand beside the data end inside of it."""
    for text in ax.texts:
        text.set_in_layout(False)
    settle(ax)
    scale = ax.xaxis.get_transform()
    low, high = scale.transform(np.asarray(ax.get_xlim()))
    box = ax.get_window_extent()
    wider = 1.0
    for text in ax.texts:
        at = ax.transData.transform((float(getattr(text, "xy", text.get_position())[0]), 0))[0]
        part = (at - box.x0) / box.width
        left = 1 - (text.get_window_extent().x1 - at + 2) / box.width
        wider = max(wider, part / max(left, 0.1))
    ax.set_xlim(right=float(scale.inverted().transform(low + (high - low) * wider)))


def settle(ax: Axes) -> None:
    """Place the axes where they will be drawn, so that lengths of pixels are known."""
    figure = ax.figure.canvas.figure
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)


def thin_rows(ax: Axes) -> None:
    """Leave out names of rows that would lie on the one above."""
    settle(ax)
    last, tall = float("inf"), 0.0
    for label in sorted(
        ax.get_yticklabels(), key=lambda each: -_height(ax, each.get_position()[1])
    ):
        at = _height(ax, label.get_position()[1])
        if label.get_text() and last - at < tall:
            label.set_visible(False)
        else:
            last, tall = at, label.get_window_extent().height


def _height(ax: Axes, y: float) -> float:
    return float(ax.transData.transform((0.0, y))[1])
