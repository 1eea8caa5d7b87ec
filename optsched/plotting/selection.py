"""Selections: the jobs on each node's GPUs, and their cost in parts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from optsched.methods import solve
from optsched.plotting.arguments import breakdown_of, instance_of, loaded_solution
from optsched.plotting.axes import COLOURS, WIDTH, add_heading, axes, compact, house_style, short
from optsched.plotting.labels import (
    Label,
    label_gpu_rows,
    label_inside,
    name_rows,
    thin_rows,
    widen_for_labels,
)
from optsched.result import Result
from optsched.selection.explain import Breakdown
from optsched.selection.instance import SelectionInstance
from optsched.selection.solution import SelectionSolution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from optsched.typing import InstanceLike, SolutionLike

BAR = 0.82
PARTS = {"energy": COLOURS[3], "tardiness": COLOURS[1], "postponement": COLOURS[4]}
"""Parts of the cost, and their colours."""
IDLE = "#eeeeee"
SelectionLike = Result | SelectionSolution | str


@house_style()
def plot_selection(instance: InstanceLike, solution: SolutionLike, ax: Axes | None = None) -> Axes:
    """Draw nodes x GPUs: one colour per job; shared GPUs are split by fraction.

    Parameters
    ----------
    instance, solution : objects, names or paths
        A selection that `optsched.check` accepts.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    Axes
        Each job's cells have the gid ``job-NAME``; a black frame marks the leader of each node,
        the job that is expected to end first.
    """
    loaded = instance_of(instance, SelectionInstance)
    selection = loaded_solution(loaded, solution, SelectionSolution)
    breakdown = breakdown_of(loaded, selection, Breakdown)
    ax = axes(ax, WIDTH, min(1.8 + 0.3 * len(loaded.nodes), 14))
    for row, node in enumerate(loaded.nodes):
        ax.barh(row, node.gpus, BAR, color=IDLE)
    labels = _draw_jobs(ax, loaded, selection, {row.first for row in breakdown.nodes})
    gpus = max(node.gpus for node in loaded.nodes)
    ax.vlines(range(1, gpus), -0.5, len(loaded.nodes) - 0.5, color="white", linewidth=1.5)
    names = [f"{short(node.name)} ({short(node.gpu_type)})" for node in loaded.nodes]
    label_gpu_rows(ax, names, gpus)
    ax.set_xlabel("GPUs; grey: idle; framed: expected to end first on its node")
    waiting = sum(placement.node is None for placement in selection.jobs)
    title = (
        f"{short(breakdown.instance)}: {compact(breakdown.total)} dollars expected, "
        f"{len(breakdown.nodes)} of {len(loaded.nodes)} nodes open, {waiting} jobs postponed"
    )
    add_heading(ax, title)
    thin_rows(ax)
    label_inside(ax, labels)
    return ax


def _draw_jobs(
    ax: Axes, instance: SelectionInstance, solution: SelectionSolution, leaders: set[str]
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
        if placement.name in leaders:
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
    instance: InstanceLike, results: SelectionLike | Sequence[SelectionLike], ax: Axes | None = None
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
        A bar's gid is ``METHOD-PART``; the total is next to each stack.
    """
    from matplotlib.patches import Patch

    loaded = instance_of(instance, SelectionInstance)
    splits: dict[str, Breakdown] = {}
    for decided in [results] if isinstance(results, SelectionLike) else results:
        result = solve(loaded, decided) if isinstance(decided, str) else decided
        if not isinstance(result, Result):
            splits["solution"] = breakdown_of(loaded, result, Breakdown)
        elif result.solution is not None:
            splits[result.method] = breakdown_of(loaded, result, Breakdown)
    ax = axes(ax, WIDTH, 1.8 + 0.42 * len(splits))
    for row, (method, split) in enumerate(splits.items()):
        left = 0.0
        for part, colour in PARTS.items():
            cost = float(getattr(split, part))
            ax.barh(row, cost, BAR, left=left, color=colour, gid=f"{method}-{part}")
            left += cost
        ax.text(left, row, f"  {compact(split.total)}", va="center", fontsize="small")
    name_rows(ax, [short(name) for name in splits])
    ax.set_xlabel("expected cost, dollars")
    add_heading(
        ax, loaded.name, [Patch(color=colour, label=part) for part, colour in PARTS.items()]
    )
    widen_for_labels(ax)
    return ax
