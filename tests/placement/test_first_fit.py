"""First Fit by hand, and against a literal version replica by replica."""

import random

import pytest
from oracles import placement as oracle
from placement.jobs import made

import optsched
from optsched.placement.instance import PlacementInstance
from optsched.result import Termination

BY_HAND = {
    # name: (replicas, GPUs each) of the stages, offers, counts
    "the fullest server first": ([(2, 1), (3, 1)], [1, 4], [[0, 2], [1, 2]]),
    "ties by index": ([(3, 1), (1, 1)], [2, 2], [[2, 1], [0, 1]]),
    "room left by larger replicas": ([(2, 2), (3, 1)], [3, 1, 3], [[1, 0, 1], [1, 1, 1]]),
    "one replica of two left over": ([(2, 1), (2, 2)], [3, 3], None),
}


@pytest.mark.parametrize(("sizes", "free", "counts"), BY_HAND.values(), ids=BY_HAND)
def test_by_hand(
    sizes: list[tuple[int, int]], free: list[int], counts: list[list[int]] | None
) -> None:
    instance = made(free, [{"replicas": k, "tensor_parallel": q} for k, q in sizes])
    result = optsched.solve(instance, "first-fit")
    if counts is not None:
        assert result.solution.to_dict()["counts"] == counts
        return
    # Both of stage 0 are on server 0, whose third GPU is too few for the second of stage 1.
    assert result.termination is Termination.NO_SOLUTION
    assert result.details["message"].startswith(
        "First Fit could not place 1 of 2 replicas of stage 1 (s1): each needs 2 GPUs on one "
    )
    assert optsched.solve(instance, "exact").solution.counts == ((1, 1), (1, 1))


def test_its_time_by_hand() -> None:
    """Two stages of two replicas, servers of 3 and 1: stage 1 is split.

    4 GPUs share 1e9 bytes/s. Its all-reduce moves 2 * 1/2 * 1e9 bytes over a quarter of that: 4 s
    after 1 s of computation.
    """
    stages = [{"replicas": 2, "forward_time": 1, "parameter_bytes": 1e9}] * 2
    result = optsched.solve(made([3, 1], stages, gpus=4), "first-fit")
    assert result.objective == pytest.approx(5.0, rel=1e-12)


@pytest.mark.parametrize("draw", [oracle.random_instance, oracle.random_parallel_instance])
@pytest.mark.parametrize("seed", range(60))
def test_the_literal_version_places_alike(seed: int, draw: object) -> None:
    """Its time is the oracle's, and at least the optimum."""
    given = draw(random.Random(seed))
    counts = oracle.first_fit(given)
    result = optsched.solve(PlacementInstance.from_dict(given), "first-fit", bound=False)
    if oracle.violated_rule(given, counts) is not None:
        assert (result.termination, result.solution) == (Termination.NO_SOLUTION, None)
        return
    assert result.solution.to_dict()["counts"] == counts
    assert result.check.feasible
    assert result.objective == pytest.approx(oracle.alpha(given, counts), rel=1e-12)
    assert result.objective >= oracle.optimum(given) * (1 - 1e-12)
