"""What pictures of schedules, selections, speed profiles, runs and traces draw."""

from collections import Counter
from dataclasses import replace
from math import inf, isnan

import numpy as np
import pytest
from rolling.small import three_jobs

import optsched
from optsched import plotting
from optsched.errors import InputError
from optsched.result import Result, TracePoint
from optsched.rolling.bounds.clairvoyant import BoundSettings
from optsched.rolling.runs import Run, run_policies

TRACE = (TracePoint(0.5, None, -inf), TracePoint(1.0, 0.3, 0.1), TracePoint(2.0, 0.2, 0.15))


@pytest.fixture(scope="module")
def rolled() -> list[Run]:
    return list(run_policies(three_jobs(), ["sts", "edf"], bound=BoundSettings(iterations=20)))


@pytest.fixture(scope="module")
def traced() -> Result:
    return replace(optsched.solve("placement/fig2", "heavy-edge"), trace=TRACE)


def test_gantt_draws_every_job_on_its_servers() -> None:
    name = "makespan/contended-4x3"
    solution = optsched.solve(name).solution
    ax = plotting.plot_gantt(name, solution)
    gids = {artist.get_gid() for artist in ax.collections}
    assert gids >= {f"job-{run.name}-server-{s}" for run in solution.jobs for s in run.gpus}
    hatched = {a.get_gid().split("-")[1] for a in ax.collections if a.get_hatch()}
    assert hatched == {run.name for run in solution.jobs if len(run.gpus) > 1}


def test_a_broken_schedule_is_refused() -> None:
    solution = optsched.solve("makespan/contended-3x3").solution
    late = solution.jobs[0].model_copy(update={"start": 59})
    broken = solution.model_copy(update={"jobs": (late, *solution.jobs[1:])})
    with pytest.raises(InputError, match="horizon"):
        plotting.plot_gantt("makespan/contended-3x3", broken)


def test_selection_draws_every_share() -> None:
    instance = optsched.load("selection/10x40")
    solution = optsched.solve(instance).solution
    drawn: Counter[str] = Counter()
    for bar in plotting.plot_selection(instance, solution).patches:
        drawn[str(bar.get_gid())] += bar.get_width()
    for placement in solution.jobs:
        if placement.node is not None:
            wanted = len(placement.gpus) * placement.fraction
            assert drawn[f"job-{placement.name}"] == pytest.approx(wanted)


def test_speed_profile_steps() -> None:
    ax = plotting.plot_speed_profile("speed-profile/alexnet-8")
    solution = optsched.solve("speed-profile/alexnet-8").solution
    steps = next(patch for patch in ax.patches if patch.get_gid() == "gpus")
    assert list(steps.get_data().values) == [piece.speed + 1 for piece in solution.pieces]
    plotting.plot_speed_profile("speed-profile/infeasible")


def test_a_run_over_time_adds_up_to_its_metrics(rolled: list[Run]) -> None:
    """The clock of half a minute is in seconds; rates are dollars an hour."""
    ax = plotting.plot_rolling_over_time(three_jobs(), rolled[1].records)
    panels = ax.figure.axes
    lines = {line.get_gid(): line for panel in panels for line in panel.lines}
    energy = lines["energy, dollars an hour edf"]
    spent = (energy.get_ydata()[:-1] * np.diff(energy.get_xdata())).sum() / 3600
    assert spent == pytest.approx(rolled[1].metrics.energy_cost)
    waiting = lines["jobs waiting edf"].get_ydata()
    assert (waiting.min(), waiting[-1]) == (0, 0)
    (dots,) = panels[-1].collections
    assert dots.get_offsets()[:, 1].sum() == pytest.approx(rolled[1].metrics.tardiness)
    assert panels[-1].get_xlabel() == "seconds"


def test_costs_stack_above_the_bound(rolled: list[Run]) -> None:
    ax = plotting.plot_cost_by_policy(rolled)
    ends = [bar.get_x() + bar.get_width() for bar in ax.patches[2:]]
    assert ends == pytest.approx([123, 193])
    bound = next(line for line in ax.lines if line.get_gid() == "bound")
    assert bound.get_xdata()[0] == pytest.approx(rolled[0].bound)


def test_a_trace_is_drawn_in_milliseconds(traced: Result) -> None:
    ax = plotting.plot_trace(traced)
    lines = {line.get_label(): line for line in ax.lines}
    assert set(lines) == {"incumbent", "bound"}
    for line in lines.values():
        assert list(line.get_xdata()) == [0.5, 1.0, 2.0]
        assert line.get_drawstyle() == "steps-post"
        assert isnan(line.get_ydata()[0])
    assert list(lines["incumbent"].get_ydata())[1:] == pytest.approx([300, 200])
    assert list(lines["bound"].get_ydata())[1:] == pytest.approx([100, 150])
    assert ax.get_xlabel().endswith(", seconds")
    assert ax.get_ylabel() == "iteration time, milliseconds"
