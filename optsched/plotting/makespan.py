"""Schedules of ring-all-reduce jobs: a Gantt chart, contention over time, and sweeps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from optsched.errors import InputError
from optsched.makespan.contention import Evaluation, evaluate, schedule_of
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.solution import MakespanSolution
from optsched.methods import check, problem_for, solution_of
from optsched.plotting.arguments import decided, instance_of
from optsched.plotting.axes import (
    COLOURS,
    DASHES,
    FAINT,
    MARK,
    WIDTH,
    WORDS,
    axes,
    headed,
    house_style,
)
from optsched.plotting.gantt import Bar, Chart, draw_gantt, draw_use

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SweepRow = tuple[str, float, str, float | None, float | None]
"""(contention, x, policy, makespan, mean completion time) of one run."""

MAX_BARS = 600
"""Jobs; of more, how full each server is says more than their bars."""
MAX_OWN_COLOURS = len(COLOURS)
"""Jobs that have a colour each; more are coloured by how many GPUs they take."""


@house_style()
def plot_gantt(
    instance: MakespanInstance | str | Path,
    solution: MakespanSolution | str | Path,
    ax: Axes | None = None,
) -> Axes:
    """Draw every job on the GPUs it holds, server by server; spanning jobs are hatched.

    Up to nine jobs have a colour each; of more the colour says how many GPUs a job takes. Names
    stand in the bars that are wide enough. Of more than 600 jobs the share of each server's GPUs in
    use is drawn instead, the busiest server first.

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

    Raises
    ------
    InputError
        If a file cannot be used or the solution breaks a rule.
    MissingExtraError
        If matplotlib is not installed.
    """
    run = _evaluated(instance, solution)
    given = run.instance
    many = len(given.jobs) > MAX_BARS
    title = f"{given.name}: makespan {run.makespan:g} slots"
    title += f", {len(given.jobs):,} jobs" if many else "; hatched jobs span servers"
    names = [f"server {server}" for server in range(len(given.servers))]
    chart = Chart(names, given.servers, "server", "slots", title)
    if many:
        pieces = [
            (server, run.schedule.starts[j], float(run.ends[j]), count)
            for j, placed in enumerate(run.schedule.placed)
            for server, count in placed.items()
        ]
        return draw_use(ax, chart, np.array(pieces, dtype=np.float64).T)
    colours = _job_colours(run)
    bars = []
    for j, rows in enumerate(_gpu_rows(run)):
        name, times = given.jobs[j].name, (float(run.schedule.starts[j]), float(run.ends[j]))
        hatch = "///" if len(rows) > 1 else None
        for server, held in rows.items():
            gid = f"job-{name}-server-{server}"
            bars += [
                Bar(server, gpus[0], len(gpus), *times, name, colours[j], gid, hatch)
                for gpus in _neighbours(held)
            ]
    ax = draw_gantt(ax, chart, bars, _size_handles(run, colours), run.makespan * 1.02)
    ax.axvline(run.makespan, color=MARK, linewidth=1.2, gid="makespan")
    return ax


@house_style()
def plot_contention(
    instance: MakespanInstance | str | Path,
    solution: MakespanSolution | str | Path,
    ax: Axes | None = None,
) -> Axes:
    """Draw the highest and the mean contention level of the spanning jobs over time.

    Parameters
    ----------
    instance, solution : objects, names or paths
        A schedule that `optsched.check` accepts.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    Axes
        With the share of GPUs in use, in per cent, on a second axis.
    """
    run = _evaluated(instance, solution)
    ax = axes(ax, WIDTH, 3.6)
    levels = run.levels
    spanning = levels > 0
    highest = levels.max(axis=1)
    mean = levels.sum(axis=1) / np.maximum(spanning.sum(axis=1), 1)
    edges = run.times
    (top,) = ax.step(edges, [*highest, 0], where="post", color=COLOURS[1], label="highest p")
    (middle,) = ax.step(
        edges, [*mean, 0], where="post", color=COLOURS[0], linestyle="--",
        label="mean p of the jobs that span",
    )  # fmt: skip
    other = ax.twinx()
    busy = 100 * run.gpu_use.sum(axis=1) / run.instance.gpus
    filled = other.fill_between(
        edges, [*busy, 0], step="post", color=FAINT, zorder=0, label="GPUs in use"
    )
    other.set_ylim(0, 105)
    other.set_ylabel("GPUs in use, %", color=WORDS)
    other.spines["right"].set_visible(True)
    ax.set_zorder(other.get_zorder() + 1)
    ax.patch.set_visible(False)
    ax.set_ylim(0, max(1.2, 1.1 * float(highest.max())))
    ax.set_xlim(0, run.makespan)
    ax.set_xlabel("slots")
    ax.set_ylabel("contention level p")
    headed(ax, f"{run.instance.name}: contention over time", [top, middle, filled])
    return ax


@house_style()
def plot_sweep(
    rows: Sequence[SweepRow],
    metric: Literal["makespan", "mean"] = "makespan",
    axis: str = "",
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw a metric against kappa, lambda or servers: medians over draws and their ranges.

    Parameters
    ----------
    rows : sequence of tuple
        (contention, x, policy, makespan, mean completion time) of single runs; None where a
        policy found no schedule.
    metric : "makespan" or "mean"
        Mean is the mean completion time.
    axis, title : str
        Labels.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    Axes
        One line a policy and strength of contention.
    """
    ax = axes(ax, WIDTH, 4.2)
    lines: list[Any] = []
    policies = list(dict.fromkeys(row[2] for row in rows))
    strengths = list(dict.fromkeys(row[0] for row in rows))
    places = sorted({row[1] for row in rows})
    for policy in policies:
        for strength in strengths:
            values = [_values(rows, strength, x, policy, metric) for x in places]
            shown = [(x, v) for x, v in zip(places, values, strict=True) if v]
            if shown:
                at, dash = policies.index(policy), strengths.index(strength)
                x = [len(lines)] if len(places) == 1 else [place for place, _ in shown]
                middle = [median(each) for _, each in shown]
                low = [m - min(each) for m, (_, each) in zip(middle, shown, strict=True)]
                high = [max(each) - m for m, (_, each) in zip(middle, shown, strict=True)]
                lines += ax.errorbar(
                    x,
                    middle,
                    yerr=(low, high),
                    color=COLOURS[at % len(COLOURS)],
                    linestyle=DASHES[dash % len(DASHES)],
                    marker="o",
                    capsize=3,
                    label=f"{policy}, {strength}",
                )[:1]
    ax.set_xlabel(axis)
    if len(places) == 1:
        ax.set_xticks([])
    ax.set_ylabel("makespan, slots" if metric == "makespan" else "mean completion time, slots")
    ax.set_ylim(bottom=0)
    headed(ax, title, lines)
    return ax


def _values(
    rows: Sequence[SweepRow], strength: str, x: float, policy: str, metric: str
) -> list[float]:
    index = 3 if metric == "makespan" else 4
    chosen = [row[index] for row in rows if row[:3] == (strength, x, policy)]
    return [float(value) for value in chosen if isinstance(value, int | float)]


def _evaluated(
    instance: MakespanInstance | str | Path, solution: MakespanSolution | str | Path
) -> Evaluation:
    given = instance_of(instance, MakespanInstance)
    schedule = decided(solution_of(problem_for(given), solution), MakespanSolution)
    report = check(given, schedule)
    if not report.feasible:
        raise InputError("solution", "", str(report.violations[0]), "a feasible solution")
    return evaluate(given, schedule_of(given, schedule))


def _gpu_rows(run: Evaluation) -> list[dict[int, list[int]]]:
    """GPUs of each job by server: the lowest free ones when it starts."""
    free_at = [np.zeros(size) for size in run.instance.servers]
    rows: list[dict[int, list[int]]] = [{} for _ in run.schedule.starts]
    for j in np.argsort(run.schedule.starts, kind="stable").tolist():
        for server, count in run.schedule.placed[j].items():
            free = np.flatnonzero(free_at[server] <= run.schedule.starts[j] + 1e-6)[:count]
            free_at[server][free] = run.ends[j]
            rows[j][server] = free.tolist()
    return rows


def _job_colours(run: Evaluation) -> list[str]:
    """A colour a job, or, of many, a colour a number of GPUs."""
    gpus = _taken(run)
    sizes = sorted(set(gpus))
    if len(gpus) <= MAX_OWN_COLOURS:
        return list(COLOURS[: len(gpus)])
    return [COLOURS[sizes.index(count) * len(COLOURS) // max(len(sizes), 9)] for count in gpus]


def _taken(run: Evaluation) -> list[int]:
    """GPUs of each job."""
    return [sum(placed.values()) for placed in run.schedule.placed]


def _size_handles(run: Evaluation, colours: Sequence[str]) -> list[Any]:
    """What the legend names: GPUs a job, where that is what colours say."""
    from matplotlib.patches import Patch

    if len(colours) <= MAX_OWN_COLOURS:
        return []
    sizes: dict[str, list[int]] = {}
    for count, colour in sorted(zip(_taken(run), colours, strict=True)):
        sizes.setdefault(colour, []).append(count)
    handles = []
    for colour, counts in sizes.items():
        low, high = counts[0], counts[-1]
        words = f"{low}" if low == high else f"{low} to {high}"
        handles.append(Patch(color=colour, label=f"{words} GPU{'s' * (high > 1)} a job"))
    return handles


def _neighbours(gpus: list[int]) -> list[list[int]]:
    """GPUs in runs of neighbours."""
    cuts = np.flatnonzero(np.diff(gpus) != 1) + 1
    return [run.tolist() for run in np.split(np.array(gpus), cuts)]
