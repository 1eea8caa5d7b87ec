"""A model holds for every schedule: with any side constraint its optimum is brute force's."""

from __future__ import annotations

import random
from typing import Any

import pyomo.environ as pyo
import pytest
from oracles import makespan as oracle

import optsched
from optsched.backends import solve_model
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.models import formulation
from optsched.makespan.models.data import model_data
from optsched.makespan.models.ilp import model
from optsched.makespan.options import MakespanOptions
from optsched.makespan.solution import MakespanSolution
from optsched.result import Settings, Termination


def forbid(built: pyo.ConcreteModel, job: int, first: int, server: int | None) -> None:
    """Job `job` starts at `first` at the earliest, and has no GPU on `server`."""
    for j, s, a in built.INSIDE_RUNS:
        if j == job and (a < first or s == server):
            built.inside_run[j, s, a].fix(0)
    for j, k, a, d in built.SPANNING_RUNS:
        if j == job and a < first:
            built.spanning_run[j, k, a, d].fix(0)
    if server is not None and job in built.SPANNERS:
        built.gpus[job, server].fix(0)


def drawn(seed: int) -> tuple[dict[str, Any], int, int, int | None]:
    """An instance with a short horizon, and a side constraint that an optimum breaks if it can."""
    rng = random.Random(seed)
    document = oracle.tiny_instance(seed)
    document["jobs"] = document["jobs"][:3]
    for job in document["jobs"]:
        job["iterations"] = min(job["iterations"], 10)
    free, decisions = oracle.brute_force(document)
    assert free is not None
    document["horizon"] = free + 3
    job = rng.randrange(3)
    start, placed = decisions[job]
    if rng.random() < 0.5:
        return document, job, int(start) + rng.randint(1, 2), None
    return document, job, 0, rng.choice(list(placed))


@pytest.mark.parametrize("seed", range(18))
def test_a_users_constraint_has_the_optimum_of_brute_force(seed: int) -> None:
    document, job, first, server = drawn(seed)

    def allowed(j: int, start: int, placed: dict[int, int]) -> bool:
        return j != job or (start >= first and server not in placed)

    least, decisions = oracle.brute_force(document, allowed=allowed)
    instance = MakespanInstance.from_dict(document)
    built = model(instance, MakespanOptions())
    forbid(built, job, first, server)
    answer = solve_model(built, Settings())
    if least is None:
        assert answer.termination is Termination.INFEASIBLE
        return
    names = [each.name for each in instance.jobs]
    of_oracle = MakespanSolution.of(
        instance.name, [(n, a, y, None) for n, (a, y) in zip(names, decisions, strict=True)]
    )
    assert optsched.check(instance, of_oracle).objective == least
    assert answer.termination is Termination.OPTIMAL
    assert answer.objective == pytest.approx(least)
    schedule = formulation.read_schedule(built, model_data(instance, instance.horizon, 1))
    runs = zip(names, schedule.starts, schedule.placed, strict=True)
    solution = MakespanSolution.of(instance.name, [(n, a, y, None) for n, a, y in runs])
    report = optsched.check(instance, solution)
    assert report.feasible
    assert report.objective == least
    assert allowed(job, int(schedule.starts[job]), schedule.placed[job])


def test_side_constraints_bind() -> None:
    """The pruned model answers some of them otherwise: it is not what a user should have."""
    changed = 0
    for seed in range(18):
        document, job, first, server = drawn(seed)
        built = model(MakespanInstance.from_dict(document), MakespanOptions(), pruned=True)
        forbid(built, job, min(first, max(built.SLOTS)), server)
        least, _ = oracle.brute_force(
            document,
            allowed=lambda j, start, placed, job=job, first=first, server=server: (
                j != job or (start >= first and server not in placed)
            ),
        )
        answer = solve_model(built, Settings())
        changed += answer.objective is None or round(answer.objective) != least
    assert changed >= 4
