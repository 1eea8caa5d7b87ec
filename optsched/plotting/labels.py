"""Text inside bars, next to them and in front of rows, where it fits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from optsched.plotting.axes import literal, short, text_colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_ROW_NAMES = 40


class Label(NamedTuple):
    """Text for a box of a colour, in data coordinates."""

    words: str
    x: tuple[float, float]
    y: tuple[float, float]
    face: str | tuple[float, ...] = "white"


def label_inside(ax: Axes, labels: Iterable[Label]) -> None:
    """Write each label into its box: in full, shortened, or not at all if it does not fit."""
    run_layout(ax)
    to_pixels = ax.transData.transform
    size = ax.text(0, 0, "0", fontsize="x-small", in_layout=False)
    letter = size.get_window_extent()
    size.remove()
    for label in labels:
        corners = to_pixels([(label.x[0], label.y[0]), (label.x[1], label.y[1])])
        width, height = np.abs(corners[1] - corners[0]) - 2
        if height < letter.height or width < letter.width:
            continue
        text = ax.text(
            sum(label.x) / 2, sum(label.y) / 2, "", color=text_colour(label.face),
            ha="center", va="center", fontsize="x-small", zorder=6, in_layout=False,
            bbox={"facecolor": label.face, "edgecolor": "none", "pad": 0.5},
        )  # fmt: skip
        for words in dict.fromkeys((label.words, *(short(label.words, n) for n in (12, 8, 5)))):
            text.set_text(literal(words))
            box = text.get_window_extent()
            if box.width <= width and box.height <= height + 2:
                break
        else:
            text.remove()


def name_rows(ax: Axes, names: Sequence[str], limit: int | None = None) -> None:
    """Name the rows 0, 1, ... from the top; beyond `limit` only every second, third, ..."""
    step = 1 if limit is None else -(-len(names) // limit)
    shown = range(0, len(names), step)
    ax.set_yticks(shown, [literal(names[row]) for row in shown])
    ax.set_ylim(len(names) - 0.4, -0.6)


def label_gpu_rows(ax: Axes, names: Sequence[str], gpus: int) -> None:
    """Label rows of GPUs, one per server or node, and the x axis that counts their GPUs."""
    name_rows(ax, names, MAX_ROW_NAMES)
    ax.tick_params(axis="y", length=0)
    ax.set_xlim(0, gpus)
    ax.set_xticks(range(0, gpus + 1, -(-gpus // 8)))
    ax.set_xlabel("GPUs")
    ax.spines["left"].set_visible(False)
    ax.spines["bottom"].set_bounds(0, gpus)


def widen_for_labels(ax: Axes) -> None:
    """Widen the x axis until the text next to the data ends inside it."""
    for text in ax.texts:
        text.set_in_layout(False)
    run_layout(ax)
    scale = ax.xaxis.get_transform()
    low, high = scale.transform(np.asarray(ax.get_xlim()))
    box = ax.get_window_extent()
    stretch = 1.0
    for text in ax.texts:
        at = ax.transData.transform((float(getattr(text, "xy", text.get_position())[0]), 0))[0]
        start = (at - box.x0) / box.width
        free = 1 - (text.get_window_extent().x1 - at + 2) / box.width
        stretch = max(stretch, start / max(free, 0.1))
    ax.set_xlim(right=float(scale.inverted().transform(low + (high - low) * stretch)))


def run_layout(ax: Axes) -> None:
    """Run the figure's layout, so that lengths in pixels are final."""
    figure = ax.figure.canvas.figure
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)


def thin_rows(ax: Axes) -> None:
    """Hide row names that would overlap the name above."""
    run_layout(ax)
    last, height = float("inf"), 0.0
    placed = [
        (float(ax.transData.transform((0.0, label.get_position()[1]))[1]), label)
        for label in ax.get_yticklabels()
    ]
    for at, label in sorted(placed, key=lambda pair: -pair[0]):
        if label.get_text() and last - at < height:
            label.set_visible(False)
        else:
            last, height = at, label.get_window_extent().height
