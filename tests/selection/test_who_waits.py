"""fewest-waiting and same-jobs against every selection there is, and what they leave alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
from oracles.random_selection import tiny
from oracles.selection import fewest_waiting, optimum, selections

import optsched
from optsched import check, solve
from optsched.cli import _code
from optsched.errors import NotApplicableError
from optsched.result import Result, Termination
from optsched.selection.exact import who_waits
from optsched.selection.instance import SelectionInstance
from optsched.selection.models.patterns import read_counted

SWITCH = ("on", "off")


def crowded(seed: int) -> SelectionInstance:
    """Four jobs on two to four GPUs; waiting is often cheaper than running."""
    return tiny(seed, jobs=4, nodes=2, most=2)


def ran(result: Result) -> set[str]:
    return {job.name for job in result.solution.jobs if job.node is not None}


def agree(seed: int, sharing: str) -> tuple[bool, bool, bool]:
    """Whether somebody must wait, some wait by choice, and sts's own jobs can be had for less."""
    instance, options = crowded(seed), {"sharing": sharing}
    every = list(selections(instance.to_dict(), "free", sharing == "on"))
    waiting, cost = min((len(instance.jobs) - len(jobs), cost) for jobs, cost in every)
    result = solve(instance, "fewest-waiting", options=options, gap=0.0)
    assert check(instance, result.solution).feasible
    assert (result.termination, result.details["proved"]) == (Termination.FEASIBLE, True)
    assert len(instance.jobs) - len(ran(result)) == waiting, (seed, sharing)
    assert result.objective == pytest.approx(cost, rel=1e-7), (seed, sharing)
    assert result.details["least_cost_bound"] <= cost * (1 + 1e-9)
    heuristic = solve(instance, "sts", options=options)
    least = min(cost for jobs, cost in every if jobs == ran(heuristic))
    same = solve(instance, "same-jobs", options=options, gap=0.0)
    assert (ran(same), same.details["proved"]) == (ran(heuristic), True)
    assert same.objective == pytest.approx(least, rel=1e-7), (seed, sharing)
    best = min(cost for _, cost in every)
    return waiting > 0, best < cost * (1 - 1e-6), least < heuristic.objective * 0.999


def test_equal_to_brute_force() -> None:
    seen = [agree(seed, SWITCH[seed % 2]) for seed in range(14)]
    assert all(any(each) for each in zip(*seen, strict=True)), "a case is missing"


@pytest.mark.full
def test_equal_to_brute_force_full() -> None:
    for seed in range(100):
        for sharing in SWITCH:
            agree(seed, sharing)


def test_as_many_nodes_as_printed_and_then_fewest_waiting() -> None:
    printed = {"node_opening": "printed"}
    for seed in range(6):
        instance = crowded(seed)
        best = fewest_waiting(instance.to_dict(), "printed")
        result = solve(instance, "fewest-waiting", options=printed, gap=0.0)
        assert (len(instance.jobs) - len(ran(result)), result.objective) == pytest.approx(best)
    document = crowded(0).to_dict()
    for job in document["jobs"]:
        job["epoch_time"] = {"A": [1.0] * 2}
    document["nodes"] = [
        {"name": name, "gpu_type": kind, "gpus": 2, "cost_rate": [0.1, 0.2]}
        for name, kind in (("a", "A"), ("b", "B"))
    ]
    document["gpu_types"] = dict.fromkeys("AB", document["gpu_types"]["A"])
    assert fewest_waiting(document, "printed") is None
    alone = SelectionInstance.from_dict(document)
    result = solve(alone, "fewest-waiting", options=printed)
    assert result.termination is Termination.INFEASIBLE
    with pytest.raises(NotApplicableError, match="same-jobs: found node_opening=printed"):
        solve(crowded(0), "same-jobs", options={"node_opening": "printed"})


def test_neither_bounds_the_problem() -> None:
    """Their bounds are of other problems: the one beside them is the problem's own."""
    instance = next(i for i in map(crowded, range(6)) if _waits_by_choice(i))
    best = optimum(instance.to_dict())
    for method in ("fewest-waiting", "same-jobs"):
        assert solve(instance, method).bound <= best * (1 + 1e-9)
    frame = optsched.compare([instance], ["exact", "fewest-waiting", "same-jobs"])
    assert list(frame["status"]) == ["optimal", "feasible", "feasible"]
    assert frame["bound"].max() <= best * (1 + 1e-9)


def _waits_by_choice(instance: SelectionInstance) -> bool:
    document = instance.to_dict()
    return optimum(document) < fewest_waiting(document)[1] * (1 - 1e-6)


def test_without_time_a_heuristics_selection_stands() -> None:
    for method in ("fewest-waiting", "same-jobs"):
        result = solve("selection/10x40", method, time_limit=0.0)
        assert (result.termination, result.details["proved"]) == (Termination.TIME_LIMIT, False)
        assert result.check.feasible


@pytest.mark.parametrize("method", ["fewest-waiting", "same-jobs"])
def test_an_answer_between_vertices_is_seated_all_the_same(
    monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """Leaders in halves make the decoder seat by assignment; nobody more may wait then."""

    def halves(model: object) -> object:
        counted = read_counted(model)
        return replace(counted, leaders=dict.fromkeys(counted.leaders, 0.5))

    instances = [crowded(seed) for seed in range(3)]
    whole = [solve(instance, method, gap=0.0) for instance in instances]
    monkeypatch.setattr(who_waits, "read_counted", halves)
    for instance, first in zip(instances, whole, strict=True):
        again = solve(instance, method, gap=0.0)
        assert len(ran(again)) == len(ran(first))
        assert again.objective == pytest.approx(first.objective, rel=1e-9)


def test_compare_says_where_the_excess_is_of_waiting_jobs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    frame = optsched.compare("selection/10x20", ["sts", "rg", "exact"], full=True)
    rows = frame.set_index("method")
    assert rows.loc["sts", "jobs_waiting"] > 0 == rows.loc["exact", "jobs_waiting"]
    parts = rows[["waiting_cost", "tardiness", "interval_energy"]].sum(axis=1)
    assert list(parts) == pytest.approx(list(rows["objective"]))
    assert _code(["compare", "selection/10x20", "--methods", "sts,rg,exact"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert (
        "most of the excess is what (20) charges for jobs left waiting, not tardiness or energy: "
        "10x20 (sts)"
    ) in said
    assert _code(["compare", "selection/12x6-light", "--methods", "sts,exact"]) == 0
    assert "(20) charges" not in capsys.readouterr().out
