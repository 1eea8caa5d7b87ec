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
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from optsched.placement.instance import Cluster, Job, PlacementInstance, Stage
from optsched.placement.options import STANDARD, PlacementOptions

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_COLUMNS = attrgetter(
    *("forward_time", "backward_time", "input_bytes", "output_bytes"),
    *("tensor_bytes", "expert_bytes", "parameter_bytes"),
)
"""Of a stage, in the order of the columns of `_cost_kernel`."""


class StageCosts(NamedTuple):
    """What compiled loops take of the tables; see `stage_time`.

    Attributes
    ----------
    near : (S, V + 1) float
        Seconds of v replicas with all of both neighbours on their server.
    before, after : (S,) float
        a_s and b_s, seconds that each replica of the previous and next stage elsewhere costs.
    replicas, gpus : (S,) int
        k_s, and the GPUs of a replica, q_s.
    """

    near: Any
    before: Any
    after: Any
    replicas: Any
    gpus: Any


class PipelineCosts(NamedTuple):
    """What compiled loops take of a job of micro-batches; see `CostTables.pipeline_time`.

    Attributes
    ----------
    work : StageCosts
        Of the stages without their all-reduce.
    all_reduce : (S, V + 1) float
        As in the tables.
    hidden : (S,) float
        Seconds of the all-reduce that earlier stages' backward passes hide.
    micro_batches : int
        M.
    """

    work: StageCosts
    all_reduce: Any
    hidden: Any
    micro_batches: int


@dataclass(frozen=True)
class CostTables:
    """The cost as arrays over stages; v runs over counts of one stage on one server.

    Attributes
    ----------
    replicas, gpus : (S,) int
        k_s, and the GPUs of a replica, q_s.
    fixed, inside : (S,)
        Computation, all-reduce among a replica's slices, and communication as if no neighbour, or
        every one, were on the server, in seconds.
    experts : (S, V + 1)
        All-to-all time with v replicas on the server; entries 0 and above k_s are 0.
    all_reduce : (S, V + 1)
        All-reduce time with v replicas on the server; entry 0 is 0, entries above k_s are inf.
    before, after : (S,)
        a_s and b_s: seconds saved by each replica of that stage on the server; 0 without one.
    backward : (S,)
        Backward time, in seconds.
    micro_batches : int or None
        M; None for an asynchronous job.
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
        """What the compiled loops work on, with all of a stage's time."""
        return self._costs(self.near_work + self.all_reduce)

    @property
    def parts(self) -> int:
        """M; an asynchronous job's mini-batch is one part."""
        return self.micro_batches or 1

    @cached_property
    def pipeline_costs(self) -> PipelineCosts:
        """What compiled loops work on for a job of micro-batches."""
        work = self._costs(np.where(np.isfinite(self.all_reduce), self.near_work, np.inf))
        return PipelineCosts(work, self.all_reduce, self.hidden, self.parts)

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
        """A bound of so many seconds less what rounding may have put on.

        With savings all terms are positive, so that it is relative; else `fixed` and `inside` may
        be larger than what is left of them.
        """
        terms, added = time, 1 if self.micro_batches is None else len(self.replicas)
        if not self.savings_are_positive:
            terms += added * float(self.work.max() + self.inside.max())
        return max(time - (7 + added) * sys.float_info.epsilon * terms, 0.0)

    def capped(self, limit: float) -> CostTables:
        """Tables that are right for times up to a limit; a longer one stays longer.

        For models of placements within the limit: their coefficients then lie where a solver's
        tolerances mean something, however slow a NIC's share may be.
        """
        if not self.savings_are_positive:
            return self
        most = 2.0 * limit
        before, after = np.minimum(self.before, most), np.minimum(self.after, most)
        inside = np.minimum(self.inside, most)
        behind, ahead = _neighbours(self.replicas)
        known = np.isfinite(self.all_reduce)
        return replace(
            self,
            fixed=inside + (before * behind + after * ahead),  # where no neighbour is there
            inside=inside,
            experts=np.minimum(self.experts, most),
            all_reduce=np.where(known, np.minimum(self.all_reduce, most), np.inf),
            before=before,
            after=after,
        )

    def floored(self, limit: float) -> CostTables:
        """Tables without seconds below a limit, which a solver would drop or stumble over.

        No time is longer than it was: what a neighbour saves so little counts as saved.
        """
        if not self.savings_are_positive:
            return self

        def told(seconds: Floats) -> Floats:
            return np.where(seconds < limit, 0.0, seconds)

        before, after, inside = told(self.before), told(self.after), told(self.inside)
        behind, ahead = _neighbours(self.replicas)
        return replace(
            self,
            fixed=inside + (before * behind + after * ahead),  # where no neighbour is there
            inside=inside,
            experts=told(self.experts),
            all_reduce=told(self.all_reduce),
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
    from optsched.placement._cost_kernel import BACKWARD, count_terms, stage_terms

    options = options or STANDARD
    k = np.array([stage.replicas for stage in job.stages], dtype=np.int64)
    q = np.array([stage.tensor_parallel for stage in job.stages], dtype=np.int64)
    stages = np.array(list(map(_COLUMNS, job.stages)), dtype=float)
    stages[:, BACKWARD] *= options.backward_overlap
    bandwidths = float(cluster.inter_bandwidth), float(cluster.intra_bandwidth)
    terms = stages, k, q, (float(cluster.gpus_per_server), *bandwidths)
    fixed, inside, before, after = stage_terms(*terms)
    experts, all_reduce = count_terms(*terms, most, float(options.all_reduce_overlap))
    return CostTables(
        replicas=k,
        gpus=q,
        fixed=fixed,
        inside=inside,
        experts=experts,
        all_reduce=all_reduce,
        before=before,
        after=after,
        backward=stages[:, BACKWARD].copy(),
        micro_batches=job.micro_batches,
    )


def tensor_time(stage: Stage, cluster: Cluster) -> float:
    """Seconds that the slices of a replica all-reduce among themselves, in a ring."""
    from optsched.placement._cost_kernel import slices_time

    sent, bandwidth = float(stage.tensor_bytes), float(cluster.intra_bandwidth)
    return float(slices_time(stage.tensor_parallel, sent, bandwidth))


def tables_of(instance: PlacementInstance, options: PlacementOptions | None = None) -> CostTables:
    """Tabulate an instance's cost, up to the largest offer of one server."""
    return cost_tables(instance.job, instance.cluster, max(instance.free_gpus), options)


def time_matrix(tables: CostTables, counts: Ints, options: PlacementOptions) -> Floats:
    """Seconds an iteration takes each stage on each server: beta[s, m] of (7).

    Parameters
    ----------
    tables, counts, options : CostTables, (S, M) int, PlacementOptions
        Seconds by stage and count, replicas by stage and server, and how (6) is read.

    Returns
    -------
    (S, M) float
        0 where a stage has no replica.
    """
    width = _bottleneck(counts) if options.all_reduce_bandwidth == "bottleneck" else counts
    stage = np.arange(len(counts))[:, None]
    near = tables.near_work[stage, counts] + tables.all_reduce[stage, width]
    return _beside_neighbours(tables, counts, near)


def work_matrix(tables: CostTables, counts: Ints) -> Floats:
    """The same without the all-reduce, which a job of micro-batches does once an iteration."""
    stage = np.arange(len(counts))[:, None]
    return _beside_neighbours(tables, counts, tables.near_work[stage, counts])


def placement_time(tables: CostTables, counts: Ints, options: PlacementOptions) -> float:
    """alpha, in seconds: of (7) the slowest stage on the slowest server, or the pipeline's time.

    A stage's slowest all-reduce is that of its least count under either reading of its bandwidth.
    """
    from optsched.placement._stage_time_kernel import slowest_time

    if tables.micro_batches is None:
        if options.all_reduce_bandwidth == "own":
            return float(slowest_time(tables.costs, np.ascontiguousarray(counts)))
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
    """Of the stage before each and of the one after, in a ring; `roll` takes ten times as long."""
    return np.concatenate((k[-1:], k[:-1])), np.concatenate((k[1:], k[:1]))


def _bottleneck(counts: Ints) -> Ints:
    least = np.where(counts > 0, counts, np.iinfo(np.int64).max).min(axis=1, keepdims=True)
    return np.minimum(least, counts)
