"""The checker of bounds: whether prices show that every placement takes longer than theta.

Trusts no solver: the times of stages come from a-srpt (4)-(7) again, and the best pattern of each
size of server is searched for anew, in integers. Shares no code with the methods.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optsched.checking import Violation
from optsched.placement.bounds.certificate import MOST_PRICE, PatternCertificate
from optsched.placement.instance import PlacementInstance
from optsched.placement.options import PlacementOptions

ROUNDING = 1e-12
"""A stage this much (relative) above the threshold counts as within it: rounding proves nothing."""

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

NOTHING = -(2**60)
"""Stands for the worth of what is not there."""


def check_certificate(
    instance: PlacementInstance,
    certificate: PatternCertificate,
    options: Mapping[str, Any] | None = None,
) -> list[Violation]:
    """Violations of the rule "certificate": none when it proves that alpha exceeds the threshold.

    A server of g free GPUs holds counts whose replicas take g GPUs, where all GPUs offered are
    needed, or at most g. With prices pi, and z_g the worth of the best counts that keep every stage
    within theta, sum k_s pi_s > sum N_g z_g shows that servers cannot hold all replicas within
    theta.

    Under the "bottleneck" reading the least count of a stage over servers is at most its server's
    own, and at most what is left for another server. A job of micro-batches takes no less than the
    asynchronous one: every stage works on all of them and all-reduces, and the first of them passes
    the stages whose backward passes hide its all-reduce. Complexity: O(S g^3).
    """
    fault = _malformed(instance, certificate)
    if fault:
        return [Violation("certificate", "bounds", fault, 1)]
    chosen = PlacementOptions.from_dict(dict(options or {}))
    offers = Counter(instance.free_gpus)
    wanted = sum(
        stage.replicas * price
        for stage, price in zip(instance.job.stages, certificate.prices, strict=True)
    )
    held = _most_worth(instance, certificate, chosen, max(offers))
    if any(held[g] < 0 for g in offers):
        return []  # a server of that size cannot be filled within the threshold at all
    offered = sum(servers * held[size] for size, servers in offers.items())
    if wanted > offered:
        return []
    return [Violation("certificate", "sum k pi > sum N z", "prices", offered - wanted)]


def _malformed(instance: PlacementInstance, certificate: PatternCertificate) -> str:
    stages = instance.job.stages
    if len(certificate.prices) != len(stages):
        return f"{len(certificate.prices)} prices for {len(stages)} stages"
    if not all(isinstance(y, int) and 0 <= y <= MOST_PRICE for y in certificate.prices):
        return "prices that are no integers in range"
    if not certificate.threshold >= 0:
        return "the threshold"
    return ""


def _most_worth(
    instance: PlacementInstance,
    certificate: PatternCertificate,
    options: PlacementOptions,
    size: int,
) -> list[int]:
    """z_g for every g up to the largest offer; below 0 where nothing of g GPUs is in time."""
    stages, prices = instance.job.stages, certificate.prices
    takes = [stage.tensor_parallel for stage in stages]
    counts = [min(stage.replicas, size // each) for stage, each in zip(stages, takes, strict=True)]
    first = np.full((counts[0] + 1, size + 1), NOTHING, dtype=np.int64)
    for v, worth in enumerate(first):
        worth[v * takes[0]] = v * prices[0]
    best = [first]  # by u, v and GPUs used: worth of counts up to a stage, the earlier in time
    following = [*zip(counts, prices, takes, strict=True), (0, 0, 0)][1:]
    for s, (most, price, each) in enumerate(following):
        after = []
        for v, before in enumerate(zip(*best, strict=True)):
            worths = np.stack(before)
            in_time = _in_time(instance, s, v, (len(best), most + 1), certificate, options)
            columns = enumerate(in_time.T)
            after.append(np.stack([_with(worths[us], w * each, w * price) for w, us in columns]))
        best = after
    held = [int(worth) for worth in np.max(best, axis=(0, 1))]
    needed = sum(x.replicas * each for x, each in zip(stages, takes, strict=True))
    if sum(instance.free_gpus) > needed:  # a server may keep GPUs free
        held = [max(held[: used + 1]) for used in range(len(held))]
    return held


def _with(worths: Ints, taken: int, gained: int) -> Ints:
    """The best of the rows, by GPUs used, and replicas that take and are worth so much."""
    best = worths.max(axis=0, initial=NOTHING)
    joined = np.full_like(best, NOTHING)
    joined[taken:] = best[: len(best) - taken] + gained
    return np.where(joined < 0, NOTHING, joined)


def _in_time(
    instance: PlacementInstance,
    s: int,
    v: int,
    shape: tuple[int, int],
    certificate: PatternCertificate,
    options: PlacementOptions,
) -> Bools:
    """Whether v of a stage are in time beside u of the previous and w of the next, by u and w."""
    if v == 0:
        return np.ones(shape, dtype=bool)
    stages, cluster = instance.job.stages, instance.cluster
    stage, k, q = stages[s], stages[s].replicas, stages[s].tensor_parallel
    nic = q * cluster.inter_bandwidth / cluster.gpus_per_server
    time = np.full(shape, stage.forward_time + options.backward_overlap * stage.backward_time)
    time += 2 * (q - 1) / q * stage.tensor_bytes / cluster.intra_bandwidth
    if s > 0:
        near = (np.arange(shape[0]) / stages[s - 1].replicas)[:, None]
        time += 2 * stage.input_bytes * ((1 - near) / nic + near / cluster.intra_bandwidth)
    if s + 1 < len(stages):
        near = (np.arange(shape[1]) / stages[s + 1].replicas)[None, :]
        time += 2 * stage.output_bytes * ((1 - near) / nic + near / cluster.intra_bandwidth)
    inside = (v - 1) / k / cluster.intra_bandwidth
    time += stage.expert_bytes * ((k - v) / k / nic + inside)
    volume = 2 * (k - 1) / k * stage.parameter_bytes
    least = min(v, k - v) if options.all_reduce_bandwidth == "bottleneck" else v
    bandwidth = q * cluster.intra_bandwidth if v == k else least * nic
    time += options.all_reduce_overlap * volume / bandwidth
    return np.asarray(time <= certificate.threshold * (1 + ROUNDING))
