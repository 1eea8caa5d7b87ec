"""The file of a finished run: its records, and what it is said to have cost."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import FailFast, Field

from optsched.declared import Seed
from optsched.rolling.records import Decision, JobRecord, NodeInterval, Records, Segment
from optsched.schema import Name, Number, SolutionFile

SCHEMA = "optsched/rolling-solution"
MOST_ROWS = 500_000


class RollingSolution(SolutionFile):
    """One policy's run on an instance, as `optsched roll --records` writes it.

    Attributes
    ----------
    instance, instance_sha256 : str
        Which instance; the hash may be left out.
    policy, seed, options
        What ran; the seed is that of the true epochs.
    objective : float or None
        The total cost claimed, dollars.
    segments, nodes, jobs, decisions
        The records, see `optsched.rolling.records`; of a decision all but its wall-clock time.
    """

    schema_: Literal["optsched/rolling-solution"] = Field(alias="schema")
    instance_sha256: Name | None = None
    policy: Name
    seed: Seed
    options: dict[str, Any] = Field(default_factory=dict)
    objective: Number | None = None
    segments: Annotated[tuple[Segment, ...], FailFast(), Field(strict=False, max_length=MOST_ROWS)]
    nodes: Annotated[
        tuple[NodeInterval, ...], FailFast(), Field(strict=False, max_length=MOST_ROWS)
    ]
    jobs: Annotated[tuple[JobRecord, ...], FailFast(), Field(strict=False, max_length=MOST_ROWS)]
    decisions: Annotated[
        tuple[Decision, ...], FailFast(), Field(strict=False, max_length=MOST_ROWS)
    ] = ()

    @classmethod
    def of(cls, run: Records, objective: float | None, sha256: str | None = None) -> Self:
        """The file of a run that is said to cost `objective` dollars."""
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
