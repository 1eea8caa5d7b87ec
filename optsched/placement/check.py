"""The independent checker of placements: every rule and alpha, from the counts alone.

Shares no code with the methods. The equations are a-srpt's, with those of its sections III-B and VI
that models/placement/README.md writes out: micro-batches, slices and experts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from optsched.checking import CheckReport, Violation, claim_violation, instance_violations
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

    Rules: "instance", "shape", "non-negative", "replicas" (2), "capacity" (3), where a replica
    takes as many GPUs of one server as it has slices, and "claimed objective" (7).
    """
    chosen = PlacementOptions.from_dict(solution.options if options is None else options)
    found = instance_violations(solution.instance, instance.name) + _shape(
        instance, solution.counts
    )
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
    slices = [stage.tensor_parallel for stage in instance.job.stages]
    used = [
        sum(x * each for x, each in zip(column, slices, strict=True))
        for column in zip(*counts, strict=True)
    ]
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
    """alpha, seconds, as the checker has it: of (7), or of a pipeline of micro-batches.

    Parameters
    ----------
    job : Job
        The job.
    cluster : Cluster
        The servers' hardware.
    counts : sequence of sequences of int
        Replicas by stage and server.
    options : PlacementOptions, optional
        The problem's options; by default its standard ones.

    Returns
    -------
    float
        Seconds.

    Notes
    -----
    An asynchronous job waits for the slowest stage on the slowest server. Of a job cut into
    micro-batches every stage works on all of them at the pace of its slowest server; the first
    passes all stages, each other one follows at the pace of the slowest stage, and a stage
    all-reduces once its own last backward pass is done, while earlier stages still have theirs.

    Examples
    --------
    >>> import optsched
    >>> instance = optsched.load("placement/fig2")
    >>> counts = [[2, 0, 0], [2, 0, 0], [0, 1, 1]]
    >>> round(iteration_time(instance.job, instance.cluster, counts), 6)
    0.0396
    """
    chosen = options or PlacementOptions()
    stages = range(len(counts))
    holders = [[m for m, here in enumerate(row) if here > 0] for row in counts]
    if job.micro_batches is None:
        return max(
            _work(job, cluster, counts, (s, m), chosen)
            + chosen.all_reduce_overlap
            * _all_reduce(job.stages[s], cluster, counts[s], m, chosen.all_reduce_bandwidth)
            for s in stages
            for m in holders[s]
        )
    pace = [
        max(_work(job, cluster, counts, (s, m), chosen) for m in holders[s]) / job.micro_batches
        for s in stages
    ]
    last_passed = max(pace) * (job.micro_batches - 1) + sum(pace)
    ends = []
    still_backward = 0.0
    for s in stages:
        slowest = max(_all_reduce(job.stages[s], cluster, counts[s], m) for m in holders[s])
        ends.append(last_passed - still_backward + chosen.all_reduce_overlap * slowest)
        backward = chosen.backward_overlap * job.stages[s].backward_time
        still_backward += backward / job.micro_batches
    return max(ends)


def _work(
    job: Job,
    cluster: Cluster,
    counts: Sequence[Sequence[int]],
    place: tuple[int, int],
    options: PlacementOptions,
) -> float:
    """Seconds of a stage on a server but for its all-reduce."""
    s, m = place
    stage, here = job.stages[s], counts[s][m]
    q, k = stage.tensor_parallel, stage.replicas
    compute = stage.forward_time + options.backward_overlap * stage.backward_time
    slices = 2 * (q - 1) / q * stage.tensor_bytes / cluster.intra_bandwidth
    away = near = 0.0
    for neighbour, size in ((s - 1, stage.input_bytes), (s + 1, stage.output_bytes)):
        if 0 <= neighbour < len(counts):
            share = counts[neighbour][m] / job.stages[neighbour].replicas
            near += 2 * size * share
            away += 2 * size * (1 - share)
    near += stage.expert_bytes * (here - 1) / k
    away += stage.expert_bytes * (k - here) / k
    nic_share = q * cluster.inter_bandwidth / cluster.gpus_per_server
    transfer = away / nic_share + near / cluster.intra_bandwidth
    return compute + slices + transfer


def _all_reduce(
    stage: Stage, cluster: Cluster, row: Sequence[int], m: int, bandwidth: str = "own"
) -> float:
    k, here = stage.replicas, row[m]
    if k == 1:
        return 0.0
    volume = 2 * (k - 1) / k * stage.parameter_bytes
    if here == k:
        return volume / (stage.tensor_parallel * cluster.intra_bandwidth)
    if bandwidth == "bottleneck":
        here = min(x for x in row if x > 0)
    gpus = here * stage.tensor_parallel
    return volume * cluster.gpus_per_server / (gpus * cluster.inter_bandwidth)
