"""Records as CSV or parquet: a line a job, the pieces as "server:gpus server:gpus"."""

from __future__ import annotations

import csv
import io
import itertools
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from optsched.errors import InputError, MissingExtraError
from optsched.files import write_text
from optsched.online.records import Records

COLUMNS = (
    "policy", "job_id", "submit", "start", "end", "gpus", "alpha", "estimate", "iterations",
    "predicted", "servers",
)  # fmt: skip


def write_records(path: str | Path, runs: Sequence[Records]) -> None:
    """Write the records of several runs, by the ending .csv or .parquet, whole or not at all.

    Raises
    ------
    InputError
        If the file cannot be written.
    MissingExtraError
        For parquet without pyarrow.
    """
    if str(path).endswith(".parquet"):
        _write_parquet(path, runs)
        return
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for records in runs:
        columns = [_text(values) for values in _columns(records).values()]
        writer.writerows(zip(*columns, strict=True))
    write_text(path, stream.getvalue())


def _columns(records: Records) -> dict[str, Any]:
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
    }


def _servers(records: Records) -> list[str]:
    server, taken, first = records.server.tolist(), records.taken.tolist(), records.first.tolist()
    return [
        " ".join(f"{server[p]}:{taken[p]}" for p in range(begin, end))
        for begin, end in itertools.pairwise(first)
    ]


def _text(values: Any) -> Any:
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        return map(repr, values.tolist())
    return values


def _write_parquet(path: str | Path, runs: Sequence[Records]) -> None:
    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "online") from None
    tables = []
    for records in runs:
        columns = _columns(records)
        tables.append(arrow.table({name: list(columns[name]) for name in COLUMNS}))
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        os.close(handle)
        try:
            parquet.write_table(arrow.concat_tables(tables), name)
            os.replace(name, target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InputError(str(path), "", error.strerror or str(error), "a writable file") from None
