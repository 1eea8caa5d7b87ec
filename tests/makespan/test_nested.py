"""Nested annealing: aligned blocks, pairs of half blocks, cycles of annealings."""

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from makespan.small import unit_jobs

import optsched
from optsched.deadline import Deadline
from optsched.makespan.contention import evaluate
from optsched.makespan.heuristics.nested import Annealing
from optsched.result import Termination

CROSSED = [(2, 2), (2, 3), (2, 4), (1, 4), (1, 8), (1, 3), (1, 7)]
"""40 GPU-slots on four GPUs. Aligned, the wide jobs leave 10 - 2 - 3 = 5, 5, 6, 6 slots on the four
GPUs, or 4, 4, 7, 7, or 3, 3, 8, 8, or 1, 1, 10, 10; the narrow ones fill none of them: 4, 8, 3, 7.
With a of 2 on GPUs 0 and 1, b of 3 on 2 and 3, and c of 4 on 0 and 2, these are left exactly."""


def test_pairs_fill_what_aligned_blocks_cannot() -> None:
    instance = unit_jobs([4], CROSSED)
    result = optsched.solve(instance, "nested", iterations=1_000_000)
    assert (result.objective, result.bound) == (10.0, 10.0)
    assert result.termination is Termination.OPTIMAL
    annealing = Annealing(instance, 10.0, 0)
    annealing.result(3_000_000, Deadline(), 0.0)
    assert annealing.best == evaluate(instance, annealing.schedule()).makespan == 10.0
    assert (annealing.best_position[:, 1] > 0).any()
    assert least_aligned(CROSSED) == 11


def least_aligned(jobs: Sequence[tuple[int, int]]) -> int:
    """By enumeration: every job of two GPUs on one half of a server of four, the others on one."""
    wide, narrow = ([d for gpus, d in jobs if gpus == size] for size in (2, 1))
    best = []
    for halves in product(range(2), repeat=len(wide)):
        for places in product(range(4), repeat=len(narrow)):
            loads = [0] * 4
            for half, d in zip(halves, wide, strict=True):
                loads[2 * half] += d
                loads[2 * half + 1] += d
            for place, d in zip(places, narrow, strict=True):
                loads[place] += d
            best.append(max(loads))
    return min(best)


@pytest.mark.parametrize("seed", range(6))
def test_small_optima_are_met(seed: int) -> None:
    rng = np.random.default_rng(seed)
    jobs = [(int(2 ** rng.integers(0, 3)), int(rng.integers(1, 6))) for _ in range(5)]
    instance = unit_jobs([4, 4], jobs)
    best = optsched.solve(instance)
    assert best.termination is Termination.OPTIMAL
    result = optsched.solve(instance, "nested", iterations=20_000)
    assert result.bound <= best.objective == result.objective
    proved = result.objective == result.bound
    assert (result.termination is Termination.OPTIMAL) == proved
