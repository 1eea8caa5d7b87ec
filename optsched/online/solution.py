"""Solution file of a simulated run: policy, and start, end and servers of each job.

Tables of several runs, as CSV or parquet, have one line per job; servers as "server:gpus
server:gpus". If jobs were preempted, the column `segments` lists their segments: "start..end
server:gpus; ...".
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from optsched.declared import Seed
from optsched.errors import InputError, require_extras
from optsched.files import instance_sha256, write_document
from optsched.io.writing import csv_text, replacing, write_text
from optsched.library import WORKLOAD
from optsched.online.data.cluster import MAX_SERVERS
from optsched.online.options import OnlineOptions
from optsched.online.records import Record, Records, Segment
from optsched.placement.instance import MAX_STAGES
from optsched.schema import (
    FORMAT,
    OPTIONS,
    SHA256,
    About,
    Between,
    FileModel,
    Items,
    Name,
    Number,
    SolutionFile,
    fault,
)

if TYPE_CHECKING:
    from optsched.online.instance import OnlineInstance

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
        Items(MAX_JOBS),
        About("Segments of a preempted job, in time order."),
    ] = ()
    replicas: Annotated[
        dict[_Server, Annotated[tuple[_Gpus, ...], Field(strict=False, max_length=MAX_STAGES)]],
        Field(max_length=MAX_SERVERS),
        About(
            "Replicas of each stage by server; as Heavy-Edge places them if absent.",
            "replicas",
            {"0": [2, 6], "3": [2, 2]},
        ),
    ] = Field(default_factory=dict)

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
    jobs: Annotated[tuple[JobRun, ...], Items(2 * MAX_JOBS), About("The run of each job.")]

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
            | ({"replicas": _replicas_dict(job)} if job.replicas else {})
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
        """The run as the JSON object of its file, without empty segments and replicas."""
        document = super().to_dict()
        for job in document["jobs"]:
            for name in ("segments", "replicas"):
                if not job[name]:
                    del job[name]
        return document


def _segment_dict(segment: Record | Segment) -> dict[str, Any]:
    servers = {str(server): gpus for server, gpus in segment.servers}
    return {"start": segment.start, "end": segment.end, "servers": servers}


def _replicas_dict(job: Record) -> dict[str, Any]:
    placed = zip(job.servers, job.replicas, strict=True)
    return {str(server): list(counts) for (server, _), counts in placed}


COLUMNS = (
    "policy", "job_id", "submit", "start", "end", "gpus", "alpha", "estimate", "iterations",
    "predicted", "servers",
)  # fmt: skip


def write_records(path: str | Path, runs: Sequence[Records]) -> None:
    """Write the records of several runs, by the ending .csv or .parquet, atomically."""
    has_segments = any(records.preemptions for records in runs)
    names = (*COLUMNS, "segments") if has_segments else COLUMNS
    if str(path).endswith(".parquet"):
        _write_parquet(path, runs, names)
        return
    rows = (row for records in runs for row in zip(*_columns(records, names), strict=True))
    write_text(path, csv_text(names, rows))


def is_run_file(path: str | Path) -> bool:
    return str(path).endswith((".json", ".json.gz"))


def require_one_run(path: str | None, policies: Sequence[str], jobs: int) -> None:
    """Raise InputError if the run does not fit a JSON file."""
    if path is None or not is_run_file(path):
        return
    if len(policies) != 1:
        raise InputError(str(path), "", f"{len(policies)} policies", "one policy for a .json file")
    if jobs > MAX_JOBS:
        expected = f"at most {MAX_JOBS}, or a .csv or .parquet file"
        raise InputError(str(path), "", f"{jobs} jobs", expected)


def write_run(
    path: str | Path,
    records: Records,
    instance: OnlineInstance,
    options: dict[str, Any],
    seed: int = 0,
) -> None:
    """Write one policy's run for `optsched check`: schema "optsched/online-solution"."""
    if len(records.segments) > 2 * MAX_JOBS:
        found, expected = f"{len(records.segments)} segments", "or a .csv or .parquet file"
        raise InputError(str(path), "", found, f"at most {2 * MAX_JOBS}, {expected}")
    workload_path = Path(instance.workload.name)
    name = workload_path.stem
    if workload_path.name == WORKLOAD:
        name = workload_path.absolute().parent.name
    named = replace(instance, workload=instance.workload.named(name))
    solution = OnlineSolution.of(
        records, name, options=options, seed=seed, sha256=instance_sha256(named.to_dict())
    )
    write_document(path, solution.to_dict())


def _columns(records: Records, names: Sequence[str]) -> list[list[Any]]:
    """The columns as lists of Python's own numbers and texts."""
    columns = {"policy": [records.policy] * len(records), "servers": _servers(records)}
    columns |= {name: getattr(records, name).tolist() for name in COLUMNS[1:-1]}
    columns["segments"] = [""] * len(records)
    if records.preemptions:
        columns["segments"] = [_segments(record) for record in records]
    return [columns[name] for name in names]


def _servers(records: Records) -> list[str]:
    server, taken, first = records.server.tolist(), records.taken.tolist(), records.first.tolist()
    return [
        " ".join(f"{server[i]}:{taken[i]}" for i in range(begin, end))
        for begin, end in itertools.pairwise(first)
    ]


def _segments(record: Record) -> str:
    return "; ".join(
        f"{part.start!r}..{part.end!r} {' '.join(f'{m}:{gpus}' for m, gpus in part.servers)}"
        for part in record.segments
    )


def _write_parquet(path: str | Path, runs: Sequence[Records], names: Sequence[str]) -> None:
    require_extras(["pyarrow"])
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    columns = (_columns(records, names) for records in runs)
    tables = [arrow.table(dict(zip(names, values, strict=True))) for values in columns]
    with replacing(path) as file:
        parquet.write_table(arrow.concat_tables(tables), file)
