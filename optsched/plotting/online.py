"""Runs on a workload: the queue and the GPUs in use over time, and how long jobs flow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
        time, queue, _ = timeline(records)
        courses.append(
            Course(
                records.policy,
                {"jobs waiting": (time, queue), "GPUs in use, %": (time, _share_in_use(records))},
                {"flow time, {clock}": (records.end, records.flow)},
                records.end,
            )
        )
    return draw_courses(courses, instance.name, ax)


@house_style()
def plot_queue(instance: OnlineInstance, runs: Runs, ax: Axes | None = None) -> Axes:
    """Draw the waiting jobs over time, a line a run; for runs that `optsched.check` accepts.

    Parameters
    ----------
    instance : OnlineInstance
        The instance of the runs.
    runs : result, solution, run, or a sequence of them
        Results of `optsched.solve`; a line each.
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
        The instance of the runs.
    runs : result, solution, run, or a sequence of them
        Results of `optsched.solve`; a line each.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    Axes
        With the picture.
    """
    ax = axes(ax, WIDTH, 3.8)
    _step_over_hours(ax, _records(instance, runs), _share_in_use)
    ax.set_ylim(0, 102)
    ax.set_ylabel("GPUs in use, %")
    headed(ax, instance.name)
    return ax


@house_style()
def plot_flow(instance: OnlineInstance, runs: Runs, ax: Axes | None = None) -> Axes:
    """Draw the share of jobs with at most so much flow time, a line a run.

    Parameters
    ----------
    instance : OnlineInstance
        The instance of the runs.
    runs : result, solution, run, or a sequence of them
        Results of `optsched.solve`; a line each.
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
    """The waiting jobs over time, a line a run."""
    ax = axes(ax, WIDTH, 3.8)
    levels = _step_over_hours(ax, runs, lambda records: timeline(records)[1])
    robust_scale(ax.yaxis, levels)
    ax.set_ylim(bottom=0, top=None if any(levels) else 1)
    ax.set_ylabel("jobs in the queue")
    headed(ax)
    return ax


@house_style()
def flow_cdf(runs: Sequence[Records], ax: Axes | None = None) -> Axes:
    """The share of jobs with at most so much flow time, a line a run."""
    ax = axes(ax, WIDTH, 3.8)
    for number, records in enumerate(runs):
        flow = np.sort(records.flow)
        shares = 100 * np.arange(1, len(flow) + 1) / max(len(flow), 1)
        ax.step(*thinned(flow, shares), where="post", **look(number, records.policy))
    ax.set(xscale="log", xlabel="flow time, seconds", ylabel="jobs with at most so much, %")
    headed(ax)
    return ax


def _step_over_hours(
    ax: Axes, runs: Sequence[Records], level: Callable[[Records], np.ndarray]
) -> list[float]:
    """Draw a level over hours, a line a run; return the levels drawn."""
    drawn: list[float] = []
    for number, records in enumerate(runs):
        hours, levels = thinned(timeline(records)[0] / HOUR, level(records))
        ax.step(hours, levels, where="post", linewidth=1.2, **look(number, records.policy))
        drawn += levels.tolist()
    beyond = robust_end(ax, np.concatenate([records.end / HOUR for records in runs]), "jobs end")
    ax.set_xlabel(f"hours since the first submission{beyond}")
    return drawn


def _share_in_use(records: Records) -> np.ndarray:
    return np.asarray(100 * timeline(records)[2] / (records.servers * records.gpus_per_server))


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
