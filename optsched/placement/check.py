"""The independent checker of placements: every rule and alpha, from the counts alone.

Shares no code with the methods. The equations are a-srpt's, with those of its sections III-B and VI
that models/placement/README.md writes out: micro-batches, slices and experts.
"""

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
    counts = solution.counts
    violations = instance_violations(solution.instance, instance.name) + _shape(instance, counts)
    violations = violations or _non_negative(counts)
    violations = violations or _replicas(instance, counts) + _capacity(instance, counts)
    if violations:
        return CheckReport(None, tuple(violations))
    alpha = iteration_time(instance.job, instance.cluster, counts, chosen)
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
    gpus_per_replica = [stage.tensor_parallel for stage in instance.job.stages]
    used = [
        sum(x * gpus for x, gpus in zip(column, gpus_per_replica, strict=True))
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
    """Iteration time in seconds, recomputed independently: (7), or a pipeline's time.

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
    An asynchronous job waits for the slowest stage on the slowest server. With micro-batches, each
    stage runs at the pace of its slowest server. The first micro-batch passes all stages; the
    others follow at the pace of the slowest stage. A stage starts its all-reduce after its last
    backward pass, while earlier stages still compute theirs.

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
    servers = [[m for m, count in enumerate(row) if count > 0] for row in counts]
    if job.micro_batches is None:
        return max(
            _work(job, cluster, counts, (s, m), chosen)
            + chosen.all_reduce_overlap
            * _all_reduce(job.stages[s], cluster, counts[s], m, chosen.all_reduce_bandwidth)
            for s in stages
            for m in servers[s]
        )
    stage_times = [
        max(_work(job, cluster, counts, (s, m), chosen) for m in servers[s]) / job.micro_batches
        for s in stages
    ]
    pipeline_makespan = max(stage_times) * (job.micro_batches - 1) + sum(stage_times)
    all_reduce_ends = []
    earlier_backward = 0.0
    for s in stages:
        slowest = max(_all_reduce(job.stages[s], cluster, counts[s], m) for m in servers[s])
        begin = pipeline_makespan - earlier_backward
        all_reduce_ends.append(begin + chosen.all_reduce_overlap * slowest)
        backward = chosen.backward_overlap * job.stages[s].backward_time
        earlier_backward += backward / job.micro_batches
    return max(all_reduce_ends)


def _work(
    job: Job,
    cluster: Cluster,
    counts: Sequence[Sequence[int]],
    place: tuple[int, int],
    options: PlacementOptions,
) -> float:
    """Time of a stage on a server without its all-reduce, in seconds."""
    s, m = place
    stage, count = job.stages[s], counts[s][m]
    q, k = stage.tensor_parallel, stage.replicas
    compute = stage.forward_time + options.backward_overlap * stage.backward_time
    slices = 2 * (q - 1) / q * stage.tensor_bytes / cluster.intra_bandwidth
    away = near = 0.0
    for neighbour, size in ((s - 1, stage.input_bytes), (s + 1, stage.output_bytes)):
        if 0 <= neighbour < len(counts):
            share = counts[neighbour][m] / job.stages[neighbour].replicas
            near += 2 * size * share
            away += 2 * size * (1 - share)
    near += stage.expert_bytes * (count - 1) / k
    away += stage.expert_bytes * (k - count) / k
    nic_share = q * cluster.inter_bandwidth / cluster.gpus_per_server
    transfer = away / nic_share + near / cluster.intra_bandwidth
    return compute + slices + transfer


def _all_reduce(
    stage: Stage, cluster: Cluster, row: Sequence[int], m: int, bandwidth: str = "own"
) -> float:
    k, count = stage.replicas, row[m]
    if k == 1:
        return 0.0
    volume = 2 * (k - 1) / k * stage.parameter_bytes
    if count == k:
        return volume / (stage.tensor_parallel * cluster.intra_bandwidth)
    if bandwidth == "bottleneck":
        count = min(x for x in row if x > 0)
    gpus = count * stage.tensor_parallel
    return volume * cluster.gpus_per_server / (gpus * cluster.inter_bandwidth)
