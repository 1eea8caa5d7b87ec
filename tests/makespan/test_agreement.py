"""Exact methods equal brute force; bound <= relaxation <= optimum <= heuristic."""

from __future__ import annotations

from functools import lru_cache

import pytest
from oracles import makespan as oracle

import optsched
from optsched.makespan.bounds.best import area, longest_job
from optsched.makespan.bounds.contention import contention_bound
from optsched.makespan.bounds.durations import durations_of
from optsched.makespan.incumbent import Incumbent
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.models.ilp import Pipeline
from optsched.makespan.models.pools import solve_pools
from optsched.problems import METHODS
from optsched.result import Settings, Termination
from optsched.verbs.judging import certificate_violations

SEEDS, FULL_SEEDS = range(24), range(60)
HEURISTICS = [m.name for m in METHODS["makespan"].values() if m.kind in ("heuristic", "model")]
SECONDS = 600


@lru_cache
def tiny(seed: int) -> MakespanInstance:
    return MakespanInstance.from_dict(oracle.tiny_instance(seed))


@lru_cache
def optimum(seed: int, contended: bool = True) -> int:
    value, _ = oracle.brute_force(oracle.tiny_instance(seed), contended=contended)
    assert value is not None
    return value


def agrees(seed: int) -> bool:
    """Check one instance; whether the ilp proved it."""
    instance, best, relaxed = tiny(seed), optimum(seed), optimum(seed, False)
    found = optsched.solve(instance)
    assert found.termination is Termination.OPTIMAL
    assert found.objective == best
    ilp = optsched.solve(instance, "ilp", time_limit=SECONDS)
    assert ilp.bound is not None
    assert ilp.objective is not None
    assert ilp.bound <= best <= ilp.objective
    proved = ilp.termination is Termination.OPTIMAL
    assert not proved or ilp.objective == best
    bound = optsched.solve(instance, "ilp-relaxed", time_limit=SECONDS).bound
    theta = optsched.solve(instance, "theta", time_limit=SECONDS).bound
    durations = durations_of(instance)
    assert bound is not None
    assert theta is not None
    for lower in (area(durations).value, longest_job(durations).value, theta):
        assert lower <= relaxed
    assert bound <= relaxed <= best
    pools = solve_pools(instance, instance.horizon, 1, Settings(), apart=False)
    assert pools.bound <= relaxed
    apart = solve_pools(instance, instance.horizon, 1, Settings(), apart=True)
    assert apart.bound >= pools.bound
    by_contention = contention_bound(durations, 1.0)
    if by_contention is not None:
        assert by_contention.bound(slotted=True) <= best
        assert certificate_violations(instance, by_contention) == []
    return proved


@pytest.mark.parametrize("seed", SEEDS)
def test_exact_methods_equal_brute_force(seed: int) -> None:
    agrees(seed)


@pytest.mark.full
def test_exact_methods_equal_brute_force_in_full() -> None:
    proved = sum(agrees(seed) for seed in FULL_SEEDS)
    assert proved >= 2 / 3 * len(FULL_SEEDS)


STAGES = {"pools": (0, 6, 11, 12, 17), "full model": (1, 4)}
"""Where the models alone stop; few slots."""


def alone(seed: int) -> str:
    """Check the pipeline's models with no heuristic and no bound but the area; where it stopped."""
    outcome = Pipeline(Incumbent(tiny(seed), Settings()), searching=False).run()
    assert outcome.termination is Termination.OPTIMAL
    assert outcome.claimed == outcome.bound == optimum(seed)
    return str(outcome.details["stopped_at"])


@pytest.mark.parametrize(("stage", "seed"), [(s, n) for s, seeds in STAGES.items() for n in seeds])
def test_the_models_alone_equal_brute_force(stage: str, seed: int) -> None:
    assert alone(seed) == stage


@pytest.mark.full
def test_the_models_alone_equal_brute_force_in_full() -> None:
    assert {alone(seed) for seed in FULL_SEEDS} == set(STAGES)


@pytest.mark.full
def test_contention_matters_in_many_of_them() -> None:
    active = sum(optimum(seed, False) < optimum(seed) for seed in FULL_SEEDS)
    assert active >= 10


@pytest.mark.parametrize("seed", SEEDS[::2])
def test_no_heuristic_beats_the_optimum(seed: int) -> None:
    for method in HEURISTICS:
        result = optsched.solve(tiny(seed), method, iterations=2000)
        if result.objective is not None:
            assert result.check is not None
            assert result.check.feasible
            assert result.objective >= optimum(seed)
            assert result.bound is not None
            assert result.bound <= optimum(seed)


def test_too_short_a_horizon_is_proved_infeasible() -> None:
    seed = next(s for s in SEEDS if optimum(s, False) < optimum(s))
    document = {**oracle.tiny_instance(seed), "horizon": optimum(seed) - 1}
    instance = MakespanInstance.from_dict(document)
    for method in ("ilp", "exact"):
        result = optsched.solve(instance, method, time_limit=SECONDS)
        assert result.termination is Termination.INFEASIBLE
        assert result.solution is None
    again = optsched.solve(instance, "sjf-bco")
    assert again.solution is None
    assert "horizon" in again.details["message"]
