"""How large a model gets, in nonzeros, counted before anything of it is built."""

from __future__ import annotations

import numpy as np

from optsched.placement.cost import Ints
from optsched.placement.graph import all_reduce_edges
from optsched.placement.instance import PlacementInstance


def count_nonzeros(instance: PlacementInstance, widths: bool = False) -> int:
    """Of a model of one binary a stage, server and count (and least count, if `widths`).

    Each stands in some eight rows: its own, both neighbours', and the order of equal servers; the
    time and the saving of a stage on a server stand in five. Micro-batches add one row each.
    """
    most = _most(instance)
    columns = most * (most + 1) // 2 if widths else most
    return int(8 * columns.sum() + 5 * most.size)


def replica_nonzeros(instance: PlacementInstance, bottleneck: bool) -> int:
    """Of a model of one binary a replica and server, and of one a count."""
    counts, servers = int(_most(instance).sum()), len(instance.free_gpus)
    rows = servers if bottleneck else 1
    return 5 * instance.job.replicas * servers + (4 + rows) * counts


def cut_nonzeros(instance: PlacementInstance) -> int:
    """Of the minimum cut: pairs of counts of neighbouring stages; for trees, their edges too."""
    most = _most(instance)
    total = int(6 * most.sum() + (most[:-1] * most[1:]).sum())
    if instance.job.all_reduce == "double-tree":
        stages = instance.job.stages
        edges = sum(len(all_reduce_edges(stage.replicas, "double-tree")) for stage in stages)
        total += (2 * instance.job.replicas + 4 * edges) * len(instance.free_gpus)
    return total


def _most(instance: PlacementInstance) -> Ints:
    """Replicas of a stage that a server can hold, stages x servers."""
    stages = instance.job.stages
    replicas = np.array([stage.replicas for stage in stages], dtype=np.int64)[:, None]
    gpus = np.array([stage.tensor_parallel for stage in stages], dtype=np.int64)[:, None]
    return np.minimum(replicas, np.array(instance.free_gpus, dtype=np.int64) // gpus)
