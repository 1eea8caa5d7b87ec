"""What a run leaves behind: one immutable record a job, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
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
class Record:
    """One job: when it was submitted, started and ended (s), and on how many GPUs of which server.

    Attributes
    ----------
    alpha, estimate : float
        Seconds an iteration took, and alpha~.
    iterations, predicted : float
        n and n~.
    servers : tuple of (int, int)
        (server, GPUs), by server.
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
        Where each job's pieces begin in `server` and `taken`.
    complete : bool
        False when the run was interrupted: then only jobs that had started are here.
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

    @classmethod
    def of(cls, jobs: Jobs, rows: Ints, **decided: Any) -> Self:
        """The records of some rows of a workload, in their order; `decided` are the other columns.

        In place of `first`, `server` and `taken` may stand `pieces`: by row, (server, GPUs).
        """
        pieces = decided.pop("pieces", None)
        if pieces is not None:
            flat = [piece for each in pieces for piece in each]
            decided["first"] = np.cumsum([0, *map(len, pieces)], dtype=np.int64)
            decided["server"] = np.array([server for server, _ in flat], dtype=np.int64)
            decided["taken"] = np.array([gpus for _, gpus in flat], dtype=np.int64)
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
        )

    def __iter__(self) -> Iterator[Record]:
        return (self[row] for row in range(len(self)))

    @property
    def flow(self) -> Floats:
        """C - r by job, in seconds."""
        return np.asarray(self.end - self.submit)


def in_server_order(
    first_piece: Ints, pieces: Any, server: Any, taken: Any, kept: Ints
) -> tuple[Ints, Any, Any]:
    """Lay the pieces of the kept jobs end to end, each job's sorted by server.

    Parameters
    ----------
    first_piece : (n,) int
        Where each job's pieces start.
    pieces : (n,) int
        How many pieces each job has.
    server : (p,) int
        The server of each piece.
    taken : (p,) int
        The GPUs of each piece.
    kept : (k,) int
        Jobs whose pieces are laid out.

    Returns
    -------
    first, server, taken
        As in `Records`. O(pieces log pieces).
    """
    count = pieces[kept].astype(np.int64)
    first = np.concatenate(([0], np.cumsum(count))).astype(np.int64)
    job = np.repeat(np.arange(len(kept)), count)
    source = np.arange(first[-1]) - first[job] + first_piece[kept][job]
    chosen_server, chosen_taken = server[source], taken[source]
    order = np.lexsort((chosen_server, job))
    return first, chosen_server[order], chosen_taken[order]
