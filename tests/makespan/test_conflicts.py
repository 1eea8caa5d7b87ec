"""Horizons too short: the conflict named is the smallest there is, by enumeration."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import pytest
from independent import makespan_cases as cases
from independent import makespan_oracle as oracle
from independent.day import seed_of_the_day
from oracles.conflicts import assert_irreducible, smallest_conflicts

import optsched
from optsched.backends.irreducible import _Rows, irreducible_rows
from optsched.cli import execute
from optsched.conflict import Conflict
from optsched.errors import InputError
from optsched.makespan.conflict import naming
from optsched.makespan.instance import MakespanInstance
from optsched.result import Settings
from optsched.verbs.explaining import conflict_of, why_none

FREE = {
    "inter_bandwidth": 1e9,
    "intra_bandwidth": 1e9,
    "contention_share": 1.0,
    "degradation": 0.0,
    "overhead_per_server": 0.0,
    "overhead_on_one_server": False,
}
SLOW_LINKS = {**FREE, "inter_bandwidth": 1.0}
"""A job of 1 byte loses a second on the way for each of 2 (G - 1)/G passes."""
HUGE = 1e18


def made(
    servers: list[int],
    jobs: list[tuple[Any, ...]],
    horizon: int,
    network: dict[str, Any] = FREE,
    slot: float = 1.0,
    progress: str = "floor",
) -> dict[str, Any]:
    """Jobs (GPUs, iterations of a second each, bytes), named a, b, c, ..."""
    rows = [
        {
            "name": "abcdefgh"[j],
            "gpus": gpus,
            "iterations": iterations,
            "gradient_bytes": rest[0] if rest else 0.0,
            "batch_size": 0.0,
            "forward_time_per_sample": 0.0,
            "backward_time": 1.0,
        }
        for j, (gpus, iterations, *rest) in enumerate(jobs)
    ]
    return {
        "schema": "optsched/makespan",
        "version": 1,
        "name": "case",
        "provenance": {},
        "servers": servers,
        "network": network,
        "compute_rate": HUGE,
        "slot": slot,
        "progress": progress,
        "horizon": horizon,
        "jobs": rows,
    }


CASES = {
    "one job is too long": (made([2], [(1, 3), (1, 9), (2, 2)], 6), "job b takes 9 slots"),
    "of two too long the longest": (made([2, 2], [(1, 8), (1, 9)], 6), "job b takes 9 slots"),
    "area": (made([1, 1], [(1, 3), (1, 3), (1, 3), (1, 1)], 4), "9 GPU-slots at least"),
    "two that cannot run at once": (
        made([2, 1], [(2, 3), (2, 3), (1, 1)], 5),
        "no two of jobs a, b fit on the 3 GPUs at once: they take 6 slots at least, 1 more",
    ),
    "three on two servers": (made([1, 1], [(1, 2), (1, 2), (1, 2)], 3), "4 slots at least, 1 more"),
    "one GPU too few in the middle": (
        made([2, 2], [(2, 2), (2, 2), (1, 2), (2, 2), (1, 1)], 3),
        "take",
    ),
    "jobs that are alike": (made([2], [(1, 2)] * 6, 4), "GPU-slots at least"),
    "links make a job that must span too long": (
        made([1, 1], [(2, 3, 1.0), (1, 1)], 2, SLOW_LINKS, slot=2.0),
        "job a takes 3 slots",
    ),
    "contention alone": (
        made([2, 2, 2], [(3, 2, 2.0), (3, 2, 2.0)], 3, SLOW_LINKS, slot=4.0),
        "together take 4 slots at least, 1 more than the horizon of 3 slots",
    ),
    "continuous progress": (
        made([1, 1], [(1, 3), (1, 3), (1, 3)], 4, progress="continuous"),
        "9 GPU-slots at least",
    ),
}


SLOTTED = [name for name, (case, _) in CASES.items() if case["progress"] == "floor"]


def explained(case: dict[str, Any], method: str | None = None) -> Conflict:
    found = optsched.explain(MakespanInstance.from_dict(case), method=method)
    assert isinstance(found, Conflict)
    return found


def least(case: dict[str, Any], names: Any, horizon: int = 60) -> float | None:
    part = {**case, "jobs": [job for job in case["jobs"] if job["name"] in names]}
    if case["progress"] == "continuous":
        return oracle.best_of_event_schedules(part)
    return oracle.least_makespan(part, horizon)


@pytest.mark.parametrize("name", CASES)
def test_the_conflict_is_the_smallest_by_enumeration(name: str) -> None:
    case, told = CASES[name]
    horizon = case["horizon"]

    def fits(part: tuple[str, ...]) -> bool:
        slots = least(case, part)
        return slots is not None and slots <= horizon

    possible = smallest_conflicts([job["name"] for job in case["jobs"]], fits)
    assert possible, "the case has a schedule"
    conflict = explained(case)
    members = frozenset(member.name for member in conflict.members)
    assert members in possible
    assert told in conflict.reason
    together, everyone = least(case, members), least(case, "abcdefgh")
    assert together is not None
    assert everyone is not None
    assert conflict.excess is not None
    assert 0 < conflict.excess <= together - horizon
    if case["progress"] == "floor":
        assert conflict.proof == "smallest"
        assert conflict.excess == together - horizon
        assert conflict.remedy == f"a horizon of {everyone} slots would do, and no shorter one"
    else:
        assert f"a horizon of {math.ceil(everyone)} slots" in conflict.remedy


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("area", "ilp"),
        ("three on two servers", "ilp-relaxed"),
        *(pytest.param(name, "ilp", marks=pytest.mark.nightly) for name in SLOTTED),
    ],
)
def test_the_rows_of_the_model_are_irreducible(name: str, method: str) -> None:
    """They conflict, and without any one of them the others have a solution: asked of the model."""
    instance = MakespanInstance.from_dict(CASES[name][0])
    conflict = explained(CASES[name][0], method)
    assert conflict.rows_proof == "irreducible"
    model = optsched.build_model(instance, method)
    assert_irreducible(model, conflict.rows, naming(instance))


@pytest.mark.parametrize("count", [3, pytest.param(60, marks=pytest.mark.nightly)])
def test_drawn_horizons(count: int) -> None:
    """Adversarial cases whose horizon is too short, each against every set of its jobs."""
    seen = 0
    for number in itertools.count():
        case = cases.draw(seed_of_the_day(), number)
        horizon = case.instance["horizon"]
        if case.optimum is None or case.optimum <= horizon or len(case.instance["jobs"]) > 5:
            continue
        possible = smallest_conflicts(
            [job["name"] for job in case.instance["jobs"]],
            lambda part, case=case: (
                least(case.instance, part, case.instance["horizon"]) is not None
            ),
        )
        conflict = explained(case.instance)
        assert conflict.proof == "smallest", number
        assert frozenset(member.name for member in conflict.members) in possible, number
        assert f"a horizon of {case.optimum} slot" in conflict.remedy, number
        seen += 1
        if seen == count:
            break


def test_rows_are_named_by_equation_job_server_and_slot() -> None:
    rows = explained(CASES["area"][0], "ilp").rows
    assert {row.kind for row in rows} == {"constraint"}
    assert ("(1) runs_once", "every job runs once: job a") in {(r.name, r.asks) for r in rows}
    assert any(r.name == "(5) capacity" and "server 0, slot" in r.asks for r in rows)


@pytest.mark.parametrize("name", ["area", "two that cannot run at once", "contention alone"])
def test_solve_names_jobs_that_conflict(name: str) -> None:
    """In milliseconds, by bounds: at times more jobs than needed, and then it says so."""
    case, _ = CASES[name]
    conflict = conflict_of(optsched.solve(MakespanInstance.from_dict(case)))
    assert conflict is not None
    names = [member.name for member in conflict.members]
    slots = least(case, names)
    assert slots is None or slots > case["horizon"]
    fewer = [least(case, [other for other in names if other != each]) for each in names]
    if conflict.proof != "sufficient":
        assert all(slots is not None and slots <= case["horizon"] for slots in fewer)


def test_the_command_line_names_the_conflict(
    tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "short.json"
    path.write_text(json.dumps(CASES["one job is too long"][0]))
    assert execute(["solve", str(path)]) == 1
    line = next(row for row in capsys.readouterr().out.splitlines() if row.startswith("why "))
    assert "job b takes 9 slots at least" in line
    assert "a horizon of 11 slots would do" in line
    assert execute(["solve", str(path), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert [member["name"] for member in told["conflict"]["members"]] == ["b"]
    assert told["conflict"]["excess"] == 3
    assert execute(["explain", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["members"] == told["conflict"]["members"]


def test_a_limit_with_nothing_found_says_what_was_tried() -> None:
    case = made([2, 2, 2], [(3, 2, 2.0), (3, 2, 2.0)], 3, SLOW_LINKS, slot=4.0)
    with pytest.raises(InputError, match=r"best found takes 4.*bound 3") as error:
        optsched.explain(MakespanInstance.from_dict(case), method="longest-first")
    assert "no solution by longest-first, which ended no-solution after" in error.value.found
    cut = optsched.solve(MakespanInstance.from_dict(case), "ilp", time_limit=0.0)
    assert "; tried longest-first; bound 3 (" in str(why_none(cut))


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (
            made([2, 2], [(1, 1), (5, 1)], 9),
            r"jobs\[1\] \(b\)\.gpus: found 5 GPUs, expected at most the 4",
        ),
        (made([2], [(1, 1)], 9, slot=0.5), "an iteration longer than a slot"),
    ],
)
def test_a_job_that_can_never_run_is_bad_input(case: dict[str, Any], expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        MakespanInstance.from_dict(case)


def test_equations_stand_for_rows_that_take_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """The families without which the model has a solution; told apart from single rows."""
    instance = MakespanInstance.from_dict(CASES["area"][0])
    model = optsched.build_model(instance, "ilp")
    answers = iter(range(10_000))
    conflict = _Rows.conflict

    def out_of_time(self: _Rows, kept: list[int]) -> bool:
        found = conflict(self, kept)
        single = next(answers) >= few
        self.unknown = self.unknown or single
        return found and not single

    monkeypatch.setattr(_Rows, "conflict", out_of_time)
    monkeypatch.setattr(_Rows, "of_relaxation", lambda self: None)
    few = 10_000
    rows, proof = irreducible_rows(model, naming(instance), Settings())
    assert {row.kind for row in rows} == {"constraint"}
    assert proof == "irreducible"
    equations = {row.name for row in rows}
    asked = next(answers)
    answers = iter(range(10_000))
    few = asked - 1  # all but the last question is answered
    rows, proof = irreducible_rows(model, naming(instance), Settings())
    assert {row.kind for row in rows} == {"equation"}
    assert proof == "irreducible"
    assert {row.name for row in rows} == equations
