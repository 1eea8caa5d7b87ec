"""workload.csv and workload.parquet."""

import itertools
import math
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from optsched.declared import About
from optsched.errors import InputError, require_extras, shown
from optsched.io.numerals import parse_real
from optsched.io.reading import MAX_EXPANSION, MIN_EXPANDED_LIMIT, csv_rows
from optsched.io.writing import csv_text, replacing, write_text
from optsched.online.data.workload import (
    COLUMNS,
    OPTIONAL,
    RANGES,
    START,
    WALLTIME,
    Labels,
    Workload,
    optional_numbers,
)

MAX_FILE_BYTES = 2 * 2**30
"""Of a table, after decompression."""

MAX_JOBS = 20_000_000
MAX_NAME_LENGTH = 200

TEXT, NUMBERS = ("job_id", "user", "group", "model"), ("submit_time", "gpus", "iterations")
CHUNK = 200_000


def read_workload(path: str | Path) -> Workload:
    """Read a workload table, by the ending .csv (also .csv.gz) or .parquet.

    Parameters
    ----------
    path : str or Path
        .csv, .csv.gz or .parquet.

    Returns
    -------
    Workload
        The table, in the file's order.

    Raises
    ------
    InputError
        With file, line and column of the first error.
    MissingExtraError
        For parquet without pyarrow.

    Examples
    --------
    >>> from optsched.library import shipped_folder
    >>> len(read_workload(shipped_folder() / "online/small-400x40/workload.csv"))
    400
    """
    source = str(path)
    if source.endswith(".parquet"):
        return _read_parquet(path, source)
    return _read_csv(path, source)


def write_workload(path: str | Path, workload: Workload) -> None:
    """Write a workload table, by the ending .csv, .csv.gz or .parquet, atomically.

    Numbers and texts round-trip exactly.
    """
    columns = {name: getattr(workload, name) for name in COLUMNS}
    columns |= {name: columns[name].text() for name in TEXT[1:]}
    optional = {n: column for n in OPTIONAL if (column := getattr(workload, n)) is not None}
    if str(path).endswith(".parquet"):
        _write_parquet(path, columns, optional)
        return
    columns |= {name: columns[name].tolist() for name in NUMBERS}
    for name, column in optional.items():
        columns[name] = ["" if math.isnan(value) else value for value in column.tolist()]
    write_text(path, csv_text([*columns], zip(*columns.values(), strict=True)))


def _read_csv(path: str | Path, source: str) -> Workload:
    table = _Table(source)
    rows = csv_rows(path, max_bytes=MAX_FILE_BYTES)
    _, header = next(rows, (1, []))
    if not header:
        raise InputError(source, "line 1", "nothing", f"a CSV table with {', '.join(COLUMNS)}")
    _check_columns(header, source)
    while block := list(itertools.islice(rows, CHUNK)):
        for line, cells in block:
            if len(cells) != len(header):
                expected = f"a CSV table of {len(header)} columns"
                raise InputError(source, f"line {line}", f"{len(cells)} cells", expected)
        columns = zip(*(cells for _, cells in block), strict=True)
        table.add(dict(zip(header, columns, strict=True)))
    return table.workload()


def _check_columns(columns: list[Any], source: str) -> None:
    for name in COLUMNS:
        if name not in columns:
            raise InputError(source, "line 1", shown(columns), f"a column {name}")
    unknown = [name for name in columns if name not in (*COLUMNS, *OPTIONAL)]
    if unknown:
        expected = f"only {', '.join((*COLUMNS, *OPTIONAL))}"
        raise InputError(source, "line 1", shown(unknown[0]), expected)


class _Table:
    """Accumulates blocks of rows; raises on duplicate job ids."""

    def __init__(self, source: str) -> None:
        self._source, self._rows = source, 0
        self._seen: set[str] = set()
        self._code_of: dict[str, dict[str, int]] = {name: {} for name in TEXT[1:]}
        self._blocks: list[dict[str, Any]] = []

    def add(self, block: Mapping[str, Sequence[Any]]) -> None:
        rows = len(block["job_id"])
        if self._rows + rows > MAX_JOBS:
            raise InputError(self._source, "", "more rows", f"at most {MAX_JOBS}")
        columns: dict[str, Any] = {name: self._numbers(name, block[name]) for name in NUMBERS}
        columns |= {n: self._optional_numbers(n, block[n]) for n in OPTIONAL if n in block}
        for name in TEXT:
            self._check_text(name, block[name])
        for row, name in enumerate(block["job_id"]):
            if name in self._seen:
                place = self._place(row, "job_id")
                raise InputError(self._source, place, shown(name), "a unique job_id")
            self._seen.add(name)
        columns["job_id"] = np.array(block["job_id"], dtype=object)
        for name, code_of in self._code_of.items():
            codes = (code_of.setdefault(value, len(code_of)) for value in block[name])
            columns[name] = np.fromiter(codes, np.int32, rows)
        self._blocks.append(columns)
        self._rows += rows

    def workload(self) -> Workload:
        columns: dict[str, Any] = {
            n: Labels(self._column(n, np.int32), tuple(self._code_of[n])) for n in TEXT[1:]
        } | {
            name: optional_numbers(self._column(name, np.float64))
            for name in OPTIONAL
            if self._blocks and name in self._blocks[0]
        }
        workload = Workload(
            self._source,
            self._column("job_id", object),
            self._column("submit_time", np.float64),
            self._column("gpus", np.int64),
            self._column("iterations", np.float64),
            **columns,
        )
        workload.check(self._source)
        return workload

    def _optional_numbers(self, name: str, column: Sequence[Any]) -> Any:
        """Seconds; NaN for an empty cell."""
        blank = np.array([cell in ("", None) for cell in column])
        filled = [cell for cell, is_blank in zip(column, blank, strict=True) if not is_blank]
        values = np.full(len(column), np.nan)
        numbers = [parse_real(cell) if isinstance(cell, str) else cell for cell in filled]
        values[~blank] = [math.nan if number is None else number for number in numbers]
        low, high, expected = RANGES[name]
        invalid = ~blank & ~((values >= low) & (values <= high))
        if invalid.any():
            row = int(np.argmax(invalid))
            place, found = self._place(row, name), shown(column[row])
            raise InputError(self._source, place, found, f"{expected}, or an empty cell")
        return values

    def _column(self, name: str, dtype: Any) -> Any:
        return np.concatenate([p[name] for p in self._blocks] or [np.empty(0, dtype=dtype)])

    def _numbers(self, name: str, column: Sequence[Any]) -> Any:
        low, high, expected = RANGES[name]
        integral, values = name == "gpus", _floats(column)
        with np.errstate(invalid="ignore"):
            valid = (values >= low) & (values <= high)
            if integral:
                valid &= values == np.floor(values)
        if not valid.all():
            row = int(np.argmin(valid))
            raise InputError(self._source, self._place(row, name), shown(column[row]), expected)
        return values.astype(np.int64) if integral else values

    def _check_text(self, name: str, column: Sequence[Any]) -> None:
        may_be_empty = name not in ("job_id", "model")
        for row, value in enumerate(column):
            if (
                not isinstance(value, str)
                or len(value) > MAX_NAME_LENGTH
                or not value.isprintable()
                or not (value or may_be_empty)
            ):
                expected = f"a printable string of at most {MAX_NAME_LENGTH} characters"
                raise InputError(self._source, self._place(row, name), shown(value), expected)

    def _place(self, row: int, name: str) -> str:
        return f"line {self._rows + row + 2}: {name}"


COLUMN_DOCS = {
    "job_id": About("Unique job name.", "", "j0"),
    "submit_time": About("Submission time, from any origin.", "seconds", 120.0),
    "gpus": About("g, GPUs of the job, which it holds all at once until its end.", "GPUs", 16),
    "iterations": About("n, iterations to train; real, never rounded.", "iterations", 12000.5),
    "user": About("Submitting user; may be empty.", "", "u7"),
    "group": About("Recurring-job group, used by predictors; may be empty.", "", "g3"),
    "model": About("A key of the catalogue: the job's configuration.", "", "VGG19-16"),
}

WALLTIME_DOC = About(
    "Walltime requested by the user; may be empty or left out. Used by `easy`.", "seconds", 3600
)

START_DOC = About("Real start in a trace; may be empty or left out.", "seconds", 180.0)


def row_schema() -> dict[str, Any]:
    """The JSON Schema of a row of a workload: workload.csv or .parquet is a table of these."""
    properties: dict[str, Any] = {}
    for name, about in COLUMN_DOCS.items():
        kind: dict[str, Any] = {"type": "string", "maxLength": MAX_NAME_LENGTH}
        if name in NUMBERS:
            low, high, _ = RANGES[name]
            kind = {"type": "integer" if name == "gpus" else "number"}
            kind |= {"minimum": low, "maximum": high}
        properties[name] = kind | about.keywords
    properties[WALLTIME] = {"type": ["number", "null"], "exclusiveMinimum": 0, "maximum": 1e15}
    properties[WALLTIME] |= WALLTIME_DOC.keywords
    properties[START] = {"type": ["number", "null"], "minimum": -1e15, "maximum": 1e15}
    properties[START] |= START_DOC.keywords
    return {
        "title": "Workload",
        "description": "A row of a workload table: one job.",
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        "required": list(COLUMNS),
    }


_DECIMALS = re.compile(r"[0-9eE+.,-]*", re.ASCII)


def _floats(column: Sequence[Any]) -> Any:
    """Numbers of a column of decimals; NaN for cells that are not numbers."""
    if isinstance(column, np.ndarray):
        return column.astype(np.float64)
    if _DECIMALS.fullmatch(",".join(column)):  # only decimals: float() accepts what parse_real does
        with suppress(ValueError):
            return np.array(column, dtype=object).astype(np.float64)
    return np.array([math.nan if (x := parse_real(v)) is None else x for v in column])


def _read_parquet(path: str | Path, source: str) -> Workload:
    require_extras(["pyarrow"])
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    table = _Table(source)
    try:
        if not os.path.isfile(path):
            raise InputError(source, "", "no such file", "a readable file")
        with parquet.ParquetFile(path) as file:
            _check_columns(file.schema_arrow.names, source)
            _check_types(file.schema_arrow, source)
            _check_expansion(file.metadata, Path(path).stat().st_size, source)
            for group in range(file.num_row_groups):
                rows = file.read_row_group(group, use_threads=False)
                for batch in rows.to_batches(max_chunksize=CHUNK):
                    numbers = {n: batch.column(n).to_numpy(zero_copy_only=False) for n in NUMBERS}
                    others = [name for name in batch.schema.names if name not in NUMBERS]
                    table.add(numbers | {n: batch.column(n).to_pylist() for n in others})
    except (OSError, ValueError, arrow.ArrowException) as error:
        raise InputError(source, "", shown(str(error), 120), "a parquet table") from None
    return table.workload()


def _check_types(schema: Any, source: str) -> None:
    import pyarrow as arrow

    for name in schema.names:
        kind = schema.field(name).type
        dictionary = arrow.types.is_dictionary(kind)
        values = kind.value_type if dictionary else kind
        text = arrow.types.is_string(values) or arrow.types.is_large_string(values)
        number = arrow.types.is_integer(kind) or arrow.types.is_floating(kind)
        if not (text if name in TEXT else number):
            raise InputError(source, name, str(kind), "text" if name in TEXT else "numbers")


def _check_expansion(metadata: Any, size: int, source: str) -> None:
    """Guard against decompression bombs."""
    if metadata.num_rows > MAX_JOBS:
        raise InputError(source, "", f"{metadata.num_rows} rows", f"at most {MAX_JOBS}")
    # Of groups, not of columns: pyarrow ends the process at a broken column's metadata.
    total = sum(metadata.row_group(g).total_byte_size for g in range(metadata.num_row_groups))
    if total > max(MIN_EXPANDED_LIMIT, MAX_EXPANSION * size) or total > MAX_FILE_BYTES:
        expected = f"at most {MAX_EXPANSION} times the file, and {MAX_FILE_BYTES}"
        raise InputError(source, "", f"{total} bytes in {size}", expected)


def _write_parquet(path: str | Path, columns: dict[str, Any], optional: dict[str, Any]) -> None:
    require_extras(["pyarrow"])
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    columns["job_id"] = list(columns["job_id"])
    for name, column in optional.items():
        columns[name] = arrow.array(column, from_pandas=True)  # NaN: null
    table = arrow.table(columns)
    with replacing(path) as file:
        parquet.write_table(table, file)
