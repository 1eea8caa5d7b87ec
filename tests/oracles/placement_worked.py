"""Placements worked by hand.

Everywhere g / B_inter = 1 s a byte, and 1 / B_intra = 1/8 s a byte unless said otherwise:
all values are sums of powers of two.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from oracles.placement import NONE, document


class Worked(NamedTuple):
    """One table of counts, its time, and the shortest time of all tables."""

    name: str
    instance: dict
    counts: list[list[int]]
    alpha: float
    optimum: float
    options: Mapping[str, Any] = NONE


def stage(replicas: int, forward: float, backward: float, **others: float) -> dict:
    """A stage without bytes but those given."""
    none = {"input_bytes": 0, "output_bytes": 0, "parameter_bytes": 0}
    times = {"name": "", "replicas": replicas, "forward_time": forward, "backward_time": backward}
    return {**times, **none, **others}


def job(
    free: list[int],
    *stages: dict,
    micro_batches: int | None = None,
    gpus: int = 4,
    intra: float = 8.0,
    all_reduce: str = "ring",
) -> dict:
    """An instance on servers of so many GPUs with 4 bytes a second between them."""
    named = [{**one, "name": f"stage {s}"} for s, one in enumerate(stages)]
    made = document("worked", (gpus, 4.0, intra), free, named, all_reduce)
    if micro_batches is not None:
        made["job"]["micro_batches"] = micro_batches
    return made


def plain(
    stages: list[tuple[float, ...]], free: list[int], gpus: int = 2, all_reduce: str = "ring"
) -> dict:
    """A job of stages (replicas, forward, backward, input, output, parameters), 1 / B_intra = 1/16.

    On servers of 2 GPUs g / B_inter = 1/2.
    """
    keys = ("input_bytes", "output_bytes", "parameter_bytes")
    made = [
        stage(int(k), forward, backward, **dict(zip(keys, sizes, strict=True)))
        for k, forward, backward, *sizes in stages
    ]
    return job(free, *made, gpus=gpus, intra=16.0, all_reduce=all_reduce)


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

TWO_STAGES = plain([(2, 0.5, 1.5, 0, 4, 6), (1, 1, 1, 8, 0, 5)], [2, 1])
THREE_AND_ONE = plain([(3, 1, 2, 0, 4, 6), (1, 0, 0, 12, 0, 0)], [2, 2])
MIDDLE = plain([(1, 0, 0, 0, 8, 0), (2, 0, 0, 4, 6, 0), (2, 0, 0, 6, 0, 0)], [3, 2], gpus=4)

WORKED = (
    # Stage 0 whole on server 0, stage 1 on server 1.
    #   stage 0: comp 2; comm 2*4*(1-0)/1 * 1/2 = 4; all-reduce 2*(1/2)*6/16 = 0.375   -> 6.375
    #   stage 1: comp 2; comm 2*8*(2-0)/2 * 1/2 = 8; k = 1: no all-reduce             -> 10
    Worked("two stages apart", TWO_STAGES, [[2, 0], [0, 1]], 10, 9),
    # One replica of stage 0 on each server, stage 1 on server 0.
    #   stage 0, server 0: 2 + 8*(1/1)/16 = 0.5 + 2*(1/2)*6*2/(1*4) = 3                -> 5.5
    #   stage 1, server 0: 2 + 16*(1/2)*1/2 = 4 + 16*(1/2)/16 = 0.5                    -> 6.5
    #   stage 0, server 1: 2 + 8*(1/1)*1/2 = 4 + 3                                     -> 9
    Worked("two stages mixed", TWO_STAGES, [[1, 1], [1, 0]], 9, 9),
    # 0.5 + 0.5*1.5 + 4 + 3 (the others: 4.75 and 6); apart stage 1 takes 1.5 + 8
    Worked(
        *("half of backward", TWO_STAGES, [[1, 1], [1, 0]], 8.25, 8.25, {"backward_overlap": 0.5})
    ),
    # 2 + 4 + 0.5*3 (the others: 4 and 6.5)
    Worked(
        *("half of all-reduce", TWO_STAGES, [[1, 1], [1, 0]], 7.5, 7.5, {"all_reduce_overlap": 0.5})
    ),
    # stage 1; stage 0 takes 2 + 4 + 0
    Worked(*("no all-reduce", TWO_STAGES, [[1, 1], [1, 0]], 6.5, 6.5, {"all_reduce_overlap": 0})),
    # Flows 8 (0 to 1) and 12 (1 to 2). Server 0 holds (1, 1, 1), server 1 (0, 1, 1).
    #   stage 0, server 0: 16*(1/2)*1 = 8; inside 16*(1/2)/16 = 0.5                    -> 8.5
    #   stage 1, server 0: in 8*0; out 12*(1/2) = 6; inside (8*1 + 12*1/2)/16 = 0.875  -> 6.875
    #   stage 1, server 1: in 8*1 = 8; out 6; inside (0 + 6)/16 = 0.375                -> 14.375
    #   stage 2, both: 12*(1/2) = 6 + 6/16 = 0.375                                     -> 6.375
    # Best is stage 0 on server 1 and stage 2 on server 0: stage 1, server 1: 12 + 8/16 -> 12.5
    Worked("both neighbours", MIDDLE, [[1, 0], [1, 1], [1, 1]], 14.375, 12.5),
    #   stage 0, server 0: 3 + 8*1/2 = 4 + 2*(2/3)*6*2/(x*4) = 4/x: own x = 2 -> 2: 9
    #                                                 bottleneck x = min(2, 1) -> 4: 11
    #   stage 0, server 1: 3 + 8/16 = 0.5 + 4 = 7.5 under both
    #   stage 1, server 1: 24*(2/3)*1/2 = 8 + 24*(1/3)/16 = 0.5: 8.5
    Worked("own bandwidth", THREE_AND_ONE, [[2, 1], [0, 1]], 9, 9),
    Worked(
        *("bottleneck", THREE_AND_ONE, [[2, 1], [0, 1]], 11, 11),
        {"all_reduce_bandwidth": "bottleneck"},
    ),
    # 1 + 2 + 2*(3/4)*8/16 = 0.75
    Worked("one stage", plain([(4, 1, 2, 0, 0, 8)], [4], gpus=4), [[4]], 3.75, 3.75),
    Worked("one replica", plain([(1, 1, 2, 0, 0, 8)], [1]), [[1]], 3, 3),
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
