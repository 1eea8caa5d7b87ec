"""Records as CSV or parquet: a line a job, the pieces as "server:gpus server:gpus".

Where jobs were stopped a column more, segments, has their stretches: "start..end server:gpus; ...".
As JSON one policy's run is a file that `optsched check` audits.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from optsched.errors import InputError
from optsched.extras import require_extras
from optsched.files import instance_sha256, write_document
from optsched.io.writing import csv_text, replacing, write_text
from optsched.library import WORKLOAD
from optsched.online.instance import OnlineInstance
from optsched.online.records import Record, Records
from optsched.online.solution import MOST_JOBS, OnlineSolution

COLUMNS = (
    "policy", "job_id", "submit", "start", "end", "gpus", "alpha", "estimate", "iterations",
    "predicted", "servers",
)  # fmt: skip


def write_records(path: str | Path, runs: Sequence[Records]) -> None:
    """Write the records of several runs, by the ending .csv or .parquet, whole or not at all."""
    if str(path).endswith(".parquet"):
        _write_parquet(path, runs)
        return
    names = _names(runs)
    rows = (row for records in runs for row in zip(*_cells(records, names), strict=True))
    write_text(path, csv_text(names, rows))


def is_run_file(path: str | Path) -> bool:
    """Whether a name asks for one policy's run as JSON."""
    return str(path).endswith((".json", ".json.gz"))


def require_one_run(path: str | None, policies: Sequence[str], jobs: int) -> None:
    """Refuse, before anything runs, what a run's JSON file cannot hold; raises InputError."""
    if path is None or not is_run_file(path):
        return
    for found, fits, expected in (
        (f"{len(policies)} policies", len(policies) == 1, "one for a .json file"),
        (f"{jobs} jobs", jobs <= MOST_JOBS, f"at most {MOST_JOBS}, or a .csv or .parquet file"),
    ):
        if not fits:
            raise InputError(str(path), "", found, expected)


def write_run(
    path: str | Path,
    records: Records,
    instance: OnlineInstance,
    options: dict[str, Any],
    seed: int = 0,
) -> None:
    """Write one policy's run for `optsched check`: schema "optsched/online-solution"."""
    if len(records.segments) > 2 * MOST_JOBS:
        found, expected = f"{len(records.segments)} segments", "or a .csv or .parquet file"
        raise InputError(str(path), "", found, f"at most {2 * MOST_JOBS}, {expected}")
    table = Path(instance.workload.name)
    name = table.absolute().parent.name if table.name == WORKLOAD else table.stem
    ran = replace(instance, workload=instance.workload.named(name))
    said = OnlineSolution.of(
        records, name, options=options, seed=seed, sha256=instance_sha256(ran.to_dict())
    )
    write_document(path, said.to_dict())


def _columns(records: Records) -> dict[str, Any]:
    no_segments = [""] * len(records)
    return {
        "policy": np.full(len(records), records.policy, dtype=object),
        "job_id": records.job_id,
        "submit": records.submit,
        "start": records.start,
        "end": records.end,
        "gpus": records.gpus,
        "alpha": records.alpha,
        "estimate": records.estimate,
        "iterations": records.iterations,
        "predicted": records.predicted,
        "servers": _servers(records),
        "segments": [_stretches(each) for each in records] if records.preemptions else no_segments,
    }


def _servers(records: Records) -> list[str]:
    server, taken, first = records.server.tolist(), records.taken.tolist(), records.first.tolist()
    return [
        " ".join(f"{server[p]}:{taken[p]}" for p in range(begin, end))
        for begin, end in itertools.pairwise(first)
    ]


def _stretches(record: Record) -> str:
    return "; ".join(
        f"{each.start!r}..{each.end!r} {' '.join(f'{m}:{gpus}' for m, gpus in each.servers)}"
        for each in record.segments
    )


def _names(runs: Sequence[Records]) -> tuple[str, ...]:
    return (*COLUMNS, "segments") if any(records.preemptions for records in runs) else COLUMNS


def _cells(records: Records, names: tuple[str, ...]) -> list[Any]:
    """The columns as Python's own numbers and texts."""
    columns = _columns(records)
    return [v.tolist() if isinstance(v, np.ndarray) else v for v in map(columns.get, names)]


def _write_parquet(path: str | Path, runs: Sequence[Records]) -> None:
    require_extras(["pyarrow"])
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    tables = []
    for records in runs:
        columns = _columns(records)
        tables.append(arrow.table({name: list(columns[name]) for name in _names(runs)}))
    with replacing(path) as made:
        parquet.write_table(arrow.concat_tables(tables), made)
