"""The file of a simulated run: what ran, and each job's start, end and servers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import FailFast, Field, model_validator

from optsched.declared import Seed
from optsched.online.data.cluster import MAX_SERVERS
from optsched.online.options import OnlineOptions
from optsched.online.records import Record, Records, Segment
from optsched.schema import (
    FORMAT,
    OPTIONS,
    SHA256,
    About,
    Between,
    FileModel,
    Name,
    Number,
    SolutionFile,
    fault,
)

SCHEMA = "optsched/online-solution"
MOST_JOBS = 100_000
"""Of a run's file, and stretches of one job; .csv and .parquet hold more."""

_Server = Annotated[str, Field(pattern=r"^[0-9]{1,7}$")]
_Gpus = Annotated[int, Between(-1, 2**24)]  # a wrong count is the audit's to report
_Servers = Annotated[
    dict[_Server, _Gpus],
    Field(max_length=MAX_SERVERS),
    About("GPUs by the server's 0-based index.", "GPUs", {"0": 8, "3": 4}),
]
_Start = Annotated[Number, About("When it starts, since the first submission.", "seconds", 120.0)]
_End = Annotated[Number, About("When it ends, since the first submission.", "seconds", 4300.0)]


class JobSegment(FileModel):
    """A stretch of a job's run: seconds since the first submission, and GPUs by server."""

    start: _Start
    end: _End
    servers: _Servers


class JobRun(FileModel):
    """A job's run: seconds since the first submission, and GPUs by server.

    A job that was stopped has its `segments` in order of time; `servers` are those it ended on.
    """

    job_id: Annotated[
        str, Field(max_length=1000), About("The job's name in the workload.", "", "j0")
    ]
    start: _Start
    end: _End
    servers: _Servers
    segments: Annotated[
        tuple[JobSegment, ...],
        FailFast(),
        Field(strict=False, max_length=MOST_JOBS),
        About("Of a job that was stopped: its stretches, in order of time."),
    ] = ()

    @property
    def parts(self) -> Sequence[JobSegment | JobRun]:
        """Its stretches; of a job that was never stopped, itself."""
        return self.segments or (self,)

    @model_validator(mode="after")
    def _one_run(self) -> Self:
        first, last = self.parts[0], self.parts[-1]
        if (first.start, last.end, last.servers) != (self.start, self.end, self.servers):
            expected = "to begin at start and end at end, on servers"
            raise fault("segments", "segments of another run", expected)
        return self


class OnlineSolution(SolutionFile):
    """One policy's run on a workload, as `optsched simulate --records FILE.json` writes it."""

    options_type = OnlineOptions

    schema_: Annotated[Literal["optsched/online-solution"], FORMAT] = Field(alias="schema")
    instance_sha256: Annotated[Name | None, SHA256] = None
    policy: Annotated[Name, About("What decided.", "", "a-srpt")]
    seed: Annotated[Seed, About("The seed of the predictor.", "", 0)] = 0
    options: Annotated[dict[str, Any], OPTIONS] = Field(default_factory=dict)
    objective: Annotated[Number | None, About("The total flow time claimed.", "seconds", 1.2e7)] = (
        None
    )
    jobs: Annotated[
        tuple[JobRun, ...],
        FailFast(),
        Field(strict=False, max_length=2 * MOST_JOBS),
        About("The run of each job."),
    ]

    @classmethod
    def of(
        cls,
        records: Records,
        instance: str,
        *,
        options: dict[str, Any],
        seed: int = 0,
        sha256: str | None = None,
    ) -> Self:
        """The file of a run; part of a run claims no objective.

        Parameters
        ----------
        records : Records
            The run.
        instance : str
            The workload's name.
        options : mapping
            As asked for.
        seed : int, optional
            Of the predictor.
        sha256 : str, optional
            Of the instance.

        Returns
        -------
        OnlineSolution
            The file.
        """
        jobs = [
            {"job_id": each.job_id, **_stretch(each)}
            | ({"segments": [*map(_stretch, each.segments)]} if each.segments else {})
            for each in records
        ]
        flow = float(records.flow.sum()) if records.complete else None
        head = {"schema": SCHEMA, "version": 1, "instance": instance, "instance_sha256": sha256}
        what = {"policy": records.policy, "seed": seed, "options": options, "objective": flow}
        return cls.from_dict({**head, **what, "jobs": jobs})

    def to_dict(self) -> dict[str, Any]:
        """The run as the JSON object of its file: without segments where no job was stopped."""
        made = super().to_dict()
        for job in made["jobs"]:
            if not job["segments"]:
                del job["segments"]
        return made


def _stretch(ran: Record | Segment) -> dict[str, Any]:
    servers = {str(server): gpus for server, gpus in ran.servers}
    return {"start": ran.start, "end": ran.end, "servers": servers}
