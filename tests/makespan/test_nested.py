"""Nested annealing: aligned blocks and pairs of half blocks, annealings in cycles, tempering."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

import optsched
from optsched.deadline import Deadline
from optsched.generators.makespan import generate_makespan
from optsched.makespan.contention import evaluate, solution_of
from optsched.makespan.heuristics import nested, tempering
from optsched.makespan.heuristics._blocks_kernel import Blocks, loads_of
from optsched.makespan.heuristics._nested_kernel import _partner
from optsched.makespan.heuristics.nested import HEATS, Annealing
from optsched.makespan.heuristics.tempering import COLDEST, COPIES, HOTTEST, Tempering
from optsched.makespan.instance import MakespanInstance
from optsched.result import Termination

Heat = tuple[float, float]


def instance_of(jobs: Sequence[tuple[int, int]], servers: Sequence[int]) -> MakespanInstance:
    """Jobs of so many GPUs and slots each, an iteration a slot, that exchange nothing."""
    document = generate_makespan(1, 1).to_dict() | {"servers": list(servers), "name": "made"}
    document["network"] |= {"overhead_per_server": 0.0}
    document["jobs"] = [
        {
            "name": f"j{i}",
            "gpus": gpus,
            "iterations": slots,
            "gradient_bytes": 0,
            "batch_size": 1,
            "forward_time_per_sample": 0.0,
            "backward_time": 1.0,
        }
        for i, (gpus, slots) in enumerate(jobs)
    ]
    return MakespanInstance.from_dict(document)


CROSSED = [(2, 2), (2, 3), (2, 4), (1, 4), (1, 8), (1, 3), (1, 7)]
"""40 GPU-slots on four GPUs. Aligned, the wide jobs leave 10 - 2 - 3 = 5, 5, 6, 6 slots on the four
GPUs, or 4, 4, 7, 7, or 3, 3, 8, 8, or 1, 1, 10, 10; the narrow ones fill none of them: 4, 8, 3, 7.
With a of 2 on GPUs 0 and 1, b of 3 on 2 and 3, and c of 4 on 0 and 2, these are left exactly."""


def test_crossed_blocks_fill_what_aligned_ones_cannot() -> None:
    instance = instance_of(CROSSED, [4])
    result = optsched.solve(instance, "nested", iterations=1_000_000)
    assert (result.objective, result.bound) == (10.0, 10.0)
    assert result.termination is Termination.OPTIMAL
    annealing = Annealing(instance, 10.0, 0)
    annealing.run(3_000_000, Deadline(), 0.0)
    assert annealing.best == evaluate(instance, annealing.schedule()).makespan == 10.0
    assert (annealing.best_position[:, 1] > 0).any()
    assert least_aligned(CROSSED) == 11


def least_aligned(jobs: Sequence[tuple[int, int]]) -> int:
    """By enumeration: every job of two GPUs on one half of a server of four, the others on one."""
    wide, narrow = ([d for gpus, d in jobs if gpus == size] for size in (2, 1))
    found = []
    for halves in product(range(2), repeat=len(wide)):
        for places in product(range(4), repeat=len(narrow)):
            loads = [0] * 4
            for half, d in zip(halves, wide, strict=True):
                loads[2 * half] += d
                loads[2 * half + 1] += d
            for place, d in zip(places, narrow, strict=True):
                loads[place] += d
            found.append(max(loads))
    return min(found)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("progress", ["floor", "continuous"])
def test_the_largest_load_is_the_makespan(progress: str, seed: int) -> None:
    """Servers of any size; hot throughout, so that jobs stand in pairs on all of them."""
    instance = generate_makespan(
        40,
        5,
        server_sizes=(4, 5, 6, 8, 16),
        largest_job=4,
        progress=progress,
        horizon=9999,
        seed=seed,
    )
    annealing = Annealing(instance, 1.0, seed)
    annealing._anneal(annealing.blocks, 1.0, 20_000, Deadline(), (1000.0, 1000.0))
    now = annealing.now
    recomputed = np.zeros_like(now.load)
    loads_of(annealing.blocks, now.position, recomputed)
    np.testing.assert_allclose(now.load, recomputed, rtol=1e-9, atol=1e-6)
    annealing.best_position[:] = now.position
    assert (now.position[:, 1] > 0).any()
    found = evaluate(instance, annealing.schedule())
    assert found.makespan == pytest.approx(recomputed.max(), rel=1e-9)
    assert optsched.check(instance, solution_of(found)).violations == ()
    assert all(len(placed) == 1 for placed in found.schedule.placed)


@pytest.mark.parametrize("seed", range(6))
def test_small_optima_are_met(seed: int) -> None:
    rng = np.random.default_rng(seed)
    jobs = [(int(2 ** rng.integers(0, 3)), int(rng.integers(1, 6))) for _ in range(5)]
    instance = instance_of(jobs, [4, 4])
    best = optsched.solve(instance, "state-search")
    assert best.termination is Termination.OPTIMAL
    found = optsched.solve(instance, "nested", iterations=20_000)
    assert found.bound is not None
    assert found.objective is not None
    assert found.bound <= best.objective == found.objective
    proved = found.objective == found.bound
    assert (found.termination is Termination.OPTIMAL) == proved


def test_cycles_take_turns_until_the_moves_are_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    """7 from the greedy start, a hot one and 6 short ones, one hot one: 3,000,000 moves in 15."""
    instance = instance_of([(1, 2), (1, 2), (1, 2)], [2])  # 4 slots, never 3
    annealing, hot, cool = Annealing(instance, 3.0, 0), [], []
    each = annealing._anneal

    def noted(blocks: Blocks, target: float, total: int, stop: Deadline, heat: Heat) -> bool:
        (hot if heat == HEATS[True] else cool).append(total)
        return each(blocks, target, total, stop, heat)

    monkeypatch.setattr(annealing, "_anneal", noted)
    assert not annealing.run(3_000_000, Deadline(), 0.0)
    assert hot == [200_000, 200_000]  # the second is to be four times as long: what is left
    assert cool == [200_000] * 13
    assert (annealing.best, annealing.moves) == (4.0, 3_000_000)


def test_every_temperature_keeps_its_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three jobs of 2 slots on two GPUs, target 3: loads 4 and 2 in 6 of 8 states, cost 1; 6 and 0
    in the other 2, cost 9. At temperature t the first have 6 / (6 + 2 exp(-8 / t)) of the time: 89%
    where t is 8, the hottest, and all but one in 10^11 at the coldest, 0.32."""
    monkeypatch.setattr(tempering, "MOVES", 3)  # so few that a wrong exchange is not mended by them
    blocks = Annealing(instance_of([(1, 2)] * 3, [2]), 3.0, 0).blocks
    scale = math.sqrt(8.0) / HOTTEST
    held = Tempering(blocks, np.zeros((3, 2), dtype=np.int64), scale, 0)
    np.testing.assert_allclose(held.temperatures[[0, -1]], [8 * (COLDEST / HOTTEST) ** 2, 8.0])
    level, turns = np.zeros(COPIES), 4000
    for _ in range(turns):
        made = [moves for _, moves in held.turns(3.0, 10**9)]
        held.exchange(3.0)
        level += [now.load.max() == 4.0 for now in held.held]
        assert made == [3] * COPIES
    expected = 6.0 / (6.0 + 2.0 * np.exp(-8.0 / held.temperatures))
    np.testing.assert_allclose(level / turns, expected, atol=0.02)
    assert level[-1] / turns < 0.92


def test_copies_go_on_from_the_best_and_keep_what_they_find() -> None:
    instance = instance_of(CROSSED, [4])  # 10 at best
    annealing = Annealing(instance, 10.0, 0)
    assert annealing.best > 10.0
    assert annealing._temper(3_000_000, Deadline())
    assert annealing.best == evaluate(instance, annealing.schedule()).makespan == 10.0
    assert annealing.moves < 3_000_000
    assert annealing.tempering is not None
    for now in annealing.tempering.held:
        load = np.zeros_like(now.load)
        loads_of(annealing.blocks, now.position, load)
        np.testing.assert_array_equal(load, now.load)


def test_tempering_takes_its_turn_after_a_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """A round is 28 annealings of 1,000 moves; tempering makes half as many, and what is left after
    one more round: 28 + 14 + 28 + 6 thousand."""
    monkeypatch.setattr(nested, "FEWEST_MOVES", 1000)
    monkeypatch.setattr(nested, "MOVES_A_JOB", 0)
    annealing = Annealing(instance_of([(1, 2)] * 3, [2]), 3.0, 0)  # 4 slots, never 3
    asked, each = [], annealing._temper

    def noted(total: int, deadline: Deadline) -> bool:
        asked.append(total)
        return each(total, deadline)

    monkeypatch.setattr(annealing, "_temper", noted)
    assert not annealing.run(76_000, Deadline(), 0.0)
    assert asked == [14_000, 6_000]
    assert annealing.moves == 76_000


def test_partners_are_drawn_as_often_either_way_and_mostly_near_by() -> None:
    """What the Metropolis rule asks of a swap: j proposes k as often as k proposes j."""
    jobs = [(1, 10 + 7 * k % 23) for k in range(23)] + [(2, 50), (2, 40), (4, 30)]
    blocks = Annealing(instance_of(jobs, [4, 4]), 1.0, 0).blocks
    ends = blocks.duration[blocks.job[:23]]
    assert (np.diff(ends) >= 0).all()
    assert (blocks.job[blocks.rank] == np.arange(len(jobs))).all()
    draws, often = 20_000, np.zeros((len(jobs), len(jobs)), dtype=np.int64)
    for j in range(len(jobs)):
        for i in range(draws):
            other = _partner.py_func(blocks, j, (i + 0.5) / draws)
            if other >= 0:
                often[j, other] += 1
    assert abs(often - often.T).max() <= 2  # a bin's two edges
    assert (often[blocks.width[:, None] != blocks.width] == 0).all()
    assert (often[:23, :23] > 0).all()
    first, middle = blocks.job[0], blocks.job[11]
    assert often[middle, blocks.job[12]] > 4 * often[middle, blocks.job[22]]
    assert often[first, blocks.job[1]] > 4 * often[first, blocks.job[22]]
