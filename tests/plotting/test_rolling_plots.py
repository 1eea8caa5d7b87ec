"""Pictures of runs over time, read back from their artists."""

from __future__ import annotations

import numpy as np
import pytest
from rolling.small import three_jobs

pytest.importorskip("matplotlib")

from optsched.plotting import (
    plot_cost_by_policy,
    plot_late_by_load,
    plot_nodes_in_use,
    plot_rolling_over_time,
    plot_run,
)
from optsched.rolling.bounds.clairvoyant import BoundSettings
from optsched.rolling.runs import Run, run_policies


@pytest.fixture(scope="module")
def rolled() -> list[Run]:
    return list(run_policies(three_jobs(), ["sts", "edf"], bound=BoundSettings(iterations=20)))


def test_a_run_shows_each_segments_gpus(rolled: list[Run]) -> None:
    """b holds one GPU from 4 to 12 s, two from 12 to 15 and from 20 to 24.5: 28 GPU seconds."""
    ax = plot_run(three_jobs(), rolled[0].records)
    bars = [bar for bar in ax.collections if bar.get_gid() == "job-b"]
    widths = [np.ptp(path.vertices[:, 0]) for bar in bars for path in bar.get_paths()]
    assert sum(widths) == pytest.approx(8 + 2 * 3 + 2 * 4.5)


def test_nodes_in_use_rise_and_fall(rolled: list[Run]) -> None:
    ax = plot_nodes_in_use(three_jobs(), [each.records for each in rolled])
    line = next(line for line in ax.lines if line.get_gid() == "policy-sts")
    assert line.get_ydata()[0] == 1
    assert line.get_ydata()[-1] == 0
    assert line.get_xdata()[-1] == pytest.approx(32.5)


def test_a_run_over_time_adds_up_to_its_metrics(rolled: list[Run]) -> None:
    """The clock of half a minute is in seconds; rates are dollars an hour."""
    ax = plot_rolling_over_time(three_jobs(), rolled[1].records)
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
    ax = plot_cost_by_policy(rolled)
    ends = [bar.get_x() + bar.get_width() for bar in ax.patches[2:]]
    assert ends == pytest.approx([123, 193])
    bound = next(line for line in ax.lines if line.get_gid() == "bound")
    assert bound.get_xdata()[0] == pytest.approx(rolled[0].bound)


def test_late_jobs_by_load_are_in_percent() -> None:
    ax = plot_late_by_load({"sts": [(0.6, 0.2), (0.2, 0.0)], "edf": [(0.2, 0.1), (0.6, 0.5)]})
    line = next(line for line in ax.lines if line.get_gid() == "policy-sts")
    assert list(line.get_xdata()) == [0.2, 0.6]
    assert list(line.get_ydata()) == [0.0, 20.0]
