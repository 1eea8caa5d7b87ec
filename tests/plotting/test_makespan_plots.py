"""The pictures of schedules: what is drawn, not how it looks."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pytest

import optsched
from optsched.errors import InputError
from optsched.plotting import plot_contention, plot_gantt, plot_sweep


def test_gantt_draws_every_job_on_its_servers() -> None:
    name = "makespan/contended-4x3"
    solution = optsched.solve(name).solution
    ax = plot_gantt(name, solution)
    gids = {artist.get_gid() for artist in ax.collections}
    for run in solution.jobs:
        for server in run.gpus:
            assert f"job-{run.name}-server-{server}" in gids
    hatched = {a.get_gid() for a in ax.collections if a.get_hatch()}
    assert {gid.split("-")[1] for gid in hatched} == {
        run.name for run in solution.jobs if len(run.gpus) > 1
    }


def test_contention_is_drawn_on_the_axes_given() -> None:
    _, ax = plt.subplots()
    solution = optsched.solve("makespan/contended-3x3").solution
    assert plot_contention("makespan/contended-3x3", solution, ax=ax) is ax
    assert ax.lines[0].get_ydata().max() == 2


def test_a_broken_schedule_is_refused() -> None:
    solution = optsched.solve("makespan/contended-3x3").solution
    late = solution.jobs[0].model_copy(update={"start": 59})
    broken = solution.model_copy(update={"jobs": (late, *solution.jobs[1:])})
    with pytest.raises(InputError, match="horizon"):
        plot_gantt("makespan/contended-3x3", broken)


def test_sweeps_have_a_line_a_policy_and_strength() -> None:
    rows = [
        (strength, x, policy, 100.0 + x, None if policy == "FF" else 50.0)
        for strength in ("mild", "strong")
        for x in (1.0, 2.0)
        for policy in ("SJF-BCO", "FF")
    ]
    assert len(plot_sweep(rows).containers) == 4
    assert len(plot_sweep(rows, "mean").containers) == 2
