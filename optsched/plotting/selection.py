"""Selections as rows of GPUs with their shares, and what they cost, as bars and against time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optsched import interrupts
from optsched.methods import problem_for, solution_of, solve
from optsched.plotting.arguments import breakdown_of, decided, instance_of
from optsched.plotting.axes import (
    COLOURS,
    WIDTH,
    axes,
    figures,
    headed,
    house_style,
    literal,
    look,
    robust_scale,
    short,
)
from optsched.plotting.labels import Label, label_inside, make_room, thin_rows
from optsched.result import Result
from optsched.selection.explain import Breakdown
from optsched.selection.instance import SelectionInstance
from optsched.selection.solution import SelectionSolution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BAR = 0.82
MOST_LABELLED_NODES = 40
PARTS = {"energy": COLOURS[3], "tardiness": COLOURS[1], "postponement": COLOURS[4]}
"""Parts of the cost, and their colours."""
IDLE = "#eeeeee"
Decided = Result | SelectionSolution | str


@house_style()
def plot_selection(
    instance: SelectionInstance | str | Path,
    solution: SelectionSolution | str | Path,
    ax: Axes | None = None,
) -> Axes:
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

    Raises
    ------
    InputError
        If a file cannot be used or the solution breaks a rule.
    MissingExtraError
        If matplotlib is not installed.
    """
    given = instance_of(instance, SelectionInstance)
    solution = decided(solution_of(problem_for(given), solution), SelectionSolution)
    breakdown = breakdown_of(given, solution, Breakdown)
    most = max(node.gpus for node in given.nodes)
    ax = axes(ax, WIDTH, min(1.8 + 0.3 * len(given.nodes), 14))
    for n, node in enumerate(given.nodes):
        ax.barh(n, node.gpus, BAR, color=IDLE)
    names = _draw_jobs(ax, given, solution, {row.first for row in breakdown.nodes})
    ax.vlines(range(1, most), -0.5, len(given.nodes) - 0.5, color="white", linewidth=1.5)
    step = -(-len(given.nodes) // MOST_LABELLED_NODES)
    shown = range(0, len(given.nodes), step)
    labels = [f"{short(given.nodes[n].name)} ({short(given.nodes[n].gpu_type)})" for n in shown]
    ax.set_yticks(shown, [literal(label) for label in labels])
    ax.set_ylim(len(given.nodes) - 0.4, -0.6)
    ax.set_xlim(0, most)
    ax.set_xticks(range(0, most + 1, -(-most // 16)))
    ax.set_xlabel("GPUs; grey: idle; framed: first to end on its node")
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    waiting = sum(placement.node is None for placement in solution.jobs)
    title = (
        f"{short(breakdown.instance)}: {figures(breakdown.total)} dollars expected, "
        f"{len(breakdown.nodes)} of {len(given.nodes)} nodes open, {waiting} jobs postponed"
    )
    headed(ax, title)
    thin_rows(ax)
    label_inside(ax, names)
    return ax


def _draw_jobs(
    ax: Axes, instance: SelectionInstance, solution: SelectionSolution, first: set[str]
) -> list[Label]:
    """Draw each job's shares; returns what names them."""
    labels = []
    rows = {node.name: n for n, node in enumerate(instance.nodes)}
    taken: dict[tuple[int, int], float] = defaultdict(float)
    for j, placement in enumerate(solution.jobs):
        if placement.node is None:
            continue
        row, colour = rows[placement.node], COLOURS[j % len(COLOURS)]
        for gpu in sorted(placement.gpus):
            left = gpu + taken[row, gpu]
            taken[row, gpu] += placement.fraction
            ax.barh(
                row,
                placement.fraction,
                BAR,
                left=left,
                color=colour,
                edgecolor="black" if placement.name in first else "white",
                linewidth=1.6 if placement.name in first else 0.5,
                zorder=4 if placement.name in first else 2,
                gid=f"job-{placement.name}",
            )
            tall = (row - BAR / 2, row + BAR / 2)
            labels.append(Label(placement.name, (left, left + placement.fraction), tall, colour))
    return labels


@house_style()
def plot_cost_split(
    instance: SelectionInstance | str | Path,
    results: Decided | Sequence[Decided],
    ax: Axes | None = None,
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
        A bar's gid is ``METHOD-PART``; the scale is logarithmic where costs differ a hundredfold.
    """
    given = instance_of(instance, SelectionInstance)
    several = [results] if isinstance(results, Decided) else results
    found = [solve(given, each) if isinstance(each, str) else each for each in several]
    splits = {
        _name(each): breakdown_of(given, each, Breakdown)
        for each in found
        if not isinstance(each, Result) or each.solution is not None
    }
    ax = axes(ax, WIDTH, 1.8 + 0.42 * len(splits))
    totals = [split.total for split in splits.values()]
    wide = max(totals) > 100 * max(min(totals), 1e-12)
    for row, (method, split) in enumerate(splits.items()):
        _split_bar(ax, row, method, split, wide)
    ax.set_yticks(range(len(splits)), [literal(short(name)) for name in splits])
    ax.invert_yaxis()
    ax.set_xlabel("expected cost, dollars")
    if wide:
        ax.set_xscale("log")
        parts = [float(getattr(split, part)) for split in splits.values() for part in PARTS]
        ax.set_xlim(left=min(part for part in parts if part > 0) / 2)
    headed(ax, given.name, _part_handles(wide))
    make_room(ax)
    return ax


def _name(decided: Result | SelectionSolution) -> str:
    return decided.method if isinstance(decided, Result) else "solution"


def _split_bar(ax: Axes, row: int, method: str, split: Breakdown, wide: bool) -> None:
    """Stacked parts; on a logarithmic scale, where stacks mislead, three thin bars."""
    left = 0.0
    for index, (part, colour) in enumerate(PARTS.items()):
        value = float(getattr(split, part))
        height = BAR / len(PARTS) if wide else BAR
        place = row + (index - 1) * height if wide else float(row)
        gid = f"{method}-{part}"
        ax.barh(place, value, height, left=0.0 if wide else left, color=colour,
                gid=gid)  # fmt: skip
        left += value
    where = max(float(getattr(split, part)) for part in PARTS) if wide else left
    ax.text(where, row, f"  {figures(split.total)}", va="center", fontsize="small")


def _part_handles(wide: bool) -> list[Any]:
    from matplotlib.patches import Patch

    handles = [Patch(color=colour, label=part) for part, colour in PARTS.items()]
    if wide:
        handles.append(Patch(alpha=0, label="side by side: the scale is logarithmic"))
    return handles


@house_style()
def plot_cost_against_deadline(
    instance: SelectionInstance | str | Path,
    shifts: Iterable[float],
    methods: Sequence[str] = ("sts", "edf", "exact"),
    options: Mapping[str, Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw expected cost as all due dates move: earlier (negative seconds) or later.

    Parameters
    ----------
    instance : object, name or path
        An instance; solved anew at every shift.
    shifts : iterable of float
        Seconds added to every due date.
    methods : sequence of str
        Methods, a line each.
    options : mapping, optional
        The problem's own options.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    Axes
        A line's gid is its method.
    """
    given = instance_of(instance, SelectionInstance)
    ax = axes(ax, WIDTH, 4.2)
    moved = [(shift, _shifted(given, shift)) for shift in sorted(shifts)]
    costs: tuple[float, ...] = ()
    for index, method in enumerate(methods):
        results = []
        for shift, each in moved:
            results.append((shift, solve(each, method, options=options)))
            interrupts.heed()
        points = [(shift, r.objective) for shift, r in results if r.objective is not None]
        x, y = zip(*points, strict=True)
        ax.plot(x, y, marker="o", ms=3.5, gid=method, **look(index, method))
        costs += y
    robust_scale(ax.yaxis, costs)
    ax.set_xlabel("seconds added to every due date")
    ax.set_ylabel("expected cost, dollars")
    headed(ax, given.name)
    return ax


def _shifted(instance: SelectionInstance, seconds: float) -> SelectionInstance:
    document = instance.to_dict()
    for job in document["jobs"]:
        job["due_date"] += seconds
    return SelectionInstance.from_dict(document)
