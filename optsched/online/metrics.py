"""Metrics of a run, computed from its records only. Source: models/online/README.md."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from optsched.arrays import Floats, Ints
from optsched.kernels import kernel
from optsched.online.records import Records

PERCENTILES = (50, 90, 95, 99)
END, QUEUED, START = 0, 1, 2
"""Kinds of events, in their order at one time."""


@dataclass(frozen=True)
class Metrics:
    """Metrics of a run (times in seconds).

    Attributes
    ----------
    jobs : int
        Number of records.
    total_completion_time : float
        Sum of C = t + n alpha, measured from the first submission; use flow time to compare
        workloads.
    total_flow_time, mean_flow_time : float
        Sum and mean of C - r.
    flow_percentiles : dict
        50th, 90th, 95th and 99th percentiles of C - r.
    mean_slowdown : float
        Mean of flow / (n alpha~); alpha~ is an estimate, so it may be below 1.
    inflation : float
        sum g n alpha / sum g n alpha~: ratio of actual to estimated GPU time; excludes checkpoint
        restores; may be below 1.
    fragmentation : float
        Time average over periods with a queue of the fraction of free GPUs that are on partly used
        servers; 0 if no GPU is free or no job ever queues.
    makespan : float
        max C - min r.
    utilisation : float
        sum g (C - t) / (G makespan), over the segments of preempted jobs.
    """

    jobs: int
    total_completion_time: float
    total_flow_time: float
    mean_flow_time: float
    flow_percentiles: dict[str, float]
    mean_slowdown: float
    inflation: float
    fragmentation: float
    makespan: float
    utilisation: float


def compute_metrics(records: Records) -> Metrics:
    """Compute a run's metrics. O((n + allocations) log n).

    Parameters
    ----------
    records : Records
        Records of a run; unfinished jobs are ignored.

    Returns
    -------
    Metrics
        Flow times in seconds, slowdown, inflation, fragmentation, utilisation.

    Examples
    --------
    >>> import optsched
    >>> from optsched.online import prepare_jobs, simulate_online
    >>> small = optsched.load("online/small-400x40")
    >>> jobs = prepare_jobs(small.workload, small.catalogue, small.cluster)
    >>> round(compute_metrics(simulate_online(jobs, "a-srpt")).mean_flow_time)
    1818
    """
    if not len(records):
        return Metrics(0, 0.0, 0.0, 0.0, {}, 0.0, 0.0, 0.0, 0.0, 0.0)
    flow = records.flow
    segments = records.segments
    gpu_seconds = records.gpus[segments.job] * (segments.end - segments.start)
    makespan = float(records.end.max() - records.submit.min())
    length = records.iterations * records.estimate
    run_seconds = records.gpus * records.iterations * records.alpha
    available = records.cluster_gpus * makespan
    percentiles = np.percentile(flow, PERCENTILES).tolist()
    return Metrics(
        jobs=len(records),
        total_completion_time=float(records.end.sum()),
        total_flow_time=float(flow.sum()),
        mean_flow_time=float(flow.mean()),
        flow_percentiles=dict(zip(map(str, PERCENTILES), percentiles, strict=True)),
        mean_slowdown=float((flow / length).mean()),
        inflation=float(run_seconds.sum() / (records.gpus * length).sum()),
        fragmentation=fragmentation(records),
        makespan=makespan,
        utilisation=float(gpu_seconds.sum() / available) if makespan > 0 else 0.0,
    )


def fragmentation(records: Records) -> float:
    """Time average, while jobs queue, of (free GPUs on partly used servers) / (free GPUs)."""
    time, kind, row = _events(records)
    segments = records.segments
    queued, weighted = queue_statistics.for_size(10 * len(time))(
        time, kind, row, segments.first, segments.server, segments.taken,
        records.server_gpus,
    )  # fmt: skip
    return float(weighted / queued) if queued > 0 else 0.0


def timeline(records: Records) -> tuple[Floats, Ints, Ints]:
    """Event times (s), queue length and used GPUs after each."""
    time, kind, row = _events(records)
    queue = np.cumsum(np.choose(kind, (0, 1, -1)))
    used = np.cumsum(records.gpus[records.segments.job[row]] * np.choose(kind, (-1, 0, 1)))
    last = np.append(np.diff(time) > 0, True) if len(time) else np.empty(0, dtype=bool)
    return time[last], queue[last], used[last]


def _events(records: Records) -> tuple[Floats, Ints, Ints]:
    """Times, kinds and segments of the events, in order of time, then kind.

    A job is queued when it is submitted and whenever it is preempted.
    """
    segments = records.segments
    preempted = np.flatnonzero(~segments.ended)
    queue_times = np.concatenate((records.submit, segments.end[preempted]))
    time = np.concatenate((segments.end, queue_times, segments.start))
    kind = np.repeat((END, QUEUED, START), len(segments))
    row = np.tile(np.arange(len(segments)), 3)
    order = np.lexsort((kind, time))
    return time[order], kind[order], row[order]


@kernel
def queue_statistics(
    time: Any,
    kind: Any,
    row: Any,
    first: Any,
    server: Any,
    taken: Any,
    server_gpus: Any,
) -> tuple[float, float]:
    """Seconds with a queue, and their integral of the share of free GPUs on partly used servers.

    A zero-length segment ends before it starts in the sweep; it has no weight.
    """
    used = np.zeros(len(server_gpus), dtype=np.int64)
    free, free_on_partly_used, queue = server_gpus.sum(), 0, 0
    queued, weighted = 0.0, 0.0
    for event in range(len(time)):
        if event > 0 and queue > 0:
            span = time[event] - time[event - 1]
            queued += span
            if free > 0:
                weighted += span * free_on_partly_used / free
        if kind[event] == QUEUED:
            queue += 1
            continue
        sign = 1 if kind[event] == START else -1
        if sign > 0:
            queue -= 1
        for i in range(first[row[event]], first[row[event] + 1]):
            m = server[i]
            if 0 < used[m] < server_gpus[m]:
                free_on_partly_used -= server_gpus[m] - used[m]
            used[m] += sign * taken[i]
            free -= sign * taken[i]
            if 0 < used[m] < server_gpus[m]:
                free_on_partly_used += server_gpus[m] - used[m]
    return queued, weighted
