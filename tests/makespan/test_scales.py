"""Other units of time and bytes, or slots of another length, change no verdict.

Powers of ten from 1e-9 to 1e9. Times and bytes leave a schedule as it is, slots divide its starts.
"""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from oracles import makespan_cases

import optsched
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.solution import MakespanSolution

POWERS = (-9, -6, -3, 3, 6, 9)
Runs = list[tuple[str, float, dict[int, int], float | None]]
WIDE = {"c": {0: 2, 1: 1}}
"""Job c spans two servers of two GPUs: it meets nobody on its links."""


def document(progress: str, slot: float, horizon: int) -> dict[str, Any]:
    """Jobs of 2 s (a, b: one GPU each) and, alone, 6 s (c: three GPUs); slots are a second."""
    job = {"gradient_bytes": 0, "batch_size": 1, "forward_time_per_sample": 0.5}
    network = {"inter_bandwidth": 1e4, "intra_bandwidth": 1e6, "overhead_per_server": 0.125}
    network |= {"contention_share": 1.0, "degradation": 0.5, "overhead_on_one_server": True}
    jobs = [{**job, "name": n, "gpus": 1, "iterations": 2, "backward_time": 0.375} for n in "ab"]
    wide = {"gpus": 3, "iterations": 6, "gradient_bytes": 750, "backward_time": 0.1495}
    jobs.append({**job, "name": "c", **wide})
    more = {"compute_rate": 1e6, "slot": slot, "progress": progress, "horizon": horizon}
    return makespan_cases.document("scaled", [2, 2], network, jobs, **more)


def in_units(document: dict[str, Any], time: float, size: float) -> dict[str, Any]:
    """The same instance with times and bytes counted in other units."""
    made = deepcopy(document)
    makespan_cases.rescale(made, time, size)
    return made


def in_slots(factor: float) -> dict[str, Any]:
    """Continuous progress; everything ends within the 16 s that `factor` = 1 makes one slot."""
    return document("continuous", 16.0 * factor, max(1, round(1 / factor)))


VALID: Runs = [("a", 0.0, {0: 1}, 2.0), ("b", 2.0, {0: 1}, 4.0), ("c", 4.0, WIDE["c"], 10.0)]
"""In seconds; a and b touch, and so do b and c."""


def moved(name: str, start: float) -> Runs:
    return [(n, start if n == name else a, gpus, None) for n, a, gpus, _ in VALID]


EARLY, LATE = ([("a", 0.0, {0: 1}, 2 * (1 + off)), *VALID[1:]] for off in (-1e-5, 1e-5))
CORRUPTED: list[tuple[str, Runs, float]] = [
    ("capacity", moved("c", 3.98), 1.0),  # 1% early, while b runs on its server
    ("capacity", [(n, 0.0, gpus, None) for n, _, gpus, _ in VALID], 1.0),
    ("capacity", moved("c", 2.0), 1.0),
    ("start", moved("a", -0.02), 1.0),
    ("claimed end", EARLY, 1.0),
    ("claimed end", LATE, 1.0),
    ("claimed objective", VALID, 1 - 1e-5),
    ("claimed objective", VALID, 1 + 1e-5),
    ("gpu count", [("a", 0.0, {0: 2}, 2.0), *VALID[1:]], 1.0),
    ("server", [("a", 0.0, {2: 1}, 2.0), *VALID[1:]], 1.0),
]


def solution(runs: Runs, seconds_a_slot: float, objective: float) -> MakespanSolution:
    in_slots_ = [
        (name, start / seconds_a_slot, gpus, None if end is None else end / seconds_a_slot)
        for name, start, gpus, end in runs
    ]
    return MakespanSolution.of("scaled", in_slots_).model_copy(update={"objective": objective})


def verdict(instance: MakespanInstance, made: MakespanSolution) -> tuple[set[str], float | None]:
    report = optsched.check(instance, made)
    return {violation.rule for violation in report.violations}, report.objective


def judge(instance: MakespanInstance, seconds_a_slot: float) -> None:
    """The valid schedule holds at 10 s, each corruption breaks its own rule."""
    value = 10.0 / seconds_a_slot
    rules, objective = verdict(instance, solution(VALID, seconds_a_slot, value))
    assert rules == set()
    assert objective == pytest.approx(value, rel=1e-12)
    horizon = instance.horizon * seconds_a_slot
    late = ("horizon", moved("c", horizon * (1 + 1e-6) - 6), 1.0)
    for rule, runs, off in (*CORRUPTED, late):
        claim = value * off if runs is VALID else None
        broken = solution(runs, seconds_a_slot, value).model_copy(update={"objective": claim})
        assert verdict(instance, broken)[0] == {rule}


@pytest.mark.parametrize("power", [0, *POWERS])
@pytest.mark.parametrize(
    "units", [lambda x: (x, 1.0), lambda x: (1.0, x), lambda x: (x, x)], ids=["s", "bytes", "both"]
)
def test_units_change_no_verdict(power: int, units: Callable[[float], Any]) -> None:
    time, size = units(10.0**power)
    judge(MakespanInstance.from_dict(in_units(in_slots(1.0), time, size)), 16.0)


@pytest.mark.parametrize("power", [0, *POWERS])
def test_the_length_of_a_slot_changes_no_verdict(power: int) -> None:
    """Slots of 16e9 s: the jobs overlap by 1e-10 slots, and still they overlap."""
    judge(MakespanInstance.from_dict(in_slots(10.0**power)), 16.0 * 10.0**power)


@pytest.mark.parametrize("power", [0, *POWERS])
def test_units_change_no_whole_slot(power: int) -> None:
    """Floor progress: a and b take two slots each, c takes six."""
    x = 10.0**power
    instance = MakespanInstance.from_dict(in_units(document("floor", 1.0, 16), x, x))
    for method in ("exact", "ilp-schedules"):
        assert optsched.solve(instance, method).objective == 6
    assert optsched.solve(instance, "theta").bound == 6


@pytest.mark.parametrize("power", [0, *POWERS])
@pytest.mark.parametrize("method", ["longest-first", "local-search", "ilp-schedules"])
def test_methods_and_bounds_follow_the_length_of_a_slot(power: int, method: str) -> None:
    """Best: c, and beside it a and b one after the other: 6 s, as long as c."""
    factor = 16.0 * 10.0**power
    instance = MakespanInstance.from_dict(in_slots(10.0**power))
    result = optsched.solve(instance, method, iterations=200)
    assert result.check.feasible
    assert result.objective == pytest.approx(6 / factor, rel=1e-9)
    assert result.bound == pytest.approx(6 / factor, rel=1e-9)
    theta = optsched.solve(instance, "theta").bound
    assert theta == pytest.approx(6 / factor, rel=1e-6)


def test_a_long_run_hides_no_short_one() -> None:
    """c runs for 6e8 s; a, of 0.25 s, fits into a billionth of that, and still it overlaps."""
    made = document("continuous", 1.0, 10**9)
    made["jobs"][0] |= {"iterations": 1, "forward_time_per_sample": 0, "backward_time": 0.125}
    made["jobs"][2]["iterations"] = 6 * 10**8
    instance = MakespanInstance.from_dict(made)
    end, runs = 6e8, [("b", 6e8, {0: 1}, None), ("c", 0.0, WIDE["c"], None)]
    for start, rules in ((end - 0.25, {"capacity"}), (end - 0.01, {"capacity"}), (end, set())):
        made_up = MakespanSolution.of("scaled", [("a", start, {0: 1}, None), *runs])
        assert verdict(instance, made_up)[0] == rules


@pytest.mark.parametrize("late", [False, True])
def test_jobs_shorter_than_the_old_tolerance_do_not_share_a_gpu(late: bool) -> None:
    """33 jobs of one GPU on eight, each far shorter than 1e-6 slots; a late clock hides none."""
    made = document("continuous", 1e6, 10**9)
    made["servers"] = [8]
    job = {**made["jobs"][0], "iterations": 1, "forward_time_per_sample": 0, "backward_time": 9e-5}
    made["jobs"] = [{**job, "name": f"j{i}"} for i in range(33)]
    made["network"]["overhead_per_server"] = 1e-5
    instance = MakespanInstance.from_dict(made)
    start = 9e8 if late else 0.0
    crowd = MakespanSolution.of("scaled", [(f"j{i}", start, {0: 1}, None) for i in range(33)])
    report = optsched.check(instance, crowd)
    assert [(v.rule, v.amount) for v in report.violations] == [("capacity", 25)]
