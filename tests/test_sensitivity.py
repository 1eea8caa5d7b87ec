"""explain --sensitivity: each parameter varied alone, heuristic and optimum found anew."""

import json
from functools import cache
from pathlib import Path

import pytest
from commands import json_of, printed, refusal

import optsched
from optsched.errors import InputError
from optsched.problems import PROBLEMS
from optsched.verbs.sensitivity import Sensitivity, sensitivity

PLACEMENT = "placement/fig2"
MAKESPAN = "makespan/theorem5-2x1"


@cache
def varied(name: str) -> Sensitivity:
    return sensitivity(name)


@pytest.mark.parametrize(
    ("name", "heuristic", "parameters"),
    [
        (PLACEMENT, "heavy-edge", ["NIC bandwidth", "intra bandwidth"]),
        (MAKESPAN, "sjf-bco", ["NIC bandwidth", "intra bandwidth", "contention share"]),
    ],
)
def test_the_own_value_is_the_instance_as_it_is(
    name: str, heuristic: str, parameters: list[str]
) -> None:
    found, instance = varied(name), optsched.load(name)
    assert found.heuristic == heuristic
    assert [curve.parameter for curve in found.curves] == parameters
    document = instance.to_dict()
    problem = PROBLEMS[found.problem]
    quick = optsched.solve(instance, found.heuristic).objective
    best = optsched.solve(instance).objective
    for curve, parameter in zip(found.curves, problem.varied, strict=True):
        (own,) = [point for point in curve.points if point.own]
        stated = document
        for key in parameter.path:
            stated = stated[key]
        assert own.value == pytest.approx(stated * parameter.shown_per_unit)
        assert (own.heuristic, own.optimum) == (quick, best)
        assert own.excess == pytest.approx(quick / best - 1, abs=1e-9)
        assert list(curve.points) == sorted(curve.points, key=lambda point: point.value)


def test_other_values_are_those_of_changed_files() -> None:
    instance = optsched.load(PLACEMENT)
    document = instance.to_dict()
    curve = varied(PLACEMENT).curves[0]
    slowest = curve.points[0]
    document["cluster"]["inter_bandwidth"] = slowest.value / 8e-9
    changed = type(instance).from_dict(document)
    assert slowest.heuristic == optsched.solve(changed, "heavy-edge").objective
    assert slowest.optimum == optsched.solve(changed).objective
    assert slowest.optimum > curve.points[-1].optimum


def test_what_cannot_be_is_said() -> None:
    curve = sensitivity("makespan/contended-3x3", time_limit=0.02).curves[0]
    first = curve.points[0]
    assert (first.heuristic, first.optimum, first.excess) == (None, None, None)
    assert "an iteration longer than a slot" in first.note


def test_the_table_says_where_each_curve_is_lowest_and_highest() -> None:
    curves = varied(PLACEMENT).curves
    _, headings, rows, closing = varied(PLACEMENT).table()
    assert len(rows) == sum(len(curve.points) for curve in curves)
    assert all(len(row) == len(headings) for row in rows)
    assert [row[0] for row in rows].count(">") == 2
    lines = closing.splitlines()
    assert len(lines) == 2
    for line, curve in zip(lines, curves, strict=True):
        worst = max(point.excess for point in curve.points if point.excess is not None)
        assert f"{100 * worst:.2f}%" in line


def test_the_command_prints_json_or_draws(tmp_path: Path) -> None:
    said = json_of("explain --sensitivity", MAKESPAN)
    assert said == json.loads(json.dumps(varied(MAKESPAN).to_dict()))
    picture = tmp_path / "s.svg"
    printed("explain --sensitivity", MAKESPAN, "-o", picture)
    drawn = picture.read_text(encoding="utf-8")
    for gid in ("heuristic", "optimum", "excess", "own"):
        assert f'id="{gid}"' in drawn
    assert drawn.count('id="excess"') == 3


def test_what_does_not_go_together_is_refused() -> None:
    apart = "-o p.svg", "--time-limit 3", "solution.json --sensitivity", "--sensitivity -o p.txt"
    for more in apart:
        refusal(f"explain {PLACEMENT} {more}")
    with pytest.raises(InputError, match="expected placement or makespan"):
        sensitivity("speed-profile/plateau")
