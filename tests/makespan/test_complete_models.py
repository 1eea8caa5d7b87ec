"""A model holds for every schedule: with any side constraint its optimum is brute force's."""

from __future__ import annotations

import random
from typing import Any

import pyomo.environ as pyo
import pytest
from oracles.makespan import Allowed, Placement, least_makespan
from oracles.makespan_cases import tiny_instance

import optsched
from optsched.backends import solve_model
from optsched.makespan.contention import evaluate, solution_of
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.models import formulation
from optsched.makespan.models.data import model_data
from optsched.makespan.models.ilp import model
from optsched.makespan.options import MakespanOptions
from optsched.result import Settings, Termination

SEEDS = range(18)


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
    document = tiny_instance(seed)
    document["jobs"] = document["jobs"][:3]
    for job in document["jobs"]:
        job["iterations"] = min(job["iterations"], 10)
    free = optsched.solve(MakespanInstance.from_dict(document))
    assert free.objective == least_makespan(document, 60)
    document["horizon"] = int(free.objective) + 3
    job = rng.randrange(3)
    run = free.solution.jobs[job]
    if rng.random() < 0.5:
        return document, job, int(run.start) + rng.randint(1, 2), None
    return document, job, 0, int(rng.choice(list(run.gpus)))


def side_constraint(job: int, first: int, server: int | None) -> Allowed:
    def allowed(j: int, start: int, place: Placement) -> bool:
        return j != job or (start >= first and (server is None or place[server] == 0))

    return allowed


@pytest.mark.parametrize("seed", SEEDS)
def test_a_users_constraint_has_the_optimum_of_the_oracle(seed: int) -> None:
    document, job, first, server = drawn(seed)
    allowed = side_constraint(job, first, server)
    least = least_makespan(document, document["horizon"], allowed=allowed)
    instance = MakespanInstance.from_dict(document)
    built = model(instance, MakespanOptions())
    forbid(built, job, first, server)
    answer = solve_model(built, Settings())
    if least is None:
        assert answer.termination is Termination.INFEASIBLE
        return
    assert answer.termination is Termination.OPTIMAL
    assert answer.objective == pytest.approx(least)
    schedule = formulation.read_schedule(built, model_data(instance, instance.horizon, 1))
    report = optsched.check(instance, solution_of(evaluate(instance, schedule)))
    assert report.feasible
    assert report.objective == least
    placed = schedule.placed[job]
    assert schedule.starts[job] >= first
    assert server not in placed


def test_side_constraints_bind() -> None:
    """The pruned model answers some of them otherwise: it is not what a user should have."""
    changed = 0
    for seed in SEEDS:
        document, job, first, server = drawn(seed)
        built = model(MakespanInstance.from_dict(document), MakespanOptions(), pruned=True)
        forbid(built, job, min(first, max(built.SLOTS)), server)
        allowed = side_constraint(job, first, server)
        least = least_makespan(document, document["horizon"], allowed=allowed)
        answer = solve_model(built, Settings())
        changed += answer.objective is None or round(answer.objective) != least
    assert changed >= 3
