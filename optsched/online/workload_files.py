"""workload.csv and workload.parquet."""

from __future__ import annotations

import csv
import io
import os
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from optsched.errors import InputError, MissingExtraError, shown
from optsched.files import write_text
from optsched.online.workload import COLUMNS, Labels, Workload

LARGEST_FILE = 2 * 2**30
MOST_JOBS = 20_000_000
LONGEST_TEXT = 200
TEXT = ("job_id", "user", "group", "model")
CHUNK = 200_000


def read_workload(path: str | Path) -> Workload:
    """Read a workload table, by the ending .csv (also .csv.gz) or .parquet.

    Raises
    ------
    InputError
        One line: the file, the line and column of the first fault, found, expected.
    MissingExtraError
        For parquet without pyarrow.
    """
    source = str(path)
    _check_size(Path(path), source)
    if source.endswith(".parquet"):
        made = _read_parquet(path, source)
    else:
        made = _read_csv(path, source)
    seen = set(made.job_id)
    if len(seen) < len(made):
        _refuse_repeat(made, source)
    return made


def write_workload(path: str | Path, workload: Workload) -> None:
    """Write a workload table, by the ending; numbers round-trip exactly."""
    if str(path).endswith(".parquet"):
        _write_parquet(path, workload)
        return
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(
        zip(
            workload.job_id,
            map(repr, workload.submit_time.tolist()),
            workload.gpus.tolist(),
            map(repr, workload.iterations.tolist()),
            workload.user.text(),
            workload.group.text(),
            workload.model.text(),
            strict=True,
        )
    )
    write_text(path, stream.getvalue())


def _check_size(path: Path, source: str) -> None:
    try:
        size = path.stat().st_size
    except (OSError, ValueError) as error:
        text = getattr(error, "strerror", None) or str(error)
        raise InputError(source, "", text, "a readable file") from None
    if size > LARGEST_FILE:
        raise InputError(source, "", f"{size} bytes", f"at most {LARGEST_FILE} bytes")


def _read_csv(path: str | Path, source: str) -> Workload:
    import pandas as pd

    parts: list[dict[str, Any]] = []
    known: dict[str, dict[str, int]] = {name: {} for name in TEXT[1:]}
    rows = 0
    try:
        with (
            warnings.catch_warnings(),
            pd.read_csv(
                path,
                dtype=str,
                keep_default_na=False,
                chunksize=CHUNK,
                encoding="utf-8",
                skip_blank_lines=False,
                index_col=False,
                on_bad_lines="error",
            ) as chunks,
        ):
            warnings.simplefilter("error", pd.errors.ParserWarning)
            for chunk in chunks:
                _check_columns(list(chunk.columns), source)
                parts.append(_columns_of(chunk, rows, known, source))
                rows += len(chunk)
                if rows > MOST_JOBS:
                    raise InputError(source, "", "more rows", f"at most {MOST_JOBS}")
    except InputError:
        raise
    except (OSError, EOFError, ValueError, pd.errors.ParserWarning) as error:
        raise InputError(source, "", shown(str(error), 120), "a CSV table in UTF-8") from None
    return _assemble(parts, known, source)


def _check_columns(columns: list[Any], source: str) -> None:
    for name in COLUMNS:
        if name not in columns:
            raise InputError(source, "line 1", shown(columns), f"a column {name}")
    unknown = [name for name in columns if name not in COLUMNS]
    if unknown:
        raise InputError(source, "line 1", shown(unknown[0]), f"only {', '.join(COLUMNS)}")


def _columns_of(chunk: Any, rows: int, known: dict[str, dict[str, int]], source: str) -> Any:
    made: dict[str, Any] = {}
    for name, low, high, expected in (
        ("submit_time", -1e15, 1e15, "a finite number of seconds"),
        ("gpus", 1, 2**24, "an integer in [1, 16777216]"),
        ("iterations", 5e-324, 1e18, "a number in (0, 1e18]"),
    ):
        text = chunk[name].to_numpy(dtype=object)
        made[name] = _numbers(text, low, high, name == "gpus", rows, name, expected, source)
    for name in TEXT:
        text = chunk[name].to_numpy(dtype=object)
        _check_text(text, rows, name, source)
        if name == "job_id":
            made[name] = text
        else:
            codes = known[name]
            made[name] = np.fromiter(
                (codes.setdefault(value, len(codes)) for value in text), np.int32, len(text)
            )
    return made


def _numbers(
    text: Any,
    low: float,
    high: float,
    whole: bool,
    rows: int,
    name: str,
    expected: str,
    source: str,
) -> Any:
    try:
        values = text.astype(np.float64)
    except ValueError:
        values = np.array([_number(value) for value in text])
    with np.errstate(invalid="ignore"):
        valid = (values >= low) & (values <= high)
        if whole:
            valid &= values == np.floor(values)
    if not valid.all():
        row = int(np.argmin(valid))
        where = f"line {rows + row + 2}: {name}"
        raise InputError(source, where, shown(text[row]), expected)
    return values.astype(np.int64) if whole else values


def _number(value: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")


def _check_text(text: Any, rows: int, name: str, source: str) -> None:
    for row, value in enumerate(text):
        if (
            not isinstance(value, str)
            or len(value) > LONGEST_TEXT
            or not value.isprintable()
            or (name in ("job_id", "model") and not value)
        ):
            expected = f"a printable string of at most {LONGEST_TEXT} characters"
            raise InputError(source, f"line {rows + row + 2}: {name}", shown(value), expected)


def _assemble(parts: list[Any], known: dict[str, dict[str, int]], source: str) -> Workload:
    def joined(name: str, dtype: Any) -> Any:
        return np.concatenate([p[name] for p in parts]) if parts else np.empty(0, dtype=dtype)

    labels = {name: Labels(joined(name, np.int32), tuple(known[name])) for name in TEXT[1:]}
    made = Workload(
        source,
        joined("job_id", object),
        joined("submit_time", np.float64),
        joined("gpus", np.int64),
        joined("iterations", np.float64),
        labels["user"],
        labels["group"],
        labels["model"],
    )
    made.check(source)
    return made


def _refuse_repeat(workload: Workload, source: str) -> None:
    seen: set[str] = set()
    for row, name in enumerate(workload.job_id):
        if name in seen:
            raise InputError(source, f"line {row + 2}: job_id", shown(name), "no job_id twice")
        seen.add(name)


def _read_parquet(path: str | Path, source: str) -> Workload:
    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "online") from None
    try:
        with parquet.ParquetFile(path) as file:
            names = file.schema_arrow.names
            _check_columns(names, source)
            if file.metadata.num_rows > MOST_JOBS:
                found = f"{file.metadata.num_rows} rows"
                raise InputError(source, "", found, f"at most {MOST_JOBS}")
            frame = file.read(columns=list(COLUMNS)).to_pandas(strings_to_categorical=False)
    except (OSError, ValueError, arrow.ArrowException) as error:
        raise InputError(source, "", shown(str(error), 120), "a parquet table") from None
    known: dict[str, dict[str, int]] = {name: {} for name in TEXT[1:]}
    for name in TEXT:
        frame[name] = frame[name].astype(str)
    return _assemble([_columns_of(frame, 0, known, source)], known, source)


def _write_parquet(path: str | Path, workload: Workload) -> None:
    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "online") from None
    table = arrow.table(
        {
            "job_id": list(workload.job_id),
            "submit_time": workload.submit_time,
            "gpus": workload.gpus,
            "iterations": workload.iterations,
            "user": workload.user.text(),
            "group": workload.group.text(),
            "model": workload.model.text(),
        }
    )
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        os.close(handle)
        try:
            parquet.write_table(table, name)
            os.replace(name, target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InputError(str(path), "", error.strerror or str(error), "a writable file") from None
