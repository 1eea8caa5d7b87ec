"""Reading text that may come from strangers, line by line, plain or compressed."""

from __future__ import annotations

import csv
import gzip
import io
import math
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from optsched.errors import InputError, shown
from optsched.online.traces.trace import Rejected

LONGEST_LINE = 2**20
LARGEST_TEXT = 16 * 2**30


def lines_of(path: str | Path) -> Iterator[tuple[int, str]]:
    """Line numbers from 1 and lines of a UTF-8 file, or of a .gz of one.

    Raises
    ------
    InputError
        If it cannot be read, a line is longer than 1 MiB, or the text is longer than 16 GiB.
    """
    source, read = str(path), 0
    try:
        with _opened(path) as stream:
            number = 0
            while raw := stream.readline(LONGEST_LINE + 1):
                number += 1
                read += len(raw)
                if len(raw) > LONGEST_LINE or read > LARGEST_TEXT:
                    raise InputError(
                        source, f"line {number}", "an endless line or file", "a text of lines"
                    )
                yield number, raw.decode("utf-8", "replace").rstrip("\r\n")
    except (OSError, EOFError, ValueError, gzip.BadGzipFile) as error:
        text = getattr(error, "strerror", None) or str(error)
        raise InputError(source, "", shown(text), "a readable text file") from None


def table_of(
    path: str | Path, columns: tuple[str, ...]
) -> Iterator[tuple[int, dict[str, str] | Rejected]]:
    """Rows of a CSV file with a header, by column; a row of another width is rejected.

    Raises
    ------
    InputError
        If the file is empty or lacks one of `columns`.
    """
    lines = lines_of(path)
    first = next(lines, None)
    if first is None:
        raise InputError(str(path), "line 1", "nothing", f"a header with {', '.join(columns)}")
    header = _split(first[1].lstrip("\ufeff"))
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


def number_of(text: str | None) -> float | None:
    """A finite number, or None."""
    try:
        value = float(text) if text is not None else math.nan
    except (ValueError, OverflowError):
        return None
    return value if math.isfinite(value) else None


def moment_of(text: str | None) -> float | None:
    """Seconds of a number, or of a date such as 2017-10-09 07:01:55 (UTC unless it says)."""
    value = number_of(text)
    if value is not None or not text:
        return value
    try:
        moment = datetime.fromisoformat(text.strip())
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return moment.timestamp()
    except (ValueError, OverflowError):
        return None


def _opened(path: str | Path) -> io.BufferedIOBase:
    if str(path).endswith(".gz"):
        return gzip.open(path, "rb")
    return open(path, "rb")


def _split(line: str) -> list[str]:
    try:
        return [value.strip() for value in next(csv.reader([line]))]
    except (csv.Error, StopIteration):
        return []
