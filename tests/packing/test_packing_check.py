"""The checker of packings, one broken rule at a time; refused instances; where idle GPUs are."""

from typing import Any

import pytest

import optsched
from optsched.errors import InputError
from optsched.packing.check import check
from optsched.packing.instance import PackingInstance
from optsched.packing.solution import PackingSolution

NODES = [
    {"name": "a", "cpu_milli": 8000, "memory_bytes": 10, "gpus": 2, "model": "T4"},
    {"name": "b", "cpu_milli": 4000, "memory_bytes": 5, "gpus": 2, "model": "P100"},
]
TASKS = [
    {"name": "share", "count": 2, "cpu_milli": 3000, "memory_bytes": 4, "gpu_milli": 600},
    {"name": "pair", "count": 1, "cpu_milli": 2000, "memory_bytes": 1, "gpu_milli": 2000},
    {"name": "one", "count": 1, "cpu_milli": 0, "memory_bytes": 0, "gpu_milli": 1000}
    | {"models": ["P100"]},
    {"name": "cpu", "count": 1, "cpu_milli": 1000, "memory_bytes": 1, "gpu_milli": 0},
]
ARRIVALS = [0, 0, 1, 2, 3]
GOOD = [(0, 0, [0]), (1, 0, [1]), (2, 1, [0, 1]), (4, 0, [])]


def instance(**changes: Any) -> PackingInstance:
    fields = {"name": "by hand", "nodes": NODES, "tasks": TASKS, "arrivals": ARRIVALS, **changes}
    return PackingInstance.from_dict({"schema": "optsched/packing", "version": 1, **fields})


def solution(placements: list, **changes: Any) -> PackingSolution:
    records = [{"task": task, "node": node, "gpus": gpus} for task, node, gpus in placements]
    return PackingSolution(**{"instance": "by hand", "placements": records, **changes})


def test_a_packing_by_hand() -> None:
    report = check(instance(), solution(GOOD, objective=0.8))
    assert report.feasible
    assert report.objective == 0.8


BROKEN = [
    ([*GOOD, (0, 1, [0])], "task"),
    ([(5, 0, [0])], "task"),
    ([(0, 2, [0])], "node"),
    ([(3, 0, [0])], "model"),
    ([(0, 0, [])], "gpus"),
    ([(0, 0, [2])], "gpus"),
    ([(2, 0, [0, 0])], "gpus"),
    ([(4, 0, [0])], "gpus"),
    ([(0, 1, [0]), (1, 1, [1])], "cpu"),
    ([(0, 1, [0]), (2, 1, [0, 1])], "gpu"),
    ([(0, 0, [0]), (1, 0, [0])], "gpu"),
]


@pytest.mark.parametrize(("placements", "rule"), BROKEN)
def test_broken_rules(placements: list, rule: str) -> None:
    assert rule in {v.rule for v in check(instance(), solution(placements)).violations}


def test_memory_claims_and_other_instances() -> None:
    tight = instance(nodes=[NODES[0] | {"memory_bytes": 7}, NODES[1]])
    (violation,) = check(tight, solution(GOOD[:2])).violations
    assert (violation.rule, violation.equation, violation.amount) == ("memory", "(3)", 1)
    (violation,) = check(instance(), solution(GOOD, objective=0.7)).violations
    assert violation.rule == "claimed objective"
    (violation,) = check(instance(), solution(GOOD, instance="other")).violations
    assert violation.rule == "instance"


REFUSED = [
    ({"arrivals": [0, 0, 1, 2]}, "tasks[3]: found 0 arrivals, expected 1"),
    ({"arrivals": [0, 0, 1, 2, 4]}, "arrivals[4]: found 4, expected an index of tasks, below 4"),
    ({"arrivals": []}, "arrivals: found none"),
    ({"nodes": []}, "nodes: found no GPU"),
    ({"nodes": [NODES[0], NODES[0]]}, "nodes[1].name: found 'a', expected a new name"),
    ({"tasks": [*TASKS[:1], *TASKS[:1], *TASKS[2:]]}, "tasks[1].name: found 'share'"),
    (
        {"tasks": [TASKS[0] | {"gpu_milli": 1500}, *TASKS[1:]]},
        "tasks[0].gpu_milli: found 1500, expected a share of one GPU up to 1000, or a multiple",
    ),
    ({"tasks": [TASKS[0] | {"gpu_milli": -1}, *TASKS[1:]]}, "tasks[0].gpu_milli: found -1"),
]


@pytest.mark.parametrize(("changes", "line"), REFUSED)
def test_refused_instances(changes: dict, line: str) -> None:
    with pytest.raises(InputError) as raised:
        instance(**changes)
    assert str(raised.value).startswith(f"instance: {line}")


REASONS = [
    # free: a GPU of a, both of b; rejected: the share that finds 0.4, CPU or memory; the pair
    ({}, [(0, 0, [0])], {"stranded": 0.4, "usable": 3.0}),
    ({}, GOOD, {"wrong model": 0.8}),
    ({"nodes": [NODES[0] | {"cpu_milli": 4000}, NODES[1]]}, [(0, 0, [0])], None),
    ({"nodes": [NODES[0] | {"memory_bytes": 5}, NODES[1]]}, [*GOOD[:1], *GOOD[2:]], None),
]


@pytest.mark.parametrize(("changes", "placements", "idle"), REASONS)
def test_where_idle_gpus_are(changes: dict, placements: list, idle: dict | None) -> None:
    breakdown = optsched.explain(instance(**changes), solution(placements))
    found = {reason: gpus for reason, gpus, _ in breakdown.rows}
    assert sum(found.values()) == pytest.approx(breakdown.idle)
    if idle is None:
        assert {"no CPU", "no memory"} & set(found)
    else:
        assert found == pytest.approx(idle)
