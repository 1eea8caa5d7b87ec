"""Runs on a workload: the queue and the GPUs in use over time, and how long jobs flow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from optsched.online.check import records_of
from optsched.online.data.jobs import prepare_jobs
from optsched.online.instance import OnlineInstance
from optsched.online.metrics import timeline
from optsched.online.options import OnlineOptions
from optsched.online.records import Records
from optsched.online.runs import Run
from optsched.online.solution import OnlineSolution
from optsched.plotting.arguments import decided
from optsched.plotting.axes import (
    WIDTH,
    axes,
    headed,
    house_style,
    look,
    robust_end,
    robust_scale,
)
from optsched.plotting.over_time import Course, draw_courses, thinned
from optsched.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HOUR = 3600.0
OneRun = Records | Run | OnlineSolution | Result
Runs = OneRun | Sequence[OneRun]


@house_style()
def plot_online_over_time(instance: OnlineInstance, runs: Runs, ax: Axes | None = None) -> Axes:
    """Draw what waits, the GPUs in use and how long the jobs that end took, a panel each.

    Parameters
    ----------
    instance : OnlineInstance
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
    courses = []
    for records in _records(instance, runs):
        time, queue, used = timeline(records)
        gpus = records.servers * records.gpus_per_server
        courses.append(
            Course(
                records.policy,
                {"jobs waiting": (time, queue), "GPUs in use, %": (time, 100 * used / gpus)},
                {"flow time, {clock}": (records.end, records.flow)},
                records.end,
            )
        )
    return draw_courses(courses, instance.name, ax)


@house_style()
def plot_queue(instance: OnlineInstance, runs: Runs, ax: Axes | None = None) -> Axes:
    """Draw the jobs that wait over time, a line a run; of runs that `optsched.check` accepts.

    Parameters
    ----------
    instance : OnlineInstance
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
    ax = queue_length(_records(instance, runs), ax)
    headed(ax, instance.name)
    return ax


@house_style()
def plot_utilisation(instance: OnlineInstance, runs: Runs, ax: Axes | None = None) -> Axes:
    """Draw the share of all GPUs in use over time, a line a run.

    Parameters
    ----------
    instance : OnlineInstance
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
    ax = utilisation(_records(instance, runs), ax)
    headed(ax, instance.name)
    return ax


@house_style()
def plot_flow(instance: OnlineInstance, runs: Runs, ax: Axes | None = None) -> Axes:
    """Draw the share of jobs with at most so much flow time, a line a run.

    Parameters
    ----------
    instance : OnlineInstance
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
    ax = flow_cdf(_records(instance, runs), ax)
    headed(ax, instance.name)
    return ax


@house_style()
def queue_length(runs: Sequence[Records], ax: Axes | None = None) -> Axes:
    """Jobs that wait over time, a line a run."""
    made = axes(ax, WIDTH, 3.8)
    seen: list[float] = []
    for number, records in enumerate(runs):
        time, queue, _ = timeline(records)
        hours, levels = thinned(time / HOUR, queue)
        made.step(hours, levels, where="post", linewidth=1.2, **look(number, records.policy))
        seen += levels.tolist()
    robust_scale(made.yaxis, seen)
    made.set_ylim(bottom=0, top=None if any(seen) else 1)
    return _over_hours(made, runs, "jobs in the queue")


@house_style()
def utilisation(runs: Sequence[Records], ax: Axes | None = None) -> Axes:
    """Share of all GPUs in use over time, a line a run."""
    made = axes(ax, WIDTH, 3.8)
    for number, records in enumerate(runs):
        time, _, used = timeline(records)
        share = 100 * used / (records.servers * records.gpus_per_server)
        made.step(
            *thinned(time / HOUR, share),
            where="post",
            linewidth=1.2,
            **look(number, records.policy),
        )
    made.set_ylim(0, 102)
    return _over_hours(made, runs, "GPUs in use, %")


@house_style()
def flow_cdf(runs: Sequence[Records], ax: Axes | None = None) -> Axes:
    """Share of jobs with at most so much flow time, a line a run."""
    made = axes(ax, WIDTH, 3.8)
    for number, records in enumerate(runs):
        flow = np.sort(records.flow)
        shares = 100 * np.arange(1, len(flow) + 1) / max(len(flow), 1)
        made.step(
            *thinned(flow, shares), where="post", linewidth=1.2, **look(number, records.policy)
        )
    made.set_xscale("log")
    return _labelled(made, "flow time, seconds", "jobs with at most so much, %")


@house_style()
def completion_by(
    values: Sequence[float],
    flows: dict[str, Sequence[Sequence[float]]],
    xlabel: str,
    ax: Axes | None = None,
) -> Axes:
    """Mean flow time by NIC, load or single-GPU share: medians over seeds and their range."""
    made = axes(ax, WIDTH, 3.8)
    for number, (policy, by_value) in enumerate(flows.items()):
        middle = np.array([np.median(seeds) for seeds in by_value])
        low = middle - [min(seeds) for seeds in by_value]
        high = [max(seeds) for seeds in by_value] - middle
        made.errorbar(values, middle, yerr=(low, high), capsize=3, **look(number, policy))
    made.set_yscale("log")
    return _labelled(made, xlabel, "mean flow time, seconds")


def _records(instance: OnlineInstance, runs: Runs) -> list[Records]:
    given = [runs] if isinstance(runs, OneRun) else runs
    return [
        run if isinstance(run, Records) else _records_of(instance, decided(run, OnlineSolution))
        for run in (getattr(each, "records", each) for each in given)
    ]


def _records_of(instance: OnlineInstance, run: OnlineSolution) -> Records:
    """The records of a run's file; what was predicted it does not say."""
    jobs = prepare_jobs(instance.workload, instance.catalogue, instance.cluster)
    options = OnlineOptions.from_dict(run.options).policy
    return records_of(jobs, np.full(len(jobs), np.nan), options, run)


def _over_hours(ax: Axes, runs: Sequence[Records], ylabel: str) -> Axes:
    ends = np.concatenate([records.end / HOUR for records in runs])
    beyond = robust_end(ax, ends, "jobs end")
    return _labelled(ax, f"hours since the first submission{beyond}", ylabel)


def _labelled(ax: Axes, xlabel: str, ylabel: str) -> Axes:
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    headed(ax)
    return ax
