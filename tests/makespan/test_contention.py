"""The evaluator: the paper's Fig. 2 by hand, and drawn schedules against the oracle."""

import random
from math import inf

import pytest
from oracles import makespan as oracle
from oracles.makespan_cases import tiny_instance

import optsched
from optsched.makespan.contention import Evaluation, Schedule, evaluate, solution_from_evaluation
from optsched.makespan.instance import (
    MakespanInstance,
    bandwidth,
    iteration_time,
    iterations_per_slot,
)

ACROSS = {0: 1, 1: 1}


def fig2(*decisions: tuple[float, dict[int, int]]) -> Evaluation:
    instance = optsched.load("makespan/fig2")
    starts, placed = zip(*decisions, strict=True)
    return evaluate(instance, Schedule(tuple(starts), tuple(placed)))


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


def test_fig_2a_one_server_each() -> None:
    """40 iterations at 10 a slot: both end at 4, whatever the other does."""
    found = fig2((0, {0: 2}), (0, {1: 2}))
    assert found.ends.tolist() == [4, 4]
    assert found.levels.max() == 0


def test_one_job_across_alone() -> None:
    """40 at 4 a slot: 10 slots each, one after the other."""
    assert fig2((0, ACROSS), (10, ACROSS)).ends.tolist() == [10, 20]


def test_fig_2b_two_jobs_share_the_link() -> None:
    """40 at 2 a slot: both end at 20; sharing is no better than taking turns."""
    found = fig2((0, ACROSS), (0, ACROSS))
    assert found.ends.tolist() == [20, 20]
    assert found.levels.tolist() == [[2, 2]]
    assert found.gpu_use.tolist() == [[2, 2]]


def test_a_later_job_slows_an_earlier_one() -> None:
    """Job 1 does 5 * 4 = 20 alone; from slot 5 both do 2 a slot, so its other 20 take until 15.

    Job 2 has done 20 by then, and does the rest alone: 5 slots more, until 20.
    """
    found = fig2((0, ACROSS), (5, ACROSS))
    assert found.ends.tolist() == [15, 20]
    assert found.times.tolist() == [0, 5, 15, 20]
    assert found.levels.tolist() == [[1, 0], [2, 2], [0, 1]]
    assert optsched.check(found.instance, solution_from_evaluation(found)).feasible


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
