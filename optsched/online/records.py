"""Records of a run: one immutable record per job."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from optsched.arrays import Bools, Floats, Ints
from optsched.online.policies.by_name import PolicyOptions

if TYPE_CHECKING:
    from optsched.online.data.jobs import Jobs

Replicas = tuple[tuple[int, ...], ...]
"""Replicas by server and stage."""


@dataclass(frozen=True)
class Segment:
    """Period in which a job held its GPUs: seconds, alpha, and (server, GPUs) by server."""

    start: float
    end: float
    alpha: float
    servers: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Segments:
    """Segments of all jobs, sorted by job and time, as columns.

    `job` is the index of the record. Segment i took `taken[k]` GPUs of `server[k]` for k in
    range(first[i], first[i + 1]).
    """

    job: Ints
    start: Floats
    end: Floats
    alpha: Floats
    first: Ints
    server: Ints
    taken: Ints

    @classmethod
    def of(cls, job: Sequence[int], segments: Sequence[Segment]) -> Self:
        allocations = [pair for segment in segments for pair in segment.servers]
        return cls(
            job=np.array(job, dtype=np.int64),
            start=np.array([segment.start for segment in segments], dtype=np.float64),
            end=np.array([segment.end for segment in segments], dtype=np.float64),
            alpha=np.array([segment.alpha for segment in segments], dtype=np.float64),
            first=np.cumsum([0, *(len(s.servers) for s in segments)], dtype=np.int64),
            server=np.array([server for server, _ in allocations], dtype=np.int64),
            taken=np.array([gpus for _, gpus in allocations], dtype=np.int64),
        )

    def __len__(self) -> int:
        return len(self.job)

    def __getitem__(self, index: int) -> Segment:
        return Segment(
            float(self.start[index]),
            float(self.end[index]),
            float(self.alpha[index]),
            _servers(self, index),
        )

    @property
    def resumed(self) -> Bools:
        """Whether the segment continues a preempted job."""
        return np.append(False, self.job[1:] == self.job[:-1])[: len(self)]

    @property
    def ended(self) -> Bools:
        return np.append(self.job[1:] != self.job[:-1], True)[: len(self)]

    def compute_seconds(self, restore: float) -> Floats:
        """Seconds of each segment spent on iterations, excluding restores."""
        compute_start = np.where(self.resumed, self.start + restore, self.start)
        return np.asarray(np.maximum(0.0, self.end - compute_start))


@dataclass(frozen=True)
class Record:
    """One job: when it was submitted, started and ended (s), and on how many GPUs of which server.

    `alpha` is a mean over segments, and `servers`, (server, GPUs), those of the last segment, if
    the job was preempted: only then it has `segments`. Without `replicas`, by server and stage,
    they are as Heavy-Edge places them.
    """

    job_id: str
    submit: float
    start: float
    end: float
    gpus: int
    alpha: float
    estimate: float
    iterations: float
    predicted: float
    servers: tuple[tuple[int, int], ...]
    segments: tuple[Segment, ...] = ()
    replicas: Replicas = ()


@dataclass(frozen=True)
class Records:
    """The records of a run in row order, in columns; times in seconds since the first submission.

    `options` include the policy's defaults; `server_gpus` are the GPUs of each server. `first` are
    offsets into `server` and `taken`, as in `Segments`, of a preempted job's last segment; `parts`
    are the segments of all jobs if any was preempted (use the property `segments`). An interrupted
    run is not `complete`: it has the jobs that had started, and preempted ones only if they had
    resumed.
    """

    policy: str
    options: PolicyOptions
    server_gpus: Ints
    job_id: NDArray[np.object_]
    submit: Floats
    start: Floats
    end: Floats
    gpus: Ints
    alpha: Floats
    estimate: Floats
    iterations: Floats
    predicted: Floats
    first: Ints
    server: Ints
    taken: Ints
    complete: bool = True
    parts: Segments | None = None
    replicas: tuple[Replicas, ...] | None = None

    @classmethod
    def of(cls, jobs: Jobs, rows: Ints | slice, **columns: Any) -> Self:
        """Create the records of some workload rows; `columns` are those of the run.

        `segments` may replace the columns start, end, alpha, first, server and taken.
        """
        segments = columns.pop("segments", None)
        if segments is not None:
            restore = columns["options"].restore
            columns |= _columns_from_segments(segments, restore, jobs.iterations[rows])
        return cls(
            server_gpus=jobs.cluster.server_gpus,
            job_id=jobs.workload.job_id[rows],
            submit=jobs.submit[rows],
            gpus=jobs.gpus[rows],
            estimate=jobs.estimate[rows],
            iterations=jobs.iterations[rows],
            **columns,
        )

    def __len__(self) -> int:
        return len(self.submit)

    def __getitem__(self, row: int) -> Record:
        segments: tuple[Segment, ...] = ()
        if self.parts is not None:
            indices = range(*np.searchsorted(self.parts.job, (row, row + 1)))
            if len(indices) > 1:
                segments = tuple(self.parts[index] for index in indices)
        names = ("submit", "start", "end", "gpus", "alpha", "estimate", "iterations", "predicted")
        return Record(
            job_id=str(self.job_id[row]),
            servers=_servers(self, row),
            segments=segments,
            replicas=self.replicas[row] if self.replicas else (),
            **{name: getattr(self, name)[row].item() for name in names},
        )

    def __iter__(self) -> Iterator[Record]:
        return (self[row] for row in range(len(self)))

    @property
    def servers(self) -> int:
        return len(self.server_gpus)

    @property
    def cluster_gpus(self) -> int:
        """G, GPUs in all."""
        return int(self.server_gpus.sum())

    @property
    def flow(self) -> Floats:
        """C - r by job, in seconds."""
        return np.asarray(self.end - self.submit)

    @property
    def segments(self) -> Segments:
        if self.parts is not None:
            return self.parts
        rows = np.arange(len(self))
        return Segments(rows, self.start, self.end, self.alpha, self.first, self.server, self.taken)

    @property
    def preemptions(self) -> int:
        return len(self.segments) - len(self)


def _servers(columns: Segments | Records, index: int) -> tuple[tuple[int, int], ...]:
    """(server, GPUs) of a segment or record."""
    span = slice(columns.first[index], columns.first[index + 1])
    return tuple(zip(columns.server[span].tolist(), columns.taken[span].tolist(), strict=True))


def _columns_from_segments(parts: Segments, restore: float, iterations: Floats) -> dict[str, Any]:
    """Return the record columns of jobs that ran in these segments."""
    is_first, ended = ~parts.resumed, parts.ended
    jobs = len(iterations)
    mean = np.bincount(parts.job, parts.compute_seconds(restore), jobs) / iterations
    last = np.flatnonzero(ended)
    count = np.diff(parts.first)[last]
    first = np.concatenate(([0], np.cumsum(count))).astype(np.int64)
    source = np.arange(first[-1]) + np.repeat(parts.first[last] - first[:-1], count)
    return {
        "start": parts.start[is_first],
        "end": parts.end[ended],
        "alpha": np.where(is_first[last], parts.alpha[last], mean),
        "first": first,
        "server": parts.server[source],
        "taken": parts.taken[source],
        "parts": parts if len(parts) > jobs else None,
    }
