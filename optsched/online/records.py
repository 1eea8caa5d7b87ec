"""Records of a run: one immutable record per job."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from optsched.online.policies.by_name import PolicyOptions

if TYPE_CHECKING:
    from optsched.online.data.jobs import Jobs

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Segment:
    """A stretch in which a job held its GPUs: seconds, alpha, and (server, GPUs) by server."""

    start: float
    end: float
    alpha: float
    servers: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Segments:
    """The stretches in which jobs held GPUs, by job and then time, in columns.

    Attributes
    ----------
    job : (S,) int
        Which record.
    start, end, alpha : (S,) float
        Seconds, and seconds an iteration took there.
    first : (S + 1,) int
        Where the pieces of each begin in `server` and `taken`.
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
        """Concatenate segments; `job` is the record of each."""
        flat = [piece for each in segments for piece in each.servers]
        return cls(
            job=np.array(job, dtype=np.int64),
            start=np.array([each.start for each in segments], dtype=np.float64),
            end=np.array([each.end for each in segments], dtype=np.float64),
            alpha=np.array([each.alpha for each in segments], dtype=np.float64),
            first=np.cumsum([0, *(len(each.servers) for each in segments)], dtype=np.int64),
            server=np.array([server for server, _ in flat], dtype=np.int64),
            taken=np.array([gpus for _, gpus in flat], dtype=np.int64),
        )

    def __len__(self) -> int:
        return len(self.job)

    def __getitem__(self, at: int) -> Segment:
        pieces = slice(self.first[at], self.first[at + 1])
        return Segment(
            float(self.start[at]),
            float(self.end[at]),
            float(self.alpha[at]),
            tuple(zip(self.server[pieces].tolist(), self.taken[pieces].tolist(), strict=True)),
        )

    @property
    def resumed(self) -> NDArray[np.bool_]:
        """Whether the segment continues a stopped job."""
        return np.append(False, self.job[1:] == self.job[:-1])[: len(self)]

    @property
    def ended(self) -> NDArray[np.bool_]:
        """Whether the segment is its job's last."""
        return np.append(self.job[1:] != self.job[:-1], True)[: len(self)]

    def worked(self, restore: float) -> Floats:
        """Seconds of each segment spent on iterations, without restoring."""
        begin = np.where(self.resumed, self.start + restore, self.start)
        return np.asarray(np.maximum(0.0, self.end - begin))


@dataclass(frozen=True)
class Record:
    """One job: when it was submitted, started and ended (s), and on how many GPUs of which server.

    Attributes
    ----------
    alpha, estimate : float
        Seconds an iteration took (of a job that was stopped: on average), and alpha~.
    iterations, predicted : float
        n and n~.
    servers : tuple of (int, int)
        (server, GPUs), by server; of a job that was stopped, those it ended on.
    segments : tuple of Segment
        Of a job that was stopped: the stretches in which it ran.
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


@dataclass(frozen=True)
class Records:
    """The records of a run in row order, in columns; times in seconds since the first submission.

    Attributes
    ----------
    policy : str
        Its name.
    options : PolicyOptions
        As applied: the offer rule and hold of this policy filled in.
    servers, gpus_per_server : int
        The cluster.
    first : (n + 1,) int
        Where each job's pieces begin in `server` and `taken`; of a job that was stopped, the last.
    complete : bool
        False when the run was interrupted: then only jobs that had started are here, and of those
        that were stopped only the ones that run again.
    parts : Segments or None
        Where a job was stopped: the stretches of all jobs. `segments` has them for every run.
    """

    policy: str
    options: PolicyOptions
    servers: int
    gpus_per_server: int
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

    @classmethod
    def of(cls, jobs: Jobs, rows: Ints | slice, **decided: Any) -> Self:
        """Make the records of some workload rows; `decided` are the columns of the run.

        `segments` may replace the columns start, end, alpha, first, server and taken.
        """
        segments = decided.pop("segments", None)
        if segments is not None:
            restore = decided["options"].restore
            decided |= _whole(segments, restore, jobs.iterations[rows])
        return cls(
            servers=jobs.cluster.servers,
            gpus_per_server=jobs.cluster.gpus_per_server,
            job_id=jobs.workload.job_id[rows],
            submit=jobs.submit[rows],
            gpus=jobs.gpus[rows],
            estimate=jobs.estimate[rows],
            iterations=jobs.iterations[rows],
            **decided,
        )

    def __len__(self) -> int:
        return len(self.submit)

    def __getitem__(self, row: int) -> Record:
        pieces = slice(self.first[row], self.first[row + 1])
        parts = self.parts
        at = range(0) if parts is None else range(*np.searchsorted(parts.job, (row, row + 1)))
        return Record(
            str(self.job_id[row]),
            float(self.submit[row]),
            float(self.start[row]),
            float(self.end[row]),
            int(self.gpus[row]),
            float(self.alpha[row]),
            float(self.estimate[row]),
            float(self.iterations[row]),
            float(self.predicted[row]),
            tuple(zip(self.server[pieces].tolist(), self.taken[pieces].tolist(), strict=True)),
            () if parts is None or len(at) == 1 else tuple(parts[each] for each in at),
        )

    def __iter__(self) -> Iterator[Record]:
        return (self[row] for row in range(len(self)))

    @property
    def flow(self) -> Floats:
        """C - r by job, in seconds."""
        return np.asarray(self.end - self.submit)

    @property
    def segments(self) -> Segments:
        """The stretches in which jobs held GPUs: one a job unless it was stopped."""
        if self.parts is not None:
            return self.parts
        every = np.arange(len(self))
        return Segments(
            every, self.start, self.end, self.alpha, self.first, self.server, self.taken
        )

    @property
    def preemptions(self) -> int:
        """How often a job was stopped."""
        return len(self.segments) - len(self)


def _whole(parts: Segments, restore: float, iterations: Floats) -> dict[str, Any]:
    """Return the record columns of jobs that ran in these segments."""
    begun, ended = ~parts.resumed, parts.ended
    jobs = len(iterations)
    mean = np.bincount(parts.job, parts.worked(restore), jobs) / iterations
    last = np.flatnonzero(ended)
    count = np.diff(parts.first)[last]
    first = np.concatenate(([0], np.cumsum(count))).astype(np.int64)
    source = np.arange(first[-1]) + np.repeat(parts.first[last] - first[:-1], count)
    return {
        "start": parts.start[begun],
        "end": parts.end[ended],
        "alpha": np.where(begun[last], parts.alpha[last], mean),
        "first": first,
        "server": parts.server[source],
        "taken": parts.taken[source],
        "parts": parts if len(parts) > jobs else None,
    }
