"""Per-iteration time of a placement: a-srpt (4)-(7), with the readings of
models/placement/README.md.

With x[s, m] replicas of stage s on server m, of k_s in all, and g GPUs a server has:

    u = x_{s-1}/k_{s-1},  w = x_{s+1}/k_{s+1}: shares of the neighbours on the same server
    comp       = p^f_s + c_b p^b_s
    comm       = (g/B_inter) (2 d^in_s (1 - u) + 2 d^out_s (1 - w))
               + (1/B_intra) (2 d^in_s u + 2 d^out_s w)
    all-reduce = c_a 2 (k_s - 1)/k_s h_s / bandwidth
    bandwidth  = x_s B_inter/g, or B_intra where x_s = k_s

comm is linear in the neighbours' counts, so the time of a stage on a server is

    base_s(x_s) - a_s x_{s-1} - b_s x_{s+1} = near_s(x_s) + a_s (k_{s-1} - x_{s-1}) + b_s (k_{s+1} -
    x_{s+1})

with the tables below. The first is linear, for models; times are worked out by the second, a sum:
where the NIC's share is far slower than a server's inside, the first cancels. Every method works
on these tables; the checker does not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from optsched.placement.instance import Cluster, Job, PlacementInstance
from optsched.placement.options import PlacementOptions

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class CostTables:
    """The cost as arrays over stages; v runs over counts of one stage on one server.

    Attributes
    ----------
    replicas : (S,) int
        k_s.
    fixed, inside : (S,)
        Computation, and communication as if no neighbour, or every one, were on the server, in
        seconds.
    all_reduce : (S, V + 1)
        All-reduce time with v replicas on the server; entry 0 is 0, entries above k_s are inf.
    before, after : (S,)
        a_s and b_s: seconds saved by each replica of the previous and next stage on the server; 0
        where there is no such stage.
    """

    replicas: Ints
    fixed: Floats
    inside: Floats
    all_reduce: Floats
    before: Floats
    after: Floats

    @cached_property
    def base(self) -> Floats:
        """base_s(v), shape (S, V + 1): time of a stage whose neighbours are all elsewhere."""
        return np.asarray(self.fixed[:, None] + self.all_reduce)

    @cached_property
    def costs(self) -> tuple[Floats, Floats, Floats, Ints]:
        """near_s(v), a_s, b_s and k_s: what the compiled loops work on (`stage_time`)."""
        near = np.asarray(self.inside[:, None] + self.all_reduce)
        return near, self.before, self.after, self.replicas

    def rounded_down(self, time: float) -> float:
        """A bound of so many seconds less what rounding may have put on.

        With savings all terms are positive, so that it is relative; else `fixed` and `inside` may
        be larger than what is left of them.
        """
        terms = time
        if not self.savings_are_positive:
            terms += float(self.fixed.max() + self.inside.max())
        return max(time - 8 * float(np.finfo(float).eps) * terms, 0.0)

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
        known = np.isfinite(self.all_reduce)
        return replace(
            self,
            fixed=inside + _if_absent(self.replicas, before, after),
            inside=inside,
            all_reduce=np.where(known, np.minimum(self.all_reduce, most), np.inf),
            before=before,
            after=after,
        )

    @property
    def savings_are_positive(self) -> bool:
        """True when no neighbour on the server ever costs time (g/B_inter >= 1/B_intra)."""
        return bool((self.before >= 0).all() and (self.after >= 0).all())


def cost_tables(
    job: Job, cluster: Cluster, most: int, options: PlacementOptions | None = None
) -> CostTables:
    """Tabulate a job's cost on a cluster's servers for counts up to `most`.

    Complexity: O(S V) time and memory.
    """
    options = options or PlacementOptions()
    stages = job.stages
    k = np.array([s.replicas for s in stages], dtype=np.int64)
    forward = np.array([s.forward_time for s in stages], dtype=float)
    backward = np.array([s.backward_time for s in stages], dtype=float)
    sent_in = 2.0 * np.array([s.input_bytes for s in stages], dtype=float)
    sent_out = 2.0 * np.array([s.output_bytes for s in stages], dtype=float)
    across = cluster.gpus_per_server / cluster.inter_bandwidth
    inside = 1.0 / cluster.intra_bandwidth
    compute = forward + options.backward_overlap * backward
    ends = sent_in[0], sent_out[-1]  # what goes to no stage is never inside
    sent_in[0] = sent_out[-1] = 0.0
    beyond = np.zeros(len(k))
    beyond[0] += ends[0] * across
    beyond[-1] += ends[1] * across
    return CostTables(
        replicas=k,
        fixed=compute + beyond + (sent_in + sent_out) * across,
        inside=compute + beyond + (sent_in + sent_out) * inside,
        all_reduce=_all_reduce(job, k, cluster, most, options.all_reduce_overlap),
        before=sent_in * (across - inside) / np.roll(k, 1),
        after=sent_out * (across - inside) / np.roll(k, -1),
    )


def tables_of(instance: PlacementInstance, options: PlacementOptions | None = None) -> CostTables:
    """Tabulate an instance's cost, up to the largest offer of one server."""
    return cost_tables(instance.job, instance.cluster, max(instance.free_gpus), options)


def time_matrix(tables: CostTables, counts: Ints, options: PlacementOptions) -> Floats:
    """Seconds an iteration takes each stage on each server: beta[s, m] of (7).

    Parameters
    ----------
    counts : (S, M) int
        Replicas by stage and server.

    Returns
    -------
    (S, M) float
        0 where a stage has no replica.
    """
    previous = np.vstack((np.zeros_like(counts[:1]), counts[:-1]))
    following = np.vstack((counts[1:], np.zeros_like(counts[:1])))
    width = _bottleneck(counts) if options.all_reduce_bandwidth == "bottleneck" else counts
    stage = np.arange(len(counts))[:, None]
    near, before, after, replicas = tables.costs
    time = near[stage, width]
    time = time + before[:, None] * (np.roll(replicas, 1)[:, None] - previous)
    time = time + after[:, None] * (np.roll(replicas, -1)[:, None] - following)
    return np.where(counts > 0, time, 0.0)


def iteration_time(
    instance: PlacementInstance, counts: Ints, options: PlacementOptions | None = None
) -> float:
    """alpha of (7): the slowest stage on the slowest server, in seconds."""
    options = options or PlacementOptions()
    return float(time_matrix(tables_of(instance, options), counts, options).max())


def worst_iteration_time(
    job: Job, cluster: Cluster, options: PlacementOptions | None = None
) -> float:
    """alpha^max: every replica alone on a server of its own."""
    return float(cost_tables(job, cluster, 1, options).base.max())


def _all_reduce(job: Job, k: Ints, cluster: Cluster, most: int, overlap: float) -> Floats:
    parameters = np.array([s.parameter_bytes for s in job.stages], dtype=float)
    volume = overlap * 2.0 * (k - 1) / k * parameters
    v = np.arange(most + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = v * cluster.inter_bandwidth / cluster.gpus_per_server
        time = volume[:, None] / share
    whole = v == k[:, None]
    time = np.where(whole, volume[:, None] / cluster.intra_bandwidth, time)
    time = np.where(v > k[:, None], np.inf, time)
    time[:, 0] = 0.0
    return time


def _if_absent(replicas: Ints, before: Floats, after: Floats) -> Floats:
    """What a stage loses when no replica of its neighbours is on its server."""
    return np.asarray(before * np.roll(replicas, 1) + after * np.roll(replicas, -1))


def _bottleneck(counts: Ints) -> Ints:
    least = np.where(counts > 0, counts, np.iinfo(np.int64).max).min(axis=1, keepdims=True)
    return np.minimum(least, counts)
