"""A speed profile: GPUs against epochs, over the probability that the epoch is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from optsched import interrupts
from optsched.methods import solve
from optsched.plotting.arguments import instance_of, loaded_solution
from optsched.plotting.axes import (
    COLOURS,
    FAINT,
    WIDTH,
    add_heading,
    axes,
    compact,
    faint_axis,
    house_style,
    short,
)
from optsched.speed_profile.instance import SpeedProfileInstance
from optsched.speed_profile.profile import curve_of
from optsched.speed_profile.solution import SpeedProfileSolution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from optsched.typing import InstanceLike, SolutionLike


@house_style()
def plot_speed_profile(
    instance: InstanceLike, solution: SolutionLike | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the GPUs of each epoch over F^c, the probability that the epoch is needed.

    Parameters
    ----------
    instance : object, name or path
        A job on GPUs of one type.
    solution : solution, name or path, optional
        A profile; by default the optimal one.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    Axes
        The steps have the gid ``gpus``, the shaded F^c ``survival`` on a second scale.
    """
    loaded = instance_of(instance, SpeedProfileInstance)
    if solution is None:
        solution = solve(loaded)
        interrupts.raise_if_received()
    profile = loaded_solution(loaded, solution, SpeedProfileSolution)
    ax = axes(ax, WIDTH, 3.8)
    curve = curve_of(loaded)
    right_axis = faint_axis(ax, "P(W > w): the epoch is needed", 1.05)
    epochs = np.column_stack([curve.knots[:-1], curve.knots[1:]]).ravel()
    survival = np.column_stack([curve.high, curve.low]).ravel()
    right_axis.fill_between(epochs, survival, color=FAINT, linewidth=0, gid="survival")
    if profile.pieces:
        ends = [profile.pieces[0].from_, *(piece.to for piece in profile.pieces)]
        gpus = [piece.speed + 1 for piece in profile.pieces]
        ax.stairs(gpus, ends, color=COLOURS[0], linewidth=2.2, baseline=None, gid="gpus")
    ax.set_ylim(0, len(loaded.speeds) + 0.5)
    ax.set_yticks(range(0, len(loaded.speeds) + 1, -(-len(loaded.speeds) // 8)))
    ax.set_xlim(curve.knots[0], curve.knots[-1])
    ax.set_xlabel("epochs done")
    ax.set_ylabel("GPUs")
    spent = sum((p.to - p.from_) / loaded.speeds[p.speed] for p in profile.pieces)
    title = (
        f"{short(loaded.name, 40)}: {profile.status}, at most {compact(spent)} s "
        f"of {compact(loaded.deadline)} s"
    )
    add_heading(ax, title)
    return ax
