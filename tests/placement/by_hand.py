"""One small placement problem, worked out by hand: checker and cost tables answer to it."""

from typing import Any

from placement import jobs

from optsched.placement.instance import PlacementInstance

OWN: dict[str, Any] = {}
BOTTLENECK = {"all_reduce_bandwidth": "bottleneck"}
OVERLAPPED = {"backward_overlap": 0.5, "all_reduce_overlap": 0.25}

SPREAD = ((1, 1, 0), (2, 0, 1), (0, 1, 0))
GATHERED = ((2, 0, 0), (1, 2, 0), (0, 0, 1))

TIMES: list[tuple[Any, dict[str, Any], list[list[float]]]] = [
    (SPREAD, OWN, [[16.5, 31.5, 0], [26.75, 0, 42.25], [0, 31, 0]]),
    (SPREAD, BOTTLENECK, [[16.5, 31.5, 0], [34.75, 0, 42.25], [0, 31, 0]]),
    (SPREAD, OVERLAPPED, [[11.75, 26.75, 0], [20.625, 0, 30.125], [0, 29, 0]]),
    (GATHERED, OWN, [[18.375, 0, 0], [27.25, 34.25, 0], [0, 0, 31]]),
    (GATHERED, BOTTLENECK, [[18.375, 0, 0], [27.25, 42.25, 0], [0, 0, 31]]),
]
"""Counts, options, seconds of each stage on each server.

computation    1.5, 2.25, 7
communication  2 s a byte over the NIC's share (4 / 2), 1/8 s inside; each replica moves twice
               6 | 4 and 2 | 6 bytes
  SPREAD       a on 0: two of b's three near, 4 * 2 + 8 / 8 = 9; on 1: none, 24
               b on 0: one of a's two near, c not, (4 + 4) * 2 + 4 / 8 = 16.5; on 2: 24
               c on 1: none near, 24
  GATHERED     a on 0: a third near, 8 * 2 + 4 / 8 = 16.5
               b on 0: all of a near, 4 * 2 + 8 / 8 = 9; on 1: 24
               c on 2: 24
all-reduce     a moves 2 (1/2) 3 = 3 bytes, b 2 (2/3) 6 = 8, c none; 2 s a byte with one replica
               on the server, 1 with two, 1/8 with all: a 6 or 3/8, b 16, 8 or 1
"""


def document() -> dict[str, Any]:
    """Stages a, b, c of 2, 3 and 1 replicas; servers that offer 3, 2 and 1 of their 4 GPUs."""
    stages = [
        {"name": "a", "replicas": 2, "forward_time": 1, "backward_time": 0.5,
         "output_bytes": 6, "parameter_bytes": 3},
        {"name": "b", "replicas": 3, "forward_time": 2, "backward_time": 0.25,
         "input_bytes": 4, "output_bytes": 2, "parameter_bytes": 6},
        {"name": "c", "replicas": 1, "forward_time": 3, "backward_time": 4,
         "input_bytes": 6, "parameter_bytes": 5},
    ]  # fmt: skip
    return jobs.document([3, 2, 1], stages, gpus=4, inter=2, intra=8, name="by hand")


def instance(slow_stage: int | None = None) -> PlacementInstance:
    """The problem; a slow stage's forward pass takes 100 s more."""
    made = document()
    if slow_stage is not None:
        made["job"]["stages"][slow_stage]["forward_time"] += 100
    return PlacementInstance.from_dict(made)
