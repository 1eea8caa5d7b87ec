"""What a run leaves behind: flat, immutable records, and nothing that is not in them.

A segment is a stretch of time in which a job holds the same GPUs; a node interval one in which a
node has the same number of GPUs in use. Costs are not stored: `metrics` makes them of these.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, ConfigDict, FailFast, Field
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import PydanticCustomError

from optsched.schema import Between, Name, Number

Index = Annotated[int, Between(-(2**31), 2**31)]  # a wrong one is the audit's to report
Count = Annotated[int, Between(0, 2**53)]


def _refuse(_: object) -> None:
    raise PydanticCustomError("extra_forbidden", "no such key")


NotInFiles = BeforeValidator(_refuse)
FROM_FILES = ConfigDict(extra="forbid")
"""How a run's file is read into records: no unknown keys; the fields say what they take."""


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

    __pydantic_config__: ClassVar[ConfigDict] = FROM_FILES

    job: Index
    start: Number
    end: Number
    node: Index
    gpus: Annotated[tuple[Index, ...], FailFast(), Field(max_length=1024)]
    fraction: Number
    setup: Number
    epochs: Number


@dataclass(frozen=True)
class NodeInterval:
    """A node with so many GPUs in use."""

    __pydantic_config__: ClassVar[ConfigDict] = FROM_FILES

    node: Index
    start: Number
    end: Number
    used: Index


@dataclass(frozen=True)
class JobRecord:
    """A job's life: what it took, when it was over, how often it was stopped, moved or changed."""

    __pydantic_config__: ClassVar[ConfigDict] = FROM_FILES

    job: Index
    epochs: Number
    first_start: Number
    completion: Number
    preemptions: Count
    migrations: Count
    changes: Count


@dataclass(frozen=True)
class Decision:
    """A scheduling point: its time, jobs present and placed, why, and wall-clock seconds spent."""

    __pydantic_config__: ClassVar[ConfigDict] = FROM_FILES

    time: Number
    present: Count
    placed: Count
    cause: Name
    seconds: Annotated[float, NotInFiles, Field(exclude=True), SkipJsonSchema()] = 0.0


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
