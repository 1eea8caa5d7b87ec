"""Packings: GPUs allocated as tasks arrive, beside the bound; and why GPUs are idle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from optsched.methods import solve
from optsched.packing.bounds.columns import allocated_at_most
from optsched.packing.explain import Breakdown
from optsched.packing.instance import MILLI, PackingInstance
from optsched.packing.solution import PackingSolution
from optsched.packing.tables import Tables
from optsched.plotting.arguments import breakdown_of, instance_of, loaded_solution
from optsched.plotting.axes import (
    COLOURS,
    MARK_COLOUR,
    WIDTH,
    add_heading,
    axes,
    house_style,
    short,
)
from optsched.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from optsched.typing import InstanceLike, SolutionLike

POINTS = 131


def allocation_curve(
    instance: PackingInstance, solution: PackingSolution
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """GPUs requested and allocated after each arrival, in percent of the cluster's.

    Parameters
    ----------
    instance : PackingInstance
        The instance.
    solution : PackingSolution
        A packing of it.

    Returns
    -------
    tuple of ndarray
        Both of the arrivals' length.
    """
    milli = np.array([instance.tasks[t].gpu_milli for t in instance.arrivals])
    placed = np.zeros(len(milli), dtype=bool)
    placed[[placement.task for placement in solution.placements]] = True
    percent = 100 / (MILLI * instance.gpus)
    return percent * np.cumsum(milli), percent * np.cumsum(np.where(placed, milli, 0))


@house_style()
def plot_allocation(
    instance: InstanceLike,
    solution: SolutionLike | Sequence[SolutionLike] | None = None,
    ax: Axes | None = None,
    published: Mapping[str, Sequence[float]] | None = None,
) -> Axes:
    """Draw the GPUs allocated against the GPUs requested so far, beside the bound.

    Parameters
    ----------
    instance : object, name or path
        A packing instance.
    solution : solution, result, name or path, or a sequence of them, optional
        Packings; by default that of policy ``fgd``.
    ax : Axes, optional
        Where to draw; by default on a new figure.
    published : mapping, optional
        Curves of others by name: percent allocated after 0, 1, 2, ... percent are requested.

    Returns
    -------
    Axes
        A packing's line has the gid ``allocated-I`` for its number, the bound's ``bound``, a
        published one's ``published-NAME``.
    """
    loaded = instance_of(instance, PackingInstance)
    given = solve(loaded, "fgd") if solution is None else solution
    solutions = given if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    ax = axes(ax, WIDTH, 3.8)
    last = 100 * loaded.requested_milli / (MILLI * loaded.gpus)
    requested = np.linspace(0, last, POINTS)
    bound = allocated_at_most(Tables(loaded), (requested * loaded.gpus / 100).tolist())
    ax.plot(requested, 100 * bound / loaded.gpus, color=MARK_COLOUR, label="bound", gid="bound")
    for name, curve in (published or {}).items():
        ax.plot(
            range(len(curve)), curve, ":", color=MARK_COLOUR, label=name, gid=f"published-{name}"
        )
    for index, decided in enumerate(solutions):
        packing = loaded_solution(loaded, decided, PackingSolution)
        label = decided.method if isinstance(decided, Result) else f"packing {index + 1}"
        curve_x, curve_y = allocation_curve(loaded, packing)
        colour = COLOURS[index % len(COLOURS)]
        ax.plot(curve_x, curve_y, color=colour, label=label, gid=f"allocated-{index}")
    ax.set_xlabel("GPUs requested so far, % of the cluster")
    ax.set_ylabel("GPUs allocated, %")
    add_heading(ax, short(loaded.name, 60), ax.get_legend_handles_labels()[0])
    return ax


@house_style()
def plot_idle(
    instance: InstanceLike, solution: SolutionLike | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the idle GPUs by what keeps the rejected tasks off them.

    Parameters
    ----------
    instance : object, name or path
        A packing instance.
    solution : solution, result, name or path, optional
        A packing; by default that of policy ``fgd``.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    Axes
        A bar's gid is ``idle-REASON``.
    """
    loaded = instance_of(instance, PackingInstance)
    decided = solve(loaded, "fgd") if solution is None else solution
    breakdown = breakdown_of(loaded, decided, Breakdown)
    ax = axes(ax, WIDTH, 1.4 + 0.42 * max(len(breakdown.rows), 1))
    for y, row in enumerate(breakdown.rows):
        ax.barh(y, row.gpus, color=COLOURS[0], gid=f"idle-{row.reason.replace(' ', '-')}")
    ax.set_yticks(range(len(breakdown.rows)), [row.reason for row in breakdown.rows])
    ax.invert_yaxis()
    ax.set_xlabel("idle GPUs")
    add_heading(ax, breakdown.table()[0])
    return ax
