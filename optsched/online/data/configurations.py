"""The configurations that a workload's jobs use, prepared for one cluster.

A configuration is a placement job (stages and replicas). For each: alpha~ (Heavy-Edge on the
fewest servers, an estimate and no minimum), alpha^max (each replica alone on a server), a proven
lower bound on alpha, and concatenated graph and cost arrays for the kernels.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from optsched.arrays import Floats, Ints
from optsched.errors import InputError
from optsched.online.data.cluster import OnlineCluster, filled
from optsched.placement.bounds.combinatorial import stage_bound
from optsched.placement.cost import cost_tables, worst_iteration_time
from optsched.placement.heuristics.heavy_edge import (
    estimated_minimum,
    graph_arrays,
    heavy_edge_counts,
)
from optsched.placement.instance import Cluster, Job


class Packed(NamedTuple):
    """Graphs and cost tables of C configurations, concatenated.

    `vertex`, `stage`, `edge` and `cell` are offsets (C + 1,) of a configuration's replicas, stages,
    edge ends and table cells, `width` the cells of each stage; `micro_batches` is 0 for
    asynchronous jobs. From `stage_of` on they are the arrays of `JobGraph`, from `near` on those of
    `CostTables`, as `_pack` names them; `first` and `start` have one entry per configuration more
    than there are stages and replicas.
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
    """Configurations on a cluster: g, alpha~, alpha^max and a lower bound on alpha (s)."""

    jobs: tuple[Job, ...]
    gpus: Ints
    estimate: Floats
    worst: Floats
    alpha_lower_bound: Floats
    packed: Packed


def prepare_configurations(jobs: Sequence[Job], cluster: OnlineCluster) -> Configurations:
    """Prepare configurations for a cluster. O(sum of stages and edges)."""
    hardware = cluster.hardware
    for job in jobs:
        _check_fits_empty_cluster(job, cluster)
    gpus = np.array([job.gpus for job in jobs], dtype=np.int64)
    estimate = np.array([estimated_minimum(job, hardware) for job in jobs], dtype=float)
    for job, seconds in zip(jobs, estimate, strict=True):
        if not 0 < seconds < np.inf:
            raise InputError(
                "catalogue", job.model, f"an iteration of {seconds} s", "a positive time"
            )
    worst = np.array([worst_iteration_time(job, hardware) for job in jobs], dtype=float)
    lower_bound = np.array([iteration_time_lower_bound(job, hardware) for job in jobs], dtype=float)
    packed = _pack(jobs, cluster, gpus, estimate, worst)
    return Configurations(tuple(jobs), gpus, estimate, worst, lower_bound, packed)


def _check_fits_empty_cluster(job: Job, cluster: OnlineCluster) -> None:
    """Raise InputError if a job's slices do not fit its GPUs on an empty cluster."""
    if not job.has_tensor_slices:
        return
    offer = tuple(filled(cluster.server_gpus, job.gpus))
    placed = int(heavy_edge_counts(graph_arrays(job), offer).sum())
    if placed < job.replicas:
        found = f"{placed} of {job.replicas} replicas fit {', '.join(map(str, offer))} GPUs"
        raise InputError("catalogue", job.model, found, "slices that fit on an empty cluster")


def iteration_time_lower_bound(job: Job, cluster: Cluster) -> float:
    """A lower bound on alpha over every placement of the job, in seconds.

    alpha~ is an estimate that a balanced offer can beat, so it must not enter a bound. Proof, for
    B_inter <= B_intra (a GPU's link inside a server is no slower than its server's NIC):

    - g <= GPUs per server: all replicas on one server, where every byte takes the faster link;
    - one stage of k replicas: a server holds r = floor(g_server/q), so some server has at most
      floor(k/ceil(k/r)) replicas, and fewer replicas have a smaller share of the NIC;
    - otherwise the stage bound of the placement problem at a full server. With micro-batches no
      stage is faster, because its own passes and the last backward passes of earlier stages are
      sequential.

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
        cost_tables(job, cluster.hardware, min(job.gpus, cluster.largest_server)) for job in jobs
    ]

    def concatenated(parts: Sequence[Any], name: str, dtype: type) -> Any:
        arrays = [getattr(part, name).ravel() for part in parts]
        return np.concatenate([np.empty(0), *arrays]).astype(dtype)

    return Packed(
        gpus=gpus,
        estimate=estimate,
        worst=worst,
        vertex=_offsets([len(g.stage_of) for g in graphs]),
        stage=_offsets([len(g.activation_weight) for g in graphs]),
        edge=_offsets([len(g.weight) for g in graphs]),
        cell=_offsets([t.all_reduce.size for t in tables]),
        width=np.array([t.all_reduce.shape[1] for t in tables], dtype=np.int64),
        micro_batches=np.array([job.micro_batches or 0 for job in jobs], dtype=np.int64),
        stage_of=concatenated(graphs, "stage_of", np.int64),
        first=concatenated(graphs, "first_vertex", np.int64),
        start=concatenated(graphs, "indptr", np.int64),
        neighbour=concatenated(graphs, "indices", np.int64),
        weight=concatenated(graphs, "weight", np.float64),
        pair=concatenated(graphs, "activation_weight", np.float64),
        replica=concatenated(graphs, "gpus", np.int64),
        experts=concatenated(graphs, "experts", np.float64),
        near=concatenated(tables, "colocated_work", np.float64),
        before=concatenated(tables, "saving_previous", np.float64),
        after=concatenated(tables, "saving_next", np.float64),
        all_reduce=concatenated(tables, "all_reduce", np.float64),
        hidden=concatenated(tables, "hidden", np.float64),
    )


def _offsets(lengths: list[int]) -> Ints:
    return np.cumsum([0, *lengths], dtype=np.int64)
