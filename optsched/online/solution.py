"""Solution file of a simulated run: policy, and start, end and servers of each job."""

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
MAX_JOBS = 100_000
"""Maximum jobs per file and segments per job; use .csv or .parquet for more."""

_Server = Annotated[str, Field(pattern=r"^[0-9]{1,7}$")]
_Gpus = Annotated[int, Between(-1, 2**24)]  # wrong counts are reported by the audit
_Servers = Annotated[
    dict[_Server, _Gpus],
    Field(max_length=MAX_SERVERS),
    About("GPUs by the server's 0-based index.", "GPUs", {"0": 8, "3": 4}),
]
_Start = Annotated[Number, About("Start, since the first submission.", "seconds", 120.0)]
_End = Annotated[Number, About("End, since the first submission.", "seconds", 4300.0)]


class JobSegment(FileModel):
    """Segment of a job's run: seconds since the first submission, and GPUs by server."""

    start: _Start
    end: _End
    servers: _Servers


class JobRun(FileModel):
    """A job's run: seconds since the first submission, and GPUs by server.

    A preempted job lists its `segments` in time order; `servers` are those of the last segment.
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
        Field(strict=False, max_length=MAX_JOBS),
        About("Segments of a preempted job, in time order."),
    ] = ()

    @property
    def parts(self) -> Sequence[JobSegment | JobRun]:
        """Segments; the job itself if it was never preempted."""
        return self.segments or (self,)

    @model_validator(mode="after")
    def _one_run(self) -> Self:
        first, last = self.parts[0], self.parts[-1]
        if (first.start, last.end, last.servers) != (self.start, self.end, self.servers):
            found = "segments that do not match start, end and servers"
            expected = "first start, last end and last servers equal to the job's"
            raise fault("segments", found, expected)
        return self


class OnlineSolution(SolutionFile):
    """One policy's run on a workload, as `optsched simulate --records FILE.json` writes it."""

    options_type = OnlineOptions

    schema_: Annotated[Literal["optsched/online-solution"], FORMAT] = Field(alias="schema")
    instance_sha256: Annotated[Name | None, SHA256] = None
    policy: Annotated[Name, About("Policy name.", "", "a-srpt")]
    seed: Annotated[Seed, About("Predictor seed.", "", 0)] = 0
    options: Annotated[dict[str, Any], OPTIONS] = Field(default_factory=dict)
    objective: Annotated[Number | None, About("The total flow time claimed.", "seconds", 1.2e7)] = (
        None
    )
    jobs: Annotated[
        tuple[JobRun, ...],
        FailFast(),
        Field(strict=False, max_length=2 * MAX_JOBS),
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
        """Create the solution file of a run; an interrupted run has no objective."""
        jobs = [
            {"job_id": job.job_id, **_segment_dict(job)}
            | ({"segments": [*map(_segment_dict, job.segments)]} if job.segments else {})
            for job in records
        ]
        return cls.from_dict(
            {
                "schema": SCHEMA,
                "version": 1,
                "instance": instance,
                "instance_sha256": sha256,
                "policy": records.policy,
                "seed": seed,
                "options": options,
                "objective": float(records.flow.sum()) if records.complete else None,
                "jobs": jobs,
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """The run as the JSON object of its file, without empty segments."""
        document = super().to_dict()
        for job in document["jobs"]:
            if not job["segments"]:
                del job["segments"]
        return document


def _segment_dict(segment: Record | Segment) -> dict[str, Any]:
    servers = {str(server): gpus for server, gpus in segment.servers}
    return {"start": segment.start, "end": segment.end, "servers": servers}
