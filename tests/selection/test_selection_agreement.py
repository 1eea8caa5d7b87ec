"""The exact methods agree beyond what enumeration reaches; a heuristic's seed fixes its answer."""

import pytest
from oracles.selection import Oracle
from oracles.selection_cases import tiny

from optsched import solve
from optsched.result import Termination

HEURISTICS = ("sts", "edf", "fifo", "rg", "dp", "avg-edf", "avg-rg", "avg-dp")


def test_patterns_equal_milp_and_columns_beyond_enumeration() -> None:
    instance = tiny(4, jobs=6, nodes=3, most=2)
    values = [solve(instance, m).objective for m in ("milp", "patterns", "columns")]
    assert values[1] == pytest.approx(values[0], rel=1e-6)
    assert values[2] == pytest.approx(values[0], rel=1e-6)


def test_tiny_instances_have_every_corner() -> None:
    """The seeds hold overdue jobs, unusable types, tight memory and infeasible openings."""
    instances = [tiny(seed) for seed in range(12)]
    jobs = [(i, job) for i in instances for job in i.jobs]
    assert any(i.due_in(job) < 0 for i, job in jobs)
    assert any(len(job.epoch_time) < len(i.gpu_types) for i, job in jobs)
    assert any(job.memory_bytes == 10.0 for _, job in jobs)
    assert any(job.completed_epochs for _, job in jobs)
    oracles = [Oracle(i.to_dict()) for i in instances]
    pairs = [(oracle.optimum("printed"), oracle.optimum()) for oracle in oracles]
    assert any(p is not None and p > f * (1 + 1e-6) for p, f in pairs)


@pytest.mark.parametrize("method", HEURISTICS)
def test_a_seed_fixes_the_answer(method: str) -> None:
    for seed in range(8):
        instance = tiny(seed)
        first, again = (solve(instance, method, seed=seed) for _ in range(2))
        assert first.termination is Termination.FEASIBLE
        assert again.solution == first.solution
