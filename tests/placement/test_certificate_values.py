"""Certificates worked out by hand: what they prove, by how much they miss, what is malformed."""

import math
from typing import Any

import numpy as np
import pytest
from placement import jobs

from optsched.library.verify.certificate import COMPARISON_RTOL
from optsched.library.verify.placement import (
    CostOptions,
    best_pattern,
    patterns_within,
    stage_times,
)
from optsched.placement.bounds.pricing import PatternCertificate
from optsched.placement.instance import PlacementInstance
from optsched.verbs.judging import certificate_violations


def instance(*stages: dict[str, Any], free: tuple[int, ...] = (4, 4, 2)) -> PlacementInstance:
    """Servers of 4 GPUs: a GPU's share of the NIC is 1 byte a second, 16 are in the server."""
    size = max(4, *free)
    several = [{"forward_time": 1, **each} for each in stages]
    return jobs.made(list(free), several, gpus=size, inter=size, intra=16)


A = {"replicas": 2, "backward_time": 2, "output_bytes": 3, "parameter_bytes": 8}
B = {
    "replicas": 3, "tensor_parallel": 2, "forward_time": 2, "backward_time": 1, "input_bytes": 2,
    "output_bytes": 4, "parameter_bytes": 6, "tensor_bytes": 16, "expert_bytes": 6,
}  # fmt: skip
C = {"replicas": 2, "backward_time": 1, "input_bytes": 6}

SECONDS: list[tuple[int, int, list[list[float]]]] = [
    (0, 1, [[17, 15.125, 13.25, 11.375]]),
    (0, 2, [[9.5, 7.625, 5.75, 3.875]]),
    (1, 1, [[16, 14.25, 12.5], [15.125, 13.375, 11.625], [14.25, 12.5, 10.75]]),
    (1, 2, [[13.125, 11.375, 9.625], [12.25, 10.5, 8.75], [11.375, 9.625, 7.875]]),
    (1, 3, [[10.5, 8.75, 7], [9.625, 7.875, 6.125], [8.75, 7, 5.25]]),
    (2, 1, [[14], [10.25], [6.5], [2.75]]),
    (2, 2, [[14], [10.25], [6.5], [2.75]]),
]
"""Stage, its replicas on a server, seconds by those of the stage before and of the one after.

A  1 + 2 s; of 2 x 3 bytes a third near with each of B's: 6, 4 + 2/16, 2 + 4/16, 6/16;
   all-reduce 2 (1/2) 8 = 8 bytes: 8 s alone, 8/16 with both here
B  2 + 1 s, on two GPUs: 2 bytes a second; slices 2 (1/2) 16 bytes / 16 = 1;
   in, half near with each of A's: 2 x 2/2 = 2, 1 + 2/16, 4/16; out: 8/2 = 4, 2 + 4/16, 8/16;
   experts 6 (2/3)/2 = 2, 6 (1/3)/2 + 6 (1/3)/16 = 1.125, 6 (2/3)/16 = 0.25;
   all-reduce 2 (2/3) 6 = 8 bytes: 4, 2, and 8/32 with all here
   so 4 + in + out + 6, 3.125 or 0.5
C  1 + 1 s; of 2 x 6 bytes a third near with each of B's: 12, 8 + 4/16, 4 + 8/16, 12/16
"""


def within(seconds: float, s: int, v: int, shape: Any, **options: Any) -> np.ndarray:
    """Whether v replicas of a stage take no more than so many seconds, by their neighbours."""
    document = instance(A, B, C).to_dict()
    cost_options = CostOptions(**options)
    work, reduce = stage_times(document["job"], document["cluster"], s, v, shape, cost_options)
    return np.asarray(work + reduce <= seconds * (1 + COMPARISON_RTOL))


@pytest.mark.parametrize(("s", "v", "seconds"), SECONDS)
def test_stages_in_time(s: int, v: int, seconds: list[list[float]]) -> None:
    takes = np.array(seconds, dtype=float)
    for each in takes.ravel():
        assert np.array_equal(within(each, s, v, takes.shape), takes <= each)
        below = within(each * (1 - 1e-9), s, v, takes.shape)
        assert np.array_equal(below, (takes < each) | (takes == 0))


def test_overlapped_passes_and_all_reduces() -> None:
    # of B's 16 s half of 1 s, and three quarters of 4 s, are hidden
    overlaps = {"backward_overlap": 0.5, "all_reduce_overlap": 0.25}
    assert within(12.5, 1, 1, (1, 1), **overlaps).all()
    assert not within(12.5 * (1 - 1e-9), 1, 1, (1, 1), **overlaps).any()


def test_where_the_fewest_replicas_set_the_pace_there_are_no_more_than_are_elsewhere() -> None:
    # beside two of B's three one is elsewhere: 8 bytes at 2 a second, 4 s instead of 2
    takes = np.array(SECONDS[3][2]) + 2
    bottleneck = {"all_reduce_bandwidth": "bottleneck"}
    for each in takes.ravel():
        assert np.array_equal(within(each, 1, 2, takes.shape, **bottleneck), takes <= each)
    # one of A's two has one elsewhere, one of B's three no more than its own; all three are here
    for s, v, seconds in (SECONDS[0], SECONDS[2], SECONDS[4]):
        same = np.array(seconds, dtype=float)
        for each in same.ravel():
            assert np.array_equal(within(each, s, v, same.shape, **bottleneck), same <= each)


def test_what_is_above_by_rounding_is_in_time() -> None:
    for above, proved in ((1e-12, False), (1.5e-12, True)):
        made = instance({"replicas": 2, "forward_time": 1 + above}, free=(2,))
        assert (certificate_violations(made, PatternCertificate(1.0, (1,))) == []) == proved


def worths(made: PlacementInstance, seconds: float, *prices: int) -> list[int | None]:
    """z_g of a server of 0, 1, 2... GPUs up to the largest; None where nothing is in time."""
    document, size = made.to_dict(), max(made.free_gpus)
    within = patterns_within(document, seconds, size, [])
    takes = [stage.tensor_parallel for stage in made.job.stages]
    each = [price * np.arange(held.shape[1]) for price, held in zip(prices, within, strict=True)]
    worth = best_pattern(within, each, takes, size)
    if sum(made.free_gpus) > sum(s.replicas * s.tensor_parallel for s in made.job.stages):
        worth = np.maximum.accumulate(worth)
    return [int(value) if value >= 0 else None for value in worth]


def test_the_most_a_server_is_worth() -> None:
    made = instance(A, B, C)
    # in time whatever they are: of 2 GPUs B; of 3 B C; of 4 B B
    assert worths(made, 99, 200, 700, 300) == [0, 300, 700, 1000, 1400]
    assert worths(made, 99, 200, 500, 300) == [0, 300, 600, 800, 1100]  # C C; A C C; B C C
    # A alone takes 11.375 or more, C without B 14, a B 12.5 with two C: A A, B B, B C C are left
    assert worths(made, 13.125, 200, 700, 300) == [0, None, 400, None, 1400]
    assert worths(made, 13, 200, 700, 300) == [0, None, 400, None, 1300]  # B B takes 13.125
    assert worths(made, 11, 200, 700, 300) == [0, None, 400, None, None]
    # with GPUs to spare what is worth most on fewer counts too
    spare = instance(A, B, C, free=(4, 4, 3))
    assert worths(spare, 11, 200, 700, 300) == [0, 0, 400, 400, 400]
    assert worths(spare, 99, 900, 100, 0) == [0, 900, 1800, 1800, 1900]


def test_no_more_replicas_than_there_are() -> None:
    first, second = {"replicas": 3, "tensor_parallel": 2}, {"replicas": 1}
    made = instance(first, second, free=(5, 2))
    # of 5 GPUs at most two of the three that take two, and the one that takes one
    assert worths(made, 1, 700, 800) == [0, 800, 700, 1500, 1400, 2200]
    assert worths(instance(second, first, free=(5, 2)), 1, 800, 700) == worths(made, 1, 700, 800)


def missing(seconds: float, *prices: Any, **options: Any) -> float | None:
    """By how much the prices miss; None where they prove that placements take longer."""
    made = instance(A, B, C, free=(4, 0, 4, 2))
    found = certificate_violations(made, PatternCertificate(seconds, prices), options)
    if not found:
        return None
    (violation,) = found
    assert violation.where.startswith("the replicas are worth")
    return violation.amount


def test_prices_prove() -> None:
    # 2 x 200 + 3 x 700 + 2 x 300 = 3100 of replicas; servers 2 x 1400 + 400, or 2 x 1300 + 400
    assert missing(13.125, 200, 700, 300) == 100
    assert missing(13, 200, 700, 300) is None
    # 3200 on either side: 2 (700 + 2 x 350) + 400
    assert missing(13, 200, 700, 350) == 0
    assert missing(13, 0, 0, 0) == 0
    assert missing(13, 10**9, 0, 0) == 0  # both A on the server of two GPUs
    assert missing(13, 0, 1, 0) is None  # three B; on the larger servers one each
    # a server of 4 cannot be filled in time
    assert missing(11, 0, 0, 0) is None
    assert missing(0, 0, 0, 0) is None
    assert missing(0.5, 0, 0, 0) is None
    # without backward passes B B takes 12.125
    assert missing(12.5, 200, 700, 300, backward_overlap=0.0) == 100
    # B B takes 15.125 where the third B sets the pace: 2 x 1300 + 400
    assert missing(13.125, 200, 700, 300, all_reduce_bandwidth="bottleneck") is None


@pytest.mark.parametrize(
    ("seconds", "prices", "where"),
    [
        (1.0, (1, 1), "2 prices, expected 3"),
        (1.0, (1, -1, 1), "prices out of range: -1"),
        (1.0, (1, 1, 10**9 + 1), "not whole numbers up to"),
        (1.0, (1, 1, 0.5), "not whole numbers up to"),
        (-0.5, (1, 1, 1), "the threshold"),
        (math.nan, (1, 1, 1), "the threshold"),
    ],
)
def test_malformed(seconds: float, prices: Any, where: str) -> None:
    found = certificate_violations(instance(A, B, C), PatternCertificate(seconds, prices))
    assert [where in violation.where for violation in found] == [True]
