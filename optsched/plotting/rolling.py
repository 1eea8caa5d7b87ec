"""Runs over time: nodes against the clock, cost by policy, late jobs against the load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from optsched.plotting.arguments import decided
from optsched.plotting.axes import COLOURS, axes, legend_above, literal, short
from optsched.result import Result
from optsched.rolling.instance import RollingInstance
from optsched.rolling.records import Records
from optsched.rolling.runs import Run
from optsched.rolling.solution import RollingSolution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HOUR = 3600.0
BAR = 0.82
MOST_LABELLED_NODES = 40
OneRun = Records | Run | RollingSolution | Result


def plot_run(instance: RollingInstance, run: OneRun, ax: Axes | None = None) -> Axes:
    """Draw GPUs against time, hours: each job in its colour, a shared GPU cut by its fractions.

    Parameters
    ----------
    instance : RollingInstance
    run : Records or RollingSolution
        Its records, which `optsched.check` accepts.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    Axes
        Each segment's bars have the gid ``job-NAME``; a line parts the nodes.
    """
    run = _records(run)
    first = [0]
    for node in instance.nodes:
        first.append(first[-1] + node.gpus)
    ax = axes(ax, 9.0, min(1.5 + 0.16 * first[-1], 12.0))
    levels: dict[tuple[int, int], list[tuple[float, float, float]]] = {}
    for segment in run.segments:
        colour = COLOURS[segment.job % len(COLOURS)]
        name = instance.jobs[segment.job].name
        for gpu in segment.gpus:
            held = levels.setdefault((segment.node, gpu), [])
            under = _lowest(held, segment.start, segment.fraction)
            held.append((segment.end, under, segment.fraction))
            bar = ax.barh(
                first[segment.node] + gpu + BAR * under,
                (segment.end - segment.start) / HOUR,
                left=segment.start / HOUR,
                height=BAR * segment.fraction,
                align="edge",
                color=colour,
                edgecolor="white",
                linewidth=0.3,
            )
            bar[0].set_gid(f"job-{name}")
    for edge in first[1:-1]:
        ax.axhline(edge - (1 - BAR) / 2, color="black", linewidth=0.5)
    _node_labels(ax, instance, first)
    ax.set_xlabel("hours")
    ax.set_title(literal(f"{run.instance}: {run.policy}"), loc="left", fontsize="medium")
    return ax


def plot_nodes_in_use(
    instance: RollingInstance, runs: OneRun | Sequence[OneRun], ax: Axes | None = None
) -> Axes:
    """Draw the number of nodes in use against time, a line a policy (gid ``policy-NAME``).

    Parameters
    ----------
    instance : RollingInstance
        What ran.
    runs : result, solution, run, or a sequence of them
        What `optsched.solve` gives; a line each.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    Axes
        With the picture.
    """
    ax = axes(ax, 8.0, 3.2)
    lines = []
    given = [_records(run) for run in ([runs] if isinstance(runs, OneRun) else runs)]
    for run, colour in zip(given, _colours(len(given)), strict=True):
        changes: dict[float, int] = {}
        for interval in run.nodes:
            changes[interval.start] = changes.get(interval.start, 0) + 1
            changes[interval.end] = changes.get(interval.end, 0) - 1
        times, level, levels = sorted(changes), 0, []
        for at in times:
            level += changes[at]
            levels.append(level)
        hours = [at / HOUR for at in times]
        (line,) = ax.step(hours, levels, where="post", color=colour, label=run.policy)
        line.set_gid(f"policy-{run.policy}")
        lines.append(line)
    ax.set_xlabel("hours")
    ax.set_ylabel(f"nodes in use, of {len(instance.nodes)}")
    legend_above(ax, lines)
    return ax


def plot_cost_by_policy(rolled: Sequence[Run], ax: Axes | None = None) -> Axes:
    """Draw energy and penalty stacked by policy; a line marks the bound (gid ``bound``).

    Parameters
    ----------
    rolled : sequence of Run
        Runs of `optsched.rolling.runs`.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    Axes
        With the picture.
    """
    ax = axes(ax, 7.0, 3.2)
    names = [each.records.policy for each in rolled]
    energy = [each.metrics.energy_cost for each in rolled]
    late = [each.metrics.tardiness_cost for each in rolled]
    below = ax.bar(names, energy, color=COLOURS[3], label="energy")
    above = ax.bar(names, late, bottom=energy, color=COLOURS[1], label="tardiness")
    handles: list[Any] = [below, above]
    bound = next((each.bound for each in rolled if each.bound is not None), None)
    if bound is not None:
        line = ax.axhline(bound, color="black", linestyle="--", label="clairvoyant bound")
        line.set_gid("bound")
        handles.append(line)
    ax.set_ylabel(literal("$"))
    legend_above(ax, handles)
    return ax


def plot_late_by_load(
    late: Mapping[str, Sequence[tuple[float, float]]], ax: Axes | None = None
) -> Axes:
    """Draw the share of late jobs against rho.

    Parameters
    ----------
    late : mapping
        By policy: pairs of load and share of jobs late.
    ax : Axes, optional

    Returns
    -------
    Axes
        With the picture.
    """
    ax = axes(ax, 6.0, 3.2)
    lines = []
    for (name, points), colour in zip(late.items(), _colours(len(late)), strict=True):
        loads, shares = zip(*sorted(points), strict=True)
        percent = [100 * share for share in shares]
        (line,) = ax.plot(loads, percent, marker="o", color=colour, label=name)
        line.set_gid(f"policy-{name}")
        lines.append(line)
    ax.set_xlabel("offered load rho")
    ax.set_ylabel("late jobs, %")
    legend_above(ax, lines)
    return ax


def _records(run: OneRun) -> Records:
    records = getattr(run, "records", run)
    return records if isinstance(records, Records) else decided(run, RollingSolution).run


def _colours(count: int) -> list[str]:
    return [COLOURS[i % len(COLOURS)] for i in range(count)]


def _lowest(held: Sequence[tuple[float, float, float]], start: float, fraction: float) -> float:
    """The lowest place on a GPU's bar that is free from `start` on."""
    busy = sorted((under, under + share) for until, under, share in held if until > start)
    level = 0.0
    for low, high in busy:
        if level + fraction <= low + 1e-9:
            break
        level = max(level, high)
    return min(level, 1.0 - fraction)


def _node_labels(ax: Axes, instance: RollingInstance, first: Sequence[int]) -> None:
    if len(instance.nodes) > MOST_LABELLED_NODES:
        ax.set_ylabel("GPUs")
        return
    middles = [a + node.gpus / 2 for a, node in zip(first, instance.nodes, strict=False)]
    names = [literal(f"{short(node.name)} {node.gpu_type}") for node in instance.nodes]
    ax.set_yticks(middles, names, fontsize="small")
    ax.invert_yaxis()
