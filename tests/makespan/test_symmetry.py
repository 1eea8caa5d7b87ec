"""Ordering equal servers and equal jobs keeps the optimum: with and without it, by brute force."""

from __future__ import annotations

import pytest
from oracles import makespan as oracle

from optsched.makespan.instance import MakespanInstance
from optsched.makespan.models import formulation
from optsched.makespan.models.data import MakespanModelData, model_data
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


def test_what_is_ordered() -> None:
    built = formulation.build(data_of(document([(3, 4), (1, 4), (3, 4), (3, 5)], [2, 1, 2])))
    assert list(built.EQUAL_SERVERS) == [(0, 2)]
    assert list(built.EQUAL_JOBS) == [(0, 2)]


def test_jobs_that_differ_only_by_name_are_alike() -> None:
    data = data_of(document([(3, 4), (3, 4), (3, 5), (2, 4)], [2, 2]))
    assert data.likeness(0) == data.likeness(1)
    assert len({data.likeness(j) for j in data.jobs}) == 3
