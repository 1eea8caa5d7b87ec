"""What a run leaves behind: flat, immutable records, and nothing that is not in them.

A segment is a stretch of time in which a job holds the same GPUs; a node interval one in which a
node has the same number of GPUs in use. Costs are not stored: `metrics` makes them of these.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Segment:
    """A job on GPUs of a node from one moment to another.

    Attributes
    ----------
    setup : float
        Seconds at its start without progress (`reconfiguration_delay`).
    epochs : float
        Epochs made.
    """

    job: int
    start: float
    end: float
    node: int
    gpus: tuple[int, ...]
    fraction: float
    setup: float
    epochs: float


@dataclass(frozen=True)
class NodeInterval:
    """A node with so many GPUs in use."""

    node: int
    start: float
    end: float
    used: int


@dataclass(frozen=True)
class JobRecord:
    """A job's life: what it took, when it was over, how often it was stopped, moved or changed."""

    job: int
    epochs: float
    first_start: float
    completion: float
    preemptions: int
    migrations: int
    changes: int


@dataclass(frozen=True)
class Decision:
    """A scheduling point: its time, jobs present and placed, why, and wall-clock seconds spent."""

    time: float
    present: int
    placed: int
    cause: str
    seconds: float


@dataclass(frozen=True)
class Records:
    """One policy on one instance with one draw of the true epochs."""

    instance: str
    policy: str
    seed: int
    options: dict[str, Any]
    segments: tuple[Segment, ...]
    nodes: tuple[NodeInterval, ...]
    jobs: tuple[JobRecord, ...]
    decisions: tuple[Decision, ...]

    def same_course(self, other: Records) -> bool:
        """Whether two runs did the same, wall-clock seconds apart."""
        return (self.segments, self.nodes, self.jobs) == (other.segments, other.nodes, other.jobs)

    def to_dict(self) -> dict[str, Any]:
        """The records as a JSON object, without wall-clock times."""
        return {
            "instance": self.instance,
            "policy": self.policy,
            "seed": self.seed,
            "options": self.options,
            "segments": [asdict(segment) for segment in self.segments],
            "nodes": [asdict(interval) for interval in self.nodes],
            "jobs": [asdict(job) for job in self.jobs],
            "decisions": [
                {key: value for key, value in asdict(d).items() if key != "seconds"}
                for d in self.decisions
            ],
        }
