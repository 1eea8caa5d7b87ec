"""The configurations that a workload's jobs use, prepared for one cluster.

A configuration is a placement job (stages and replicas). For each: alpha~ (Heavy-Edge on the
fewest servers, an estimate and no minimum), alpha^max (each replica alone on a server), the least
alpha that is provable, and its graph and cost tables laid end to end for the compiled loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from optsched.errors import InputError
from optsched.online.data.cluster import OnlineCluster
from optsched.placement.bounds.combinatorial import stage_bound
from optsched.placement.cost import cost_tables, worst_iteration_time
from optsched.placement.heuristics.heavy_edge import (
    estimated_minimum,
    graph_arrays,
    heavy_edge_counts,
)
from optsched.placement.instance import Cluster, Job

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Packed(NamedTuple):
    """Graphs and cost tables of C configurations, end to end.

    `gpus`, `estimate`, `worst` (C,) are g, alpha~ and alpha^max; `vertex`, `stage`, `edge`, `cell`
    (C + 1,) say where a configuration's replicas, stages, edge ends and table cells begin, `width`
    (C,) how many cells a stage has; `micro_batches` is 0 for asynchronous jobs. The others are
    those of `JobGraph` and `CostTables` of the placement slice; `first` and `start` have one entry
    more a configuration than stages and replicas.
    """

    gpus: Any
    estimate: Any
    worst: Any
    vertex: Any
    stage: Any
    edge: Any
    cell: Any
    width: Any
    micro_batches: Any
    stage_of: Any
    first: Any
    start: Any
    neighbour: Any
    weight: Any
    pair: Any
    replica: Any
    experts: Any
    near: Any
    before: Any
    after: Any
    all_reduce: Any
    hidden: Any


@dataclass(frozen=True)
class Configurations:
    """Configurations on a cluster: g, alpha~, alpha^max and the provably least alpha (s)."""

    jobs: tuple[Job, ...]
    gpus: Ints
    estimate: Floats
    worst: Floats
    least: Floats
    packed: Packed


def prepare_configurations(jobs: Sequence[Job], cluster: OnlineCluster) -> Configurations:
    """Prepare configurations for a cluster. O(sum of stages and edges)."""
    hardware = cluster.hardware
    for job in jobs:
        _require_room(job, cluster)
    gpus = np.array([job.gpus for job in jobs], dtype=np.int64)
    estimate = np.array([estimated_minimum(job, hardware) for job in jobs], dtype=float)
    for job, seconds in zip(jobs, estimate, strict=True):
        if not 0 < seconds < np.inf:
            raise InputError(
                "catalogue", job.model, f"an iteration of {seconds} s", "a positive time"
            )
    worst = np.array([worst_iteration_time(job, hardware) for job in jobs], dtype=float)
    least = np.array([least_iteration_time(job, hardware) for job in jobs], dtype=float)
    packed = _pack(jobs, cluster, gpus, estimate, worst)
    return Configurations(tuple(jobs), gpus, estimate, worst, least, packed)


def _require_room(job: Job, cluster: OnlineCluster) -> None:
    """A job gets exactly its GPUs, which an empty cluster offers as full servers and a rest."""
    if not job.is_sliced:
        return
    full, rest = divmod(job.gpus, cluster.gpus_per_server)
    offer = (cluster.gpus_per_server,) * full + ((rest,) if rest else ())
    placed = int(heavy_edge_counts(graph_arrays(job), offer).sum())
    if placed < job.replicas:
        found = f"{placed} of {job.replicas} replicas fit {', '.join(map(str, offer))} GPUs"
        raise InputError("catalogue", job.model, found, "slices that fit on an empty cluster")


def least_iteration_time(job: Job, cluster: Cluster) -> float:
    """A lower bound on alpha over every placement of the job, in seconds.

    alpha~ is an estimate that a balanced offer can beat, so it must not enter a bound. Proved,
    where B_inter <= B_intra (a GPU's link inside a server is no slower than its server's NIC):

    - g <= GPUs per server: all replicas on one server, where every byte takes the faster link;
    - one stage of k replicas: a server holds floor(g_server/q), so that one of the servers has at
      most floor(k/ceil(k/that)) replicas, and fewer of them have a smaller share of the NIC;
    - otherwise the stage bound of the placement slice at a full server. With micro-batches no stage
      is faster: its own passes, and the last backward pass of those before it, come one by one.

    Without that order of bandwidths: the largest stage's computation.
    Source: models/online/README.md.
    """
    if cluster.inter_bandwidth > cluster.intra_bandwidth:
        return max(stage.forward_time + stage.backward_time for stage in job.stages)
    if job.gpus <= cluster.gpus_per_server:
        return estimated_minimum(job, cluster)
    tables = cost_tables(job, cluster, cluster.gpus_per_server)
    if len(job.stages) == 1:
        stage = job.stages[0]
        servers = -(-stage.replicas // (cluster.gpus_per_server // stage.tensor_parallel))
        return float(tables.base[0, stage.replicas // servers])
    return stage_bound(tables, cluster.gpus_per_server)


def _pack(
    jobs: Sequence[Job], cluster: OnlineCluster, gpus: Ints, estimate: Floats, worst: Floats
) -> Packed:
    graphs = [graph_arrays(job) for job in jobs]
    tables = [
        cost_tables(job, cluster.hardware, min(job.gpus, cluster.gpus_per_server)) for job in jobs
    ]
    return Packed(
        gpus=gpus,
        estimate=estimate,
        worst=worst,
        vertex=_begins([len(g.stage_of) for g in graphs]),
        stage=_begins([len(g.pair) for g in graphs]),
        edge=_begins([len(g.weight) for g in graphs]),
        cell=_begins([t.all_reduce.size for t in tables]),
        width=np.array([t.all_reduce.shape[1] for t in tables], dtype=np.int64),
        micro_batches=np.array([job.micro_batches or 0 for job in jobs], dtype=np.int64),
        stage_of=_joined([g.stage_of for g in graphs], int),
        first=_joined([g.first for g in graphs], int),
        start=_joined([g.start for g in graphs], int),
        neighbour=_joined([g.neighbour for g in graphs], int),
        weight=_joined([g.weight for g in graphs], float),
        pair=_joined([g.pair for g in graphs], float),
        replica=_joined([g.gpus for g in graphs], int),
        experts=_joined([g.experts for g in graphs], float),
        near=_joined([t.near_work.ravel() for t in tables], float),
        before=_joined([t.before for t in tables], float),
        after=_joined([t.after for t in tables], float),
        all_reduce=_joined([t.all_reduce.ravel() for t in tables], float),
        hidden=_joined([t.hidden for t in tables], float),
    )


def _begins(lengths: list[int]) -> Ints:
    return np.concatenate(([0], np.cumsum(np.array(lengths, dtype=np.int64)))).astype(np.int64)


def _joined(arrays: list[Any], kind: type) -> Any:
    dtype = np.int64 if kind is int else np.float64
    if not arrays:
        return np.empty(0, dtype=dtype)
    return np.concatenate(arrays).astype(dtype)
