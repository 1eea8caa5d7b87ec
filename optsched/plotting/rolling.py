"""Runs over time: nodes against the clock, cost by policy, late jobs against the load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from optsched.plotting.arguments import decided
from optsched.plotting.axes import (
    COLOURS,
    MARK,
    WIDTH,
    axes,
    clock,
    headed,
    house_style,
    literal,
    look,
    robust_end,
    short,
)
from optsched.plotting.gantt import Bar, Chart, draw_gantt, draw_use
from optsched.plotting.over_time import Course, draw_courses, level_of
from optsched.result import Result
from optsched.rolling.instance import RollingInstance
from optsched.rolling.records import Records
from optsched.rolling.runs import Run
from optsched.rolling.solution import RollingSolution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BAR = 0.82
MAX_BARS = 3000
"""Of a run; of more, how full each node is says more than its segments."""
OneRun = Records | Run | RollingSolution | Result


@house_style()
def plot_run(instance: RollingInstance, run: OneRun, ax: Axes | None = None) -> Axes:
    """Draw GPUs against time: each job in its colour, a shared GPU cut by its fractions.

    Of more than 3,000 pieces the share of each node's GPUs in use is drawn, the busiest node first.

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
    per, unit = clock(max((record.completion for record in run.jobs), default=0.0))
    names = [f"{short(node.name, 14)} {short(node.gpu_type, 10)}" for node in instance.nodes]
    sizes = [node.gpus for node in instance.nodes]
    chart = Chart(names, sizes, "node", unit, f"{run.instance}: {run.policy}")
    if sum(len(segment.gpus) for segment in run.segments) > MAX_BARS:
        pieces = [
            (each.node, each.start / per, each.end / per, len(each.gpus) * each.fraction)
            for each in run.segments
        ]
        return draw_use(ax, chart, np.array(pieces).T)
    bars = []
    levels: dict[tuple[int, int], list[tuple[float, float, float]]] = {}
    for segment in run.segments:
        name = instance.jobs[segment.job].name
        look_of = (name, COLOURS[segment.job % len(COLOURS)], f"job-{name}")
        for gpu in segment.gpus:
            held = levels.setdefault((segment.node, gpu), [])
            under = _lowest(held, segment.start, segment.fraction)
            held.append((segment.end, under, segment.fraction))
            place = (segment.node, gpu + BAR * under, BAR * segment.fraction)
            bars.append(Bar(*place, segment.start / per, segment.end / per, *look_of))
    return draw_gantt(ax, chart, bars)


@house_style()
def plot_rolling_over_time(
    instance: RollingInstance, runs: OneRun | Sequence[OneRun], ax: Axes | None = None
) -> Axes:
    """Draw what waits, GPUs in use, what energy costs and how late jobs end, a panel each.

    Parameters
    ----------
    instance : RollingInstance
        What ran.
    runs : result, solution, run, or a sequence of them
        What `optsched.solve` gives; a line each.
    ax : Axes, optional
        What gives its place to the panels; by default they fill a new figure.

    Returns
    -------
    Axes
        The upper panel. Lines and dots have the gid ``PANEL POLICY``; a scale on which a few
        values would flatten the rest is not linear, and an axis that a few jobs would stretch
        says where they end.
    """
    given = [_records(run) for run in ([runs] if isinstance(runs, OneRun) else runs)]
    return draw_courses([_course(instance, run) for run in given], instance.name, ax)


def _course(instance: RollingInstance, run: Records) -> Course:
    gpus = sum(node.gpus for node in instance.nodes)
    waiting = [(instance.jobs[record.job].submit_time, 1.0) for record in run.jobs]
    waiting += [(record.completion, -1.0) for record in run.jobs]
    used, rate = [], []
    for segment in run.segments:
        waiting += [(segment.start, -1.0), (segment.end, 1.0)]
    for held in run.nodes:
        costs = 3600 * instance.nodes[held.node].cost_rate[held.used - 1]
        share = 100 * held.used / gpus
        used += [(held.start, share), (held.end, -share)]
        rate += [(held.start, costs), (held.end, -costs)]
    ends = np.array([record.completion for record in run.jobs])
    due = np.array([instance.jobs[record.job].due_date for record in run.jobs])
    steps = {"jobs waiting": waiting, "GPUs in use, %": used, "energy, dollars an hour": rate}
    return Course(
        run.policy,
        {name: level_of(changes) for name, changes in steps.items()},
        {"late, {clock}": (ends, np.maximum(ends - due, 0.0))},
        ends,
    )


@house_style()
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
    ax = axes(ax, WIDTH, 3.2)
    lines = []
    given = [_records(run) for run in ([runs] if isinstance(runs, OneRun) else runs)]
    ends = [record.completion for run in given for record in run.jobs]
    per, unit = clock(max(ends, default=0.0))
    for number, run in enumerate(given):
        changes = [(at, by) for each in run.nodes for at, by in ((each.start, 1), (each.end, -1))]
        moments, level = level_of(changes)
        (line,) = ax.step(moments / per, level, where="post", **look(number, run.policy))
        line.set_gid(f"policy-{run.policy}")
        lines.append(line)
    beyond = robust_end(ax, np.array(ends) / per, "jobs end")
    ax.set_xlabel(f"{unit}{beyond}")
    ax.set_ylabel(f"nodes in use, of {len(instance.nodes)}")
    headed(ax, instance.name, lines)
    return ax


@house_style()
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
    ax = axes(ax, WIDTH, 1.7 + 0.36 * len(rolled))
    energy = [each.metrics.energy_cost for each in rolled]
    late = [each.metrics.tardiness_cost for each in rolled]
    places = range(len(rolled))
    beside = ax.barh(places, energy, color=COLOURS[3], label="energy")
    above = ax.barh(places, late, left=energy, color=COLOURS[1], label="tardiness")
    handles: list[Any] = [beside, above]
    bound = next((each.bound for each in rolled if each.bound is not None), None)
    if bound is not None:
        line = ax.axvline(bound, color=MARK, linestyle="--", label="clairvoyant bound")
        line.set_gid("bound")
        handles.append(line)
    ax.set_yticks(places, [literal(short(each.records.policy)) for each in rolled])
    ax.invert_yaxis()
    ax.set_xlabel("cost, dollars")
    headed(ax, handles=handles)
    return ax


@house_style()
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
    ax = axes(ax, WIDTH, 3.2)
    lines = []
    for number, (name, points) in enumerate(late.items()):
        loads, shares = zip(*sorted(points), strict=True)
        percent = [100 * share for share in shares]
        (line,) = ax.plot(loads, percent, marker="o", **look(number, name))
        line.set_gid(f"policy-{name}")
        lines.append(line)
    ax.set_xlabel("offered load rho")
    ax.set_ylabel("late jobs, %")
    headed(ax, handles=lines)
    return ax


def _records(run: OneRun) -> Records:
    records = getattr(run, "records", run)
    return records if isinstance(records, Records) else decided(run, RollingSolution).run


def _lowest(held: Sequence[tuple[float, float, float]], start: float, fraction: float) -> float:
    """The lowest place on a GPU's bar that is free from `start` on."""
    busy = sorted((under, under + share) for until, under, share in held if until > start)
    level = 0.0
    for low, high in busy:
        if level + fraction <= low + 1e-9:
            break
        level = max(level, high)
    return min(level, 1.0 - fraction)
