"""Reading files that may be broken or hostile: the constants below bound bytes, lines and cells.

A name that ends in ``.gz`` is read through gzip, whatever the file holds.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from optsched.errors import InputError, shown

LARGEST_FILE = 32 * 2**20
"""Bytes of a file that is read at once, after decompression."""
LARGEST_TEXT = 16 * 2**30
"""Bytes of a text that is read line by line, after decompression."""
LONGEST_LINE = 2**20
"""Bytes of a line."""
MOST_COLUMNS = 1000
"""Cells of a table's line."""
ALWAYS_EXPANDED = 4 * 2**20
"""Bytes that a compressed file may expand to, however small it is."""
MOST_EXPANSION = 100
"""Ratio that it may expand by beyond those: tables reach 20, a decompression bomb 1000."""
_BLOCK = 2**16


@contextmanager
def opened(path: str | Path) -> Iterator[io.BufferedReader]:
    """Open a file, or the content of a .gz, for reading; every failure is an `InputError`."""
    source = str(path)
    try:
        with open(path, "rb", buffering=0) as raw:
            content: Any = _Expanded(raw, source) if source.endswith(".gz") else raw
            with io.BufferedReader(content, _BLOCK) as stream:
                yield stream
    except OSError as error:
        raise InputError(source, "", error.strerror or str(error), "a readable file") from None
    except ValueError as error:
        if "null" not in str(error):
            raise
        raise InputError(source, "", "an impossible path", "a readable file") from None


def read_bytes(path: str | Path, most: int = LARGEST_FILE) -> bytes:
    """Return the content of a file of at most `most` bytes; raises InputError."""
    with opened(path) as stream:
        raw = stream.read(most + 1)
    if len(raw) > most:
        raise InputError(str(path), "", f"more than {most} bytes", f"at most {most} bytes")
    return raw


def read_text(path: str | Path, most: int = LARGEST_FILE) -> str:
    """Return the text of a file of at most `most` bytes of UTF-8; raises InputError."""
    raw = read_bytes(path, most)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(str(path), f"byte {error.start}", "no UTF-8", "UTF-8 text") from None


def lines_of(
    path: str | Path, *, most: int = LARGEST_TEXT, errors: str = "strict"
) -> Iterator[tuple[int, str]]:
    """Yield the numbers (from 1) and the lines of a UTF-8 file or .gz."""
    source, read, number = str(path), 0, 0
    with opened(path) as stream:
        while raw := stream.readline(LONGEST_LINE + 1):
            number, read = number + 1, read + len(raw)
            if len(raw) > LONGEST_LINE:
                expected = f"lines of at most {LONGEST_LINE} bytes"
                raise InputError(source, f"line {number}", "an endless line", expected)
            if read > most:
                expected = f"at most {most} bytes"
                raise InputError(source, f"line {number}", "an endless file", expected)
            try:
                yield number, raw.decode("utf-8", errors).rstrip("\r\n")
            except UnicodeDecodeError:
                raise InputError(source, f"line {number}", "no UTF-8", "UTF-8 text") from None


def text_blocks(path: str | Path, *, most: int = LARGEST_TEXT) -> Iterator[str]:
    """Yield a text block by block, however long its lines are; replace bytes not in UTF-8."""
    decoder, size = codecs.getincrementaldecoder("utf-8")("replace"), 0
    with opened(path) as stream:
        while raw := stream.read(_BLOCK):
            size += len(raw)
            if size > most:
                raise InputError(str(path), "", "an endless file", f"at most {most} bytes")
            yield decoder.decode(raw)


def csv_rows(path: str | Path, *, most: int = LARGEST_TEXT) -> Iterator[tuple[int, list[str]]]:
    """Yield the line numbers and cells of a CSV file.

    A blank line has no cells; a cell with a line break is refused. Apostrophes that
    `optsched.io.writing.csv_text` puts before formulas are removed.
    """
    source, number, inside = str(path), 0, False

    def lines() -> Iterator[str]:
        nonlocal number, inside
        for number, line in lines_of(path, most=most):
            if inside:
                raise InputError(source, f"line {number - 1}", "an open quote", "a row on a line")
            inside = True
            yield line.removeprefix("\ufeff") if number == 1 else line

    try:
        for cells in csv.reader(lines()):
            inside = False
            if len(cells) > MOST_COLUMNS:
                found = f"{len(cells)} cells"
                raise InputError(source, f"line {number}", found, f"at most {MOST_COLUMNS}")
            yield number, [unescaped(cell) if cell[:1] == "'" else cell for cell in cells]
    except csv.Error as error:
        raise InputError(source, f"line {number}", shown(str(error)), "a CSV table") from None


FORMULA = "=+-@\t\r\n"
"""First characters of cells that a spreadsheet would run."""


def unescaped(cell: str) -> str:
    """Remove the apostrophe that keeps a spreadsheet from running a cell."""
    rest = cell.lstrip("'")
    return cell[1:] if cell[:1] == "'" and rest[:1] and rest[0] in FORMULA else cell


class _Expanded(io.RawIOBase):
    """The content of a gzip file, as a raw stream that keeps to the limits above."""

    def __init__(self, raw: io.FileIO, source: str) -> None:
        self._raw, self._source, self._size = raw, source, 0
        self._content = gzip.GzipFile(fileobj=raw)

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer; return 0 at the end."""
        try:
            data = self._content.read1(len(buffer))
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            found = f"a damaged .gz ({error})"
            raise InputError(self._source, "", found, "a whole gzip file") from None
        self._size += len(data)
        if self._size > max(ALWAYS_EXPANDED, MOST_EXPANSION * self._raw.tell()):
            found = f"a .gz that expands more than {MOST_EXPANSION} times"
            raise InputError(self._source, "", found, "a text: decompress it first")
        buffer[: len(data)] = data
        return len(data)
