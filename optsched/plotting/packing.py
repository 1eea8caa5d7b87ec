"""Packings: GPUs allocated as tasks arrive, beside the bound and published curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from optsched.methods import solve
from optsched.packing.bounds.columns import allocated_at_most
from optsched.packing.instance import MILLI, PackingInstance
from optsched.packing.solution import PackingSolution
from optsched.packing.tables import Tables
from optsched.plotting.arguments import instance_of, loaded_solution
from optsched.plotting.axes import MARK_COLOUR, WIDTH, add_heading, axes, house_style, short
from optsched.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from optsched.typing import InstanceLike, SolutionLike

POINTS = 131


def allocation_curve(tables: Tables, solution: PackingSolution) -> Any:
    """GPUs requested and allocated after each arrival, in percent of the cluster's."""
    milli = tables.demand[tables.arrivals, 2]
    placed = np.isin(np.arange(len(milli)), [placed.task for placed in solution.placements])
    return np.cumsum([milli, milli * placed], axis=1) / (MILLI * tables.instance.gpus / 100)


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
    given: Any = solve(loaded, "fgd") if solution is None else solution
    ax, tables, percent = axes(ax, WIDTH, 3.8), Tables(loaded), 100 / loaded.gpus
    requested = np.linspace(0, loaded.requested_milli / MILLI, POINTS)
    bound = allocated_at_most(tables, requested.tolist())
    ax.plot(percent * requested, percent * bound, color=MARK_COLOUR, label="bound", gid="bound")
    for name, curve in (published or {}).items():
        gid = f"published-{name}"
        ax.plot(range(len(curve)), curve, ":", color=MARK_COLOUR, label=name, gid=gid)
    for index, decided in enumerate(given if isinstance(given, list | tuple) else [given]):
        packing = loaded_solution(loaded, decided, PackingSolution)
        label = decided.method if isinstance(decided, Result) else f"packing {index + 1}"
        ax.plot(*allocation_curve(tables, packing), label=label, gid=f"allocated-{index}")
    ax.set_xlabel("GPUs requested so far, % of the cluster")
    ax.set_ylabel("GPUs allocated, %")
    add_heading(ax, short(loaded.name, 60), ax.get_legend_handles_labels()[0])
    return ax
