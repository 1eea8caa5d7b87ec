"""Costs and violations by hand, on an instance where no two numbers are alike."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from oracles.selection_cases import document
from selection.small import at, solution

from optsched import check
from optsched.checking import CANCELLATION
from optsched.selection.cost import GpuKind, Tables, energy_rate, tables_of
from optsched.selection.instance import SelectionInstance
from optsched.selection.options import SelectionOptions

INF = np.inf


def one_value(epochs: float) -> dict[str, list[float]]:
    return {"values": [epochs], "probabilities": [1.0]}


JOBS = [
    {  # 4 or 10 epochs left, 7 expected; due in 30 s
        "name": "j0",
        "due_date": 80.0,
        "tardiness_weight": 2.0,
        "memory_bytes": 4.0,
        "completed_epochs": 2.0,
        "epochs": {"values": [2.0, 6.0, 12.0], "probabilities": [0.5, 0.25, 0.25]},
        "epoch_time": {"A": [4.0, 3.0], "B": [8.0]},
    },
    {  # overdue by 30 s; too large for B and for a quarter of A, exactly half of A
        "name": "j1",
        "due_date": 20.0,
        "tardiness_weight": 0.5,
        "memory_bytes": 20.0,
        "epochs": one_value(3.0),
        "epoch_time": {"A": [6.0, 5.0], "B": [1.0]},
    },
    {  # 4 or 20 epochs, 8 expected; due in 150 s; knows B only
        "name": "j2",
        "due_date": 200.0,
        "tardiness_weight": 4.0,
        "memory_bytes": 2.0,
        "epochs": {"values": [4.0, 20.0], "probabilities": [0.75, 0.25]},
        "epoch_time": {"B": [10.0]},
    },
    {  # due in 1000 s, never late
        "name": "j3",
        "due_date": 1050.0,
        "tardiness_weight": 1.0,
        "memory_bytes": 1.0,
        "epochs": one_value(10.0),
        "epoch_time": {"A": [2.0, 1.0], "B": [4.0]},
    },
]
TYPES = {
    "A": {"memory_bytes": 40.0, "slowdown": {"0.25": 2.0, "0.5": 1.5}},
    "B": {"memory_bytes": 4.0, "slowdown": {"0.5": 1.25}},
    "C": {"memory_bytes": 1.0, "slowdown": {}},
}
NODES = [
    {"name": "a", "gpu_type": "A", "gpus": 2, "cost_rate": [1.0, 1.5]},
    {"name": "b", "gpu_type": "B", "gpus": 1, "cost_rate": [0.25]},
    {"name": "one", "gpu_type": "A", "gpus": 1, "cost_rate": [1.0]},
    {"name": "twin", "gpu_type": "A", "gpus": 2, "cost_rate": [1.0, 1.5]},
]
USUAL = {"now": 50.0, "interval": 100.0, "postponement_penalty": 3.0}


def uneven(**changes: object) -> SelectionInstance:
    made = document("uneven", TYPES, NODES, JOBS, **USUAL)
    return SelectionInstance.from_dict({**made, **changes})


def tables(sharing: str = "on", **changes: object) -> Tables:
    return tables_of(uneven(**changes), SelectionOptions(sharing=sharing))


# --- the tables that methods compute with


def test_kinds_and_node_classes() -> None:
    found = tables()
    a, b = found.kinds
    assert (a.name, a.gpus) == ("A", 2)
    assert (b.name, b.gpus) == ("B", 1)
    assert [str(c) for c in a.configurations] == ["1", "2", "0.5", "0.25"]
    assert [str(c) for c in b.configurations] == ["1", "0.5"]
    assert [c.gpus for c in a.configurations] == [1, 2, 1, 1]
    assert [c.fraction for c in a.configurations] == [1, 1, Fraction(1, 2), Fraction(1, 4)]
    assert [a.configurations_within(1), a.configurations_within(2)] == [[0, 2, 3], [0, 1, 2, 3]]
    assert (a.fractions, b.fractions) == ([2, 3], [1])
    assert [(c.kind, c.gpus, c.cost_rate, c.nodes) for c in found.classes] == [
        (0, 2, (1.0, 1.5), (0, 3)),
        (1, 1, (0.25,), (1,)),
        (0, 1, (1.0,), (2,)),
    ]
    assert found.kind_of.tolist() == [0, 1, 0, 0]
    assert (found.jobs, found.max_open_nodes) == (4, 4)
    assert tables(jobs=JOBS[:3]).max_open_nodes == 3
    assert tables(nodes=NODES[:3]).max_open_nodes == 3
    whole: tuple[GpuKind, ...] = tables("off").kinds
    assert [len(kind.configurations) for kind in whole] == [2, 1]


def test_seconds_and_expected_costs() -> None:
    found = tables()
    seconds = [
        [[4, 3, 6, 8], [8, INF, INF, INF]],  # half of B holds 2 of its 4 bytes
        [[6, 5, 9, INF], [INF] * 4],
        [[INF] * 4, [10, 12.5, INF, INF]],
        [[2, 1, 3, 4], [4, 5, INF, INF]],
    ]
    np.testing.assert_array_equal(found.seconds, seconds)
    mean, most = np.array([7, 3, 8, 10.0]), np.array([10, 3, 20, 10.0])
    np.testing.assert_array_equal(found.expected, seconds * mean[:, None, None])
    np.testing.assert_array_equal(found.worst_case_seconds, seconds * most[:, None, None])
    late = [
        [[10, 0, 30, 52], [52, INF, INF, INF]],  # 40 - 30 with 1/2; 24, 60; 32, 80
        [[24, 22.5, 28.5, INF], [INF] * 4],  # 18, 15 and 27 s, and the 30 that it is overdue
        [[INF] * 4, [50, 100, INF, INF]],  # 200 - 150 and 250 - 150 with 1/4
        [[0, 0, 0, 0], [0, 0, INF, INF]],
    ]
    np.testing.assert_array_equal(found.tardiness_cost, late)


def test_cost_of_postponing() -> None:
    # slowest 8, 9, 12.5 and 5 s: Tbar = 80, 27, 250 and 50 s; without fractions 80, 18, 200, 40
    overdue = 0.5 * (3 * (100 + 27 + 30) + 30)
    assert tables().postponement_cost.tolist() == [2 * 3 * 150, overdue, 4 * 3 * 200, 0]
    whole = 0.5 * (3 * (100 + 18 + 30) + 30)
    assert tables("off").postponement_cost.tolist() == [2 * 3 * 150, whole, 4 * 3 * 150, 0]


def test_tbar_is_of_the_types_that_can_hold_the_job() -> None:
    soon = {**JOBS[3], "epoch_time": {"A": [0.25, 0.125], "B": [8.0]}, "due_date": 50.0}
    assert tables(jobs=[soon]).postponement_cost.tolist() == [3 * (100 + 8 * 1.25 * 10)]
    too_large = {**soon, "memory_bytes": 6.0}  # for B's 4: a quarter of A takes 0.5 s
    assert tables(jobs=[too_large]).postponement_cost.tolist() == [3 * (100 + 0.5 * 10)]
    assert check(uneven(jobs=[too_large]), solution_of(LATER[3])).objective == 3 * (100 + 0.5 * 10)


def test_due_dates_and_what_the_clock_rounds() -> None:
    found = tables()
    np.testing.assert_array_equal(found.due, [30, -30, 150, 1000])
    due_now = [{**job, "due_date": -2.0} for job in JOBS]
    before = tables(now=-2.0, jobs=due_now)
    np.testing.assert_array_equal(before.due, np.zeros(4))
    np.testing.assert_allclose(before.latest_on_time, np.full(4, 4e-15), rtol=1e-9)
    after = tables(now=3.0, jobs=[{**job, "due_date": 3.0} for job in JOBS])
    np.testing.assert_allclose(after.latest_on_time, np.full(4, 6e-15), rtol=1e-9)


def test_the_rounding_of_the_clock_in_dollars() -> None:
    found = 2 * (80 + 50) + 0.5 * (20 + 50) + 4 * (200 + 50) + 1 * (1050 + 50)
    assert tables().rounding == pytest.approx(1e-15 * found, rel=1e-12, abs=0)
    overdue = [{**job, "due_date": -3.0} for job in JOBS]
    before = tables(now=-2.0, jobs=overdue).rounding
    assert before == pytest.approx(1e-15 * 7.5 * 5, rel=1e-12, abs=0)


def test_the_unit_of_money() -> None:
    assert tables().money_unit == (900 + 250.5 + 2400 + 0) / 4
    never_late = [JOBS[3]]
    # waiting is free; 50 s on half of B at most, 1.5 $/s at most
    assert tables(jobs=never_late).money_unit == 50 * 1.5
    free = [{**node, "cost_rate": [0.0] * node["gpus"]} for node in NODES]
    assert tables(jobs=never_late, nodes=free).money_unit == 1.0


def test_energy_rate_of_the_gpus_in_use() -> None:
    found = tables()
    assert [energy_rate(found, 0, used) for used in (0, 1, 2)] == [0.0, 1.0, 1.5]
    assert [energy_rate(found, 1, used) for used in (0, 1)] == [0.0, 0.25]


# --- the checker's costs


solution_of = partial(solution, "uneven")
HALVES = (at("j0", "a", 0, fraction=0.5), at("j1", "a", 0, fraction=0.5))
OTHERS = (at("j2", "b", 0), at("j3", "twin", 0, 1))
LATER = tuple(at(f"j{j}", None) for j in range(4))


def test_checked_cost_of_all_placed() -> None:
    report = check(uneven(), solution_of(*HALVES, *OTHERS))
    tardiness = 30 + 28.5 + 50 + 0
    energy = 27 * 1.0 + 80 * 0.25 + 10 * 1.5  # j1 ends before j0's 42 s; two GPUs of the twin
    assert report.feasible
    assert report.objective == tardiness + energy
    terms = 2 * (30 + 42) + 0.5 * (30 + 27) + 4 * (150 + 80) + 1 * (1000 + 10)
    assert report.rounding == pytest.approx(CANCELLATION * terms, rel=1e-12, abs=0)


def test_checked_cost_of_some_postponed() -> None:
    placed = (at("j0", "a", 0, fraction=0.25), LATER[1], LATER[2], at("j3", "a", 1))
    report = check(uneven(), solution_of(*placed))
    assert report.feasible
    # two GPUs of a, until j3 ends after 2 s x 10
    assert report.objective == 52 + 250.5 + 2400 + 0 + 20 * 1.5
    postponed = 0.5 * (30 + 3 * (100 + 27 + 30)) + 4 * (150 + 3 * (100 + 250 + 150))
    terms = 2 * (30 + 56) + postponed + 1 * (1000 + 20)
    assert report.rounding == pytest.approx(CANCELLATION * terms, rel=1e-12, abs=0)


def test_checked_cost_of_all_postponed() -> None:
    everyone = solution_of(*LATER)
    assert check(uneven(), everyone).objective == 900 + 250.5 + 2400 + 0
    assert check(uneven(), everyone, {"sharing": "off"}).objective == 900 + 237 + 1800 + 0


# --- violations: rule, equation, where and amount


def broken(*placements: dict[str, object], **more: object) -> list[tuple[str, str, str, float]]:
    report = check(uneven(), solution_of(*placements, **more))
    assert (report.objective is None) == bool(report.violations)
    assert all(v.tolerance == 0 for v in report.violations)
    return [(v.rule, v.equation, v.where, v.amount) for v in report.violations]


HALF_A = "job j0 on a"


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        (at("j0", "a", 2), [("GPU index", "(12')", f"{HALF_A}, GPU 2", 1)]),
        (at("j0", "a", 4), [("GPU index", "(12')", f"{HALF_A}, GPU 4", 3)]),
        (at("j0", "a", -1), [("GPU index", "(12')", f"{HALF_A}, GPU -1", 1)]),
        (at("j0", "a", -3), [("GPU index", "(12')", f"{HALF_A}, GPU -3", 3)]),
        (at("j0", "a"), [("GPUs", "(11)", HALF_A, 1)]),
        (at("j0", "a", 0, 0, 0), [("GPUs", "(11)", HALF_A, 2)]),
        (at("j0", "a", 0, 0, 0, 1), [("GPUs", "(11)", HALF_A, 2)]),
        (at("j0", "a", 0, fraction=0.375), [("fraction", "(8'')", HALF_A, 0.375)]),
        (at("j0", "a", 0, 1, fraction=0.5), [("fraction", "(10')", HALF_A, 1)]),
        (at("j0", "b", 0, fraction=0.5), [("memory", "(15)", "job j0 on b", 2)]),
        (at("j0", None, 0, 1), [("GPUs", "(11)", "postponed job j0", 2)]),
        (at("j0", "nowhere", 0), [("node", "n in N", "job j0 on 'nowhere'", 1)]),
        (at("j0", "one", 0), []),
        (at("j0", "one", 1), [("GPU index", "(12')", "job j0 on one, GPU 1", 1)]),
    ],
)
def test_a_placement_that_breaks_a_rule(
    first: dict[str, object], expected: list[tuple[str, str, str, float]]
) -> None:
    assert broken(first, *LATER[1:]) == expected


def test_memory_and_type_of_another_job() -> None:
    quarter = at("j1", "a", 0, fraction=0.25)
    assert broken(LATER[0], quarter, *LATER[2:]) == [("memory", "(15)", "job j1 on a", 10)]
    on_a = at("j2", "a", 0)
    assert broken(*LATER[:2], on_a, LATER[3]) == [("GPU type", "(6)", "job j2 on a", 1)]


def test_memory_that_lacks_less_than_a_byte() -> None:
    given = uneven(jobs=[{**JOBS[0], "memory_bytes": 4.5}, *JOBS[1:]])
    (short,) = check(given, solution_of(at("j0", "b", 0), *LATER[1:])).violations
    assert (short.rule, short.amount) == ("memory", 0.5)


def test_a_certificate_is_looked_at() -> None:
    prices = {"jobs": [0.0], "slots": {"A": [0.0] * 4, "B": [0.0] * 2}, "bound": 0.0}
    report = check(uneven(), solution_of(*LATER, certificate=prices))
    assert [(v.rule, v.equation) for v in report.violations] == [("certificate", "prices")]
    assert report.objective == 900 + 250.5 + 2400 + 0


def test_jobs_listed_once() -> None:
    assert broken(*LATER[:3]) == [("job", "(4)", "job j3", 1)]
    assert broken(*LATER, LATER[0], LATER[0]) == [("job", "(4)", "job j0", 2)]
    strange = at("x", None)
    assert broken(*LATER, strange, strange) == [("job", "(4)", "unknown job x", 2)]
    told = "the solution is for 'other', not for 'uneven'"
    assert broken(*LATER, instance="other") == [("instance", "file", told, 1)]


def test_a_gpu_given_more_than_once() -> None:
    third = at("j3", "a", 0, fraction=0.25)
    assert broken(*HALVES, LATER[2], third) == [("capacity", "(9)", "GPU 0 of a", 0.25)]
    elsewhere = at("j3", "a", 1, fraction=0.25)
    assert broken(*HALVES, LATER[2], elsewhere) == []


def test_options_on_sharing_and_opening() -> None:
    sharing = [("sharing", "option sharing", f"job j{j} on a", 1) for j in (0, 1)]
    assert broken(*HALVES, *LATER[2:], options={"sharing": "off"}) == sharing
    whole = (at("j0", "a", 0, 1), *LATER[1:])
    assert broken(*whole, options={"sharing": "off"}) == []
    printed = {"node_opening": "printed"}
    few = [("node opening", "(16)", "3 open nodes", 1)]
    assert broken(*HALVES, *OTHERS, options=printed) == few
    spread = (at("j0", "a", 0), at("j1", "one", 0), *OTHERS)
    assert broken(*spread, options=printed) == []
    two = uneven(jobs=[JOBS[0], JOBS[3]])
    both = solution_of(at("j0", "a", 0), at("j3", "one", 0), options=printed)
    assert check(two, both).feasible


def test_options_given_go_before_the_solutions_own() -> None:
    halves = solution_of(*HALVES, *LATER[2:], options={"sharing": "on"})
    assert {v.rule for v in check(uneven(), halves, {"sharing": "off"}).violations} == {"sharing"}


def test_a_claim_is_held_against_the_cost() -> None:
    right = solution_of(*HALVES, *OTHERS, objective=170.5)
    assert check(uneven(), right).feasible
    wrong = check(uneven(), solution_of(*HALVES, *OTHERS, objective=171.5))
    assert [(v.rule, v.where) for v in wrong.violations] == [("claimed objective", "objective")]
    assert wrong.violations[0].amount == pytest.approx(1 / 171.5)
    assert wrong.objective == 170.5
