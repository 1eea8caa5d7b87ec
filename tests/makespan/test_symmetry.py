"""Ordering equal servers and equal jobs keeps the optimum; plans of pools."""

import pytest
from makespan.small import crowded
from oracles.makespan import optimal_makespan
from oracles.makespan_cases import tiny_instance

import optsched
from optsched.backends.models import solve_model
from optsched.makespan.incumbent import Incumbent
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.models import formulation
from optsched.makespan.models.data import FixedDecision, Plan, model_data, without_starts
from optsched.makespan.models.ilp import Pipeline
from optsched.makespan.models.pools import solve_pools
from optsched.result import Settings, Termination


def document(jobs: list[tuple[int, int]], servers: list[int]) -> dict:
    """Jobs of (GPUs, iterations), otherwise equal, with contention that matters."""
    made = tiny_instance(0)
    like = {**made["jobs"][0], "gradient_bytes": 93_750_000}
    rows = [{**like, "name": f"j{n}", "gpus": g, "iterations": i} for n, (g, i) in enumerate(jobs)]
    return {**made, "servers": servers, "jobs": rows}


def least(made: dict, horizon: int, plan: Plan | None = None, low: int = 1) -> float | None:
    """Optimum of the slotted model; None without one."""
    data = model_data(MakespanInstance.from_dict(made), horizon, low, plan=plan)
    return solve_model(formulation.build(data), Settings()).objective


CASES = [
    document([(3, 4), (3, 4), (1, 4)], [2, 2, 2]),
    document([(2, 4), (2, 4), (2, 4)], [2, 2]),
    document([(3, 6), (3, 6)], [2, 1, 2]),
    document([(1, 3), (1, 3), (1, 3), (2, 5)], [2, 1]),
]


@pytest.mark.parametrize("made", CASES)
def test_the_optimum_stays(made: dict) -> None:
    best = optimal_makespan(made, 60)
    for horizon in (best, best + 2):
        assert least(made, horizon) == pytest.approx(best)
    assert least(made, best - 1) is None


def test_servers_of_one_size_as_one_pool() -> None:
    """3 GPUs over two servers of 2; without the links of (P5) two such jobs run at a time."""
    made = document([(3, 8), (3, 8), (1, 4)], [2, 2, 2])
    instance = MakespanInstance.from_dict(made)
    best = solve_pools(instance, 12, 1, Settings(), no_link_sharing=False)
    apart = solve_pools(instance, 12, 1, Settings(), no_link_sharing=True)
    assert best.bound < apart.bound
    first, second, single = apart.plan
    assert single is None  # jobs of one GPU are left to the full model
    assert first.capacity is second.capacity is None
    assert first.start < second.start
    assert least(made, 12, apart.plan) == pytest.approx(apart.bound)


def test_servers_that_are_whole_together_may_be_too_small_one_by_one() -> None:
    """Two servers of 4; x, y, z of 2 GPUs and 2, 3, 2 slots, two jobs of 4 GPUs and a slot.

    Say 3 slots: x at 0, y at 0, z at 1 and the jobs of 4 at 0 and 2 take 8, 6 and 8 GPUs. But at 0
    one server is left to x and y, so z gets the other, and at 2 none is whole. Nor do other starts
    help. In 4 slots the same starts fail, and others do not: y and x, z and one of 4, the other.
    """
    made = document([(2, 2), (2, 3), (2, 2), (4, 1), (4, 1)], [4, 4])
    made["network"] |= {"inter_bandwidth": 1.0}  # no job makes progress over two servers
    for job in made["jobs"]:
        job.update(gradient_bytes=1000, forward_time_per_sample=0.0, backward_time=0.9)
    instance = MakespanInstance.from_dict(made)
    assert optimal_makespan(made, 60) == 4
    three = solve_pools(instance, 3, 3, Settings(), no_link_sharing=True)
    starts: Plan = tuple(FixedDecision(start, 4) for start in (0, 0, 1, 0, 2))
    assert least(made, 3, three.plan, 3) is None
    assert least(made, 3, without_starts(starts), 3) is None
    assert least(made, 4, starts, 4) is None
    assert least(made, 4, without_starts(starts), 4) == pytest.approx(4)
    alone = Pipeline(Incumbent(instance, Settings()), searching=False).run()
    assert (alone.claimed, alone.bound) == (4.0, 4.0)


@pytest.mark.nightly
def test_the_plan_of_pools_closes_24_jobs_on_8_servers() -> None:
    """Local search ends at 20 slots, the bound is 19: equal servers are what made it hard."""
    result = optsched.solve(crowded(0), "exact", time_limit=300)
    assert result.termination is Termination.OPTIMAL
    assert result.objective == result.bound == 19
    assert result.certificate is not None


def test_what_is_ordered() -> None:
    made = document([(3, 4), (1, 4), (3, 4), (3, 5)], [2, 1, 2])
    built = formulation.build(model_data(MakespanInstance.from_dict(made), 12, 1))
    assert list(built.EQUAL_SERVERS) == [(0, 2)]
    assert list(built.EQUAL_JOBS) == [(0, 2)]
