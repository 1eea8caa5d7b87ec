"""Solution file of a run: its records and claimed total cost."""

from dataclasses import fields
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import Field

from optsched.declared import Seed
from optsched.rolling.records import Decision, JobRecord, NodeInterval, Records, Segment
from optsched.schema import FORMAT, OPTIONS, SHA256, About, Items, Name, Number, SolutionFile

SCHEMA = "optsched/rolling-solution"
MAX_ROWS = 500_000
Row = TypeVar("Row")
Rows = Annotated[tuple[Row, ...], Items(MAX_ROWS)]


class RollingSolution(SolutionFile):
    """One policy's run on an instance, as `optsched roll --records` writes it."""

    schema_: Annotated[Literal["optsched/rolling-solution"], FORMAT] = Field(alias="schema")
    instance_sha256: Annotated[Name | None, SHA256] = None
    policy: Annotated[Name, About("Name of the policy.", "", "sts")]
    seed: Annotated[Seed, About("The seed of the true epochs.", "", 0)]
    options: Annotated[dict[str, Any], OPTIONS] = Field(default_factory=dict)
    objective: Annotated[Number | None, About("The total cost claimed.", "dollars", 208.4)] = None
    segments: Annotated[Rows[Segment], About("Intervals in which a job holds the same GPUs.")]
    nodes: Annotated[
        Rows[NodeInterval], About("Intervals in which a node has a constant number of GPUs in use.")
    ]
    jobs: Annotated[Rows[JobRecord], About("Outcome of each job.")]
    decisions: Annotated[
        Rows[Decision], About("The scheduling points, without the time that a decision took.")
    ] = ()

    @classmethod
    def of(cls, run: Records, objective: float | None, sha256: str | None = None) -> Self:
        """Create a solution from records and a claimed cost in dollars."""
        head = {"schema": SCHEMA, "version": 1, "instance_sha256": sha256, "objective": objective}
        return cls.from_dict({**head, **run.to_dict()})

    @property
    def run(self) -> Records:
        return Records(**{field.name: getattr(self, field.name) for field in fields(Records)})
