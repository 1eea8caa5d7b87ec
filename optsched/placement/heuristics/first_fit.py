"""First Fit: place the stages in order, each replica on the first server with room for it.

Servers are in descending order of free GPUs (ties by index), so that a stage fills the fullest
offer before it continues on the next. A replica of q GPUs stays on one server; with q > 1, later
replicas may fill what earlier, larger ones left.

Guarantee: none. The order of the stages keeps neighbours together, but the bytes that they exchange
play no part. With q > 1, replicas may remain unplaced although a placement exists (status
"no-solution"). Complexity: O(M log M + S M) for S stages and M servers. Not in the paper: the
baseline that looks at nothing but room.
"""

import numpy as np

from optsched.deadline import clock
from optsched.placement.cost import Ints
from optsched.placement.heuristics.heavy_edge import greedy_outcome
from optsched.placement.instance import PlacementInstance
from optsched.placement.options import PlacementOptions
from optsched.result import Outcome, Settings


def first_fit(
    instance: PlacementInstance, options: PlacementOptions, settings: Settings
) -> Outcome:
    began = clock()
    replicas = np.array([stage.replicas for stage in instance.job.stages], dtype=np.int64)
    gpus = np.array([stage.tensor_parallel for stage in instance.job.stages], dtype=np.int64)
    free = np.array(instance.free_gpus, dtype=np.int64)
    build_end = clock()
    counts = first_fit_counts(replicas, gpus, free)
    solve_time = clock() - build_end
    return greedy_outcome(instance, counts, "First Fit", build_end - began, solve_time)


def first_fit_counts(replicas: Ints, gpus: Ints, free: Ints) -> Ints:
    """Replicas of each stage (rows) on each server (columns); some may remain unplaced.

    >>> first_fit_counts(np.array([2, 2]), np.array([2, 1]), np.array([1, 5]))
    array([[0, 2],
           [1, 1]])
    """
    order = np.argsort(-free, kind="stable")
    room = free[order]
    counts = np.zeros((len(replicas), len(free)), dtype=np.int64)
    for s, size in enumerate(gpus):
        placed = fill_in_order(room // size, replicas[s])
        room -= size * placed
        counts[s, order] = placed
    return counts


def fill_in_order(room: Ints, replicas: int) -> Ints:
    return np.diff(np.minimum(np.cumsum(room), replicas), prepend=0)
