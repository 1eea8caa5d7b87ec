"""The audit of records worked by hand: rule, place, amount and tolerance of each violation."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from online.small import jobs_of, one_stage, records_of

from optsched.checking import CANCELLATION, Violation
from optsched.online.audit import audit
from optsched.online.audit_rules.placement import IterationTimes
from optsched.online.data.jobs import Jobs
from optsched.online.records import Records

# 2 x (1/2) x 8 bytes: 8/64 s on one server, 8/(4/4) s on two
PAIR = one_stage(2, "pair", forward_time=2.0, parameter_bytes=8.0)
NEAR, AWAY = 2.125, 10.0
MODELS = {"one": one_stage(1, "one", forward_time=2.0), "pair": PAIR}
MODELS["four"] = one_stage(4, "four", forward_time=3.0)
ROWS = [  # name, submit, model, iterations, predicted, start, end, servers
    ("a", 0.0, "one", 5.0, 4.0, 0.0, 10.0, {0: 1}),
    ("b", 1.0, "pair", 8.0, 16.0, 1.0, 18.0, {1: 2}),
    ("c", 3.0, "pair", 2.0, 3.0, 4.0, 24.0, {0: 1, 2: 1}),
    ("d", 4.0, "four", 4.0, 1.0, 5.0, 17.0, {1: 1, 2: 3}),
    ("e", 6.0, "one", 3.0, 3.0, 10.0, 16.0, {0: 1}),
    ("f", 7.0, "four", 4.0, 5.0, 24.0, 36.0, {0: 4}),
]
ORDER = "caebfd"


def jobs(rows: Sequence[tuple[Any, ...]] = ROWS) -> Jobs:
    given = ((row[1], MODELS[row[2]], row[3]) for row in rows)
    world = {"servers": 3, "per_server": 4, "links": (4.0, 64.0)}
    return jobs_of(*given, **world, job_id=[row[0] for row in rows])


def records(rows: Sequence[tuple[Any, ...]] | None = None) -> Records:
    if rows is None:
        rows = [row for name in ORDER for row in ROWS if row[0] == name]
    keys = ("name", "submit", "model", "iterations", "predicted", "start", "end", "on")
    given = [dict(zip(keys, row, strict=True)) for row in rows]
    for row in given:
        near = {"one": 2.0, "pair": NEAR, "four": 3.0}[row.pop("model")]
        row |= {"estimate": near, "alpha": AWAY if near == NEAR and len(row["on"]) > 1 else near}
    return records_of(*given)


def with_(name: str, piece: int | None = None, **columns: float) -> Records:
    """The records with something else about one job, or about one of its pieces."""
    made, at = records(), ORDER.index(name)
    changed = {}
    for column, value in columns.items():
        changed[column] = getattr(made, column).copy()
        changed[column][at if piece is None else made.first[at] + piece] = value
    return replace(made, **changed)


def listed(found: Sequence[Violation]) -> list[tuple[str, str, str, Any, float]]:
    return [(v.rule, v.equation, v.where, pytest.approx(v.amount), v.tolerance) for v in found]


def found(of: Records, **more: Any) -> list[tuple[str, str, str, Any, float]]:
    return listed(audit(jobs(), of, **more).violations)


def test_a_clean_run() -> None:
    assert found(records()) == []
    times = IterationTimes([PAIR], jobs().cluster.hardware)
    assert (times.estimate(0), times.worst(0)) == (NEAR, AWAY)


def test_who_is_recorded() -> None:
    made = records()
    for names, where, amount in (("caebfz", "job z", 1.0), ("caebff", "duplicate job", 6.0)):
        named = replace(made, job_id=np.array([*names], dtype=object))
        assert found(named) == [("record", "", where, amount, 0.0)]
    fewer = records([row for name in "caeb" for row in ROWS if row[0] == name])
    assert found(fewer) == [("record", "", "jobs missing", 2.0, 0.0)]
    assert found(replace(fewer, complete=False)) == []
    for sizes in ([4] * 5, [6] * 3, [4, 4, 2]):
        other = f"{len(sizes)} servers, {sum(sizes)} GPUs"
        changed = replace(made, server_gpus=np.array(sizes))
        assert found(changed) == [("record: cluster", "", other, 1.0, 0.0)]


def test_columns_as_submitted() -> None:
    for column, value, off in (
        ("submit", 2.5, 0.5),
        ("submit", 3.25, 0.25),
        ("gpus", 1, 1.0),
        ("iterations", 2.5, 0.5),
    ):
        expected = (f"record: {column}", "", "job c", off, 0.0)
        assert found(with_("c", **{column: value}))[0] == expected
    submitted = jobs()
    right = np.array([row[4] for row in ROWS])
    assert listed(audit(submitted, records(), predicted=right).violations) == []
    wrong = right + np.array([0, 0, 0, 0.5, 0, 0])
    expected = [("record: predicted", "", "job d", 0.5, 0.0)]
    assert listed(audit(submitted, records(), predicted=wrong).violations) == expected


def test_gangs() -> None:
    gang = "gang", "(2)"
    assert found(with_("b", 0, taken=1)) == [(*gang, "job b", -1.0, 0.0)]
    assert found(with_("b", 0, taken=3))[0] == (*gang, "job b", 1.0, 0.0)
    none = [(*gang, "job c", -1.0, 0.0), (*gang, "job c", 1.0, 0.0)]
    assert found(with_("c", 0, taken=0)) == none
    alone = records([ROWS[0]])
    far = replace(alone, complete=False, server=np.array([3]))
    assert found(far) == [(*gang, "job a", 1.0, 0.0)]
    for piece, server in ((1, 3), (0, -1), (1, 0)):
        assert found(with_("c", piece, server=server)) == [(*gang, "job c", 1.0, 0.0)]
    assert found(with_("c", 1, server=1)) == []
    negative = found(with_("d", 0, taken=-1))
    assert negative[:2] == [(*gang, "job d", -2.0, 0.0), (*gang, "job d", 1.0, 0.0)]


def test_capacity() -> None:
    assert found(with_("e", 0, server=2)) == [
        ("capacity", "(3)", "server 2 at 10 s, job e", 1.0, 0.0)
    ]
    # f takes all of server 0 while c has one of its GPUs, from the same moment as e ends
    early = with_("f", start=16.0, end=28.0)
    assert found(early) == [("capacity", "(3)", "server 0 at 16 s, job f", 1.0, 0.0)]


def test_iteration_times() -> None:
    for column, rule, true in (("estimate", "alpha~", NEAR), ("alpha", "alpha", AWAY)):
        for off in (0.25, -0.25):
            expected = [(rule, "(7)", "job c", 0.25 / true, 1e-9)]
            assert found(with_("c", **{column: true + off})) == expected
        assert found(with_("c", **{column: true * (1 + 0.9e-9)})) == []
        (almost,) = audit(jobs(), with_("c", **{column: true * (1 + 1.5e-9)})).violations
        assert almost.amount == pytest.approx(1.5e-9, rel=1e-6, abs=0)


def test_durations() -> None:
    assert found(with_("c", end=23.5)) == [("duration", "(7)", "job c", 0.5, 1e-9)]
    assert found(with_("d", end=17.25)) == [("duration", "(7)", "job d", 0.25, 1e-9)]
    # 20 s: 2e-8 is rounding; four steps of the clock as well
    assert found(with_("c", end=24 - 1.9e-8)) == []
    assert [each[0] for each in found(with_("c", end=24 - 2.2e-8))] == ["duration"]
    at, step = 2.0**30, 2.0**-22
    assert found(with_("f", start=at, end=at + 12 + 4 * step)) == []
    late = found(with_("f", start=at, end=at + 12 + 5 * step))
    assert [each[0] for each in late] == ["duration"]


def test_what_rounding_may_leave_of_the_flow_time() -> None:
    done = records()
    report = audit(jobs(), done)
    ends, submissions = 10 + 18 + 24 + 17 + 16 + 36, 0 + 1 + 3 + 4 + 6 + 7
    assert report.objective == ends - submissions
    assert report.rounding == pytest.approx(CANCELLATION * (ends + submissions), rel=1e-12, abs=0)
    before = replace(done, start=done.start - 100, end=done.end - 100)
    terms = 600 - ends + submissions
    rounding = audit(jobs(), before).rounding
    assert rounding == pytest.approx(CANCELLATION * terms, rel=1e-12, abs=0)
