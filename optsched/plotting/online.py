"""Runs on a workload: waiting jobs and GPUs in use over time, and the jobs' flow times."""

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
from optsched.plotting.arguments import solution_in
from optsched.plotting.axes import WIDTH, axes, headed, house_style, look
from optsched.plotting.over_time import History, Series, draw_over_time, thinned
from optsched.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OneRun = Records | Run | OnlineSolution | Result
Runs = OneRun | Sequence[OneRun]
WAITING, IN_USE = "jobs waiting", "GPUs in use, %"


@house_style()
def plot_online_over_time(instance: OnlineInstance, runs: Runs, ax: Axes | None = None) -> Axes:
    """Draw waiting jobs, GPUs in use and flow times against time, a panel each.

    Parameters
    ----------
    instance : OnlineInstance
        The instance of the runs.
    runs : result, solution, run, or a sequence of them
        Results of `optsched.solve`; a line each.
    ax : Axes, optional
        Replaced by the panels; by default they fill a new figure.

    Returns
    -------
    Axes
        The upper panel. Lines and dots have the gid ``PANEL POLICY``; a scale on which a few
        values would flatten the rest is not linear, and an axis that a few jobs would stretch
        says where they end.
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


def plot_queue(instance: OnlineInstance, runs: Runs, ax: Axes | None = None) -> Axes:
    """Draw the number of waiting jobs over time, a line a run.

    Parameters
    ----------
    instance, runs, ax
        As in `plot_online_over_time`.

    Returns
    -------
    Axes
        With the picture.
    """
    return queue_length(_records(instance, runs), ax, instance.name)


def plot_utilisation(instance: OnlineInstance, runs: Runs, ax: Axes | None = None) -> Axes:
    """Draw the share of all GPUs in use over time, a line a run.

    Parameters
    ----------
    instance, runs, ax
        As in `plot_online_over_time`.

    Returns
    -------
    Axes
        With the picture.
    """
    return _level_over_time(_records(instance, runs), IN_USE, ax, instance.name)


def plot_flow(instance: OnlineInstance, runs: Runs, ax: Axes | None = None) -> Axes:
    """Draw the share of jobs with at most a given flow time, a line a run.

    Parameters
    ----------
    instance, runs, ax
        As in `plot_online_over_time`.

    Returns
    -------
    Axes
        With the picture; the x axis is logarithmic.
    """
    return flow_cdf(_records(instance, runs), ax, instance.name)


def queue_length(runs: Sequence[Records], ax: Axes | None = None, title: str = "") -> Axes:
    """Draw the number of waiting jobs over time, a line a run."""
    return _level_over_time(runs, WAITING, ax, title)


@house_style()
def flow_cdf(runs: Sequence[Records], ax: Axes | None = None, title: str = "") -> Axes:
    """Draw the share of jobs with at most a given flow time, a line a run."""
    ax = axes(ax, WIDTH, 3.8)
    for number, records in enumerate(runs):
        flow = np.sort(records.flow)
        shares = 100 * np.arange(1, len(flow) + 1) / max(len(flow), 1)
        ax.step(*thinned(flow, shares), where="post", **look(number, records.policy))
    ax.set(xscale="log", xlabel="flow time, seconds", ylabel="jobs with at most so much, %")
    headed(ax, title)
    return ax


@house_style()
def _level_over_time(runs: Sequence[Records], panel: str, ax: Axes | None, title: str) -> Axes:
    histories = [History(r.policy, r.end, {panel: _levels(r)[panel]}) for r in runs]
    return draw_over_time(histories, title, ax)


def _levels(records: Records) -> dict[str, Series]:
    times, waiting, in_use = timeline(records)
    percent = 100 * in_use / (records.servers * records.gpus_per_server)
    return {WAITING: (times, waiting), IN_USE: (times, percent)}


def _records(instance: OnlineInstance, runs: Runs) -> list[Records]:
    """The records of runs; those of a solution's file have no predictions."""
    records = []
    for run in [runs] if isinstance(runs, OneRun) else runs:
        given = getattr(run, "records", run)
        if not isinstance(given, Records):
            solution = solution_in(given, OnlineSolution)
            jobs = prepare_jobs(instance.workload, instance.catalogue, instance.cluster)
            options = OnlineOptions.from_dict(solution.options).policy
            given = records_of(jobs, np.full(len(jobs), np.nan), options, solution)
        records.append(given)
    return records
