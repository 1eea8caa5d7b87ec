"""The audit on a run worked by hand: costs, rounding, and what each broken rule amounts to.

Four jobs on nodes of 2 and 3 GPUs of type A and one of type B; 2 s are lost to a reconfiguration.

    0: 2 epochs on GPU 0 of node 0 until 4; 4 on both, 6-13; 2 on GPU 1 of node 1, 13-19
    1: 2 epochs on half of GPU 0 of node 1, 5-17; 4 on its GPUs 0 and 2, 17-31
    2: 5 epochs on the other half of GPU 0 of node 1, 2-17
    3: on node 2, 1 epoch 20-24, none 26-27 (it is still being set up), 1 until 32
"""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from oracles.selection_cases import document

from optsched.checking import CANCELLATION, CheckReport
from optsched.rolling.audit import audit
from optsched.rolling.instance import SCHEMA, RollingInstance
from optsched.rolling.records import JobRecord, NodeInterval, Records, Segment

LATE = 3.0 * 3 + 7.0 * 7 + 11.0 * 2
ENERGY = (4 + 7 * 1.75) + (11 + 4 * 1.5 + 2 * 2.5 + 12 * 1.5) + 0.5 * (4 + 6)


def job(at: float, submit: float, due: float, weight: float, **more: Any) -> dict[str, Any]:
    return {
        "name": f"{weight:g}",
        "submit_time": at + submit,
        "due_date": at + due,
        "tardiness_weight": weight,
        **more,
    }


def of(*epochs: float) -> dict[str, Any]:
    return {"values": list(epochs), "probabilities": [1 / len(epochs)] * len(epochs)}


def instance(at: float = 0.0, **more: Any) -> RollingInstance:
    a = {"A": [2.0, 1.25, 1.0], "B": [4.0]}
    done = {"completed_epochs": 1.0}
    jobs = [
        job(at, 0, 16, 3.0, memory_bytes=4.0, epochs=of(1, 5, 9), epoch_time=a, **done),
        job(at, 4, 100, 5.0, memory_bytes=2.0, epochs=of(6), epoch_time={"A": [4.0, 3.0, 2.0]}),
        job(at, 1, 10, 7.0, memory_bytes=4.0, epochs=of(3, 5), epoch_time=a, true_epochs=5.0),
        job(at, 20, 30, 11.0, memory_bytes=1.0, epochs=of(2), epoch_time=a),
    ]
    types = {
        "A": {"memory_bytes": 8.0, "slowdown": {"0.25": 2.0, "0.5": 1.5}},
        "B": {"memory_bytes": 4.0, "slowdown": {}},
    }
    nodes = [
        {"name": "n0", "gpu_type": "A", "gpus": 2, "cost_rate": [1.0, 1.75]},
        {"name": "n1", "gpu_type": "A", "gpus": 3, "cost_rate": [1.0, 1.5, 2.5]},
        {"name": "n2", "gpu_type": "B", "gpus": 1, "cost_rate": [0.5]},
    ]
    usual = {"interval": 1000.0, "postponement_penalty": 2.0, "reconfiguration_delay": 2.0}
    made = document("by hand", types, nodes, jobs, now=at, schema=SCHEMA, **usual)
    return RollingInstance.from_dict({**made, **more})


def run(at: float = 0.0) -> Records:
    segments = (
        Segment(0, 0, 4, 0, (0,), 1.0, 0, 2),
        Segment(0, 6, 13, 0, (0, 1), 1.0, 2, 4),
        Segment(0, 13, 19, 1, (1,), 1.0, 2, 2),
        Segment(1, 5, 17, 1, (0,), 0.5, 0, 2),
        Segment(1, 17, 31, 1, (0, 2), 1.0, 2, 4),
        Segment(2, 2, 17, 1, (0,), 0.5, 0, 5),
        Segment(3, 20, 24, 2, (0,), 1.0, 0, 1),
        Segment(3, 26, 27, 2, (0,), 1.0, 1, 0),
        Segment(3, 27, 32, 2, (0,), 1.0, 1, 1),
    )
    nodes = (
        NodeInterval(0, 0, 4, 1),
        NodeInterval(0, 6, 13, 2),
        NodeInterval(1, 2, 13, 1),
        NodeInterval(1, 13, 17, 2),
        NodeInterval(1, 17, 19, 3),
        NodeInterval(1, 19, 31, 2),
        NodeInterval(2, 20, 24, 1),
        NodeInterval(2, 26, 32, 1),
    )
    jobs = (
        JobRecord(0, 9, 0, 19, 1, 1, 0),
        JobRecord(1, 6, 5, 31, 0, 0, 1),
        JobRecord(2, 5, 2, 17, 0, 0, 0),
        JobRecord(3, 2, 20, 32, 1, 0, 0),
    )
    later = (
        tuple(replace(each, start=each.start + at, end=each.end + at) for each in rows)
        for rows in (segments, nodes)
    )
    done = (replace(j, first_start=j.first_start + at, completion=j.completion + at) for j in jobs)
    return Records("by hand", "hand", 0, {}, *later, tuple(done), ())


def changed(table: str, index: int, **fields: Any) -> Records:
    """The run with other fields in one row."""
    rows = list(getattr(run(), table))
    rows[index] = replace(rows[index], **fields)
    return replace(run(), **{table: tuple(rows)})


segments, record, intervals = (partial(changed, table) for table in ("segments", "jobs", "nodes"))


def listed(report: CheckReport) -> list[tuple[str, str, str, Any, Any]]:
    return [
        (
            v.rule,
            v.equation,
            v.where,
            pytest.approx(v.amount),
            pytest.approx(v.tolerance, rel=1e-9, abs=0),
        )
        for v in report.violations
    ]


def found(of_run: Records, rule: str = "", **more: Any) -> list[tuple[str, str, str, Any, Any]]:
    return [each for each in listed(audit(instance(), of_run, **more)) if rule in each[0]]


# --- costs


def test_costs_and_rounding() -> None:
    claimed = {"energy_cost": ENERGY, "tardiness_cost": LATE, "total_cost": ENERGY + LATE}
    report = audit(instance(), run(), claimed)
    assert listed(report) == []
    assert (ENERGY, LATE) == (61.25, 80.0)
    assert report.objective == ENERGY + LATE
    node_1 = 5 + 13 + 1.5 * 17 + 2.5 * 19 + 1.5 * 31
    terms = (4 + 1.75 * 13) + node_1 + 0.5 * (24 + 27 + 32)
    terms += 3 * (19 + 16) + 5 * (31 + 100) + 7 * (17 + 10) + 11 * (32 + 30)
    assert report.rounding == pytest.approx(CANCELLATION * terms, rel=1e-12, abs=0)


@pytest.mark.parametrize("name", ["energy_cost", "tardiness_cost", "total_cost"])
def test_a_claim_may_be_off_by_what_the_clock_rounds(name: str) -> None:
    """Far from 0 a cost's rounding is that of its terms; the total's is the sum of both."""
    at = 2.0**30
    energy = 1.0 * (at + 4) + 1.75 * (at + 13) + 0.5 * (3 * at + 83)
    energy += 2 * at + 18 + 1.5 * (2 * at + 48) + 2.5 * (at + 19)
    late = 3 * (2 * at + 35) + 5 * (2 * at + 131) + 7 * (2 * at + 27) + 11 * (2 * at + 62)
    cost, terms = {
        "energy_cost": (ENERGY, energy),
        "tardiness_cost": (LATE, late),
        "total_cost": (ENERGY + LATE, energy + late),
    }[name]
    for times, rules in ((0.9, []), (-0.9, []), (1.1, ["claimed objective"])):
        claimed = {name: cost + times * CANCELLATION * terms}
        report = audit(instance(at), run(at), claimed)
        assert [v.rule for v in report.violations] == rules
    wrong = audit(instance(), run(), {name: cost + 1}).violations
    claim = ("claimed objective", pytest.approx(1 / (cost + 1)))
    assert [(v.rule, v.amount) for v in wrong] == [claim]


# --- jobs and places


def test_each_job_has_one_record_and_runs() -> None:
    base = run()
    thrice = replace(base, jobs=(*base.jobs, base.jobs[1], base.jobs[1]))
    assert found(thrice) == [("job", "(4)", "job 1 recorded 3 times", 2.0, 0.0)]
    never = replace(base, jobs=base.jobs[1:])
    assert found(never) == [("job", "(4)", "job 0 recorded 0 times", 1.0, 0.0)]
    idle = replace(base, segments=base.segments[:6])
    assert found(idle) == [("job", "(4)", "job 3 has no segment", 1.0, 0.0)]
    for number in (4, -1):
        more = replace(base.segments[0], job=number, gpus=(9,))
        unknown = replace(base, segments=(*base.segments, more))
        assert found(unknown) == [("job", "(4)", f"unknown job {number}", 1.0, 0.0)]
    unknown = replace(base, jobs=(*base.jobs, replace(base.jobs[0], job=6)))
    assert found(unknown) == [("job", "(4)", "unknown job 6", 1.0, 0.0)]


FIRST, HALF = "job 0 at 0", "job 1 at 5"


@pytest.mark.parametrize(
    ("index", "fields", "expected"),
    [
        (0, {"end": 0}, ("segment", "start < end", FIRST, 0.0, 0.0)),
        (0, {"end": -3.0}, ("segment", "start < end", FIRST, 3.0, 0.0)),
        (0, {"node": 3}, ("place", "(5)", FIRST, 1.0, 0.0)),
        (0, {"node": -1}, ("place", "(5)", FIRST, 1.0, 0.0)),
        (0, {"gpus": (2,)}, ("place", "(5)", FIRST, 1.0, 0.0)),
        (0, {"gpus": (-1,)}, ("place", "(5)", FIRST, 1.0, 0.0)),
        (0, {"gpus": (0, 2)}, ("place", "(5)", FIRST, 1.0, 0.0)),
        (0, {"gpus": ()}, ("place", "(5)", FIRST, 1.0, 0.0)),
        (0, {"gpus": (1, 1)}, ("place", "(5)", FIRST, 1.0, 0.0)),
        (3, {"node": 2, "fraction": 1.0}, ("gpu type", "(3)", HALF, 1.0, 0.0)),
        (3, {"fraction": 0.75}, ("fraction", "(8)", HALF, 0.75, 0.0)),
        (3, {"gpus": (0, 2)}, ("fraction", "(8)", HALF, 0.5, 0.0)),
        (5, {"fraction": 0.25}, ("memory", "(9)", "job 2 at 2", 2.0, 0.0)),
        (8, {"fraction": 0.5}, ("fraction", "(8)", "job 3 at 27", 0.5, 0.0)),
    ],
)
def test_a_segment_out_of_place(
    index: int, fields: dict[str, Any], expected: tuple[str, str, str, float, float]
) -> None:
    report = audit(instance(), segments(index, **fields))
    assert listed(report) == [expected]
    assert report.objective is None


def test_sharing_where_it_is_off() -> None:
    off = [("sharing", "option sharing", where, 1.0, 0.0) for where in (HALF, "job 2 at 2")]
    assert found(run(), shares=False) == off


def test_shares_of_a_gpu() -> None:
    for more, over in (({}, 1.0), ({"end": 17, "fraction": 0.5}, 0.5)):
        expected = [("GPU share", "(9)", "GPU 0 of node 1", over, 0.0)]
        assert found(segments(2, gpus=(0,), **more), "GPU share") == expected


def test_one_node_at_a_time() -> None:
    overlap = segments(7, start=22.0)
    assert found(overlap, "one node") == [("one node", "(2)", "job 3 at 22", 2.0, 0.0)]


# --- epochs, setups, lives


def test_epochs_of_a_segment() -> None:
    # seconds per epoch 2, 1.25 and 6; 1e-9 of the length in epochs, and of the epochs
    for index, epochs, where, tolerance in (
        (0, 2, FIRST, 4e-9 / 2 + 2e-9),
        (1, 4, "job 0 at 6", 7e-9 / 1.25 + 4e-9),
        (3, 2, HALF, 12e-9 / 6 + 2e-9),
    ):
        for off in (0.25, -0.25):
            expected = [("epochs", "(19)", where, 0.25, tolerance)]
            assert found(segments(index, epochs=epochs + off)) == expected


def test_epochs_add_up_to_those_recorded() -> None:
    spare = (4e-9 / 2 + 2e-9) + (7e-9 / 1.25 + 4e-9) + (6e-9 / 2 + 2e-9)
    where = "job 0"
    assert found(record(0, epochs=5.0)) == [("epochs add up", "(19)", where, 4.0, spare)]
    done = [("epochs add up", "(19)", where, 8.0, spare), ("true epochs", "W", where, 1.0, 0.0)]
    assert found(record(0, epochs=1.0)) == done
    more = [("epochs add up", "(19)", where, 1.0, spare), ("true epochs", "W", where, 10.0, 0.0)]
    assert found(record(0, epochs=10.0)) == more


def test_true_epochs() -> None:
    known = [("true epochs", "W", "job 2", 3.0, 0.0)]
    assert found(record(2, epochs=3.0), "true") == known
    assert found(run(), epochs=[9.0, 6.0, 5.0, 2.0]) == []
    other = [("true epochs", "W", "job 0", 9.0, 0.0)]
    assert found(run(), epochs=[5.0, 6.0, 5.0, 2.0]) == other


def test_seconds_lost_to_reconfigurations() -> None:
    for index, setup, where in (
        (0, 0.5, FIRST),
        (1, 1.5, "job 0 at 6"),
        (1, 2.5, "job 0 at 6"),
        (2, 1.5, "job 0 at 13"),
        (4, 1.5, "job 1 at 17"),
        (7, 0.5, "job 3 at 26"),
        (8, 1.5, "job 3 at 27"),
    ):
        expected = [("reconfiguration", "delay", where, 0.5, 2e-9)]
        assert found(segments(index, setup=setup), "reconfiguration") == expected


def test_lives() -> None:
    given = instance().to_dict()
    given["jobs"][0]["submit_time"] = 1.0
    given["jobs"][3]["submit_time"] = 20.5
    early = listed(audit(RollingInstance.from_dict(given), run()))
    assert early == [
        ("arrival", "submit time", "job 0", 1.0, 19e-9),
        ("arrival", "submit time", "job 3", 0.5, 12e-9),
    ]
    for completion in (18.5, 19.5):
        wrong = [("completion", "(4)", "job 0", 0.5, 19e-9)]
        assert found(record(0, completion=completion)) == wrong


def test_records_of_interruptions() -> None:
    for index, fields, off in (
        (0, {"preemptions": 3}, 2.0),
        (0, {"migrations": 0}, 1.0),
        (0, {"changes": 1}, 1.0),
        (0, {"preemptions": 3, "migrations": 0, "changes": 1}, 4.0),
        (1, {"changes": 0}, 1.0),
        (3, {"preemptions": 0}, 1.0),
        (1, {"first_start": 5.25}, 0.25),
        (1, {"first_start": 4.5}, 0.5),
        (1, {"first_start": 4.5, "changes": 3}, 2.0),
    ):
        expected = [("record", "segments", f"job {index}", off, 0.0)]
        assert found(record(index, **fields)) == expected


# --- node intervals


def test_node_intervals() -> None:
    base = run()
    rule = "node intervals", "(13)"
    last = replace(base, nodes=base.nodes[:-1])
    assert found(last) == [(*rule, "node 2", 1.0, 4e-9)]
    first = replace(base, nodes=(*base.nodes[:6], base.nodes[7]))
    assert found(first) == [(*rule, "node 2", 8.0, 4e-9)]  # 24, where the next ends at 32
    extra = replace(base, nodes=(*base.nodes, NodeInterval(2, 40, 41, 1)))
    assert found(extra) == [(*rule, "node 2", 1.0, 6e-9)]
    strange = replace(base, nodes=(*base.nodes, NodeInterval(5, 40, 41, 1)))
    assert found(strange) == [(*rule, "node 5", 1.0, 0.0)]
    assert found(intervals(0, end=4.5)) == [(*rule, "node 0", 0.5, 7e-9)]
    assert found(intervals(0, end=3.5)) == [(*rule, "node 0", 0.5, 7e-9)]
    assert found(intervals(0, start=-0.25)) == [(*rule, "node 0", 0.25, 7e-9)]
    assert found(intervals(5, used=1, end=31.5)) == [(*rule, "node 1", 1.0, 12e-9)]
    assert found(intervals(6, used=2)) == [(*rule, "node 2", 1.0, 6e-9)]


def test_touching_intervals_of_one_use_are_one() -> None:
    split = (*run().nodes[:2], NodeInterval(1, 2, 7, 1), NodeInterval(1, 7, 13, 1))
    assert found(replace(run(), nodes=(*split, *run().nodes[3:]))) == []
