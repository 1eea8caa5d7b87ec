"""What the checker says of schedules worked out by hand: each end, each violation in full."""

import math
from typing import Any

import pytest
from makespan.small import job
from oracles.makespan_cases import document

from optsched.checking import Violation
from optsched.library.verify.makespan import least_slots
from optsched.makespan.check import check
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.solution import MakespanSolution

Runs = list[tuple[str, float, dict[int, int], float | None]]

RING = {
    "gpus": 4, "iterations": 8, "gradient_bytes": 32, "batch_size": 2,
    "forward_time_per_sample": 0.25, "backward_time": 0.5,
}  # fmt: skip
"""An iteration: 1 s of passes, 2 * 32 * 3/4 = 48 bytes exchanged, 24 / 16 = 1.5 s to reduce.

In one server 48 / 64 + 1.5 + 0.125 + 1 = 3.375 s. Over two, with k = 0.75 p:
p = 1   f = 1, since 0.75 - 0.5 * 0.25 is less     48 / 8 + 1.5 + 0.25 + 1 = 8.75 s
p = 2   f = 1.5 + 0.5 * 0.5 = 1.75                 10.5 + 2.75 = 13.25 s
p = 3   f = 2.25 + 0.5 * 1.25 = 2.875              17.25 + 2.75 = 20 s
"""
FIXED = job(1, 1, 0.875)
"""In one server an iteration of 1 s, with its overhead of 0.125 s."""
NETWORK = {
    "inter_bandwidth": 8, "intra_bandwidth": 64, "contention_share": 0.75, "degradation": 0.5,
    "overhead_per_server": 0.125, "overhead_on_one_server": True,
}  # fmt: skip

FORMS = ({}, {"degradation": [1, 1.75, 2.875, 9], "contention_share": 0})
"""The same f, linear and as a table, which no share alters."""


def instance(
    jobs: dict[str, dict[str, Any]], network: dict[str, Any] | None = None, **update: Any
) -> MakespanInstance:
    """Servers of 4, 5 and 3 GPUs, slots of one second, continuous progress."""
    usual = {"servers": [4, 5, 3], "compute_rate": 16, "progress": "continuous", "horizon": 1000}
    network = {**NETWORK, **(network or {})}
    rows = [{"name": name, **each} for name, each in jobs.items()]
    made = document("by hand", network=network, jobs=rows, **{**usual, **update})
    return MakespanInstance.from_dict(made)


def solution(runs: Runs, **update: Any) -> MakespanSolution:
    return MakespanSolution.of("by hand", runs).model_copy(update=update)


def violations(made: MakespanInstance, runs: Runs, **update: Any) -> list[Violation]:
    return list(check(made, solution(runs, **update)).violations)


RINGS = {name: {**RING, "iterations": many} for name, many in (("a", 10), ("b", 10), ("c", 2))}
MEETING: Runs = [
    ("a", 0, {0: 2, 1: 2}, 137.0),
    ("b", 17.5, {1: 1, 2: 3}, 154.5),
    ("c", 44, {0: 2, 1: 2, 2: 0}, 84.0),
]
"""All three share server 1; a and c server 0 too, where b is not.

0     a alone, 8.75 s an iteration: 2 of 10 done at 17.5
17.5  a and b, 13.25 s each: 2 more done by each at 44
44    all three, 20 s each: c has done its 2 at 84; 4 of a's and 6 of b's 10 are left
84    a and b: a ends at 84 + 4 * 13.25 = 137
137   b alone: its last 2 until 137 + 17.5 = 154.5
"""


@pytest.mark.parametrize("network", FORMS)
def test_ends_from_event_to_event(network: dict[str, Any]) -> None:
    made = instance(RINGS, network)
    report = check(made, solution(MEETING, objective=154.5))
    assert report.violations == ()
    assert report.objective == pytest.approx(154.5, rel=1e-12)


@pytest.mark.parametrize("network", FORMS)
def test_ends_in_whole_iterations(network: dict[str, Any]) -> None:
    """Slots of 32 s: 9 iterations inside, 3, 2 or 1 across for p = 1, 2, 3.

    a: 6 by slot 2, 2 by 3, its last 2 with all three by 5. b: 2, 2, then 2 with c by 6, when c has
    done 1 + 1 + 2 = 4; its last 4 at 3 a slot take two slots. d: 10 at 9 a slot.
    """
    jobs = {**RINGS, "c": {**RING, "iterations": 4}, "d": {**RING, "gpus": 2, "iterations": 10}}
    jobs["d"]["gradient_bytes"] = 48  # 2 * 48 / 2 = 48 bytes, 24 to reduce, as the others
    made = instance(jobs, network, slot=32, progress="floor", servers=[4, 5, 3, 2])
    runs: Runs = [
        ("a", 0, {0: 2, 1: 2}, 5),
        ("b", 2, {1: 1, 2: 3}, 8),
        ("c", 3, {0: 2, 1: 2}, 6),
        ("d", 1, {3: 2}, 3),
    ]
    report = check(made, solution(runs))
    assert (report.violations, report.objective) == ((), 8)


def test_jobs_that_stand_still_for_ever() -> None:
    """Slots of 16 s are shorter than the 20 s of three that share; d has long ended."""
    made = instance({**RINGS, "d": {**FIXED, "gpus": 1}}, slot=16, progress="floor", horizon=70)
    runs: Runs = [(name, 0, gpus, None) for name, _, gpus, _ in MEETING]
    found = violations(made, [*runs, ("d", 0, {2: 1}, None)])
    assert sorted(found, key=lambda violation: violation.where) == [
        Violation("completion", "(9)", f"job {name}, which never ends", 70) for name in "abc"
    ]


@pytest.mark.parametrize(
    ("off", "seen"), [(0.9e-6, False), (-0.9e-6, False), (1.1e-6, True), (-1.1e-6, True)]
)
def test_claims_just_inside_and_just_outside_their_tolerance(off: float, seen: bool) -> None:
    made = instance(RINGS)
    runs = [(n, s, gpus, 137 * (1 + off) if n == "a" else None) for n, s, gpus, _ in MEETING]
    amount = pytest.approx(1.1e-6, rel=1e-4)
    end = Violation("claimed end", "(9)", "job a", amount, 1e-6)
    makespan = Violation("claimed objective", "objective", "objective", amount, 1e-6)
    assert violations(made, runs) == ([end] if seen else [])
    runs = [(n, s, gpus, None) for n, s, gpus, _ in MEETING]
    assert violations(made, runs, objective=154.5 * (1 + off)) == ([makespan] if seen else [])


INSIDE: Runs = [("a", 0, {0: 1}, None), ("b", 0, {1: 2}, None)]
SMALL = {"a": FIXED, "b": {**FIXED, "gpus": 2}}

WRONG: list[tuple[Runs, list[Violation]]] = [
    (INSIDE[1:], [Violation("job", "once", "job a scheduled 0 times", 1)]),
    ([*INSIDE, INSIDE[1], INSIDE[1]], [Violation("job", "once", "job b scheduled 3 times", 2)]),
    ([*INSIDE, ("x", 0, {0: 1}, None)], [Violation("job", "once", "unknown job x", 1)]),
    ([INSIDE[0], ("b", 0, {3: 2}, None)], [Violation("server", "s in S", "job b, server 3", 1)]),
    ([INSIDE[0], ("b", 0, {2: 5}, None)],
     [Violation("capacity", "(2)", "job b, server 2", 2),
      Violation("gpu count", "(1)", "job b", 3)]),
    ([INSIDE[0], ("b", 0, {1: 4, 2: -2}, None)],
     [Violation("gpu count", "(5)", "job b, server 2", 2)]),
    ([INSIDE[0], ("b", 0, {1: 0}, None)], [Violation("gpu count", "(1)", "job b", 2)]),
    ([INSIDE[0], ("b", -2.5, {1: 2}, None)], [Violation("start", "a >= 0", "job b", 2.5)]),
]  # fmt: skip


@pytest.mark.parametrize(("runs", "found"), WRONG)
def test_decisions_that_mean_nothing(runs: Runs, found: list[Violation]) -> None:
    report = check(instance(SMALL), solution(runs))
    assert report.objective is None
    assert list(report.violations) == found


def test_another_instances_schedule() -> None:
    told = "the solution is for 'other', not for 'by hand'"
    found = violations(instance(SMALL), INSIDE, instance="other")
    assert found == [Violation("instance", "file", told, 1)]


def late(amount: Any, tolerance: float) -> list[Violation]:
    return [Violation("horizon", "T_j <= horizon", "job b", amount, tolerance)]


def b_at(start: float) -> Runs:
    return [INSIDE[0], ("b", start, {1: 2}, None)]


FLOOR = {"progress": "floor", "horizon": 5}
HAIR = pytest.approx(5.5e-9, rel=1e-5)
BETWEEN_SLOTS = [Violation("start", "whole slots", "job b", 0.25)]


@pytest.mark.parametrize(
    ("made", "runs", "found"),
    [
        # a and b share server 1 alone: both at p = 2, 13.25 s an iteration
        (
            instance({"a": RING, "b": RING}),
            [("a", 0, {0: 3, 1: 1}, 106), ("b", 0, {1: 1, 2: 3}, 106)],
            [],
        ),
        # three servers pay their overhead thrice
        (instance({"a": RING}), [("a", 3, {0: 1, 1: 2, 2: 1}, 3 + 8 * 8.875)], []),
        # a count of none is no server
        (instance(SMALL), [INSIDE[0], ("b", 0, {0: 0, 1: 2}, 1)], []),
        *((instance(SMALL), b_at(start), []) for start in (2.25, 2.75)),
        *((instance(SMALL, **FLOOR), b_at(start), BETWEEN_SLOTS) for start in (2.25, 2.75)),
        (instance(SMALL, **FLOOR), b_at(4), []),
        (instance(SMALL, **FLOOR), b_at(5), late(1, 0.0)),
        (instance(SMALL, horizon=5), b_at(4 + 4.5e-9), []),
        (instance(SMALL, horizon=5), b_at(4 + 5.5e-9), late(HAIR, 5e-9)),
        # every overfull server is named
        (
            instance({n: {**FIXED, "gpus": 3} for n in "abcd"}),
            [
                (n, at, {s: 3}, None)
                for n, at, s in zip("abcd", (0, 0.5, 0, 0.75), (1, 1, 2, 2), strict=True)
            ],
            [
                Violation("capacity", "(2)", "server 1 at slot 0.5", 1),
                Violation("capacity", "(2)", "server 2 at slot 0.75", 3),
            ],
        ),
    ],
)
def test_schedules_by_hand(made: MakespanInstance, runs: Runs, found: list[Violation]) -> None:
    assert violations(made, runs) == found


def on_one_server(
    *stays: tuple[float, float, int], progress: str = "continuous"
) -> list[Violation]:
    """Runs on server 2 (3 GPUs) by start, length and GPUs."""
    jobs = {
        f"{at}": {**FIXED, "gpus": gpus, "backward_time": length}
        for at, (_, length, gpus) in enumerate(stays)
    }
    network = {"overhead_per_server": 0, "intra_bandwidth": 1e9}
    runs: Runs = [(f"{at}", start, {2: gpus}, None) for at, (start, _, gpus) in enumerate(stays)]
    slot = 1 if progress == "continuous" else max(length for _, length, _ in stays)
    made = instance(jobs, network, horizon=10**9, progress=progress, slot=slot)
    return violations(made, runs)


def overfull(at: str, amount: int) -> list[Violation]:
    return [Violation("capacity", "(2)", f"server 2 at slot {at}", amount)]


def test_the_use_of_a_server() -> None:
    """The first start at which use is most; who ends then uses nothing any more."""
    assert on_one_server((0, 2, 3), (2, 2, 1), (2, 3, 2), (4, 1, 1)) == []
    assert on_one_server((0, 2, 3), (1, 3, 1), (1.5, 2, 1)) == overfull("1.5", 2)
    assert on_one_server((0, 4, 2), (1, 1, 3), (3, 1, 3)) == overfull("1", 2)
    assert on_one_server((0, 1, 2), (0, 1, 2), progress="floor") == overfull("0", 1)


LATE = 2.0**20
ULP = 2.0**-32
"""What a clock at `LATE` can show; 64 of them are more than 1e-9 of a second."""


@pytest.mark.parametrize(
    ("first", "second", "overlap", "hidden"),
    [
        (1.0, 1.0, 64 * ULP, True),
        (1.0, 1.0, 65 * ULP, False),
        (96 * ULP, 1.0, 38 * ULP, True),  # less than half of the shorter
        (96 * ULP, 1.0, 48 * ULP, True),
        (96 * ULP, 1.0, 52 * ULP, False),
        (1.0, 96 * ULP, 48 * ULP, True),
        (1.0, 96 * ULP, 52 * ULP, False),
        (1.0, 2.0**19, 2.0**-14, False),  # a long run's rounding hides no short one's end
        (2.0**19, 1.0, 2.0**-14, False),
        (2.0**19, 2.0**19, 2.0**-12, True),
        (2.0**19, 2.0**19, 2.0**-10, False),
    ],
)
def test_overlaps_by_rounding(first: float, second: float, overlap: float, hidden: bool) -> None:
    """The second starts at `LATE`, `overlap` before the first ends."""
    found = on_one_server((LATE + overlap - first, first, 2), (LATE, second, 3))
    assert found == ([] if hidden else overfull(f"{LATE:g}", 2))


def test_an_overlap_by_rounding_hides_no_earlier_peak() -> None:
    early = [(0.0, 4.0, 2), (1.0, 1.0, 3)]
    touching = [(LATE + 64 * ULP - 1, 1.0, 2), (LATE, 1.0, 3)]
    assert on_one_server(*early, *touching) == overfull("1", 2)


def test_a_run_shorter_than_its_clock_can_show_is_a_run() -> None:
    assert on_one_server((LATE, ULP / 8, 2), (LATE, ULP / 8, 2)) == overfull(f"{LATE:g}", 1)


TWELVE = {**FIXED, "iterations": 12}


def least(made: MakespanInstance, capacity: int) -> float:
    """Least slots of the first job, as the verifier of certificates has them."""
    document = made.to_dict()
    return least_slots(document, document["jobs"][0], capacity)


TWO_SECONDS = {"slot": 2}
FAST_LINKS = {"inter_bandwidth": 64, "intra_bandwidth": 8}
"""8 inside: 48 / 8 + 1.5 + 0.125 + 1 = 8.625 s; 64 across: 0.75 + 1.5 + 0.25 + 1 = 3.5 s."""


@pytest.mark.parametrize(
    ("ring", "network", "update", "capacity", "slots"),
    [
        ({}, {}, TWO_SECONDS, 4, 8 * 3.375 / 2),
        ({}, {}, TWO_SECONDS, 3, 8 * 8.75 / 2),
        ({"gpus": 1}, {}, TWO_SECONDS, 3, 8 * 1.125 / 2),
        ({"gpus": 2, "gradient_bytes": 48}, {}, TWO_SECONDS, 3, 8 * 3.375 / 2),
        ({"gpus": 2, "gradient_bytes": 48}, {}, TWO_SECONDS, 1, 8 * 8.75 / 2),
        # 2 * 28 / 8 + 28 / 16 + 1 = 9.75, and 0.25 for servers of 5 and 4, 0.375 for all three
        ({"gpus": 8}, {}, TWO_SECONDS, 5, 8 * 10.0 / 2),
        # 2 * 32 * 8/9 / 8 + 32 * 8/9 / 16 + 1 = 89 / 9
        ({"gpus": 9}, {}, TWO_SECONDS, 5, 4 * (89 / 9 + 0.25)),
        ({"gpus": 10}, {}, TWO_SECONDS, 5, 4 * (2 * 28.8 / 8 + 28.8 / 16 + 1 + 0.375)),
        ({}, FAST_LINKS, {}, 4, 28),
        ({}, FAST_LINKS, {"servers": [4, 1]}, 4, 28),
        ({}, FAST_LINKS, {"servers": [4]}, 4, 69),
        ({}, {"overhead_on_one_server": False}, {}, 4, 8 * 3.25),
        ({}, {"overhead_on_one_server": False}, {}, 3, 8 * 8.75),
        # 12 of 1 s: three fit into a slot, unless it is shorter by more than a rounding of 1e-9
        (TWELVE, {}, {"slot": 3.0, "progress": "floor"}, 4, 4),
        (TWELVE, {}, {"slot": 3 - 1.5e-9, "progress": "floor"}, 4, 6),
        (TWELVE, {}, {"slot": 3 - 0.5e-9, "progress": "floor"}, 4, 4),
        # 8.75 s across do not fit into slots of 8 s; inside two do
        ({}, {}, {"slot": 8, "progress": "floor"}, 4, 4),
        ({}, {}, {"slot": 8, "progress": "floor"}, 3, math.inf),
    ],
)
def test_the_least_slots(
    ring: dict[str, Any], network: dict[str, Any], update: dict, capacity: int, slots: float
) -> None:
    made = instance({"a": {**RING, **ring}}, network, **update)
    assert least(made, capacity) == pytest.approx(slots, rel=1e-12)


@pytest.mark.parametrize(
    ("ring", "network", "update", "end"),
    [
        ({}, {}, {}, 8 * 3.375),
        ({}, {"overhead_on_one_server": False}, {}, 8 * 3.25),
        (TWELVE, {}, {"slot": 3 - 1.5e-9, "progress": "floor"}, 6),
        (TWELVE, {}, {"slot": 3 - 0.5e-9, "progress": "floor"}, 4),
    ],
)
def test_the_end_of_a_job_in_one_server(
    ring: dict[str, Any], network: dict[str, Any], update: dict[str, Any], end: float
) -> None:
    made = instance({"a": {**RING, **ring}}, network, **update)
    gpus = made.jobs[0].gpus
    assert violations(made, [("a", 0, {0: gpus}, end)]) == []


def test_a_claimed_end_where_a_run_takes_less_than_any_number() -> None:
    """1e-300 s in slots of 1e18 s: the end is 0, so that what is off is told in slots."""
    made = instance({"a": job(1, 1, 1e-300)}, {"overhead_per_server": 0}, slot=1e18)
    late = Violation("claimed end", "(9)", "job a", 0.5, 1e-6)
    assert violations(made, [("a", 0, {0: 1}, 0.5)]) == [late]
