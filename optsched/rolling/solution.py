"""The file of a finished run: its records, and what it is said to have cost."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import FailFast, Field

from optsched.declared import Seed
from optsched.rolling.records import Decision, JobRecord, NodeInterval, Records, Segment
from optsched.schema import FORMAT, OPTIONS, SHA256, About, Name, Number, SolutionFile

SCHEMA = "optsched/rolling-solution"
MAX_ROWS = 500_000
Row = TypeVar("Row")
Rows = Annotated[tuple[Row, ...], FailFast(), Field(strict=False, max_length=MAX_ROWS)]


class RollingSolution(SolutionFile):
    """One policy's run on an instance, as `optsched roll --records` writes it."""

    schema_: Annotated[Literal["optsched/rolling-solution"], FORMAT] = Field(alias="schema")
    instance_sha256: Annotated[Name | None, SHA256] = None
    policy: Annotated[Name, About("What decided.", "", "sts")]
    seed: Annotated[Seed, About("The seed of the true epochs.", "", 0)]
    options: Annotated[dict[str, Any], OPTIONS] = Field(default_factory=dict)
    objective: Annotated[Number | None, About("The total cost claimed.", "dollars", 208.4)] = None
    segments: Annotated[
        Rows[Segment], About("Stretches of time in which a job holds the same GPUs.")
    ]
    nodes: Annotated[
        Rows[NodeInterval], About("Stretches of time in which a node has as many GPUs in use.")
    ]
    jobs: Annotated[Rows[JobRecord], About("What became of each job.")]
    decisions: Annotated[
        Rows[Decision], About("The scheduling points, without the time that a decision took.")
    ] = ()

    @classmethod
    def of(cls, run: Records, objective: float | None, sha256: str | None = None) -> Self:
        """The file of a run that is said to cost `objective` dollars.

        Parameters
        ----------
        run : Records
            The records.
        objective : float or None
            Dollars.
        sha256 : str, optional
            Of the instance.
        """
        head = {"schema": SCHEMA, "version": 1, "instance_sha256": sha256, "objective": objective}
        return cls.from_dict({**head, **run.to_dict()})

    @property
    def run(self) -> Records:
        """The records themselves."""
        return Records(
            instance=self.instance,
            policy=self.policy,
            seed=self.seed,
            options=dict(self.options),
            segments=self.segments,
            nodes=self.nodes,
            jobs=self.jobs,
            decisions=self.decisions,
        )
