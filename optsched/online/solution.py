"""The file of a simulated run: what ran, and each job's start, end and servers."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import FailFast, Field

from optsched.declared import Seed
from optsched.online.data.cluster import MOST_SERVERS
from optsched.online.options import OnlineOptions
from optsched.online.records import Records
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
)

SCHEMA = "optsched/online-solution"
MOST_JOBS = 100_000
"""Of a run's file; .csv and .parquet hold more."""

_Server = Annotated[str, Field(pattern=r"^[0-9]{1,7}$")]
_Gpus = Annotated[int, Between(-1, 2**24)]  # a wrong count is the audit's to report


class JobRun(FileModel):
    """A job's run: seconds since the first submission, and GPUs by server."""

    job_id: Annotated[
        str, Field(max_length=1000), About("The job's name in the workload.", "", "j0")
    ]
    start: Annotated[Number, About("When it starts, since the first submission.", "seconds", 120.0)]
    end: Annotated[Number, About("When it ends, since the first submission.", "seconds", 4300.0)]
    servers: Annotated[
        dict[_Server, _Gpus],
        Field(max_length=MOST_SERVERS),
        About("GPUs by the server's 0-based index.", "GPUs", {"0": 8, "3": 4}),
    ]


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
            {
                "job_id": each.job_id,
                "start": each.start,
                "end": each.end,
                "servers": {str(server): gpus for server, gpus in each.servers},
            }
            for each in records
        ]
        flow = float(records.flow.sum()) if records.complete else None
        head = {"schema": SCHEMA, "version": 1, "instance": instance, "instance_sha256": sha256}
        what = {"policy": records.policy, "seed": seed, "options": options, "objective": flow}
        return cls.from_dict({**head, **what, "jobs": jobs})
