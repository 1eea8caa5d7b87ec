"""The models alone equal the oracle; every bound stays below the optimum without contention."""

from collections.abc import Iterable
from functools import lru_cache

import pytest
from oracles.makespan import optimal_makespan
from oracles.makespan_cases import tiny_instance
from sampling import first

import optsched
from optsched.makespan.bounds.best import area, longest_job
from optsched.makespan.bounds.durations import durations_of
from optsched.makespan.incumbent import Incumbent
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.models.ilp import Pipeline
from optsched.makespan.models.pools import solve_pools
from optsched.result import Settings, Termination

SEEDS = range(60)


@lru_cache
def tiny(seed: int) -> MakespanInstance:
    return MakespanInstance.from_dict(tiny_instance(seed))


@lru_cache
def optimum(seed: int, contended: bool = True) -> int:
    return optimal_makespan(tiny_instance(seed), 60, contended=contended)


@pytest.mark.parametrize("seed", first(3, SEEDS))
def test_bounds_stay_below_the_oracle(seed: int) -> None:
    instance, best, relaxed = tiny(seed), optimum(seed), optimum(seed, False)
    assert relaxed <= best
    durations = durations_of(instance)
    pools = solve_pools(instance, instance.horizon, 1, Settings(), no_link_sharing=False)
    by_method = [optsched.solve(instance, method).bound for method in ("ilp-relaxed", "theta")]
    for bound in (area(durations).value, longest_job(durations).value, pools.bound, *by_method):
        assert bound <= relaxed
    apart = solve_pools(instance, instance.horizon, 1, Settings(), no_link_sharing=True)
    assert apart.bound >= pools.bound


STAGES = [((0, 6), {"pools"}), ((1,), {"full model"}), (SEEDS, {"pools", "full model"})]
"""Seeds, and where the models alone stop; few slots."""


def stage(seed: int) -> str:
    """Check the pipeline's models with no heuristic and no bound but the area; where it stopped."""
    outcome = Pipeline(Incumbent(tiny(seed), Settings()), searching=False).run()
    assert outcome.termination is Termination.OPTIMAL
    assert outcome.claimed == outcome.bound == optimum(seed)
    return str(outcome.details["stopped_at"])


@pytest.mark.parametrize(("seeds", "stages"), first(2, STAGES))
def test_the_models_alone_equal_the_oracle(seeds: Iterable[int], stages: set[str]) -> None:
    assert {stage(seed) for seed in seeds} == stages
