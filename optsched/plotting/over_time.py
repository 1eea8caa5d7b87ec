"""Runs over time, panel by panel: waiting jobs, utilisation, cost, lateness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from optsched.plotting.axes import (
    WIDTH,
    add_heading,
    line_style,
    robust_end,
    robust_scale,
    stacked,
    time_unit,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_STEPS = 4000
"""Largest number of steps of a line; longer series are averaged over equal intervals."""
MAX_DOTS = 1500
SINGLE_HEIGHT, FIRST_HEIGHT, PANEL_HEIGHT = 3.8, 1.0, 1.45
"""Height in inches of a single panel; of the frame and of each panel where there are several."""
Series = tuple[np.ndarray, np.ndarray]
"""Times in seconds, and a value for each."""


@dataclass(frozen=True)
class History:
    """Quantities of one run over time, by the name of their panel."""

    name: str  # name of the run
    ends: np.ndarray  # seconds at which the jobs ended
    steps: Mapping[str, Series]  # levels that last until the next time
    # seconds as values, one per job; "{clock}" in a name stands for the unit of the axis
    dots: Mapping[str, Series] = field(default_factory=dict)


def draw_over_time(histories: Sequence[History], title: str, ax: Axes | None = None) -> Axes:
    """Draw runs as lines or dots, a panel for each quantity; return the upper panel."""
    ends = np.concatenate([history.ends for history in histories])
    per, unit = time_unit(float(ends.max(initial=0.0)))
    names = [*histories[0].steps, *histories[0].dots]
    height = FIRST_HEIGHT + PANEL_HEIGHT * len(names) if len(names) > 1 else SINGLE_HEIGHT
    panels = stacked(ax, len(names), WIDTH, height)
    for name, panel in zip(names, panels, strict=True):
        all_values: list[float] = []
        for number, history in enumerate(histories):
            style, gid = line_style(number, history.name), f"{name} {history.name}"
            if name in history.steps:
                times, levels = thinned(*history.steps[name])
                panel.step(times / per, levels, where="post", linewidth=1.1, gid=gid, **style)
            else:
                times, levels = (series / per for series in history.dots[name])
                every = max(1, -(-len(times) // MAX_DOTS))
                times, levels = times[::every], levels[::every]
                dots = panel.scatter(times, levels, s=12, color=style["color"], alpha=0.6)
                dots.set(linewidth=0, gid=gid)
            all_values += levels.tolist()
        if not name.endswith("%"):
            robust_scale(panel.yaxis, all_values)
        panel.set_ylim(bottom=0.0, top=None if any(all_values) else 1.0)
        panel.set_ylabel(name.format(clock=unit).replace(", ", ",\n" if len(names) > 1 else ", "))
    panels[0].figure.align_ylabels(panels)
    clipped_note = robust_end(panels[-1], ends / per, "jobs end")
    panels[-1].set_xlabel(f"{unit}{clipped_note}")
    add_heading(panels[0], title, panels[0].get_legend_handles_labels()[0])
    return panels[0]


def thinned(times: np.ndarray, levels: np.ndarray) -> Series:
    """Average a long series of steps over equal intervals."""
    if len(times) <= MAX_STEPS:
        return times, levels
    edges = np.linspace(times[0], times[-1], MAX_STEPS + 1)
    area = np.concatenate(([0.0], np.cumsum(levels[:-1] * np.diff(times))))
    means = np.diff(np.interp(edges, times, area)) / np.diff(edges)
    return edges, np.append(means, levels[-1])


def cumulative_level(changes: Sequence[tuple[float, float]]) -> Series:
    """Times, and the sum of all changes up to each."""
    rows = np.array(changes, dtype=np.float64).reshape(-1, 2)
    times, inverse = np.unique(rows[:, 0], return_inverse=True)
    steps = np.bincount(inverse.reshape(-1), weights=rows[:, 1], minlength=len(times))
    return times, np.round(np.cumsum(steps), 9)
