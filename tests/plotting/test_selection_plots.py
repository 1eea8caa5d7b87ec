"""Selection and speed-profile pictures, read back from their Axes."""

from __future__ import annotations

import pytest

import optsched
from optsched.plotting import (
    plot_cost_against_deadline,
    plot_cost_split,
    plot_selection,
    plot_speed_profile,
)


def test_selection_draws_every_share() -> None:
    instance = optsched.load("selection/10x40")
    solution = optsched.solve(instance).solution
    ax = plot_selection(instance, solution)
    drawn: dict[str, float] = {}
    for bar in ax.patches:
        if bar.get_gid():
            drawn[bar.get_gid()] = drawn.get(bar.get_gid(), 0.0) + bar.get_width()
    for placement in solution.jobs:
        if placement.node is not None:
            wanted = len(placement.gpus) * placement.fraction
            assert drawn[f"job-{placement.name}"] == pytest.approx(wanted)


def test_cost_split_adds_up() -> None:
    result = optsched.solve("selection/12x6-light", "exact")
    ax = plot_cost_split(
        "selection/12x6-light", [result, optsched.solve("selection/12x6-light", "rg")]
    )
    widths = [bar.get_width() for bar in ax.patches if str(bar.get_gid()).startswith("exact-")]
    assert sum(widths) == pytest.approx(result.objective)


def test_cost_falls_as_deadlines_move_out() -> None:
    ax = plot_cost_against_deadline("selection/3x6", [-600.0, 0.0, 600.0], methods=("exact",))
    costs = ax.lines[0].get_ydata()
    assert list(costs) == sorted(costs, reverse=True)


def test_speed_profile_steps() -> None:
    ax = plot_speed_profile("speed-profile/alexnet-8")
    solution = optsched.solve("speed-profile/alexnet-8").solution
    steps = next(patch for patch in ax.patches if patch.get_gid() == "gpus")
    assert list(steps.get_data().values) == [piece.speed + 1 for piece in solution.pieces]
    plot_speed_profile("speed-profile/infeasible")
