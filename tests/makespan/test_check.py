"""The checker catches each corruption of a method's schedule, and only that."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from sampling import first

import optsched
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.solution import MakespanSolution
from optsched.verbs.judging import certificate_violations

NAMES = ["makespan/contended-3x3", "makespan/uniform-10x4-strong", "makespan/fig2"]
Edit = Callable[[MakespanInstance, MakespanSolution], MakespanSolution]


@pytest.fixture(scope="module", params=first(1, NAMES))
def solved(request: pytest.FixtureRequest) -> tuple[MakespanInstance, MakespanSolution]:
    instance = optsched.load(request.param)
    return instance, optsched.solve(instance).solution


def violated(instance: MakespanInstance, solution: MakespanSolution) -> set[str]:
    return {violation.rule for violation in optsched.check(instance, solution).violations}


def changed(solution: MakespanSolution, index: int, **update: Any) -> MakespanSolution:
    """One job changed; claims dropped, so that only the change is at fault."""
    jobs = [run.model_copy(update={"end": None}) for run in solution.jobs]
    jobs[index] = jobs[index].model_copy(update=update)
    return solution.model_copy(update={"jobs": tuple(jobs), "objective": None})


def all_at_once(instance: MakespanInstance, solution: MakespanSolution) -> MakespanSolution:
    """Jobs as large as the first start at 0 where it is."""
    crowded = changed(solution, 0, start=0)
    first = crowded.jobs[0].gpus
    for j, run in enumerate(crowded.jobs):
        if sum(run.gpus.values()) == sum(first.values()):
            crowded = changed(crowded, j, start=0, gpus=first)
    return crowded


def one_gpu_less(instance: MakespanInstance, solution: MakespanSolution) -> MakespanSolution:
    server, count = next(iter(solution.jobs[0].gpus.items()))
    return changed(solution, 0, gpus={**solution.jobs[0].gpus, server: count - 1})


def with_jobs(edit: Callable[[tuple], tuple]) -> Edit:
    return lambda _, s: s.model_copy(update={"jobs": edit(s.jobs)})


def claiming(factor: float) -> Edit:
    return lambda _, s: s.model_copy(update={"objective": s.objective * factor})


def total(solution: MakespanSolution) -> int:
    return sum(solution.jobs[0].gpus.values())


CORRUPTIONS: list[tuple[str, Edit]] = [
    ("", lambda _, s: s),
    ("capacity", all_at_once),
    ("gpu count", one_gpu_less),
    ("gpu count", lambda _, s: changed(s, 0, gpus={"0": total(s) + 1, "1": -1})),
    ("server", lambda _, s: changed(s, 0, gpus={"77": total(s)})),
    ("horizon", lambda i, s: changed(s, 0, start=i.horizon - 1)),
    ("start", lambda _, s: changed(s, 0, start=0.5)),
    ("start", lambda _, s: changed(s, 0, start=-1)),
    ("job", with_jobs(lambda jobs: jobs[1:])),
    ("job", with_jobs(lambda jobs: (*jobs, jobs[0]))),
    ("job", with_jobs(lambda jobs: (*jobs, jobs[0].model_copy(update={"name": "stranger"})))),
    ("claimed objective", claiming(1 - 1e-5)),
    ("claimed objective", claiming(1 + 1e-5)),
    ("instance", lambda _, s: s.model_copy(update={"instance": "other"})),
]


@pytest.mark.parametrize("number", range(len(CORRUPTIONS)))
def test_each_corruption_violates_its_rule(solved: tuple, number: int) -> None:
    rule, edit = CORRUPTIONS[number]
    expected = {rule} - {""}
    others = {"capacity"} if rule in ("gpu count", "horizon") else set()  # on another job's GPUs
    assert expected <= violated(solved[0], edit(*solved)) <= expected | others


def test_claimed_ends_that_ignore_contention() -> None:
    instance = optsched.load("makespan/fig2")
    runs = [("job-1", 0, {0: 1, 1: 1}, 10), ("job-2", 0, {0: 1, 1: 1}, 10)]
    solution = MakespanSolution.of("fig2", runs)
    assert violated(instance, solution) == {"claimed end"}
    assert optsched.check(instance, solution).objective == 20


def test_a_job_that_never_ends() -> None:
    document = optsched.load("makespan/fig2").to_dict()
    document["network"]["degradation"] = 100.0
    both = [("job-1", 0, {0: 1, 1: 1}, None), ("job-2", 0, {0: 1, 1: 1}, None)]
    instance = MakespanInstance.from_dict(document)
    assert violated(instance, MakespanSolution.of("fig2", both)) == {"completion"}


def test_continuous_runs_may_touch_but_not_overlap() -> None:
    instance = optsched.load("makespan/continuous-12x3")
    solution = optsched.solve(instance, "local-search", iterations=500).solution
    assert violated(instance, solution) == set()
    late = max(range(len(solution.jobs)), key=lambda j: solution.jobs[j].start)
    early = changed(solution, late, start=solution.jobs[late].start - 0.01)
    assert violated(instance, early) == {"capacity"}


def test_a_corrupt_certificate() -> None:
    instance = optsched.load("makespan/uniform-10x4")
    certificate = optsched.solve(instance, "sjf-bco").certificate
    assert certificate_violations(instance, certificate) == []
    prices = certificate.prices
    for update in (
        {"deadline": certificate.deadline + 20, "resolution": 40},
        {"prices": (0,) * len(prices)},
        {"prices": prices[:-1]},
        {"prices": (-5, *prices[1:])},
        {"resolution": 0},
    ):
        found = certificate_violations(instance, replace(certificate, **update))
        assert [v.rule for v in found] == ["certificate"]
