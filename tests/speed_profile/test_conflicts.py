"""Deadlines that cannot be met: the speed named as needed is enough, a little less is not."""

from typing import Any

import pytest
from oracles.speed_profile_cases import document

import optsched
from optsched.result import Termination
from optsched.speed_profile.instance import SpeedProfileInstance


def made(
    speeds: list[float],
    deadline: float,
    values: list[float],
    completed: float = 0.0,
    weights: list[float] | None = None,
) -> dict[str, Any]:
    power = [10.0 * (k + 1) for k in range(len(speeds))]
    work = {"values": values, "probabilities": weights or [1 / len(values)] * len(values)}
    made = document("case", speeds, power, work)
    return {**made, "deadline": deadline, "completed": completed}


def linear(deadline: float, points: list[float], survival: list[float]) -> dict[str, Any]:
    work = {"points": points, "survival": survival}
    return {**made([1.0, 2.0], deadline, [1.0]), "work": work}


CASES = {
    "one value, one speed": (made([1.0], 5.0, [6.0]), 1.0),
    "the least value alone would do": (made([1.0, 2.0], 5.0, [4.0, 8.0, 12.0]), 1 / 3),
    "two values of three are too many": (made([1.0, 2.0], 5.0, [4.0, 11.0, 12.0]), 2 / 3),
    "no value can be done": (made([1.0, 2.0], 1.0, [4.0, 8.0]), 1.0),
    "an unlikely value": (made([2.0], 10.0, [5.0, 30.0], weights=[0.99, 0.01]), 0.01),
    "no time at all": (made([1.0, 3.0], 0.0, [6.0]), 1.0),
    "epochs done count": (made([1.0], 3.0, [4.0, 9.0], completed=5.0), 1.0),
    "a hair too short": (made([1.0, 2.0], 5.999, [3.0, 12.0]), 0.5),
    "a straight line": (linear(2.0, [0.0, 8.0], [1.0, 0.0]), 0.5),
    "a line with a jump": (linear(3.0, [0.0, 4.0, 10.0], [1.0, 0.5, 0.25]), 0.5 - 0.25 / 3),
}
SLOWED = 1 - 1e-6


@pytest.mark.parametrize("name", CASES)
def test_the_conflict_is_that_of_the_most_work(name: str) -> None:
    case, late = CASES[name]
    conflict = optsched.explain(SpeedProfileInstance.from_dict(case))
    work, speed = conflict.members
    most = max(case["work"].get("values", case["work"].get("points")))
    assert work.name == f"w^max = {most:g}"
    assert speed.name.startswith(f"{len(case['speeds'])} GPU")
    assert conflict.measures["late_probability"] == pytest.approx(late)
    left = most - case["completed"]
    assert conflict.excess == pytest.approx(left / max(case["speeds"]) - case["deadline"])


@pytest.mark.parametrize("name", [name for name in CASES if name != "no time at all"])
def test_the_speed_and_the_deadline_named_are_what_is_missing(name: str) -> None:
    case, _ = CASES[name]
    measures = optsched.explain(SpeedProfileInstance.from_dict(case)).to_dict()
    needed, least = measures["needed_speed"], measures["least_seconds"]
    power = [*case["power"], 100.0]
    faster = {**case, "speeds": [*case["speeds"], needed], "power": power}
    slower = {**faster, "speeds": [*case["speeds"], needed * SLOWED]}
    later = {**case, "deadline": least}
    sooner = {**case, "deadline": least * SLOWED}
    ends = [
        optsched.solve(SpeedProfileInstance.from_dict(each)).termination is Termination.INFEASIBLE
        for each in (faster, slower, later, sooner)
    ]
    assert ends == [False, True, False, True]
