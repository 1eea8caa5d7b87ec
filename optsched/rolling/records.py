"""Records of a run: flat and immutable.

Segment: a job on fixed GPUs. Node interval: a node with a constant number of GPUs in use. Costs are
not stored; `metrics` computes them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, ConfigDict, FailFast, Field
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import PydanticCustomError

from optsched.schema import About, Between, Name, Number, described

Index = Annotated[
    int, Between(-(2**31), 2**31)
]  # wide on purpose: the audit reports invalid indices
Count = Annotated[int, Between(0, 2**53)]


def _refuse(_: object) -> None:
    raise PydanticCustomError("extra_forbidden", "no such key")


NotInFiles = BeforeValidator(_refuse)
FROM_FILES = ConfigDict(extra="forbid")
"""Pydantic configuration: unknown keys are errors."""


@described
@dataclass(frozen=True, slots=True)
class Segment:
    """A job on fixed GPUs of a node from `start` to `end`."""

    __pydantic_config__: ClassVar[ConfigDict] = FROM_FILES

    job: Annotated[Index, About("The 0-based index of the job in the instance.", "index", 0)]
    start: Annotated[Number, About("Start time.", "seconds", 120.0)]
    end: Annotated[Number, About("End time.", "seconds", 3600.0)]
    node: Annotated[Index, About("The 0-based index of the node in the instance.", "index", 2)]
    gpus: Annotated[
        tuple[Index, ...],
        FailFast(),
        Field(max_length=1024),
        About("0-based indices of the GPUs on the node.", "index", [0, 1]),
    ]
    fraction: Annotated[Number, About("Share of each of these GPUs.", "share", 1.0)]
    setup: Annotated[
        Number,
        About("Time without progress at the start, `reconfiguration_delay`.", "seconds", 0.0),
    ]
    epochs: Annotated[Number, About("Epochs completed in the segment.", "epochs", 29.0)]


@described
@dataclass(frozen=True, slots=True)
class NodeInterval:
    """Interval in which a node has a constant number of GPUs in use."""

    __pydantic_config__: ClassVar[ConfigDict] = FROM_FILES

    node: Annotated[Index, About("The 0-based index of the node in the instance.", "index", 2)]
    start: Annotated[Number, About("Start time.", "seconds", 120.0)]
    end: Annotated[Number, About("End time.", "seconds", 3600.0)]
    used: Annotated[Index, About("GPUs in use.", "GPUs", 3)]


@described
@dataclass(frozen=True, slots=True)
class JobRecord:
    """Outcome of one job: true epochs, first start, completion, and counts of interruptions."""

    __pydantic_config__: ClassVar[ConfigDict] = FROM_FILES

    job: Annotated[Index, About("The 0-based index of the job in the instance.", "index", 0)]
    epochs: Annotated[Number, About("True epochs.", "epochs", 60.0)]
    first_start: Annotated[Number, About("First start.", "seconds", 120.0)]
    completion: Annotated[Number, About("Completion time.", "seconds", 7320.0)]
    preemptions: Annotated[Count, About("Preemptions.", "times", 0)]
    migrations: Annotated[Count, About("Migrations without a pause.", "times", 0)]
    changes: Annotated[
        Count, About("Changes of its number of GPUs or fraction on a node.", "times", 1)
    ]


@described
@dataclass(frozen=True, slots=True)
class Decision:
    """A scheduling point: its time, jobs present and placed, cause, and wall-clock seconds."""

    __pydantic_config__: ClassVar[ConfigDict] = FROM_FILES

    time: Annotated[Number, About("Time of the decision.", "seconds", 3600.0)]
    present: Annotated[Count, About("Jobs that waited or ran.", "jobs", 7)]
    placed: Annotated[Count, About("Jobs that were given GPUs.", "jobs", 5)]
    cause: Annotated[Name, About("Cause of the decision.", "", "arrival")]
    seconds: Annotated[float, NotInFiles, Field(exclude=True), SkipJsonSchema()] = 0.0


@dataclass(frozen=True, slots=True)
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

    def same_run(self, other: Records) -> bool:
        """Return whether two runs are equal, ignoring wall-clock times."""
        return (self.segments, self.nodes, self.jobs) == (other.segments, other.nodes, other.jobs)

    def to_dict(self) -> dict[str, Any]:
        """The records as a JSON object, without wall-clock times."""
        document = asdict(self)
        for decision in document["decisions"]:
            del decision["seconds"]
        return document
