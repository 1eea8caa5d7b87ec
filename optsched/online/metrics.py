"""Metrics of a run, computed from its records and nothing else. Source: models/online/README.md."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optsched.kernels import kernel
from optsched.online.records import Records

Floats = NDArray[np.float64]
PERCENTILES = (50, 90, 95, 99)


@dataclass(frozen=True)
class Metrics:
    """What a run was like; seconds and shares.

    Attributes
    ----------
    jobs : int
        Records.
    total_completion_time : float
        Sum of C = t + n alpha on the clock whose 0 is the first submission. It depends on that
        origin: compare runs by flow.
    total_flow_time, mean_flow_time : float
        Of C - r.
    flow_percentiles : dict
        50th, 90th, 95th and 99th of C - r.
    mean_slowdown : float
        Of flow / (n alpha~); alpha~ is an estimate, so it can fall below 1.
    inflation : float
        sum g n alpha / sum g n alpha~: GPU time lost to placement; can fall below 1 likewise.
        Checkpoints' restoring is none of it.
    fragmentation : float
        Time-mean, while jobs queue, of the share of free GPUs on partly used servers; 0 if none
        ever queues. A moment without free GPUs counts as 0.
    makespan : float
        max C - min r.
    utilisation : float
        sum g (C - t) / (G makespan), of jobs that were stopped over their segments.
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

    def to_dict(self) -> dict[str, Any]:
        """The metrics as a JSON object."""
        return asdict(self)


def compute_metrics(records: Records) -> Metrics:
    """Compute a run's metrics. O((n + pieces) log n).

    Parameters
    ----------
    records : Records
        Of a run; jobs without an end are none.

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
    held = records.gpus[segments.job] * (segments.end - segments.start)
    makespan = float(records.end.max() - records.submit.min())
    length = records.iterations * records.estimate
    return Metrics(
        jobs=len(records),
        total_completion_time=float(records.end.sum()),
        total_flow_time=float(flow.sum()),
        mean_flow_time=float(flow.mean()),
        flow_percentiles={
            str(p): float(v)
            for p, v in zip(PERCENTILES, np.percentile(flow, PERCENTILES), strict=True)
        },
        mean_slowdown=float((flow / length).mean()),
        inflation=float(
            (records.gpus * records.iterations * records.alpha).sum()
            / (records.gpus * length).sum()
        ),
        fragmentation=fragmentation(records),
        makespan=makespan,
        utilisation=float(held.sum() / (records.servers * records.gpus_per_server * makespan))
        if makespan > 0
        else 0.0,
    )


def fragmentation(records: Records) -> float:
    """Time-mean, while jobs queue, of (free GPUs on partly used servers) / (free GPUs)."""
    time, kind, row = _events(records)
    held = records.segments
    queued, weighted = queue_statistics.for_size(10 * len(time))(
        time, kind, row, held.first, held.server, held.taken,
        records.servers, records.gpus_per_server,
    )  # fmt: skip
    return float(weighted / queued) if queued > 0 else 0.0


def timeline(records: Records) -> tuple[Floats, NDArray[np.int64], NDArray[np.int64]]:
    """Moments (s), and the jobs that queue and the GPUs in use from each moment on."""
    time, kind, row = _events(records)
    queue = np.cumsum(np.choose(kind, (0, 1, -1)))
    used = np.cumsum(records.gpus[records.segments.job[row]] * np.choose(kind, (-1, 0, 1)))
    last = np.append(np.diff(time) > 0, True) if len(time) else np.empty(0, dtype=bool)
    return time[last], queue[last], used[last]


def _events(records: Records) -> tuple[Floats, NDArray[np.int64], NDArray[np.int64]]:
    """Times, kinds (0 end, 1 joins the queue, 2 start) and segments, in order of time, then kind.

    A job joins the queue when it is submitted and whenever it is stopped.
    """
    held = records.segments
    each, stopped = np.arange(len(held)), np.flatnonzero(~held.ended)
    joins = np.concatenate((records.submit, held.end[stopped]))
    time = np.concatenate((held.end, joins, held.start))
    kind = np.repeat(np.arange(3), len(held))
    row = np.concatenate((each, each, each))
    order = np.lexsort((kind, time))
    return time[order], kind[order], row[order]


END, SUBMISSION, START = 0, 1, 2


@kernel
def queue_statistics(
    time: Any,
    kind: Any,
    row: Any,
    first: Any,
    server: Any,
    taken: Any,
    servers: int,
    gpus_per_server: int,
) -> tuple[float, float]:
    """Seconds with a queue, and their integral of the share of free GPUs on partly used servers.

    A segment that starts and ends at one instant is swept end first; nothing lasts, so nothing is
    weighed in between.
    """
    used = np.zeros(servers, dtype=np.int64)
    free, partly, queue = servers * gpus_per_server, 0, 0
    queued, weighted = 0.0, 0.0
    for event in range(len(time)):
        if event > 0 and queue > 0:
            span = time[event] - time[event - 1]
            queued += span
            if free > 0:
                weighted += span * partly / free
        if kind[event] == SUBMISSION:
            queue += 1
            continue
        sign = 1 if kind[event] == START else -1
        if sign > 0:
            queue -= 1
        for piece in range(first[row[event]], first[row[event] + 1]):
            m = server[piece]
            if 0 < used[m] < gpus_per_server:
                partly -= gpus_per_server - used[m]
            used[m] += sign * taken[piece]
            free -= sign * taken[piece]
            if 0 < used[m] < gpus_per_server:
                partly += gpus_per_server - used[m]
    return queued, weighted
