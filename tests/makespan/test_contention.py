"""The evaluator: the paper's Fig. 2 by hand, and drawn schedules against the oracle."""

import random
from math import inf

import pytest
from oracles import makespan as oracle
from oracles.makespan_cases import tiny_instance

import optsched
from optsched.makespan.contention import Schedule, evaluate, solution_from_evaluation
from optsched.makespan.instance import (
    MakespanInstance,
    bandwidth,
    iteration_time,
    iterations_per_slot,
)

ACROSS = {0: 1, 1: 1}


def test_iteration_times_of_fig_2_by_hand() -> None:
    """m = 1.25e8 bytes on G = 2 workers, so an iteration exchanges 2 m (G - 1) / G = 1.25e8 bytes.

    reduction      m (G - 1) / (G C) = 1.25e8 / (2 * 1.25e10)  = 0.005 s
    compute        0.0009375 * 32 + 0.05                       = 0.08 s
    in one server  1.25e8 / 1.25e11 = 0.001; gamma 1 * 0.01    -> tau = 0.096, phi = 10
    across, p = 1  f = 1:   1.25e8 / 1.25e9 = 0.1; gamma 0.02  -> tau = 0.205, phi = 4
    across, p = 2  k = 2, f = 2 + 0.5 = 2.5: 0.25; gamma 0.02  -> tau = 0.355, phi = 2
    """
    instance = optsched.load("makespan/fig2")
    job = instance.jobs[0]
    assert bandwidth(instance.network, 2, 2) == pytest.approx(1.25e9 / 2.5)
    for servers, level, tau, phi in ((1, 0, 0.096, 10), (2, 1, 0.205, 4), (2, 2, 0.355, 2)):
        assert iteration_time(instance, job, servers, level) == pytest.approx(tau)
        assert iterations_per_slot(instance, job, servers, level) == phi


@pytest.mark.parametrize(
    ("decisions", "ends", "levels", "use"),
    [
        # 2a, 40 iterations at 10 a slot: both end at 4, whatever the other does
        ([(0, {0: 2}), (0, {1: 2})], [4, 4], [[0, 0]], [[2, 2]]),
        # 40 at 4 a slot: 10 slots each, one after the other
        ([(0, ACROSS), (10, ACROSS)], [10, 20], [[1, 0], [0, 1]], [[1, 1], [1, 1]]),
        # 2b, 40 at 2 a slot: sharing the link is no better than taking turns
        ([(0, ACROSS), (0, ACROSS)], [20, 20], [[2, 2]], [[2, 2]]),
        # job 1 does 5 * 4 alone; from slot 5 both do 2 a slot, so its other 20 take until 15;
        # job 2 has done 20 by then, and does the rest alone: 5 slots more, until 20
        ([(0, ACROSS), (5, ACROSS)], [15, 20], [[1, 0], [2, 2], [0, 1]], [[1, 1], [2, 2], [1, 1]]),
    ],
)
def test_ends_of_fig_2_by_hand(
    decisions: list[tuple[float, dict[int, int]]],
    ends: list[int],
    levels: list[list[int]],
    use: list[list[int]],
) -> None:
    instance = optsched.load("makespan/fig2")
    starts, placed = zip(*decisions, strict=True)
    found = evaluate(instance, Schedule(tuple(starts), tuple(placed)))
    assert found.ends.tolist() == ends
    assert found.levels.tolist() == levels
    assert found.times.tolist() == sorted({*starts, *ends})
    assert found.gpu_use.tolist() == use
    assert optsched.check(instance, solution_from_evaluation(found)).feasible


def agree(document: dict, starts: list[float], where: list[tuple[int, ...]]) -> None:
    """The evaluator's ends are the oracle's."""
    placed = tuple({s: count for s, count in enumerate(place) if count} for place in where)
    found = evaluate(MakespanInstance.from_dict(document), Schedule(tuple(starts), placed)).ends
    ends = oracle.ends_of(document, starts, where)
    assert found.tolist() == pytest.approx([inf if end is None else float(end) for end in ends])


@pytest.mark.parametrize("progress", ["floor", "continuous"])
@pytest.mark.parametrize("seed", range(60))
def test_ends_equal_the_oracle(seed: int, progress: str) -> None:
    document, rng = {**tiny_instance(seed), "progress": progress}, random.Random(seed)
    for _ in range(5):
        where = [
            rng.choice(list(oracle.placements(job["gpus"], tuple(document["servers"]))))
            for job in document["jobs"]
        ]
        starts = [float(rng.randrange(12)) for _ in where]
        if progress == "continuous":
            starts = [start + rng.random() for start in starts]
        agree(document, starts, where)


def test_no_progress_at_a_level_is_waiting_not_failure() -> None:
    """Both stand still for ever on the link they share, and the first would not alone."""
    document = tiny_instance(0)
    document["servers"] = [2, 2, 2]
    document["network"] |= {"contention_share": 1.0, "degradation": 50.0}
    job = {**document["jobs"][0], "gpus": 3, "iterations": 99, "gradient_bytes": 10**8}
    document["jobs"] = [{**job, "name": name} for name in "ab"]
    where = [(2, 1, 0), (0, 1, 2)]
    assert oracle.ends_of(document, [0.0, 1.0], where) == [None, None]
    agree(document, [0.0, 1.0], where)
    agree(document, [0.0, 99.0], where)
