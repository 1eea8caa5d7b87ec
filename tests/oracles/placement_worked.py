"""Placements with tensor slices, experts and micro-batches, worked by hand.

Everywhere g / B_inter = 1 s a byte, and 1 / B_intra = 1/8 s a byte unless said otherwise:
all values are sums of powers of two.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Worked(NamedTuple):
    """One table of counts, its time, and the least time of all tables."""

    name: str
    instance: dict
    counts: list[list[int]]
    alpha: float
    optimum: float


def stage(replicas: int, forward: float, backward: float, **others: float) -> dict:
    """A stage without bytes but those given."""
    none = {"input_bytes": 0, "output_bytes": 0, "parameter_bytes": 0}
    times = {"name": "", "replicas": replicas, "forward_time": forward, "backward_time": backward}
    return {**times, **none, **others}


def job(
    free: list[int], *stages: dict, micro_batches: int | None = None, intra: float = 8.0
) -> dict:
    """An instance on servers of 4 GPUs with 4 bytes a second between them."""
    described: dict[str, Any] = {"model": "worked", "all_reduce": "ring"}
    described["stages"] = [{**one, "name": f"stage {s}"} for s, one in enumerate(stages)]
    if micro_batches is not None:
        described["micro_batches"] = micro_batches
    return {
        "schema": "optsched/placement",
        "version": 1,
        "name": "worked",
        "cluster": {"gpus_per_server": 4, "inter_bandwidth": 4.0, "intra_bandwidth": intra},
        "free_gpus": free,
        "job": described,
    }


SLICED = stage(2, 1, 2, parameter_bytes=16, tensor_parallel=2, tensor_bytes=8)
ROUTED = stage(4, 1, 2, expert_bytes=8)
FIRST = stage(2, 1, 2, output_bytes=1, parameter_bytes=16)
SECOND = stage(2, 2, 4, input_bytes=1, parameter_bytes=64)
WIDE = stage(1, 1, 2, output_bytes=4, tensor_parallel=2)
NARROW = stage(2, 1, 2, input_bytes=2, parameter_bytes=8)
ALL = stage(2, 1, 2, output_bytes=2, parameter_bytes=8, expert_bytes=4)
ALL |= {"tensor_parallel": 2, "tensor_bytes": 8}
REST = stage(2, 1, 1, input_bytes=2, parameter_bytes=16, expert_bytes=8, tensor_bytes=100)
UNEVEN = stage(4, 0, 0, parameter_bytes=2, expert_bytes=4)

WORKED = (
    # 3 to compute, 2 (1/2) 8 / 8 = 1 for the slices, 2 (1/2) 16 / (1 replica x 2 slices) = 8
    Worked("slices apart", job([2, 2], SLICED), [[1, 1]], 3 + 1 + 8, 12),
    # the same on one server: 2 (1/2) 16 / (2 slices) / 8 = 1
    Worked("slices together", job([4], SLICED), [[2]], 3 + 1 + 1, 5),
    # alone: 8 (3/4) 1 = 6 go out; the three send 8 (1/4) 1 = 2 out and 8 (2/4) / 8 = 1/2 inside
    Worked("experts", job([3, 1], ROUTED), [[3, 1]], 3 + 6, 9),
    # two and two: 8 (2/4) 1 = 4 out, 8 (1/4) / 8 = 1/4 inside
    Worked("experts in pairs", job([2, 2], ROUTED), [[2, 2]], 3 + 4.25, 7.25),
    # parts of 1 and 2 s: 1 + 2 for the first of 3, then 2 more of 2 s
    Worked(
        "three micro-batches",
        job([1, 1], stage(1, 1, 2), stage(1, 2, 4), micro_batches=3),
        [[1, 0], [0, 1]],
        1 + 2 + 2 * 2,
        7,
    ),
    # work 3 + 2 and 6 + 2, all-reduces 16 / 8 = 2 and 64 / 8 = 8: max(5 + 2, 8 + 8)
    Worked("asynchronous", job([2, 2], FIRST, SECOND), [[2, 0], [0, 2]], 16, 16),
    # halves 2.5 + 4, another 4; the second stage is ready 2/2 before the first, and reduces for 8
    # where the first takes 2. Mixed, work falls to 4.125 and 7.125, but all-reduces are 16 and 64
    Worked(
        "synchronous",
        job([2, 2], FIRST, SECOND, micro_batches=2),
        [[2, 0], [0, 2]],
        2.5 + 4 + 4 + max(2, -1 + 8),
        17.5,
    ),
    # two slices share 2 x 4 bytes out: 4, in all 7; the others 3 + 2 x 2 + 8 / 8 = 8
    Worked("slices send together", job([2, 2], WIDE, NARROW), [[1, 0], [0, 2]], 8, 8),
    # the one apart: 3 + 2 x 2 for what it is sent, 8 to reduce; no other table fits
    Worked("slices and an odd GPU", job([3, 1], WIDE, NARROW), [[1, 0], [1, 1]], 15, 15),
    # first stage, on server 0 3 + 1 + (2 x 2) / 8 + 4 (1/2) / 2 = 5.5, on the other 3 + 1 + 2 + 1
    # = 7, all-reduce 8 / 2 = 4. Second stage (its tensor bytes are of one slice: nothing):
    # 2 + 4 (1/2) + 4 (1/2) / 8 + 8 (1/2) / 8 = 4.75, all-reduce 16 / 8 = 2
    Worked("all, asynchronous", job([4, 2], ALL, REST), [[1, 1], [2, 0]], 7 + 4, 8.5),
    # the optimum puts the stages apart: 3 + 1 + 2 + 4 (1/2) / 8 = 6.25, all-reduce 8 / 2 / 8 = 0.5;
    # 2 + 4 + 0.5 = 6.5, all-reduce 2
    Worked("all, apart", job([4, 2], ALL, REST), [[2, 0], [0, 2]], 6.5 + 2, 8.5),
    Worked(
        "all, synchronous",
        job([4, 2], ALL, REST, micro_batches=2),
        [[1, 1], [2, 0]],
        3.5 + 2.375 + 3.5 + max(4, -1 + 2),
        10.625,
    ),
    Worked(
        "all, synchronous, apart",
        job([4, 2], ALL, REST, micro_batches=2),
        [[2, 0], [0, 2]],
        3.125 + 3.25 + 3.25 + max(0.5, -1 + 2),
        10.625,
    ),
    # inside is slower, 4 s a byte: the one alone works 4 (3/4) = 3 and reduces 2 (3/4) 2 = 3, the
    # three work 4 (1/4) + 4 (2/4) 4 = 9 and reduce 1: the longest work is not the longest reduce
    Worked("slow inside", job([1, 3], UNEVEN, intra=0.25), [[1, 3]], 10, 10),
    Worked(
        "slow inside, one part",
        job([1, 3], UNEVEN, intra=0.25, micro_batches=1),
        [[1, 3]],
        9 + 3,
        12,
    ),
)

TOO_ODD = (
    # 4 GPUs in all, but no second pair
    job([3, 1], SLICED),
    job([1, 1, 1, 1], SLICED),
    # 7 GPUs for 2 + 2 + 2: three pairs need 2 + 2 + 2 on servers of 3, 3 and 1
    job([3, 3, 1], {**SLICED, "replicas": 3}),
    # wider than a server of 4 GPUs has free, though 6 are free
    job([3, 3], stage(1, 1, 1, tensor_parallel=4)),
)
"""Offers large enough that hold no placement."""
