"""Runs on a workload: waiting jobs and GPUs in use over time, and the jobs' flow times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from optsched.errors import InputError
from optsched.online.check import records_of
from optsched.online.data.jobs import prepare_jobs
from optsched.online.instance import OnlineInstance
from optsched.online.metrics import timeline
from optsched.online.options import OnlineOptions
from optsched.online.records import Records
from optsched.online.runs import Run
from optsched.online.solution import OnlineSolution
from optsched.plotting.arguments import runs_in, solution_in
from optsched.plotting.axes import WIDTH, add_heading, axes, house_style, line_style
from optsched.plotting.over_time import History, Series, draw_over_time, thinned
from optsched.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OneRun = Records | Run | OnlineSolution | Result
Runs = OneRun | Sequence[OneRun]
WAITING, IN_USE = "jobs waiting", "GPUs in use, %"


@house_style()
def plot_online_over_time(instance: OnlineInstance, runs: Runs, ax: Axes | None = None) -> Axes:
    """Draw waiting jobs, GPUs in use and flow times against time, one panel each.

    Parameters
    ----------
    instance : OnlineInstance
        The instance of the runs.
    runs : result, solution, run, or a sequence of them
        Results of `optsched.solve`; one line each.
    ax : Axes, optional
        Replaced by the panels; by default they fill a new figure.

    Returns
    -------
    Axes
        The upper panel. Lines and dots have the gid ``PANEL POLICY``; outliers switch a y axis
        to symlog; late jobs are clipped and counted below the x axis.
    """
    histories = [
        History(
            records.policy,
            records.end,
            _levels(records),
            {"flow time, {clock}": (records.end, records.flow)},
        )
        for records in _records(instance, runs)
    ]
    return draw_over_time(histories, instance.name, ax)


def plot_queue(instance: OnlineInstance | None, runs: Runs, ax: Axes | None = None) -> Axes:
    """Draw the number of waiting jobs over time, one line per run.

    Parameters
    ----------
    instance : OnlineInstance or None
        The instance of the runs; None for records, which are drawn without a title.
    runs, ax
        As in `plot_online_over_time`.

    Returns
    -------
    Axes
        With the picture.
    """
    return _level_over_time(instance, runs, WAITING, ax)


def plot_utilisation(instance: OnlineInstance | None, runs: Runs, ax: Axes | None = None) -> Axes:
    """Draw the share of all GPUs in use over time, one line per run.

    Parameters
    ----------
    instance, runs, ax
        As in `plot_queue`.

    Returns
    -------
    Axes
        With the picture.
    """
    return _level_over_time(instance, runs, IN_USE, ax)


@house_style()
def plot_flow(instance: OnlineInstance | None, runs: Runs, ax: Axes | None = None) -> Axes:
    """Draw the share of jobs with at most a given flow time, one line per run.

    Parameters
    ----------
    instance, runs, ax
        As in `plot_queue`.

    Returns
    -------
    Axes
        With the picture; the x axis is logarithmic.
    """
    ax = axes(ax, WIDTH, 3.8)
    for number, records in enumerate(_records(instance, runs)):
        flow = np.sort(records.flow)
        shares = 100 * np.arange(1, len(flow) + 1) / max(len(flow), 1)
        ax.step(*thinned(flow, shares), where="post", **line_style(number, records.policy))
    ax.set(xscale="log", xlabel="flow time, seconds", ylabel="jobs (cumulative), %")
    add_heading(ax, "" if instance is None else instance.name)
    return ax


@house_style()
def _level_over_time(
    instance: OnlineInstance | None, runs: Runs, panel: str, ax: Axes | None
) -> Axes:
    records = _records(instance, runs)
    histories = [History(r.policy, r.end, {panel: _levels(r)[panel]}) for r in records]
    return draw_over_time(histories, "" if instance is None else instance.name, ax)


def _levels(records: Records) -> dict[str, Series]:
    times, waiting, in_use = timeline(records)
    percent = 100 * in_use / records.cluster_gpus
    return {WAITING: (times, waiting), IN_USE: (times, percent)}


def _records(instance: OnlineInstance | None, runs: Runs) -> list[Records]:
    """The records of runs; those of a solution's file have no predictions."""
    records = []
    for run in runs_in(runs):
        if not isinstance(run, Records):
            solution = solution_in(run, OnlineSolution)
            if instance is None:
                raise InputError("plot", "instance", "None", "the instance of the solution")
            jobs = prepare_jobs(instance.workload, instance.catalogue, instance.cluster)
            options = OnlineOptions.from_dict(solution.options).policy
            run = records_of(jobs, np.full(len(jobs), np.nan), options, solution)
        records.append(run)
    return records
