"""How full each row is over time, where there are too many bars to tell them apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOMENTS = 400
MOST_ROWS = 400
"""More rows of GPUs are drawn together."""


def draw_density(ax: Axes, held: np.ndarray, sizes: Sequence[int], what: str) -> np.ndarray:
    """Draw the share of each row's GPUs in use over time as a colour, the busiest row first."""
    rows, start, end, gpus = held
    last = float(end.max(initial=0.0)) or 1.0
    edges = np.linspace(0.0, last, MOMENTS + 1)
    used = np.zeros((len(sizes), MOMENTS))
    for row in range(len(sizes)):
        mine = rows == row
        done = np.zeros(MOMENTS + 1)  # GPU time until each edge
        for since, until, count in zip(start[mine], end[mine], gpus[mine], strict=True):
            done += count * (np.minimum(edges, until) - np.minimum(edges, since))
        used[row] = np.diff(done) / (edges[1] * sizes[row])
    order = np.argsort(-used.sum(axis=1), kind="stable")
    busiest = used[order]
    # A group's share is that of all its GPUs: a row counts by its size.
    weights = np.asarray(sizes, dtype=float)[order][:, None]
    starts = np.arange(0, len(sizes), -(-len(sizes) // MOST_ROWS))
    shown = np.add.reduceat(busiest * weights, starts) / np.add.reduceat(weights, starts)
    picture = ax.imshow(
        shown, aspect="auto", extent=(0.0, last, len(sizes), 0.0), cmap="Blues", vmin=0.0,
        vmax=1.0, interpolation="nearest", gid="density",
    )  # fmt: skip
    bar = ax.figure.colorbar(picture, ax=ax, fraction=0.05, pad=0.02)
    bar.set_ticks([0, 0.25, 0.5, 0.75, 1], labels=["0", "25", "50", "75", "100"])
    bar.set_label("GPUs in use, %")
    ax.set_ylabel(f"{what}s, the busiest first")
    return shown
