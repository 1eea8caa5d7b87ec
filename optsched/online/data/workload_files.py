"""workload.csv and workload.parquet."""

import itertools
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
    if str(path).endswith(".parquet"):
        _write_parquet(path, workload)
        return
    columns = workload.lists()
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
        columns: dict[str, Any] = {n: self._numbers(n, block[n]) for n in RANGES if n in block}
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
        if not self._blocks:
            return Workload.of(submit_time=[], gpus=[], iterations=[], model=[], name=self._source)
        columns: dict[str, Any] = {
            name: np.concatenate([block[name] for block in self._blocks])
            for name in self._blocks[0]
        }
        columns |= {n: Labels(columns[n], tuple(codes)) for n, codes in self._code_of.items()}
        columns |= {n: optional_numbers(columns[n]) for n in OPTIONAL if n in columns}
        workload = Workload(self._source, **columns)
        workload.check()
        return workload

    def _numbers(self, name: str, column: Sequence[Any]) -> Any:
        """Numbers of a column, NaN for an empty cell of an optional one."""
        low, high, expected = RANGES[name]
        values = _floats(column)
        valid = (values >= low) & (values <= high)
        if name == "gpus":
            valid &= values == np.floor(values)
        if name in OPTIONAL:
            valid |= np.array([cell in ("", None) for cell in column])
            expected += ", or an empty cell"
        if not valid.all():
            row = int(np.argmin(valid))
            raise InputError(self._source, self._place(row, name), shown(column[row]), expected)
        return values.astype(np.int64) if name == "gpus" else values

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
    WALLTIME: About(
        "Walltime requested by the user; may be empty or left out. Used by `easy`.", "seconds", 3600
    ),
    START: About("Real start in a trace; may be empty or left out.", "seconds", 180.0),
}


def row_schema() -> dict[str, Any]:
    """The JSON Schema of a row of a workload: workload.csv or .parquet is a table of these."""
    properties: dict[str, Any] = {}
    for name, about in COLUMN_DOCS.items():
        kind: dict[str, Any] = {"type": "string", "maxLength": MAX_NAME_LENGTH}
        if name in RANGES:
            number = "integer" if name == "gpus" else "number"
            low, high, _ = RANGES[name]
            kind = {"type": [number, "null"] if name in OPTIONAL else number}
            kind |= {"minimum": low, "maximum": high}
        properties[name] = kind | about.keywords
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
    """Numbers of a column of numbers or decimals; NaN for cells that are neither."""
    if isinstance(column, np.ndarray):
        return column.astype(np.float64)
    with suppress(TypeError, ValueError):  # a number, an empty cell
        if _DECIMALS.fullmatch(",".join(column)):  # float() accepts of these what parse_real does
            return np.array(column, dtype=object).astype(np.float64)
    numbers = [parse_real(cell) if isinstance(cell, str) else cell for cell in column]
    return np.array(numbers, dtype=np.float64)  # None becomes NaN


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


def _write_parquet(path: str | Path, workload: Workload) -> None:
    require_extras(["pyarrow"])
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    columns = {
        name: column.text() if isinstance(column, Labels) else arrow.array(column, from_pandas=True)
        for name, column in workload.columns().items()  # NaN becomes null
    }
    table = arrow.table(columns)
    with replacing(path) as file:
        parquet.write_table(table, file)
