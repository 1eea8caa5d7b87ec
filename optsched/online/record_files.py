"""Records as CSV or parquet: one line per job; servers as "server:gpus server:gpus".

If jobs were preempted, the column `segments` lists their segments: "start..end server:gpus; ...".
As JSON one policy's run is a file that `optsched check` audits.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from optsched.errors import InputError
from optsched.extras import require_extras
from optsched.files import instance_sha256, write_document
from optsched.io.writing import csv_text, replacing, write_text
from optsched.library import WORKLOAD
from optsched.online.instance import OnlineInstance
from optsched.online.records import Record, Records
from optsched.online.solution import MAX_JOBS, OnlineSolution

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
    """Whether the path has a JSON suffix."""
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
