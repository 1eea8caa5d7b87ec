"""Schedules of ring-all-reduce jobs: a Gantt chart, and contention over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from optsched.errors import InputError
from optsched.makespan.contention import Evaluation, evaluate, schedule_from_solution
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.solution import MakespanSolution
from optsched.methods import check
from optsched.plotting.arguments import instance_of, loaded_solution
from optsched.plotting.axes import (
    COLOURS,
    FAINT,
    MARK_COLOUR,
    WIDTH,
    add_heading,
    axes,
    faint_axis,
    house_style,
    line_style,
)
from optsched.plotting.gantt import Bar, Chart, draw_gantt, draw_utilisation

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from optsched.typing import InstanceLike, SolutionLike

MAX_BARS = 600
"""Jobs with bars; for more the utilisation of each server is drawn instead."""


@house_style()
def plot_gantt(instance: InstanceLike, solution: SolutionLike, ax: Axes | None = None) -> Axes:
    """Draw every job on its GPUs, server by server; jobs that span servers are hatched.

    At most nine jobs have a colour each; more share colours by size. Wide bars have
    names. For more than 600 jobs the share of each server's GPUs in use is drawn instead, the
    busiest server first.

    Parameters
    ----------
    instance, solution : objects, names or paths
        A schedule that `optsched.check` accepts.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    Axes
        Each job's bars on a server have the gid ``job-NAME-server-S``.
    """
    run = _evaluated(instance, solution)
    jobs, schedule = run.instance.jobs, run.schedule
    title = f"{run.instance.name}: makespan {run.makespan:g} slots"
    title += f", {len(jobs):,} jobs" if len(jobs) > MAX_BARS else "; hatched jobs span servers"
    names = [f"server {server}" for server in range(len(run.instance.servers))]
    chart = Chart(names, run.instance.servers, "server", "slots", title)
    if len(jobs) > MAX_BARS:
        usage = [
            (server, schedule.starts[j], run.ends[j], count)
            for j, placed in enumerate(schedule.placed)
            for server, count in placed.items()
        ]
        return draw_utilisation(ax, chart, np.array(usage, dtype=np.float64))
    colours, handles = _job_colours([sum(placed.values()) for placed in schedule.placed])
    bars = []
    for job, start, end, colour, gpus in zip(
        jobs, schedule.starts, run.ends, colours, _gpus_of_jobs(run), strict=True
    ):
        hatch = "///" if len(gpus) > 1 else None
        for server, held in gpus.items():
            gid = f"job-{job.name}-server-{server}"
            for block in np.split(held, np.flatnonzero(np.diff(held) != 1) + 1):
                place = (server, int(block[0]), len(block), float(start), float(end))
                bars.append(Bar(*place, job.name, colour, gid, hatch))
    ax = draw_gantt(ax, chart, bars, handles, run.makespan * 1.02)
    ax.axvline(run.makespan, color=MARK_COLOUR, linewidth=1.2, gid="makespan")
    return ax


@house_style()
def plot_contention(instance: InstanceLike, solution: SolutionLike, ax: Axes | None = None) -> Axes:
    """Draw the highest and the mean contention level of the spanning jobs over time.

    Parameters
    ----------
    instance, solution, ax
        As in `plot_gantt`.

    Returns
    -------
    Axes
        With the share of GPUs in use, in per cent, on a second axis.
    """
    run = _evaluated(instance, solution)
    ax = axes(ax, WIDTH, 3.6)
    highest = run.levels.max(axis=1)
    mean = run.levels.sum(axis=1) / np.maximum((run.levels > 0).sum(axis=1), 1)
    lines: list[Any] = []
    levels = (("mean level of spanning jobs", mean), ("highest level", highest))
    for number, (name, level) in enumerate(levels):
        lines += ax.step(run.times, [*level, 0], where="post", **line_style(number, name))
    right_axis = faint_axis(ax, "GPUs in use, %", 105)
    busy = 100 * run.gpu_use.sum(axis=1) / run.instance.gpus
    lines.append(
        right_axis.fill_between(
            run.times, [*busy, 0], step="post", color=FAINT, label="GPUs in use"
        )
    )
    ax.set_ylim(0, max(1.2, 1.1 * float(highest.max())))
    ax.set_xlim(0, run.makespan)
    ax.set_xlabel("slots")
    ax.set_ylabel("contention level p")
    add_heading(ax, f"{run.instance.name}: contention over time", lines)
    return ax


def _evaluated(instance: InstanceLike, solution: SolutionLike) -> Evaluation:
    loaded = instance_of(instance, MakespanInstance)
    schedule = loaded_solution(loaded, solution, MakespanSolution)
    report = check(loaded, schedule)
    if not report.feasible:
        raise InputError("solution", "", str(report.violations[0]), "a feasible solution")
    return evaluate(loaded, schedule_from_solution(loaded, schedule))


def _gpus_of_jobs(run: Evaluation) -> list[dict[int, np.ndarray]]:
    """GPUs of each job by server: the lowest free ones when it starts."""
    free_at = [np.zeros(size) for size in run.instance.servers]
    gpus: list[dict[int, np.ndarray]] = [{} for _ in run.schedule.starts]
    for j in np.argsort(run.schedule.starts, kind="stable").tolist():
        for server, count in run.schedule.placed[j].items():
            free = np.flatnonzero(free_at[server] <= run.schedule.starts[j] + 1e-6)[:count]
            free_at[server][free] = run.ends[j]
            gpus[j][server] = free
    return gpus


def _job_colours(gpus: Sequence[int]) -> tuple[list[str], list[Any]]:
    """A colour per job or, with many jobs, per number of GPUs; and the legend's handles."""
    from matplotlib.patches import Patch

    if len(gpus) <= len(COLOURS):
        return list(COLOURS[: len(gpus)]), []
    sizes = sorted(set(gpus))
    width = max(len(sizes), len(COLOURS))
    colour_of = {size: COLOURS[i * len(COLOURS) // width] for i, size in enumerate(sizes)}
    handles = []
    for colour in dict.fromkeys(colour_of.values()):
        same = [size for size in sizes if colour_of[size] == colour]
        words = f"{same[0]}" if len(same) == 1 else f"{same[0]} to {same[-1]}"
        handles.append(Patch(color=colour, label=f"{words} GPU{'s' * (same[-1] > 1)} per job"))
    return [colour_of[size] for size in gpus], handles
