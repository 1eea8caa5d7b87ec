"""Horizons too short: the condition that is violated, in words, and the jobs that violate it."""

import json
from typing import Any

import pytest
from commands import json_of, printed
from makespan.small import FREE, job
from oracles.makespan_cases import document

import optsched
from optsched.errors import InputError
from optsched.makespan.conflict import naming
from optsched.makespan.instance import MakespanInstance
from optsched.verbs.explaining import conflict_of, no_solution_reason

SLOW_LINKS = {**FREE, "inter_bandwidth": 1.0}
"""A job of 1 byte loses a second on the way for each of 2 (G - 1)/G passes."""
HUGE = 1e18


def made(
    servers: list[int],
    jobs: list[tuple[Any, ...]],
    horizon: int,
    network: dict[str, Any] = FREE,
    **more: Any,
) -> dict[str, Any]:
    """Jobs (GPUs, iterations of a second each, bytes), named a, b, c, ..."""
    rows = [
        job(gpus, iterations, name="abcdefgh"[j], gradient_bytes=rest[0] if rest else 0.0)
        for j, (gpus, iterations, *rest) in enumerate(jobs)
    ]
    return document("case", servers, network, rows, compute_rate=HUGE, horizon=horizon, **more)


CASES = {
    "one job is too long": (
        made([2], [(1, 3), (1, 9), (2, 2)], 6),
        "b",
        "job b needs at least 9 slots on any placement, 3 more than the horizon of 6 slots",
    ),
    "area": (
        made([1, 1], [(1, 3), (1, 3), (1, 3), (1, 1)], 4),
        "abc",
        "jobs a, b, c need at least 9 GPU-slots; 2 GPUs provide 8 within the horizon of 4",
    ),
    "two that cannot run at once": (
        made([2, 1], [(2, 3), (2, 3), (1, 1)], 5),
        "abc",
        "need at least 6 slots, 1 more than the horizon of 5 slots",
    ),
    "three on two servers": (made([1, 1], [(1, 2), (1, 2), (1, 2)], 3), "abc", "at least 4 slots"),
    "links make a job that must span too long": (
        made([1, 1], [(2, 3, 1.0), (1, 1)], 2, SLOW_LINKS, slot=2.0),
        "a",
        "job a needs at least 3 slots",
    ),
    "continuous progress": (
        made([1, 1], [(1, 3), (1, 3), (1, 3)], 4, progress="continuous"),
        "abc",
        "at least 9 GPU-slots",
    ),
}


@pytest.mark.usefixtures("short_searches")
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.full if n.startswith("continuous") else ()) for n in CASES],
)
def test_the_violated_condition_is_named(name: str) -> None:
    case, members, said = CASES[name]
    conflict = optsched.explain(MakespanInstance.from_dict(case))
    assert said in conflict.reason
    assert "".join(member.name for member in conflict.members) == members
    assert conflict.excess > 0
    assert "a horizon of" in conflict.remedy
    part = {**case, "jobs": [job for job in case["jobs"] if job["name"] in members]}
    alone = optsched.solve(MakespanInstance.from_dict({**part, "horizon": 60}))
    assert alone.objective >= case["horizon"] + conflict.excess


CONTENDED = made([2, 2, 2], [(3, 2, 2.0), (3, 2, 2.0)], 3, SLOW_LINKS, slot=4.0)


def test_contention_alone_is_the_methods_word() -> None:
    """No bound exceeds three slots; the search over all states does."""
    conflict = optsched.explain(MakespanInstance.from_dict(CONTENDED))
    assert "no schedule ends within the horizon of 3 slots" in conflict.reason


def test_a_model_says_which_rows_conflict() -> None:
    instance = MakespanInstance.from_dict(made([1, 1], [(1, 2), (1, 2), (1, 2)], 3))
    conflict = optsched.explain(instance, method="ilp")
    assert conflict.rows
    name = naming(instance)
    assert name("JOBS", 0) == "job a"
    assert name("EQUAL_JOBS", (0, 1)) == "job a and job b"


def test_the_command_line_says_why(tmp_path: Any) -> None:
    path = tmp_path / "case.json"
    path.write_text(json.dumps(CASES["one job is too long"][0]), encoding="utf-8")
    assert "job b needs at least 9 slots" in printed("solve", path, code=1)
    said = json_of("explain", path)
    assert [member["name"] for member in said["members"]] == ["b"]


def test_a_heuristic_that_finds_nothing_is_no_conflict() -> None:
    instance = MakespanInstance.from_dict(CONTENDED)
    told = r"status no-solution.*best schedule found takes 4 slots.*bound 3"
    with pytest.raises(InputError, match=told):
        optsched.explain(instance, method="longest-first")
    cut = optsched.solve(instance, "ilp", time_limit=0.0)
    assert conflict_of(cut) is None
    assert "; tried longest-first; bound 3 (" in str(no_solution_reason(cut))
