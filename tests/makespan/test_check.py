"""The checker catches each corruption, and only that."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import optsched
from optsched.errors import InputError
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.solution import MakespanSolution
from optsched.verbs.judging import certificate_violations

NAMES = ["makespan/contended-3x3", "makespan/fig2", "makespan/uniform-10x4-strong"]


@pytest.fixture(params=NAMES)
def solved(request: pytest.FixtureRequest) -> tuple[MakespanInstance, MakespanSolution]:
    instance = optsched.load(request.param)
    return instance, optsched.solve(instance).solution


def broken(instance: MakespanInstance, solution: MakespanSolution) -> set[str]:
    return {violation.rule for violation in optsched.check(instance, solution).violations}


def changed(solution: MakespanSolution, index: int, **update: Any) -> MakespanSolution:
    """One job changed; claims dropped, so that only the change is at fault."""
    jobs = [run.model_copy(update={"end": None}) for run in solution.jobs]
    jobs[index] = jobs[index].model_copy(update=update)
    return solution.model_copy(update={"jobs": tuple(jobs), "objective": None})


def test_accepts_what_the_methods_return(solved: tuple) -> None:
    assert broken(*solved) == set()
    assert optsched.check(*solved).objective == solved[1].objective


def test_catches_overlapping_gpus(solved: tuple) -> None:
    instance, solution = solved
    crowded = solution.model_copy(
        update={
            "objective": None,
            "jobs": tuple(
                run.model_copy(update={"start": 0, "end": None, "gpus": solution.jobs[0].gpus})
                if sum(run.gpus.values()) == sum(solution.jobs[0].gpus.values())
                else run.model_copy(update={"end": None})
                for run in solution.jobs
            ),
        }
    )
    assert broken(instance, crowded) == {"capacity"}


def test_catches_a_wrong_gpu_count(solved: tuple) -> None:
    instance, solution = solved
    server, count = next(iter(solution.jobs[0].gpus.items()))
    gpus = {**solution.jobs[0].gpus, server: count - 1}
    assert broken(instance, changed(solution, 0, gpus=gpus)) == {"gpu count"}


def test_catches_a_negative_count_that_sums_up(solved: tuple) -> None:
    instance, solution = solved
    total = sum(solution.jobs[0].gpus.values())
    bad = changed(solution, 0, gpus={"0": total + 1, "1": -1})
    assert "gpu count" in broken(instance, bad)


def test_catches_an_unknown_server(solved: tuple) -> None:
    instance, solution = solved
    total = sum(solution.jobs[0].gpus.values())
    assert broken(instance, changed(solution, 0, gpus={"77": total})) == {"server"}


def test_catches_a_completion_after_the_horizon(solved: tuple) -> None:
    instance, solution = solved
    late = changed(solution, 0, start=instance.horizon - 1)
    assert "horizon" in broken(instance, late)
    with pytest.raises(InputError, match="horizon"):
        optsched.explain(instance, late)


@pytest.mark.parametrize("start", [0.5, -1])
def test_catches_a_start_between_or_before_slots(solved: tuple, start: float) -> None:
    instance, solution = solved
    assert broken(instance, changed(solution, 0, start=start)) == {"start"}


def test_catches_a_job_absent_twice_or_unknown(solved: tuple) -> None:
    instance, solution = solved
    for jobs in (
        solution.jobs[1:],
        (*solution.jobs, solution.jobs[0]),
        (*solution.jobs, solution.jobs[0].model_copy(update={"name": "stranger"})),
    ):
        assert broken(instance, solution.model_copy(update={"jobs": jobs})) == {"job"}


@pytest.mark.parametrize("factor", [1 - 1e-5, 1 + 1e-5])
def test_catches_a_claimed_makespan_off_by_1e5(solved: tuple, factor: float) -> None:
    instance, solution = solved
    claimed = solution.model_copy(update={"objective": solution.objective * factor})
    assert broken(instance, claimed) == {"claimed objective"}


def test_catches_claimed_ends_that_ignore_contention() -> None:
    instance = optsched.load("makespan/fig2")
    runs = [("job-1", 0, {0: 1, 1: 1}, 10), ("job-2", 0, {0: 1, 1: 1}, 10)]
    solution = MakespanSolution.of("fig2", runs)
    assert broken(instance, solution) == {"claimed end"}
    assert optsched.check(instance, solution).objective == 20


def test_catches_a_job_that_never_ends() -> None:
    document = optsched.load("makespan/fig2").to_dict()
    document["network"]["degradation"] = 100.0
    instance = MakespanInstance.from_dict(document)
    both = [("job-1", 0, {0: 1, 1: 1}, None), ("job-2", 0, {0: 1, 1: 1}, None)]
    assert broken(instance, MakespanSolution.of("fig2", both)) == {"completion"}


def test_catches_another_instances_solution(solved: tuple) -> None:
    instance, solution = solved
    assert broken(instance, solution.model_copy(update={"instance": "other"})) == {"instance"}


def test_continuous_runs_may_touch_but_not_overlap() -> None:
    instance = optsched.load("makespan/continuous-12x3")
    solution = optsched.solve(instance, "local-search", iterations=500).solution
    assert broken(instance, solution) == set()
    late = max(range(len(solution.jobs)), key=lambda j: solution.jobs[j].start)
    early = changed(solution, late, start=solution.jobs[late].start - 0.01)
    assert broken(instance, early) == {"capacity"}


def test_catches_a_corrupt_certificate() -> None:
    instance = optsched.load("makespan/uniform-10x4")
    certificate = optsched.solve(instance, "sjf-bco").certificate
    assert certificate_violations(instance, certificate) == []
    prices = list(certificate.prices)
    worse = [
        replace(certificate, deadline=certificate.deadline + 20, resolution=40),
        replace(certificate, prices=tuple([0] * len(prices))),
        replace(certificate, prices=tuple(prices[:-1])),
        replace(certificate, prices=(-5, *prices[1:])),
        replace(certificate, resolution=0),
    ]
    for bad in worse:
        assert [v.rule for v in certificate_violations(instance, bad)] == ["certificate"]
