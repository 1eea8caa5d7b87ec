"""A run over time, panel by panel: what waits, what is in use, what it costs, what is late."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from optsched.plotting.axes import (
    WIDTH,
    clock,
    headed,
    look,
    robust_end,
    robust_scale,
    stacked,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_STEPS = 4000
"""Of a line; of more, means over as many equal spans are drawn."""
MOST_DOTS = 1500


@dataclass(frozen=True)
class Course:
    """What happened in a run, by the name of the panel: moments in seconds and what began then.

    Attributes
    ----------
    name : str
        Of the run.
    steps : mapping
        Levels that last until the next moment.
    dots : mapping
        A moment and a value in seconds a job; "{clock}" in a name is the unit they are drawn in.
    ends : array
        When each job was over.
    """

    name: str
    steps: Mapping[str, tuple[np.ndarray, np.ndarray]]
    dots: Mapping[str, tuple[np.ndarray, np.ndarray]]
    ends: np.ndarray


def draw_courses(courses: Sequence[Course], title: str, ax: Axes | None = None) -> Axes:
    """Draw runs below each other's lines, a panel a quantity; returns the upper panel."""
    ends = np.concatenate([course.ends for course in courses])
    per, unit = clock(float(ends.max(initial=0.0)))
    names = [*courses[0].steps, *courses[0].dots]
    panels = stacked(ax, len(names), WIDTH, 1.0 + 1.45 * len(names))
    for name, panel in zip(names, panels, strict=True):
        seen: list[float] = []
        for at, course in enumerate(courses):
            if name in course.steps:
                times, levels = thinned(*course.steps[name])
                times = times / per
                panel.step(
                    times, levels, where="post", linewidth=1.1, gid=f"{name} {course.name}",
                    **look(at, course.name),
                )  # fmt: skip
            else:
                times, levels = (each / per for each in course.dots[name])
                every = max(1, -(-len(times) // MOST_DOTS))
                times, levels = times[::every], levels[::every]
                dots = panel.scatter(times, levels, s=12, color=look(at)["color"], alpha=0.6)
                dots.set(linewidth=0, gid=f"{name} {course.name}")
            seen += levels.tolist()
        if not name.endswith("%"):
            robust_scale(panel.yaxis, seen)
        panel.set_ylim(bottom=0.0, top=None if any(seen) else 1.0)
        panel.set_ylabel(name.format(clock=unit).replace(", ", ",\n"))
    panels[0].figure.align_ylabels(panels)
    beyond = robust_end(panels[-1], ends / per, "jobs end")
    panels[-1].set_xlabel(f"{unit}{beyond}")
    headed(panels[0], title, panels[0].get_legend_handles_labels()[0])
    return panels[0]


def thinned(times: np.ndarray, levels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Steps as they are, or, of very many, their means over equal spans."""
    if len(times) <= MOST_STEPS:
        return times, levels
    edges = np.linspace(times[0], times[-1], MOST_STEPS + 1)
    area = np.concatenate(([0.0], np.cumsum(levels[:-1] * np.diff(times))))
    means = np.diff(np.interp(edges, times, area)) / np.diff(edges)
    return edges, np.append(means, levels[-1])


def level_of(changes: Sequence[tuple[float, float]]) -> tuple[np.ndarray, np.ndarray]:
    """Moments and the level from each on, of changes."""
    at = np.array(changes, dtype=np.float64).reshape(-1, 2)
    moments, which = np.unique(at[:, 0], return_inverse=True)
    steps = np.bincount(which.reshape(-1), weights=at[:, 1], minlength=len(moments))
    return moments, np.round(np.cumsum(steps), 9)
