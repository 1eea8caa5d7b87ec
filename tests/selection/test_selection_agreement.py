"""minlp = milp = patterns = columns = brute force, and bound <= optimum <= heuristic."""

from __future__ import annotations

import pytest
from oracles.random_selection import tiny
from oracles.selection import optimum

from optsched import check, solve
from optsched.problems import PROBLEMS
from optsched.result import Termination

OPENINGS = ("free", "at-most", "printed")
FULL = 90
MODELS = ("fewest-waiting", "same-jobs")
HEURISTICS = ("sts", "edf", "fifo", "rg", "dp", "avg-edf", "avg-rg", "avg-dp")


def agree(seed: int, method: str, openings: tuple[str, ...] = OPENINGS, **size: int) -> None:
    instance = tiny(seed, **size)
    for sharing in ("on", "off"):
        for opening in openings:
            options = {"node_opening": opening, "sharing": sharing}
            best = optimum(instance.to_dict(), opening, sharing == "on")
            result = solve(instance, method, options=options)
            if best is None:
                assert result.termination is Termination.INFEASIBLE
                assert "min(|J|, |N|)" in result.details["message"]
                continue
            assert result.termination is Termination.OPTIMAL, (seed, options)
            assert result.check.feasible, (seed, options, result.check)
            assert result.objective == pytest.approx(best, rel=1e-7), (seed, options)
            assert result.bound <= best * (1 + 1e-9)


@pytest.mark.parametrize("method", ["patterns", "columns", "exact"])
def test_equals_brute_force(method: str) -> None:
    for seed in range(12):
        agree(seed, method)


def test_milp_equals_brute_force() -> None:
    for seed in range(5):
        agree(seed, "milp", openings=("free", "printed"))


def test_minlp_equals_brute_force() -> None:
    pytest.importorskip("pyscipopt")
    for seed in range(100, 103):
        agree(seed, "minlp", openings=("free",), jobs=2, nodes=2, most=2)
    agree(103, "minlp", openings=("printed",), jobs=2, nodes=2, most=2)


@pytest.mark.full
@pytest.mark.parametrize("method", ["patterns", "columns", "milp"])
def test_equals_brute_force_full(method: str) -> None:
    for seed in range(FULL):
        agree(seed, method)


@pytest.mark.full
def test_minlp_equals_brute_force_full() -> None:
    pytest.importorskip("pyscipopt")
    for seed in range(70):
        agree(seed, "minlp", jobs=3, nodes=2, most=2)


@pytest.mark.full
def test_the_full_count_has_sixty_that_are_not_free() -> None:
    """Instances whose optimum is 0 test little; sixty others remain, every corner among them."""
    instances = [tiny(seed) for seed in range(FULL)]
    costly = [i for i in instances if optimum(i.to_dict()) > 0]
    assert len(costly) >= 60
    jobs = [(i, job) for i in costly for job in i.jobs]
    assert sum(i.due_in(job) < 0 for i, job in jobs) >= 20
    assert sum(job.memory_bytes == 10.0 for _, job in jobs) >= 20
    small = [tiny(seed, jobs=3, nodes=2, most=2) for seed in range(70)]
    assert sum(optimum(i.to_dict()) > 0 for i in small) >= 60


@pytest.mark.full
def test_patterns_equal_milp_on_mid_size() -> None:
    proved = 0
    for seed in range(5):
        instance = tiny(seed, jobs=8, nodes=3, most=3)
        milp = solve(instance, "milp", time_limit=600)
        if milp.termination is Termination.OPTIMAL:
            proved += 1
            patterns = solve(instance, "patterns")
            assert patterns.objective == pytest.approx(milp.objective, rel=1e-6)
    assert proved >= 2


def test_patterns_equal_milp_and_columns_beyond_brute_force() -> None:
    instance = tiny(4, jobs=6, nodes=3, most=2)
    values = [solve(instance, m).objective for m in ("milp", "patterns", "columns")]
    assert values[1] == pytest.approx(values[0], rel=1e-6)
    assert values[2] == pytest.approx(values[0], rel=1e-6)


def test_tiny_instances_have_every_corner() -> None:
    """The seeds above hold overdue jobs, unusable types, tight memory and infeasible openings."""
    instances = [tiny(seed) for seed in range(12)]
    jobs = [(i, job) for i in instances for job in i.jobs]
    assert any(i.due_in(job) < 0 for i, job in jobs)
    assert any(len(job.epoch_time) < len(i.gpu_types) for i, job in jobs)
    assert any(job.memory_bytes == 10.0 for _, job in jobs)
    assert any(job.completed_epochs for _, job in jobs)
    printed = [optimum(i.to_dict(), "printed") for i in instances]
    free = [optimum(i.to_dict()) for i in instances]
    assert any(p is not None and p > f * (1 + 1e-6) for p, f in zip(printed, free, strict=True))


@pytest.mark.parametrize("method", HEURISTICS)
def test_bound_optimum_heuristic(method: str) -> None:
    for seed in range(8):
        instance = tiny(seed)
        best = optimum(instance.to_dict())
        result = solve(instance, method, seed=seed)
        assert result.termination is Termination.FEASIBLE
        assert result.check.feasible
        assert result.objective >= best * (1 - 1e-9)
        assert result.bound <= best * (1 + 1e-9)
        again = solve(instance, method, seed=seed)
        assert again.solution == result.solution
        assert check(instance, result.solution).feasible


def test_every_method_is_registered() -> None:
    names = {method.name for method in PROBLEMS["selection"].methods}
    assert names == {*HEURISTICS, *MODELS, "minlp", "milp", "patterns", "columns", "exact"}
    assert {m.name for m in PROBLEMS["speed-profile"].methods} == {
        "hull",
        "dichotomy",
        "exact",
    }
