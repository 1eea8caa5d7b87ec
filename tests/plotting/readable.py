"""Whether the words of a picture can be read: none is cut off, none lies on another."""

from itertools import combinations

from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

SLACK = 1.5
"""Pixels that two boxes may share, or stand out of the picture: boxes are larger than letters."""


def faults(figure: Figure) -> list[str]:
    """What is cut off and what overlaps, as the renderer draws it."""
    figure.draw_without_rendering()
    whole = figure.bbox
    boxes = [(shown(text), text.get_window_extent()) for text in words(figure)]
    found = []
    for said, box in boxes:
        out = max(-box.x0, -box.y0, box.x1 - whole.x1, box.y1 - whole.y1)
        if out > SLACK:
            found.append(f"{said!r} is cut off by {out:.0f} pixels")
    for (one, first), (other, second) in combinations(boxes, 2):
        if common(first, second):
            found.append(f"{one!r} lies on {other!r}")
    for ax in figure.axes:
        legend = ax.get_legend()
        if legend is not None and common(legend.get_window_extent(), ax.bbox):
            found.append("a legend lies on the data")
    return found


def words(figure: Figure) -> list[Text]:
    """Every text that is drawn: of an axis the labels within its limits."""
    hidden = set()
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            seen = {id(tick) for tick in axis._update_ticks() if axis.get_visible()}
            for tick in (*axis.majorTicks, *axis.minorTicks):
                if id(tick) not in seen:
                    hidden |= {id(tick.label1), id(tick.label2)}
    return [
        text
        for text in figure.findobj(Text)
        if text.get_visible() and text.get_text().strip() and id(text) not in hidden
    ]


def common(first: Bbox, second: Bbox) -> bool:
    """Whether two boxes share more than a seam."""
    wide = min(first.x1, second.x1) - max(first.x0, second.x0)
    tall = min(first.y1, second.y1) - max(first.y0, second.y0)
    return wide > SLACK and tall > SLACK


def shown(text: Text) -> str:
    return text.get_text()[:30]
