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
from optsched.plotting.density import draw_density
from optsched.plotting.labels import Label, label_inside, thin_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SweepRow = tuple[str, float, str, float | None, float | None]
"""(contention, x, policy, makespan, mean completion time) of one run."""

MOST_LABELLED = 40
MOST_BARS = 600
"""Jobs; of more, how full each server is says more than their bars."""
OWN_COLOUR = len(COLOURS)
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
    found = _evaluated(instance, solution)
    given = found.instance
    title = f"{given.name}: makespan {found.makespan:g} slots"
    if len(given.jobs) > MOST_BARS:
        ax = _draw_servers(axes(ax, WIDTH, 4.6), found)
        headed(ax, f"{title}, {len(given.jobs):,} jobs", [])
        return ax
    ax = axes(ax, WIDTH, float(np.clip(1.6 + 0.14 * given.gpus, 3.0, 14.0)))
    firsts = np.concatenate(([0], np.cumsum(given.servers)))
    colours = _job_colours(found)
    labels: list[Label] = []
    for j, rows in enumerate(_gpu_rows(found)):
        labels += _draw_job(ax, found, j, rows, firsts, colours[j])
    for first in firsts[1:-1]:
        ax.axhline(first, color=WORDS, linewidth=0.6)
    ax.axvline(found.makespan, color=MARK, linewidth=1.2, gid="makespan")
    step = -(-len(given.servers) // MOST_LABELLED)
    shown = range(0, len(given.servers), step)
    ax.set_yticks([(firsts[s] + firsts[s + 1]) / 2 for s in shown], [f"server {s}" for s in shown])
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(firsts[-1], 0)
    ax.set_xlim(0, found.makespan * 1.02)
    ax.set_xlabel("slots")
    headed(ax, title + "; hatched jobs span servers", _size_handles(found, colours))
    thin_rows(ax)
    label_inside(ax, labels)
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
    found = _evaluated(instance, solution)
    ax = axes(ax, WIDTH, 3.6)
    levels = found.levels
    spanning = levels > 0
    highest = levels.max(axis=1)
    mean = levels.sum(axis=1) / np.maximum(spanning.sum(axis=1), 1)
    edges = found.times
    (top,) = ax.step(edges, [*highest, 0], where="post", color=COLOURS[1], label="highest p")
    (middle,) = ax.step(
        edges, [*mean, 0], where="post", color=COLOURS[0], linestyle="--",
        label="mean p of the jobs that span",
    )  # fmt: skip
    other = ax.twinx()
    busy = 100 * found.gpu_use.sum(axis=1) / found.instance.gpus
    filled = other.fill_between(
        edges, [*busy, 0], step="post", color=FAINT, zorder=0, label="GPUs in use"
    )
    other.set_ylim(0, 105)
    other.set_ylabel("GPUs in use, %", color=WORDS)
    other.spines["right"].set_visible(True)
    ax.set_zorder(other.get_zorder() + 1)
    ax.patch.set_visible(False)
    ax.set_ylim(0, max(1.2, 1.1 * float(highest.max())))
    ax.set_xlim(0, found.makespan)
    ax.set_xlabel("slots")
    ax.set_ylabel("contention level p")
    headed(ax, f"{found.instance.name}: contention over time", [top, middle, filled])
    return ax


@house_style()
def plot_sweep(
    rows: Sequence[SweepRow],
    metric: Literal["makespan", "mean"] = "makespan",
    axis: str = "",
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw a metric against kappa, lambda or servers: medians over draws, ranges shaded.

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
    lines = []
    policies = list(dict.fromkeys(row[2] for row in rows))
    strengths = list(dict.fromkeys(row[0] for row in rows))
    places = sorted({row[1] for row in rows})
    for policy in policies:
        for strength in strengths:
            values = [_values(rows, strength, x, policy, metric) for x in places]
            shown = [(x, v) for x, v in zip(places, values, strict=True) if v]
            if shown:
                at, dash = policies.index(policy), strengths.index(strength)
                style = (COLOURS[at % len(COLOURS)], DASHES[dash % len(DASHES)])
                lines.append(_line(ax, shown, f"{policy}, {strength}", *style))
    ax.set_xlabel(axis)
    if len(places) == 1:
        ax.set_xticks([])
    ax.set_ylabel("makespan, slots" if metric == "makespan" else "mean completion time, slots")
    ax.set_ylim(bottom=0)
    headed(ax, title, lines)
    return ax


def _line(
    ax: Axes, shown: list[tuple[float, list[float]]], name: str, colour: str, style: str
) -> Any:
    places = [x for x, _ in shown]
    marker = "o" if len(places) <= 10 else None
    if len(places) == 1:  # one place: the policies side by side
        places = [len(ax.lines)]
        low, high = min(shown[0][1]), max(shown[0][1])
        ax.vlines(places, low, high, color=colour, linestyle=style)
    else:
        ax.fill_between(
            places, [min(v) for _, v in shown], [max(v) for _, v in shown],
            color=colour, alpha=0.12, linewidth=0,
        )  # fmt: skip
    (line,) = ax.plot(
        places,
        [median(v) for _, v in shown],
        color=colour,
        linestyle=style,
        marker=marker,
        label=name,
    )
    return line


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


def _gpu_rows(found: Evaluation) -> list[dict[int, list[int]]]:
    """GPUs of each job by server: the lowest free ones when it starts."""
    free_at = [np.zeros(size) for size in found.instance.servers]
    rows: list[dict[int, list[int]]] = [{} for _ in found.schedule.starts]
    for j in np.argsort(found.schedule.starts, kind="stable").tolist():
        for server, count in found.schedule.placed[j].items():
            free = np.flatnonzero(free_at[server] <= found.schedule.starts[j] + 1e-6)[:count]
            free_at[server][free] = found.ends[j]
            rows[j][server] = free.tolist()
    return rows


def _job_colours(found: Evaluation) -> list[str]:
    """A colour a job, or, of many, a colour a number of GPUs."""
    gpus = _taken(found)
    sizes = sorted(set(gpus))
    if len(gpus) <= OWN_COLOUR:
        return list(COLOURS[: len(gpus)])
    return [COLOURS[sizes.index(count) * len(COLOURS) // max(len(sizes), 9)] for count in gpus]


def _taken(found: Evaluation) -> list[int]:
    """GPUs of each job."""
    return [sum(placed.values()) for placed in found.schedule.placed]


def _size_handles(found: Evaluation, colours: Sequence[str]) -> list[Any]:
    """What the legend names: GPUs a job, where that is what colours say."""
    from matplotlib.patches import Patch

    if len(colours) <= OWN_COLOUR:
        return []
    sizes: dict[str, list[int]] = {}
    for count, colour in sorted(zip(_taken(found), colours, strict=True)):
        sizes.setdefault(colour, []).append(count)
    handles = []
    for colour, counts in sizes.items():
        low, high = counts[0], counts[-1]
        words = f"{low}" if low == high else f"{low} to {high}"
        handles.append(Patch(color=colour, label=f"{words} GPU{'s' * (high > 1)} a job"))
    return handles


def _draw_job(
    ax: Axes,
    found: Evaluation,
    j: int,
    rows: dict[int, list[int]],
    firsts: np.ndarray,
    colour: str,
) -> list[Label]:
    """Draw a job's bars; returns what names them."""
    start, end = found.schedule.starts[j], float(found.ends[j])
    name = found.instance.jobs[j].name
    spans = len(rows) > 1
    labels = []
    for server, gpus in rows.items():
        runs = [(firsts[server] + run[0], len(run)) for run in _runs(gpus)]
        for run in runs:
            ax.broken_barh(
                [(start, end - start)],
                run,
                facecolor=colour,
                edgecolor="white",
                linewidth=0.5,
                hatch="///" if spans else None,
                gid=f"job-{name}-server-{server}",
            )
        low, count = max(runs, key=lambda run: run[1])
        labels.append(Label(name, (start, end), (low, low + count), colour))
    return labels


def _draw_servers(ax: Axes, found: Evaluation) -> Axes:
    rows, starts, ends, counts = [], [], [], []
    for j, placed in enumerate(found.schedule.placed):
        for server, count in placed.items():
            rows.append(server)
            starts.append(found.schedule.starts[j])
            ends.append(float(found.ends[j]))
            counts.append(count)
    held = np.array([rows, starts, ends, counts], dtype=np.float64)
    draw_density(ax, held, found.instance.servers, "server")
    ax.set_xlabel("slots")
    return ax


def _runs(gpus: list[int]) -> list[list[int]]:
    """Neighbouring GPUs together."""
    runs: list[list[int]] = []
    for gpu in gpus:
        if runs and gpu == runs[-1][-1] + 1:
            runs[-1].append(gpu)
        else:
            runs.append([gpu])
    return runs
