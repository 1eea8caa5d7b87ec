"""Runs on a workload: the queue and the GPUs in use over time, and how long jobs flow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from optsched.online.data.jobs import prepare_jobs
from optsched.online.instance import OnlineInstance
from optsched.online.metrics import timeline
from optsched.online.options import OnlineOptions
from optsched.online.records import Records, Segment, Segments
from optsched.online.runs import Run
from optsched.online.solution import OnlineSolution
from optsched.plotting.arguments import decided
from optsched.plotting.axes import axes
from optsched.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HOUR = 3600.0
OneRun = Records | Run | OnlineSolution | Result
Runs = OneRun | Sequence[OneRun]


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
    return queue_length(_records(instance, runs), ax)


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
    return utilisation(_records(instance, runs), ax)


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
    return flow_cdf(_records(instance, runs), ax)


def queue_length(runs: Sequence[Records], ax: Axes | None = None) -> Axes:
    """Jobs that wait over time, a line a run.

    Parameters
    ----------
    runs : sequence of Records
        Records, a policy each.
    ax : Axes, optional
        Where to draw; by default on a new figure.
    """
    made = axes(ax, 7.0, 4.0)
    for records in runs:
        time, queue, _ = timeline(records)
        made.step(time / HOUR, queue, where="post", label=records.policy, linewidth=1)
    return _labelled(made, "hours since the first submission", "jobs in the queue")


def utilisation(runs: Sequence[Records], ax: Axes | None = None) -> Axes:
    """Share of all GPUs in use over time, a line a run.

    Parameters
    ----------
    runs : sequence of Records
        Records, a policy each.
    ax : Axes, optional
        Where to draw; by default on a new figure.
    """
    made = axes(ax, 7.0, 4.0)
    for records in runs:
        time, _, used = timeline(records)
        share = used / (records.servers * records.gpus_per_server)
        made.step(time / HOUR, share, where="post", label=records.policy, linewidth=1)
    made.set_ylim(0, 1.02)
    return _labelled(made, "hours since the first submission", "GPUs in use")


def flow_cdf(runs: Sequence[Records], ax: Axes | None = None) -> Axes:
    """Share of jobs with at most so much flow time, a line a run.

    Parameters
    ----------
    runs : sequence of Records
        Records, a policy each.
    ax : Axes, optional
        Where to draw; by default on a new figure.
    """
    made = axes(ax, 7.0, 4.0)
    for records in runs:
        flow = np.sort(records.flow)
        made.step(flow, np.arange(1, len(flow) + 1) / max(len(flow), 1), where="post",
                  label=records.policy, linewidth=1)  # fmt: skip
    made.set_xscale("log")
    return _labelled(made, "flow time (s)", "share of jobs")


def completion_by(
    values: Sequence[float],
    flows: dict[str, Sequence[Sequence[float]]],
    xlabel: str,
    ax: Axes | None = None,
) -> Axes:
    """Mean flow time by NIC, load or single-GPU share: medians over seeds and their range.

    Parameters
    ----------
    values : sequence of float
        The x axis, such as Gbit/s.
    flows : dict
        By policy: for each value, the mean flow (s) of every seed.
    xlabel : str
        Of the axis.
    ax : Axes, optional
        Where to draw; by default on a new figure.
    """
    made = axes(ax, 7.0, 4.0)
    for policy, by_value in flows.items():
        middle = np.array([np.median(seeds) for seeds in by_value])
        low = middle - [min(seeds) for seeds in by_value]
        high = [max(seeds) for seeds in by_value] - middle
        made.errorbar(values, middle, yerr=(low, high), label=policy, capsize=3, linewidth=1)
    made.set_yscale("log")
    return _labelled(made, xlabel, "mean flow time (s)")


def _records(instance: OnlineInstance, runs: Runs) -> list[Records]:
    given = [runs] if isinstance(runs, OneRun) else runs
    return [
        run if isinstance(run, Records) else _records_of(instance, decided(run, OnlineSolution))
        for run in (getattr(each, "records", each) for each in given)
    ]


def _records_of(instance: OnlineInstance, run: OnlineSolution) -> Records:
    """The records of a run's file; what was predicted it does not say."""
    jobs = prepare_jobs(instance.workload, instance.catalogue, instance.cluster)
    row_of = {name: row for row, name in enumerate(jobs.workload.job_id)}
    rows = np.array([row_of[job.job_id] for job in run.jobs], dtype=np.int64)
    parts = [(at, part) for at, job in enumerate(run.jobs) for part in job.parts]
    length = [(part.end - part.start) / jobs.iterations[rows[at]] for at, part in parts]
    held = [
        Segment(part.start, part.end, each, tuple((int(m), g) for m, g in part.servers.items()))
        for (_, part), each in zip(parts, length, strict=True)
    ]
    return Records.of(
        jobs,
        rows,
        policy=run.policy,
        options=OnlineOptions.from_dict(run.options).policy,
        predicted=np.full(len(rows), np.nan),
        segments=Segments.of([at for at, _ in parts], held),
    )


def _labelled(ax: Any, xlabel: str, ylabel: str) -> Any:
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(fontsize="small")
    return ax
