"""Per-iteration time of a placement: a-srpt (4)-(7), as interpreted in models/placement/README.md.

With x[s, m] replicas of stage s on server m, of k_s in all with q_s GPUs each, and g GPUs a server
has:

    u = x_{s-1}/k_{s-1},  w = x_{s+1}/k_{s+1}: shares of the previous and of the next stage's
                                               replicas on the same server
    comp       = p^f_s + c_b p^b_s
    tensor     = 2 (q_s - 1)/q_s c_s / B_intra
    comm       = (g/(q_s B_inter)) (2 d^in_s (1 - u) + 2 d^out_s (1 - w))
               + (1/B_intra) (2 d^in_s u + 2 d^out_s w)
    experts    = e_s (k_s - x_s)/k_s g/(q_s B_inter) + e_s (x_s - 1)/k_s / B_intra
    all-reduce = c_a 2 (k_s - 1)/k_s h_s / bandwidth
    bandwidth  = x_s q_s B_inter/g, or q_s B_intra where x_s = k_s

The first four are a stage's work on a server. An asynchronous job takes the largest sum of all
five, a synchronous job of mu micro-batches the time given by `pipeline_time`.

comm is linear in the neighbours' counts, so the time of a stage on a server is

    base_s(x_s) - a_s x_{s-1} - b_s x_{s+1} = near_s(x_s) + a_s (k_{s-1} - x_{s-1}) + b_s (k_{s+1} -
    x_{s+1})

with the tables below. Models use the first form, which is linear. Times are computed with the
second, a sum of non-negative terms: the first loses digits by cancellation when a NIC's share is
much slower than the links inside a server. Every method uses these tables; the checker does not.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from optsched.arrays import Floats as Floats
from optsched.arrays import Ints as Ints
from optsched.placement.instance import Cluster, Job, PlacementInstance, Stage
from optsched.placement.options import STANDARD, PlacementOptions


class StageCosts(NamedTuple):
    """Cost tables for the kernels: near_s(v), a_s, b_s, k_s and q_s; see `stage_time`."""

    colocated_time: Any
    saving_previous: Any
    saving_next: Any
    replicas: Any
    gpus: Any


class PipelineCosts(NamedTuple):
    """Cost tables of a synchronous job for the kernels; see `CostTables.pipeline_time`.

    `work` excludes the all-reduce; `hidden` is the part of it overlapped by earlier stages'
    backward passes, in seconds.
    """

    work: StageCosts
    all_reduce: Any
    hidden: Any
    micro_batches: int


@dataclass(frozen=True)
class CostTables:
    """The cost as arrays over stages (S,) or stages and counts (S, V + 1), in seconds.

    `remote_time` and `colocated_time` are computation, all-reduce between a replica's tensor
    slices, and communication if no (every) neighbouring replica is on the server. `experts` are 0
    at counts of 0 and above k_s; `all_reduce` is 0 at 0 and infinite above k_s. `saving_previous`
    and `saving_next` are a_s and b_s, seconds saved by each replica of that neighbour on the
    server; `replicas` and `gpus` are k_s and q_s.
    """

    replicas: Ints
    gpus: Ints
    remote_time: Floats
    colocated_time: Floats
    experts: Floats
    all_reduce: Floats
    saving_previous: Floats
    saving_next: Floats
    backward: Floats
    micro_batches: int | None

    @cached_property
    def work(self) -> Floats:
        """base_s(v) without the all-reduce, shape (S, V + 1)."""
        return np.asarray(self.remote_time[:, None] + self.experts)

    @cached_property
    def base(self) -> Floats:
        """base_s(v), shape (S, V + 1): time of a stage whose neighbours are all elsewhere."""
        return np.asarray(self.work + self.all_reduce)

    @property
    def colocated_work(self) -> Floats:
        """near_s(v) without the all-reduce, shape (S, V + 1)."""
        return np.asarray(self.colocated_time[:, None] + self.experts)

    @cached_property
    def costs(self) -> StageCosts:
        """Kernel tables with the all-reduce included."""
        return self._costs(self.colocated_work + self.all_reduce)

    @property
    def num_micro_batches(self) -> int:
        """mu; 1 for an asynchronous job."""
        return self.micro_batches or 1

    @cached_property
    def pipeline_costs(self) -> PipelineCosts:
        """Kernel tables of a synchronous job."""
        work = self._costs(np.where(np.isfinite(self.all_reduce), self.colocated_work, np.inf))
        return PipelineCosts(work, self.all_reduce, self.hidden, self.num_micro_batches)

    @property
    def asynchronous_costs(self) -> PipelineCosts:
        """The same without micro-batches: 0 of them, and the all-reduce counted as work."""
        no_all_reduce = np.zeros_like(self.all_reduce)
        return PipelineCosts(self.costs, no_all_reduce, np.zeros(len(self.replicas)), 0)

    def _costs(self, colocated_time: Floats) -> StageCosts:
        savings = self.saving_previous, self.saving_next
        return StageCosts(colocated_time, *savings, self.replicas, self.gpus)

    @cached_property
    def hidden(self) -> Floats:
        """Seconds of each all-reduce overlapped by earlier stages' backward passes, shape (S,)."""
        earlier = np.concatenate(([0.0], np.cumsum(self.backward)[:-1]))
        return np.asarray(earlier / self.num_micro_batches)

    def pipeline_time(self, work: Floats, all_reduce: Floats) -> float:
        """alpha of a synchronous job from each stage's slowest work and all-reduce, shape (S,).

        The makespan of mu equal jobs on S machines in series that take t_s = work_s/mu each.
        A stage's all-reduce starts after its own last backward pass; backward passes run from the
        last stage to the first:

            max_s [ (mu - 1) max t + sum t - sum_{s' < s} c_b p^b_s'/mu + all-reduce_s ]
        """
        times = work / self.num_micro_batches
        exposed = float((all_reduce - self.hidden).max())
        return float((self.num_micro_batches - 1) * times.max() + times.sum()) + exposed

    def lowered_by_rounding(self, time: float) -> float:
        """A bound in seconds, lowered by the rounding error of its computation.

        A stage's time is a sum of 7 terms. If neighbours never cost time all of them are
        non-negative and the error is relative to `time`; otherwise `remote_time` and
        `colocated_time` can be larger than their difference.
        """
        magnitude, stages_added = time, 1 if self.micro_batches is None else len(self.replicas)
        if not self.savings_are_positive:
            magnitude += stages_added * float(self.work.max() + self.colocated_time.max())
        return max(time - (7 + stages_added) * sys.float_info.epsilon * magnitude, 0.0)

    def capped(self, limit: float) -> CostTables:
        """Tables with times above twice the limit reduced to that; they still exceed the limit.

        A model of placements within the limit then has coefficients in a range that a solver's
        tolerances can resolve, even if a NIC's share is very slow.
        """
        return self._adjusted(lambda seconds: np.minimum(seconds, 2.0 * limit))

    def floored(self, limit: float) -> CostTables:
        """Tables with entries below a limit set to 0: a relaxation, since no time increases."""
        return self._adjusted(lambda seconds: np.where(seconds < limit, 0.0, seconds))

    def _adjusted(self, adjust: Callable[[Floats], Floats]) -> CostTables:
        if not self.savings_are_positive:
            return self
        previous, following = adjust(self.saving_previous), adjust(self.saving_next)
        colocated = adjust(self.colocated_time)
        k_previous, k_next = _neighbours(self.replicas)
        return replace(
            self,
            remote_time=colocated + (previous * k_previous + following * k_next),
            colocated_time=colocated,
            experts=adjust(self.experts),
            all_reduce=np.where(np.isfinite(self.all_reduce), adjust(self.all_reduce), np.inf),
            saving_previous=previous,
            saving_next=following,
        )

    @cached_property
    def savings_are_positive(self) -> bool:
        """Whether no neighbour on the server ever costs time (g/B_inter >= 1/B_intra)."""
        return bool((self.saving_previous >= 0).all() and (self.saving_next >= 0).all())


def cost_tables(
    job: Job, cluster: Cluster, max_count: int, options: PlacementOptions = STANDARD
) -> CostTables:
    """Tabulate a job's cost on a cluster's servers for counts up to `max_count`; O(S V)."""
    stages = job.stages
    k = np.array([stage.replicas for stage in stages], dtype=np.int64)
    q = np.array([stage.tensor_parallel for stage in stages], dtype=np.int64)
    backward = np.array([options.backward_overlap * stage.backward_time for stage in stages])
    compute = np.array([float(stage.forward_time) for stage in stages]) + backward
    compute = compute + np.array([tensor_time(stage, cluster) for stage in stages])
    received = 2.0 * np.array([stage.input_bytes for stage in stages], dtype=float)
    sent = 2.0 * np.array([stage.output_bytes for stage in stages], dtype=float)
    # Seconds per byte, over a replica's share of the NIC and inside a server.
    inter = cluster.gpus_per_server / cluster.inter_bandwidth / q
    intra = 1.0 / cluster.intra_bandwidth
    k_previous, k_next = _neighbours(k)

    # By count v on a server: the all-to-all between experts, and the all-reduce.
    v, k_s, q_s = np.arange(max_count + 1), k[:, None], q[:, None]
    per_peer = (np.array([stage.expert_bytes for stage in stages], dtype=float) / k)[:, None]
    experts = per_peer * inter[:, None] * (k_s - v) + per_peer * intra * (v - 1)
    parameters = np.array([stage.parameter_bytes for stage in stages], dtype=float)
    volume = options.all_reduce_overlap * 2.0 * (k - 1) / k * parameters
    share = np.maximum(v, 1) * q_s * cluster.inter_bandwidth / cluster.gpus_per_server
    bandwidth = np.where(v == k_s, q_s * cluster.intra_bandwidth, share)
    valid = (v > 0) & (v <= k_s)
    all_reduce = np.where(v > k_s, np.inf, np.where(valid, volume[:, None] / bandwidth, 0.0))
    return CostTables(
        replicas=k,
        gpus=q,
        remote_time=compute + (received + sent) * inter,
        colocated_time=compute + (received + sent) * intra,
        experts=np.where(valid, experts, 0.0),
        all_reduce=all_reduce,
        saving_previous=received * (inter - intra) / k_previous,
        saving_next=sent * (inter - intra) / k_next,
        backward=backward,
        micro_batches=job.micro_batches,
    )


def tensor_time(stage: Stage, cluster: Cluster) -> float:
    """Seconds of the ring all-reduce between the tensor slices of a replica."""
    q = stage.tensor_parallel
    return float(2.0 * (q - 1) / q * stage.tensor_bytes / cluster.intra_bandwidth)


def tables_of(instance: PlacementInstance, options: PlacementOptions = STANDARD) -> CostTables:
    """Tabulate an instance's cost, for counts up to the most free GPUs of a server."""
    return cost_tables(instance.job, instance.cluster, max(instance.free_gpus), options)


def time_matrix(tables: CostTables, counts: Ints, options: PlacementOptions) -> Floats:
    """beta[s, m] of (7), in seconds; 0 where a stage has no replica.

    Parameters
    ----------
    tables : CostTables
        The job's costs, of `tables_of`.
    counts : array of int, shape (stages, servers)
        Replicas of each stage on each server.
    options : PlacementOptions
        Options; `all_reduce_bandwidth` selects the bandwidth of the all-reduce.

    Returns
    -------
    array of float, shape (stages, servers)
        Seconds.
    """
    shares = all_reduce_counts(counts, options.all_reduce_bandwidth == "bottleneck")
    stage = np.arange(len(counts))[:, None]
    return work_matrix(tables, counts) + tables.all_reduce[stage, shares]


def work_matrix(tables: CostTables, counts: Ints) -> Floats:
    """beta[s, m] without the all-reduce, which a synchronous job does once an iteration."""
    none, (k_previous, k_next) = np.zeros_like(counts[:1]), _neighbours(tables.replicas)
    previous, following = np.concatenate((none, counts[:-1])), np.concatenate((counts[1:], none))
    time = tables.colocated_work[np.arange(len(counts))[:, None], counts]
    time = time + tables.saving_previous[:, None] * (k_previous[:, None] - previous)
    time = time + tables.saving_next[:, None] * (k_next[:, None] - following)
    return np.where(counts > 0, time, 0.0)


def placement_time(tables: CostTables, counts: Ints, options: PlacementOptions) -> float:
    """alpha in seconds: the slowest stage on the slowest server (7), or the pipeline's time.

    With either bandwidth option, a stage's slowest all-reduce is on the server with its smallest
    count.
    """
    if tables.micro_batches is None:
        return float(time_matrix(tables, counts, options).max())
    all_reduce = tables.all_reduce[np.arange(len(counts))[:, None], counts]
    return tables.pipeline_time(work_matrix(tables, counts).max(axis=1), all_reduce.max(axis=1))


def iteration_time(
    instance: PlacementInstance, counts: Ints, options: PlacementOptions = STANDARD
) -> float:
    """alpha of an instance's placement, in seconds."""
    return placement_time(tables_of(instance, options), counts, options)


def worst_iteration_time(job: Job, cluster: Cluster, options: PlacementOptions = STANDARD) -> float:
    """alpha^max, in seconds: every replica alone on a server of its own."""
    tables = cost_tables(job, cluster, 1, options)
    if tables.micro_batches is None:
        return float(tables.base.max())
    return tables.pipeline_time(tables.work[:, 1], tables.all_reduce[:, 1])


def _neighbours(k: Ints) -> tuple[Ints, Ints]:
    """Replicas of the previous and of the next stage, cyclic; faster than `np.roll`."""
    return np.concatenate((k[-1:], k[:-1])), np.concatenate((k[1:], k[:1]))


def all_reduce_counts(counts: Ints, bottleneck: bool) -> Ints:
    """Counts that limit the all-reduce's bandwidth: the server's own, or the stage's minimum."""
    if not bottleneck:
        return counts
    smallest = np.where(counts > 0, counts, np.iinfo(np.int64).max).min(axis=1, keepdims=True)
    return np.minimum(smallest, counts)
