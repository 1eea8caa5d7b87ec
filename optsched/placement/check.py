"""The independent checker of placements: every rule and alpha, from the counts alone.

Shares no code with the methods. The equations are a-srpt's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from optsched.checking import CheckReport, Violation, claim_violation
from optsched.placement.instance import Cluster, Job, PlacementInstance, Stage
from optsched.placement.options import PlacementOptions
from optsched.placement.solution import PlacementSolution

Counts = tuple[tuple[int, ...], ...]


def check(
    instance: PlacementInstance,
    solution: PlacementSolution,
    options: dict[str, Any] | None = None,
) -> CheckReport:
    """Check a placement and recompute its iteration time.

    Parameters
    ----------
    instance, solution
        The problem and the decisions.
    options : dict, optional
        The options that the objective is claimed under; by default the solution's own.

    Returns
    -------
    CheckReport
        The objective is alpha in seconds, None when the counts have the wrong shape or a
        negative entry.

    Notes
    -----
    Rules: "instance", "shape", "non-negative", "replicas" (2), "capacity" (3) and
    "claimed objective" (7).
    """
    chosen = PlacementOptions.from_dict(solution.options if options is None else options)
    found = _named(instance, solution) + _shape(instance, solution.counts)
    if found:
        return CheckReport(None, tuple(found))
    found = _non_negative(solution.counts)
    if found:
        return CheckReport(None, tuple(found))
    found = _replicas(instance, solution.counts) + _capacity(instance, solution.counts)
    if found:
        return CheckReport(None, tuple(found))
    alpha = iteration_time(instance.job, instance.cluster, solution.counts, chosen)
    claim = None if solution.objective is None else claim_violation(solution.objective, alpha)
    return CheckReport(alpha, () if claim is None else (claim,))


def _named(instance: PlacementInstance, solution: PlacementSolution) -> list[Violation]:
    if solution.instance == instance.name:
        return []
    return [Violation("instance", "solution.instance", f"name {solution.instance!r}", 1)]


def _shape(instance: PlacementInstance, counts: Counts) -> list[Violation]:
    stages, servers = instance.shape
    if len(counts) != stages:
        return [Violation("shape", "x[s,m]", "counts", abs(len(counts) - stages))]
    return [
        Violation("shape", "x[s,m]", f"counts[{s}]", abs(len(row) - servers))
        for s, row in enumerate(counts)
        if len(row) != servers
    ]


def _non_negative(counts: Counts) -> list[Violation]:
    return [
        Violation("non-negative", "x[s,m] >= 0", f"stage {s} on server {m}", -value)
        for s, row in enumerate(counts)
        for m, value in enumerate(row)
        if value < 0
    ]


def _replicas(instance: PlacementInstance, counts: Counts) -> list[Violation]:
    return [
        Violation("replicas", "(2)", f"stage {s} ({stage.name})", abs(sum(row) - stage.replicas))
        for s, (stage, row) in enumerate(zip(instance.job.stages, counts, strict=True))
        if sum(row) != stage.replicas
    ]


def _capacity(instance: PlacementInstance, counts: Counts) -> list[Violation]:
    used = [sum(column) for column in zip(*counts, strict=True)]
    return [
        Violation("capacity", "(3)", f"server {m}", used[m] - free)
        for m, free in enumerate(instance.free_gpus)
        if used[m] > free
    ]


def iteration_time(
    job: Job,
    cluster: Cluster,
    counts: Sequence[Sequence[int]],
    options: PlacementOptions | None = None,
) -> float:
    """alpha of (7), seconds: the slowest stage on the slowest server, as the checker has it.

    Parameters
    ----------
    counts : sequence of sequences of int
        Replicas by stage and server.
    """
    chosen = options or PlacementOptions()
    return max(
        _stage_time(job, cluster, counts, (s, m), chosen)
        for s, row in enumerate(counts)
        for m, here in enumerate(row)
        if here > 0
    )


def _stage_time(
    job: Job,
    cluster: Cluster,
    counts: Sequence[Sequence[int]],
    place: tuple[int, int],
    options: PlacementOptions,
) -> float:
    s, m = place
    stage = job.stages[s]
    compute = stage.forward_time + options.backward_overlap * stage.backward_time
    away = near = 0.0
    for neighbour, size in ((s - 1, stage.input_bytes), (s + 1, stage.output_bytes)):
        if 0 <= neighbour < len(counts):
            share = counts[neighbour][m] / job.stages[neighbour].replicas
            near += 2 * size * share
            away += 2 * size * (1 - share)
    nic_share = cluster.inter_bandwidth / cluster.gpus_per_server
    transfer = away / nic_share + near / cluster.intra_bandwidth
    reduce = _all_reduce(stage, cluster, counts[s], m, options)
    return compute + transfer + options.all_reduce_overlap * reduce


def _all_reduce(
    stage: Stage, cluster: Cluster, row: Sequence[int], m: int, options: PlacementOptions
) -> float:
    k, here = stage.replicas, row[m]
    if k == 1:
        return 0.0
    volume = 2 * (k - 1) / k * stage.parameter_bytes
    if here == k:
        return volume / cluster.intra_bandwidth
    if options.all_reduce_bandwidth == "bottleneck":
        here = min(x for x in row if x > 0)
    return volume * cluster.gpus_per_server / (here * cluster.inter_bandwidth)
