"""Ordering equal servers and equal jobs keeps the optimum: with and without it, by brute force."""

from __future__ import annotations

import pytest
from oracles import makespan as oracle

import optsched
from optsched.generators.makespan import generate_makespan
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.models import formulation
from optsched.makespan.models.data import MakespanModelData, model_data
from optsched.makespan.models.pools import solve_pools
from optsched.makespan.models.relaxation import solve_slotted
from optsched.result import Settings, Termination


def document(jobs: list[tuple[int, int]], servers: list[int]) -> dict:
    """Jobs of (GPUs, iterations), otherwise equal, with contention that matters."""
    made = oracle.tiny_instance(0)
    like = {**made["jobs"][0], "gradient_bytes": 93_750_000}
    return {
        **made,
        "servers": servers,
        "jobs": [
            {**like, "name": f"j{n}", "gpus": g, "iterations": i} for n, (g, i) in enumerate(jobs)
        ],
    }


def data_of(made: dict, horizon: int = 12, contention: bool = True) -> MakespanModelData:
    return model_data(MakespanInstance.from_dict(made), horizon, 1, contention=contention)


CASES = [
    document([(3, 4), (3, 4), (1, 4)], [2, 2, 2]),
    document([(2, 4), (2, 4), (2, 4)], [2, 2]),
    document([(3, 6), (3, 6)], [2, 1, 2]),
    document([(1, 3), (1, 3), (1, 3), (2, 5)], [2, 1]),
]


@pytest.mark.parametrize("made", CASES)
@pytest.mark.parametrize("contended", [True, False])
def test_the_optimum_stays(made: dict, contended: bool) -> None:
    best, _ = oracle.brute_force(made, contended=contended)
    assert best is not None
    instance = MakespanInstance.from_dict(made)
    for horizon in (best, best + 2):
        found = solve_slotted(instance, horizon, 1, Settings(), contention=contended)
        assert found.answer.termination is Termination.OPTIMAL
        assert found.bound == best
    fewer = solve_slotted(instance, best - 1, 1, Settings(), contention=contended)
    assert fewer.answer.termination is Termination.INFEASIBLE


def test_servers_of_one_size_as_one_pool() -> None:
    """3 GPUs over two servers of 2; without the links of (P5) two such jobs run at a time."""
    instance = MakespanInstance.from_dict(document([(3, 8), (3, 8), (1, 4)], [2, 2, 2]))
    best = solve_pools(instance, 12, 1, Settings(), apart=False)
    apart = solve_pools(instance, 12, 1, Settings(), apart=True)
    assert best.bound < apart.bound
    assert apart.plan is not None
    first, second, single = apart.plan
    assert single is None  # jobs of one GPU are left to the full model
    assert first is not None
    assert second is not None
    assert first.size is second.size is None
    assert first.start < second.start
    planned = solve_slotted(instance, 12, 1, Settings(), contention=True, plan=apart.plan)
    assert planned.schedule is not None
    assert planned.schedule.starts[:2] == (first.start, second.start)
    assert planned.bound == apart.bound


@pytest.mark.nightly
def test_the_plan_of_pools_closes_24_jobs_on_8_servers() -> None:
    """Local search ends at 20 slots, the bound is 19: equal servers are what made it hard."""
    instance = generate_makespan(
        24, 8, contention="strong", server_sizes=(2, 4, 8), largest_job=8, slot=30.0, seed=0
    )
    found = optsched.solve(instance, "exact", time_limit=300)
    assert found.proved
    assert found.objective == found.bound == 19
    assert found.check is not None
    assert found.check.feasible
    assert found.certificate is not None


def test_what_is_ordered() -> None:
    built = formulation.build(data_of(document([(3, 4), (1, 4), (3, 4), (3, 5)], [2, 1, 2])))
    assert list(built.EQUAL_SERVERS) == [(0, 2)]
    assert list(built.EQUAL_JOBS) == [(0, 2)]


def test_jobs_that_differ_only_by_name_are_alike() -> None:
    data = data_of(document([(3, 4), (3, 4), (3, 5), (2, 4)], [2, 2]))
    assert data.likeness(0) == data.likeness(1)
    assert len({data.likeness(j) for j in data.jobs}) == 3
