"""Per-iteration time of a placement: a-srpt (4)-(7), read as in models/placement/README.md.

With x[s, m] replicas of stage s on server m, of k_s in all with q_s GPUs each, and g GPUs a server
has:

    u = x_{s-1}/k_{s-1},  w = x_{s+1}/k_{s+1}: shares of the neighbours on the same server
    comp       = p^f_s + c_b p^b_s
    tensor     = 2 (q_s - 1)/q_s c_s / B_intra
    comm       = (g/(q_s B_inter)) (2 d^in_s (1 - u) + 2 d^out_s (1 - w))
               + (1/B_intra) (2 d^in_s u + 2 d^out_s w)
    experts    = e_s (k_s - x_s)/k_s g/(q_s B_inter) + e_s (x_s - 1)/k_s / B_intra
    all-reduce = c_a 2 (k_s - 1)/k_s h_s / bandwidth
    bandwidth  = x_s q_s B_inter/g, or q_s B_intra where x_s = k_s

The first four are a stage's work on a server. An asynchronous job takes the largest sum of all
five, a job of M micro-batches what `pipeline_time` says.

comm is linear in the neighbours' counts, so the time of a stage on a server is

    base_s(x_s) - a_s x_{s-1} - b_s x_{s+1} = near_s(x_s) + a_s (k_{s-1} - x_{s-1}) + b_s (k_{s+1} -
    x_{s+1})

with the tables below. The first is linear, for models; times are worked out by the second, a sum:
where the NIC's share is far slower than a server's inside, the first cancels. Every method works
on these tables; the checker does not.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from optsched.placement.instance import Cluster, Job, PlacementInstance, Stage
from optsched.placement.options import STANDARD, PlacementOptions

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class StageCosts(NamedTuple):
    """The tables as kernels take them: near_s(v), a_s, b_s, k_s and q_s; see `stage_time`."""

    near: Any
    before: Any
    after: Any
    replicas: Any
    gpus: Any


class PipelineCosts(NamedTuple):
    """The tables of a job of micro-batches as kernels take them; see `CostTables.pipeline_time`.

    `work` is without the all-reduce; `hidden` are seconds of it that earlier stages' backward
    passes hide.
    """

    work: StageCosts
    all_reduce: Any
    hidden: Any
    micro_batches: int


@dataclass(frozen=True)
class CostTables:
    """The cost as arrays over stages (S,) or stages and counts (S, V + 1), in seconds.

    `fixed` and `inside` are computation, all-reduce among a replica's slices, and communication as
    if no neighbour, or every one, were on the server. `experts` are 0 at counts of 0 and above k_s;
    `all_reduce` is 0 at 0 and infinite above k_s. `before` and `after` are a_s and b_s, what each
    replica of that neighbour on the server saves; `replicas` and `gpus` are k_s and q_s.
    """

    replicas: Ints
    gpus: Ints
    fixed: Floats
    inside: Floats
    experts: Floats
    all_reduce: Floats
    before: Floats
    after: Floats
    backward: Floats
    micro_batches: int | None

    @cached_property
    def work(self) -> Floats:
        """base_s(v) without the all-reduce, shape (S, V + 1)."""
        return np.asarray(self.fixed[:, None] + self.experts)

    @cached_property
    def base(self) -> Floats:
        """base_s(v), shape (S, V + 1): time of a stage whose neighbours are all elsewhere."""
        return np.asarray(self.work + self.all_reduce)

    @property
    def near_work(self) -> Floats:
        """near_s(v) without the all-reduce, shape (S, V + 1)."""
        return np.asarray(self.inside[:, None] + self.experts)

    @cached_property
    def costs(self) -> StageCosts:
        """What kernels take, with all of a stage's time."""
        return self._costs(self.near_work + self.all_reduce)

    @property
    def parts(self) -> int:
        """M; an asynchronous job's mini-batch is one part."""
        return self.micro_batches or 1

    @cached_property
    def pipeline_costs(self) -> PipelineCosts:
        """What kernels take of a job of micro-batches."""
        work = self._costs(np.where(np.isfinite(self.all_reduce), self.near_work, np.inf))
        return PipelineCosts(work, self.all_reduce, self.hidden, self.parts)

    @property
    def asynchronous_costs(self) -> PipelineCosts:
        """The job without micro-batches as kernels take it: 0 of them, all-reducing at work."""
        none = np.zeros_like(self.all_reduce)
        return PipelineCosts(self.costs, none, np.zeros(len(self.replicas)), 0)

    def _costs(self, near: Floats) -> StageCosts:
        return StageCosts(near, self.before, self.after, self.replicas, self.gpus)

    @cached_property
    def hidden(self) -> Floats:
        """Seconds of each stage's all-reduce that earlier stages' backward passes hide, (S,)."""
        earlier = np.concatenate(([0.0], np.cumsum(self.backward)[:-1]))
        return np.asarray(earlier / self.parts)

    def pipeline_time(self, work: Floats, all_reduce: Floats) -> float:
        """alpha of a job of M micro-batches, of each stage's slowest work and all-reduce (S,).

        The makespan of M equal jobs through S machines in series that take t_s = work_s/M each,
        every stage's all-reduce starting after its own last backward pass; backward passes run
        from the last stage to the first, whose all-reduce nothing hides:

            max_s [ (M - 1) max t + sum t - sum_{s' < s} c_b p^b_s'/M + all-reduce_s ]
        """
        times = work / self.parts
        exposed = float((all_reduce - self.hidden).max())
        return float((self.parts - 1) * times.max() + times.sum()) + exposed

    def rounded_down(self, time: float) -> float:
        """A bound in seconds, lowered by the rounding of its own arithmetic.

        Where neighbours only save time all terms are positive and the rounding is relative; else
        `fixed` and `inside` may be larger than what is left of them.
        """
        terms, added = time, 1 if self.micro_batches is None else len(self.replicas)
        if not self.savings_are_positive:
            terms += added * float(self.work.max() + self.inside.max())
        return max(time - (7 + added) * sys.float_info.epsilon * terms, 0.0)

    def capped(self, limit: float) -> CostTables:
        """Tables that are exact for times up to a limit; longer times stay longer.

        A model of placements within the limit then has coefficients that a solver's tolerances can
        tell apart, however slow a NIC's share may be.
        """
        return self._adjusted(lambda seconds: np.minimum(seconds, 2.0 * limit))

    def floored(self, limit: float) -> CostTables:
        """Tables without seconds below a limit, which a solver would drop or stumble over.

        No time gets longer: what a neighbour saves so little counts as saved.
        """
        return self._adjusted(lambda seconds: np.where(seconds < limit, 0.0, seconds))

    def _adjusted(self, adjust: Callable[[Floats], Floats]) -> CostTables:
        if not self.savings_are_positive:
            return self
        before, after, inside = adjust(self.before), adjust(self.after), adjust(self.inside)
        behind, ahead = _neighbours(self.replicas)
        known = np.isfinite(self.all_reduce)
        return replace(
            self,
            fixed=inside + (before * behind + after * ahead),  # no neighbour on the server
            inside=inside,
            experts=adjust(self.experts),
            all_reduce=np.where(known, adjust(self.all_reduce), np.inf),
            before=before,
            after=after,
        )

    @cached_property
    def savings_are_positive(self) -> bool:
        """True when no neighbour on the server ever costs time (g/B_inter >= 1/B_intra)."""
        return bool((self.before >= 0).all() and (self.after >= 0).all())


def cost_tables(
    job: Job, cluster: Cluster, most: int, options: PlacementOptions | None = None
) -> CostTables:
    """Tabulate a job's cost on a cluster's servers for counts up to `most`; O(S V)."""
    options, stages = options or STANDARD, job.stages
    k = np.array([stage.replicas for stage in stages], dtype=np.int64)
    q = np.array([stage.tensor_parallel for stage in stages], dtype=np.int64)
    backward = np.array([options.backward_overlap * stage.backward_time for stage in stages])
    own = np.array([float(stage.forward_time) for stage in stages]) + backward
    own = own + np.array([tensor_time(stage, cluster) for stage in stages])
    received = 2.0 * np.array([stage.input_bytes for stage in stages], dtype=float)
    sent = 2.0 * np.array([stage.output_bytes for stage in stages], dtype=float)
    # Seconds a byte, over a replica's share of the NIC and inside a server.
    away = cluster.gpus_per_server / cluster.inter_bandwidth / q
    near = 1.0 / cluster.intra_bandwidth
    behind, ahead = _neighbours(k)

    # By count v on a server: the all-to-all between experts, and the all-reduce.
    v, k_s, q_s = np.arange(most + 1), k[:, None], q[:, None]
    each = (np.array([stage.expert_bytes for stage in stages], dtype=float) / k)[:, None]
    experts = each * away[:, None] * (k_s - v) + each * near * (v - 1)
    parameters = np.array([stage.parameter_bytes for stage in stages], dtype=float)
    volume = options.all_reduce_overlap * 2.0 * (k - 1) / k * parameters
    share = np.maximum(v, 1) * q_s * cluster.inter_bandwidth / cluster.gpus_per_server
    bandwidth = np.where(v == k_s, q_s * cluster.intra_bandwidth, share)
    held = (v > 0) & (v <= k_s)
    all_reduce = np.where(v > k_s, np.inf, np.where(held, volume[:, None] / bandwidth, 0.0))
    return CostTables(
        replicas=k,
        gpus=q,
        fixed=own + (received + sent) * away,
        inside=own + (received + sent) * near,
        experts=np.where(held, experts, 0.0),
        all_reduce=all_reduce,
        before=received * (away - near) / behind,
        after=sent * (away - near) / ahead,
        backward=backward,
        micro_batches=job.micro_batches,
    )


def tensor_time(stage: Stage, cluster: Cluster) -> float:
    """Seconds in which the slices of a replica all-reduce among themselves, in a ring."""
    q = stage.tensor_parallel
    return float(2.0 * (q - 1) / q * stage.tensor_bytes / cluster.intra_bandwidth)


def tables_of(instance: PlacementInstance, options: PlacementOptions | None = None) -> CostTables:
    """Tabulate an instance's cost, up to the largest offer of one server."""
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
        Whose bandwidth bounds the all-reduce.

    Returns
    -------
    array of float, shape (stages, servers)
        Seconds.
    """
    width = all_reduce_counts(counts, options.all_reduce_bandwidth == "bottleneck")
    stage = np.arange(len(counts))[:, None]
    near = tables.near_work[stage, counts] + tables.all_reduce[stage, width]
    return _beside_neighbours(tables, counts, near)


def work_matrix(tables: CostTables, counts: Ints) -> Floats:
    """beta[s, m] without the all-reduce, which a job of micro-batches does once an iteration."""
    stage = np.arange(len(counts))[:, None]
    return _beside_neighbours(tables, counts, tables.near_work[stage, counts])


def placement_time(tables: CostTables, counts: Ints, options: PlacementOptions) -> float:
    """alpha in seconds: the slowest stage on the slowest server (7), or the pipeline's time.

    A stage's slowest all-reduce is that of its least count, under either reading of its bandwidth.
    """
    if tables.micro_batches is None:
        return float(time_matrix(tables, counts, options).max())
    reduces = tables.all_reduce[np.arange(len(counts))[:, None], counts]
    return tables.pipeline_time(work_matrix(tables, counts).max(axis=1), reduces.max(axis=1))


def iteration_time(
    instance: PlacementInstance, counts: Ints, options: PlacementOptions | None = None
) -> float:
    """alpha of an instance's placement, in seconds."""
    options = options or STANDARD
    return placement_time(tables_of(instance, options), counts, options)


def worst_iteration_time(
    job: Job, cluster: Cluster, options: PlacementOptions | None = None
) -> float:
    """alpha^max, in seconds: every replica alone on a server of its own."""
    tables = cost_tables(job, cluster, 1, options)
    if tables.micro_batches is None:
        return float(tables.base.max())
    return tables.pipeline_time(tables.work[:, 1], tables.all_reduce[:, 1])


def _beside_neighbours(tables: CostTables, counts: Ints, near: Floats) -> Floats:
    """Seconds with what the neighbours elsewhere cost; 0 where a stage has no replica."""
    none, (behind, ahead) = np.zeros_like(counts[:1]), _neighbours(tables.replicas)
    previous, following = np.concatenate((none, counts[:-1])), np.concatenate((counts[1:], none))
    time = near + tables.before[:, None] * (behind[:, None] - previous)
    time = time + tables.after[:, None] * (ahead[:, None] - following)
    return np.where(counts > 0, time, 0.0)


def _neighbours(k: Ints) -> tuple[Ints, Ints]:
    """Values of the stage before each and of the one after, cyclic; faster than `np.roll`."""
    return np.concatenate((k[-1:], k[:-1])), np.concatenate((k[1:], k[:1]))


def all_reduce_counts(counts: Ints, bottleneck: bool) -> Ints:
    """Counts whose NIC shares bound the all-reduce: a server's own, or the stage's least."""
    if not bottleneck:
        return counts
    least = np.where(counts > 0, counts, np.iinfo(np.int64).max).min(axis=1, keepdims=True)
    return np.minimum(least, counts)
