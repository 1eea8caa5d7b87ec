"""workload.csv and workload.parquet."""

from __future__ import annotations

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
from optsched.errors import InputError, shown
from optsched.extras import require_extras
from optsched.io.numerals import real_of
from optsched.io.reading import ALWAYS_EXPANDED, MOST_EXPANSION, csv_rows
from optsched.io.writing import csv_text, replacing, write_text
from optsched.online.data.workload import COLUMNS, WALLTIME, Labels, Workload, walltimes

LARGEST_FILE = 2 * 2**30
"""Bytes of a table, after decompression."""

MOST_JOBS = 20_000_000
LONGEST_TEXT = 200
"""Characters of a name."""

TEXT = ("job_id", "user", "group", "model")
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
        One line: the file, the line and column of the first fault, found, expected.
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
    """Write a workload table, by the ending .csv, .csv.gz or .parquet, whole or not at all.

    Numbers and texts round-trip exactly.
    """
    if str(path).endswith(".parquet"):
        _write_parquet(path, workload)
        return
    columns = [
        workload.job_id,
        workload.submit_time.tolist(),
        workload.gpus.tolist(),
        workload.iterations.tolist(),
        workload.user.text(),
        workload.group.text(),
        workload.model.text(),
    ]
    headings = list(COLUMNS)
    if workload.walltime is not None:
        headings.append(WALLTIME)
        columns.append(["" if math.isnan(value) else value for value in workload.walltime.tolist()])
    write_text(path, csv_text(headings, zip(*columns, strict=True)))


def _read_csv(path: str | Path, source: str) -> Workload:
    table = _Table(source)
    rows = csv_rows(path, most=LARGEST_FILE)
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
    unknown = [name for name in columns if name not in (*COLUMNS, WALLTIME)]
    if unknown:
        expected = f"only {', '.join(COLUMNS)}, {WALLTIME}"
        raise InputError(source, "line 1", shown(unknown[0]), expected)


class _Table:
    """The columns of a table, which come in blocks of rows; a repeated job is refused at once."""

    def __init__(self, source: str) -> None:
        self._source, self._rows = source, 0
        self._seen: set[str] = set()
        self._known: dict[str, dict[str, int]] = {name: {} for name in TEXT[1:]}
        self._parts: list[dict[str, Any]] = []

    def add(self, block: Mapping[str, Sequence[Any]]) -> None:
        """Add rows, given as columns of text or numbers."""
        rows = len(block["job_id"])
        if self._rows + rows > MOST_JOBS:
            raise InputError(self._source, "", "more rows", f"at most {MOST_JOBS}")
        made: dict[str, Any] = {
            name: self._numbers(name, block[name], *RANGES[name]) for name in RANGES
        }
        if WALLTIME in block:
            made[WALLTIME] = self._walltimes(block[WALLTIME])
        for name in TEXT:
            self._check_text(name, block[name])
        for row, name in enumerate(block["job_id"]):
            if name in self._seen:
                raise InputError(
                    self._source, self._place(row, "job_id"), shown(name), "no job_id twice"
                )
            self._seen.add(name)
        made["job_id"] = np.array(block["job_id"], dtype=object)
        for name, codes in self._known.items():
            coded = (codes.setdefault(value, len(codes)) for value in block[name])
            made[name] = np.fromiter(coded, np.int32, rows)
        self._parts.append(made)
        self._rows += rows

    def workload(self) -> Workload:
        """The table that all blocks make."""
        labels = {n: Labels(self._joined(n, np.int32), tuple(self._known[n])) for n in TEXT[1:]}
        made = Workload(
            self._source,
            self._joined("job_id", object),
            self._joined("submit_time", np.float64),
            self._joined("gpus", np.int64),
            self._joined("iterations", np.float64),
            labels["user"],
            labels["group"],
            labels["model"],
            walltimes(self._joined(WALLTIME, np.float64)) if self._has_walltime else None,
        )
        made.check(self._source)
        return made

    @property
    def _has_walltime(self) -> bool:
        return bool(self._parts) and WALLTIME in self._parts[0]

    def _walltimes(self, column: Sequence[Any]) -> Any:
        """Seconds; NaN for an empty cell."""
        blank = np.array([cell in ("", None) for cell in column])
        filled = [cell for cell, is_blank in zip(column, blank, strict=True) if not is_blank]
        values = np.full(len(column), np.nan)
        numbers = [real_of(cell) if isinstance(cell, str) else cell for cell in filled]
        values[~blank] = [math.nan if number is None else number for number in numbers]
        wrong = ~blank & ~((values > 0) & (values <= 1e15))
        if wrong.any():
            row = int(np.argmax(wrong))
            place, found = self._place(row, WALLTIME), shown(column[row])
            raise InputError(self._source, place, found, "seconds in (0, 1e15], or an empty cell")
        return values

    def _joined(self, name: str, dtype: Any) -> Any:
        return np.concatenate([p[name] for p in self._parts] or [np.empty(0, dtype=dtype)])

    def _numbers(
        self, name: str, column: Sequence[Any], low: float, high: float, expected: str
    ) -> Any:
        whole = name == "gpus"
        values = _floats(column)
        with np.errstate(invalid="ignore"):
            valid = (values >= low) & (values <= high)
            if whole:
                valid &= values == np.floor(values)
        if not valid.all():
            row = int(np.argmin(valid))
            raise InputError(self._source, self._place(row, name), shown(column[row]), expected)
        return values.astype(np.int64) if whole else values

    def _check_text(self, name: str, column: Sequence[Any]) -> None:
        empty = name not in ("job_id", "model")
        for row, value in enumerate(column):
            if (
                not isinstance(value, str)
                or len(value) > LONGEST_TEXT
                or not value.isprintable()
                or not (value or empty)
            ):
                expected = f"a printable string of at most {LONGEST_TEXT} characters"
                raise InputError(self._source, self._place(row, name), shown(value), expected)

    def _place(self, row: int, name: str) -> str:
        return f"line {self._rows + row + 2}: {name}"


RANGES = {
    "submit_time": (-1e15, 1e15, "a finite number of seconds"),
    "gpus": (1, 2**24, "an integer in [1, 16777216]"),
    "iterations": (5e-324, 1e18, "a number in (0, 1e18]"),
}
COLUMNS_SAY = {
    "job_id": About("The job's name, once in a workload.", "", "j0"),
    "submit_time": About("When it is submitted, on any clock.", "seconds", 120.0),
    "gpus": About("g, all of which it gets at once and keeps until its end.", "GPUs", 16),
    "iterations": About("n, iterations to train; real, never rounded.", "iterations", 12000.5),
    "user": About("Who submits it; may be empty.", "", "u7"),
    "group": About("The recurring job that it is one of, for predictors; may be empty.", "", "g3"),
    "model": About("A key of the catalogue: the job's configuration.", "", "VGG19-16"),
}

WALLTIME_SAYS = About(
    "How long the user says that it runs; may be empty or left out. Used by `easy`.",
    "seconds",
    3600,
)


def row_schema() -> dict[str, Any]:
    """The JSON Schema of a row of a workload: workload.csv or .parquet is a table of these."""
    properties: dict[str, Any] = {}
    for name, about in COLUMNS_SAY.items():
        kind: dict[str, Any] = {"type": "string", "maxLength": LONGEST_TEXT}
        if name in RANGES:
            low, high, _ = RANGES[name]
            kind = {"type": "integer" if name == "gpus" else "number"}
            kind |= {"minimum": low, "maximum": high}
        properties[name] = kind | about.keywords
    properties[WALLTIME] = {"type": ["number", "null"], "exclusiveMinimum": 0, "maximum": 1e15}
    properties[WALLTIME] |= WALLTIME_SAYS.keywords
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
    """Numbers of a column of decimals; NaN stands for what is none."""
    if isinstance(column, np.ndarray):
        return column.astype(np.float64)
    if _DECIMALS.fullmatch(",".join(column)):  # then Python's own reading is as strict as ours
        with suppress(ValueError):
            return np.array(column, dtype=object).astype(np.float64)
    return np.array([math.nan if (x := real_of(v)) is None else x for v in column])


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
                whole = file.read_row_group(group, use_threads=False)
                for batch in whole.to_batches(max_chunksize=CHUNK):
                    numbers = {n: batch.column(n).to_numpy(zero_copy_only=False) for n in RANGES}
                    others = [name for name in batch.schema.names if name not in RANGES]
                    table.add(numbers | {n: batch.column(n).to_pylist() for n in others})
    except (OSError, ValueError, arrow.ArrowException) as error:
        raise InputError(source, "", shown(str(error), 120), "a parquet table") from None
    return table.workload()


def _check_types(schema: Any, source: str) -> None:
    import pyarrow as arrow

    for name in schema.names:
        kind = schema.field(name).type
        dictionary = arrow.types.is_dictionary(kind)
        held = kind.value_type if dictionary else kind
        text = arrow.types.is_string(held) or arrow.types.is_large_string(held)
        number = arrow.types.is_integer(kind) or arrow.types.is_floating(kind)
        if not (text if name in TEXT else number):
            raise InputError(source, name, str(kind), "text" if name in TEXT else "numbers")


def _check_expansion(metadata: Any, size: int, source: str) -> None:
    """Refuse what a small file claims to hold much of, before it is decompressed."""
    if metadata.num_rows > MOST_JOBS:
        raise InputError(source, "", f"{metadata.num_rows} rows", f"at most {MOST_JOBS}")
    # Of groups, not of columns: pyarrow ends the process at a broken column's metadata.
    held = sum(metadata.row_group(g).total_byte_size for g in range(metadata.num_row_groups))
    if held > max(ALWAYS_EXPANDED, MOST_EXPANSION * size) or held > LARGEST_FILE:
        expected = f"at most {MOST_EXPANSION} times the file, and {LARGEST_FILE}"
        raise InputError(source, "", f"{held} bytes in {size}", expected)


def _write_parquet(path: str | Path, workload: Workload) -> None:
    require_extras(["pyarrow"])
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    columns = {
        "job_id": list(workload.job_id),
        "submit_time": workload.submit_time,
        "gpus": workload.gpus,
        "iterations": workload.iterations,
        "user": workload.user.text(),
        "group": workload.group.text(),
        "model": workload.model.text(),
    }
    if workload.walltime is not None:
        columns[WALLTIME] = arrow.array(workload.walltime, from_pandas=True)  # NaN: null
    table = arrow.table(columns)
    with replacing(path) as made:
        parquet.write_table(table, made)
