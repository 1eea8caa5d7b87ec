"""Runs of rolling selection: jobs on GPUs over time, levels over time, and costs by policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from optsched.plotting.arguments import runs_in, solution_in
from optsched.plotting.axes import (
    COLOURS,
    MARK_COLOUR,
    WIDTH,
    add_heading,
    axes,
    house_style,
    short,
    time_unit,
)
from optsched.plotting.gantt import Bar, Chart, draw_gantt, draw_utilisation
from optsched.plotting.labels import name_rows
from optsched.plotting.over_time import History, cumulative_level, draw_over_time
from optsched.result import Result
from optsched.rolling.instance import RollingInstance
from optsched.rolling.records import Records
from optsched.rolling.runs import Run
from optsched.rolling.solution import RollingSolution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BAR = 0.82
MAX_BARS = 3000
"""Bars of a run; for more the utilisation of each node is drawn instead."""
OneRun = Records | Run | RollingSolution | Result
Runs = OneRun | Sequence[OneRun]


@house_style()
def plot_run(instance: RollingInstance, run: OneRun, ax: Axes | None = None) -> Axes:
    """Draw GPUs against time: one colour per job; shared GPUs are split by fraction.

    For more than 3,000 bars the share of each node's GPUs in use is drawn, the busiest node first.

    Parameters
    ----------
    instance : RollingInstance
        The instance of the run.
    run : result, solution, run or records
        A run that `optsched.check` accepts.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    Axes
        Each segment's bars have the gid ``job-NAME``; lines separate the nodes.
    """
    (records,) = _records(run)
    per, unit = time_unit(max((record.completion for record in records.jobs), default=0.0))
    names = [f"{short(node.name, 14)} {short(node.gpu_type, 10)}" for node in instance.nodes]
    sizes = [node.gpus for node in instance.nodes]
    chart = Chart(names, sizes, "node", unit, f"{records.instance}: {records.policy}")
    if sum(len(segment.gpus) for segment in records.segments) > MAX_BARS:
        usage = [
            (part.node, part.start / per, part.end / per, len(part.gpus) * part.fraction)
            for part in records.segments
        ]
        return draw_utilisation(ax, chart, np.array(usage))
    bars = []
    shares: dict[tuple[int, int], list[tuple[float, float, float]]] = {}
    for segment in records.segments:
        name = instance.jobs[segment.job].name
        identity = (name, COLOURS[segment.job % len(COLOURS)], f"job-{name}")
        for gpu in segment.gpus:
            held = shares.setdefault((segment.node, gpu), [])
            low = _lowest_free(held, segment.start, segment.fraction)
            held.append((segment.end, low, segment.fraction))
            place = (segment.node, gpu + BAR * low, BAR * segment.fraction)
            bars.append(Bar(*place, segment.start / per, segment.end / per, *identity))
    return draw_gantt(ax, chart, bars)


@house_style()
def plot_rolling_over_time(instance: RollingInstance, runs: Runs, ax: Axes | None = None) -> Axes:
    """Draw waiting jobs, GPUs in use, energy cost and lateness against time, one panel each.

    Parameters
    ----------
    instance, runs, ax
        As in `optsched.plotting.plot_online_over_time`.

    Returns
    -------
    Axes
        The upper panel, as there.
    """
    histories = [_history(instance, records) for records in _records(runs)]
    return draw_over_time(histories, instance.name, ax)


@house_style()
def plot_nodes_in_use(instance: RollingInstance, runs: Runs, ax: Axes | None = None) -> Axes:
    """Draw the number of nodes in use against time, one line per run.

    Parameters
    ----------
    instance, runs, ax
        As in `plot_rolling_over_time`.

    Returns
    -------
    Axes
        With the picture.
    """
    panel = f"nodes in use of {len(instance.nodes)}"
    histories = []
    for records in _records(runs):
        starts = [(interval.start, 1.0) for interval in records.nodes]
        level = cumulative_level([*starts, *((interval.end, -1.0) for interval in records.nodes)])
        ends = np.array([record.completion for record in records.jobs])
        histories.append(History(records.policy, ends, {panel: level}))
    return draw_over_time(histories, instance.name, ax)


@house_style()
def plot_cost_by_policy(rolled: Sequence[Run], ax: Axes | None = None) -> Axes:
    """Draw energy and tardiness costs stacked by policy; a line marks the bound (gid ``bound``).

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
    energy = [run.metrics.energy_cost for run in rolled]
    tardiness = [run.metrics.tardiness_cost for run in rolled]
    rows = range(len(rolled))
    ax.barh(rows, energy, color=COLOURS[3], label="energy")
    ax.barh(rows, tardiness, left=energy, color=COLOURS[1], label="tardiness")
    bound = next((run.bound for run in rolled if run.bound is not None), None)
    if bound is not None:
        ax.axvline(bound, color=MARK_COLOUR, linestyle="--", label="clairvoyant bound", gid="bound")
    name_rows(ax, [short(run.records.policy) for run in rolled])
    ax.set_xlabel("cost, dollars")
    add_heading(ax)
    return ax


def _history(instance: RollingInstance, run: Records) -> History:
    gpus = sum(node.gpus for node in instance.nodes)
    waiting = [(instance.jobs[record.job].submit_time, 1.0) for record in run.jobs]
    waiting += [(record.completion, -1.0) for record in run.jobs]
    used, rate = [], []
    for segment in run.segments:
        waiting += [(segment.start, -1.0), (segment.end, 1.0)]
    for interval in run.nodes:
        costs = 3600 * instance.nodes[interval.node].cost_rate[interval.used - 1]
        share = 100 * interval.used / gpus
        used += [(interval.start, share), (interval.end, -share)]
        rate += [(interval.start, costs), (interval.end, -costs)]
    ends = np.array([record.completion for record in run.jobs])
    due = np.array([instance.jobs[record.job].due_date for record in run.jobs])
    changes = {"jobs waiting": waiting, "GPUs in use, %": used, "energy, dollars an hour": rate}
    return History(
        run.policy,
        ends,
        {name: cumulative_level(steps) for name, steps in changes.items()},
        {"late, {clock}": (ends, np.maximum(ends - due, 0.0))},
    )


def _records(runs: Runs) -> list[Records]:
    return [
        run if isinstance(run, Records) else solution_in(run, RollingSolution).run
        for run in runs_in(runs)
    ]


def _lowest_free(held: Sequence[tuple[float, float, float]], start: float, share: float) -> float:
    """Lowest position on a GPU's bar where `share` of it is free from `start` on."""
    busy = sorted((low, low + part) for end, low, part in held if end > start)
    level = 0.0
    for low, high in busy:
        if level + share <= low + 1e-9:
            break
        level = max(level, high)
    return min(level, 1.0 - share)
