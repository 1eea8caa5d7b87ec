"""Selections: the jobs on each node's GPUs, and their cost in parts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from optsched.methods import problem_for, solution_of, solve
from optsched.plotting.arguments import breakdown_of, instance_of, solution_in
from optsched.plotting.axes import (
    COLOURS,
    WIDTH,
    axes,
    figures,
    headed,
    house_style,
    short,
)
from optsched.plotting.labels import (
    Label,
    label_gpu_rows,
    label_inside,
    make_room,
    name_rows,
    thin_rows,
)
from optsched.result import Result
from optsched.selection.explain import Breakdown
from optsched.selection.instance import SelectionInstance
from optsched.selection.solution import SelectionSolution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from optsched.plotting.arguments import Decided
    from optsched.typing import AnInstance

BAR = 0.82
PARTS = {"energy": COLOURS[3], "tardiness": COLOURS[1], "postponement": COLOURS[4]}
"""Parts of the cost, and their colours."""
IDLE = "#eeeeee"
Selected = Result | SelectionSolution | str


@house_style()
def plot_selection(instance: AnInstance, solution: Decided, ax: Axes | None = None) -> Axes:
    """Draw nodes x GPUs: each job's GPUs in its colour, a shared GPU cut by its fractions.

    Parameters
    ----------
    instance, solution : objects, names or paths
        A selection that `optsched.check` accepts.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    Axes
        Each job's cells have the gid ``job-NAME``; a black frame marks the job that ends first on
        its node and pays for it.
    """
    given = instance_of(instance, SelectionInstance)
    selection = solution_in(solution_of(problem_for(given), solution), SelectionSolution)
    breakdown = breakdown_of(given, selection, Breakdown)
    ax = axes(ax, WIDTH, min(1.8 + 0.3 * len(given.nodes), 14))
    for row, node in enumerate(given.nodes):
        ax.barh(row, node.gpus, BAR, color=IDLE)
    labels = _draw_jobs(ax, given, selection, {row.first for row in breakdown.nodes})
    gpus = max(node.gpus for node in given.nodes)
    ax.vlines(range(1, gpus), -0.5, len(given.nodes) - 0.5, color="white", linewidth=1.5)
    names = [f"{short(node.name)} ({short(node.gpu_type)})" for node in given.nodes]
    label_gpu_rows(ax, names, gpus)
    ax.set_xlabel("GPUs; grey: idle; framed: first to end on its node")
    waiting = sum(placement.node is None for placement in selection.jobs)
    title = (
        f"{short(breakdown.instance)}: {figures(breakdown.total)} dollars expected, "
        f"{len(breakdown.nodes)} of {len(given.nodes)} nodes open, {waiting} jobs postponed"
    )
    headed(ax, title)
    thin_rows(ax)
    label_inside(ax, labels)
    return ax


def _draw_jobs(
    ax: Axes, instance: SelectionInstance, solution: SelectionSolution, first: set[str]
) -> list[Label]:
    """Draw each job's share of its GPUs; return the labels of the bars."""
    labels = []
    rows = {node.name: n for n, node in enumerate(instance.nodes)}
    taken: dict[tuple[int, int], float] = defaultdict(float)
    for j, placement in enumerate(solution.jobs):
        if placement.node is None:
            continue
        row, colour = rows[placement.node], COLOURS[j % len(COLOURS)]
        frame: dict[str, Any] = {"edgecolor": "white", "linewidth": 0.5, "zorder": 2}
        if placement.name in first:
            frame = {"edgecolor": "black", "linewidth": 1.6, "zorder": 4}
        for gpu in sorted(placement.gpus):
            left, share = gpu + taken[row, gpu], placement.fraction
            taken[row, gpu] += share
            gid = f"job-{placement.name}"
            ax.barh(row, share, BAR, left=left, color=colour, gid=gid, **frame)
            y = (row - BAR / 2, row + BAR / 2)
            labels.append(Label(placement.name, (left, left + share), y, colour))
    return labels


@house_style()
def plot_cost_split(
    instance: AnInstance, results: Selected | Sequence[Selected], ax: Axes | None = None
) -> Axes:
    """Draw each method's expected cost, split into energy, tardiness and postponement.

    Parameters
    ----------
    instance : object, name or path
        An instance.
    results : Result, solution or str, or a sequence of them
        Results on it, solutions, or names of methods to run.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    Axes
        A bar's gid is ``METHOD-PART``; the total stands beside each stack.
    """
    from matplotlib.patches import Patch

    given = instance_of(instance, SelectionInstance)
    splits: dict[str, Breakdown] = {}
    for decided in [results] if isinstance(results, Selected) else results:
        result = solve(given, decided) if isinstance(decided, str) else decided
        if not isinstance(result, Result):
            splits["solution"] = breakdown_of(given, result, Breakdown)
        elif result.solution is not None:
            splits[result.method] = breakdown_of(given, result, Breakdown)
    ax = axes(ax, WIDTH, 1.8 + 0.42 * len(splits))
    for row, (method, split) in enumerate(splits.items()):
        left = 0.0
        for part, colour in PARTS.items():
            cost = float(getattr(split, part))
            ax.barh(row, cost, BAR, left=left, color=colour, gid=f"{method}-{part}")
            left += cost
        ax.text(left, row, f"  {figures(split.total)}", va="center", fontsize="small")
    name_rows(ax, [short(name) for name in splits])
    ax.set_xlabel("expected cost, dollars")
    headed(ax, given.name, [Patch(color=colour, label=part) for part, colour in PARTS.items()])
    make_room(ax)
    return ax
