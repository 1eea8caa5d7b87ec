"""Reading text that may come from strangers, line by line, plain or compressed."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from optsched.errors import InputError, shown
from optsched.io import reading
from optsched.io.numerals import real_of
from optsched.online.traces.trace import Rejected


def lines_of(path: str | Path) -> Iterator[tuple[int, str]]:
    """Yield numbered lines of a text file or .gz, from 1; bytes not in UTF-8 are replaced."""
    return reading.lines_of(path, errors="replace")


def table_of(
    path: str | Path, columns: tuple[str, ...]
) -> Iterator[tuple[int, dict[str, str] | Rejected]]:
    """Rows of a CSV file with a header, by column; a row of another width is rejected."""
    lines = lines_of(path)
    first = next(lines, None)
    if first is None:
        raise InputError(str(path), "line 1", "nothing", f"a header with {', '.join(columns)}")
    header = _split(first[1].lstrip("\ufeff"))
    if len(header) > reading.MOST_COLUMNS:
        expected = f"at most {reading.MOST_COLUMNS}"
        raise InputError(str(path), "line 1", f"{len(header)} columns", expected)
    for column in columns:
        if column not in header:
            raise InputError(str(path), "line 1", shown(first[1]), f"a column {column}")
    for number, line in lines:
        if not line.strip():
            continue
        values = _split(line)
        if len(values) != len(header):
            yield number, Rejected(number, "another number of columns")
        else:
            yield number, dict(zip(header, values, strict=True))


def moment_of(text: str | None) -> float | None:
    """Seconds of a number, or of a date such as 2017-10-09 07:01:55 (UTC unless it says)."""
    value = real_of(text)
    if value is not None or not text:
        return value
    try:
        moment = datetime.fromisoformat(text.strip())
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return moment.timestamp()
    except (ValueError, OverflowError):
        return None


def _split(line: str) -> list[str]:
    try:
        return [reading.unescaped(value.strip()) for value in next(csv.reader([line]))]
    except (csv.Error, StopIteration):
        return []
