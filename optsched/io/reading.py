"""Reading files, with limits on bytes, lines and cells against malformed or malicious input.

A name that ends in ``.gz`` is read through gzip, whatever the file holds.
"""

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

MAX_FILE_BYTES = 32 * 2**20
"""Bytes of a file that is read at once, after decompression."""
MAX_TEXT_BYTES = 16 * 2**30
"""Bytes of a text that is read line by line, after decompression."""
MAX_LINE_BYTES = 2**20
"""Bytes of a line."""
MAX_COLUMNS = 1000
"""Cells of a table's line."""
MIN_EXPANDED_LIMIT = 4 * 2**20
"""Bytes that a compressed file may expand to, however small it is."""
MAX_EXPANSION = 100
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
        raise InputError(source, "", "an invalid path", "a readable file") from None


def read_bytes(path: str | Path, max_bytes: int = MAX_FILE_BYTES) -> bytes:
    """Return the content of a file of at most `max_bytes` bytes; raises InputError."""
    with opened(path) as stream:
        raw = stream.read(max_bytes + 1)
    if len(raw) > max_bytes:
        expected = f"at most {max_bytes} bytes"
        raise InputError(str(path), "", f"more than {max_bytes} bytes", expected)
    return raw


def read_text(path: str | Path, max_bytes: int = MAX_FILE_BYTES) -> str:
    """Return the text of a file of at most `max_bytes` bytes of UTF-8; raises InputError."""
    raw = read_bytes(path, max_bytes)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(str(path), f"byte {error.start}", "not UTF-8", "UTF-8 text") from None


def lines_of(
    path: str | Path, *, max_bytes: int = MAX_TEXT_BYTES, errors: str = "strict"
) -> Iterator[tuple[int, str]]:
    """Yield the numbers (from 1) and the lines of a UTF-8 file or .gz."""
    source, read, number = str(path), 0, 0
    with opened(path) as stream:
        while raw := stream.readline(MAX_LINE_BYTES + 1):
            number, read = number + 1, read + len(raw)
            if len(raw) > MAX_LINE_BYTES:
                expected = f"lines of at most {MAX_LINE_BYTES} bytes"
                raise InputError(source, f"line {number}", "a line too long", expected)
            if read > max_bytes:
                expected = f"at most {max_bytes} bytes"
                raise InputError(source, f"line {number}", "a file too large", expected)
            try:
                yield number, raw.decode("utf-8", errors).rstrip("\r\n")
            except UnicodeDecodeError:
                raise InputError(source, f"line {number}", "not UTF-8", "UTF-8 text") from None


def text_blocks(path: str | Path, *, max_bytes: int = MAX_TEXT_BYTES) -> Iterator[str]:
    """Yield a text block by block, however long its lines are; replace bytes not in UTF-8."""
    decoder, size = codecs.getincrementaldecoder("utf-8")("replace"), 0
    with opened(path) as stream:
        while raw := stream.read(_BLOCK):
            size += len(raw)
            if size > max_bytes:
                raise InputError(str(path), "", "a file too large", f"at most {max_bytes} bytes")
            yield decoder.decode(raw)


def csv_rows(
    path: str | Path, *, max_bytes: int = MAX_TEXT_BYTES
) -> Iterator[tuple[int, list[str]]]:
    """Yield line numbers and cells of a CSV file, undoing what `csv_text` does to formulas."""
    source, number, in_quotes = str(path), 0, False

    def lines() -> Iterator[str]:
        nonlocal number, in_quotes
        for number, line in lines_of(path, max_bytes=max_bytes):
            if in_quotes:
                raise InputError(
                    source, f"line {number - 1}", "an unclosed quote", "cells without line breaks"
                )
            in_quotes = True
            yield line.removeprefix("\ufeff") if number == 1 else line

    try:
        for cells in csv.reader(lines()):
            in_quotes = False
            if len(cells) > MAX_COLUMNS:
                found = f"{len(cells)} cells"
                raise InputError(source, f"line {number}", found, f"at most {MAX_COLUMNS}")
            yield number, [unescaped(cell) if cell[:1] == "'" else cell for cell in cells]
    except csv.Error as error:
        raise InputError(source, f"line {number}", shown(str(error)), "a CSV table") from None


FORMULA = "=+-@\t\r\n"
"""First characters that spreadsheets take for the beginning of a formula."""


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
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._content.read1(len(buffer))
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            found = f"a damaged .gz ({error})"
            raise InputError(self._source, "", found, "a whole gzip file") from None
        self._size += len(data)
        if self._size > max(MIN_EXPANDED_LIMIT, MAX_EXPANSION * self._raw.tell()):
            found = f"a .gz that expands more than {MAX_EXPANSION} times"
            raise InputError(self._source, "", found, "a text: decompress it first")
        buffer[: len(data)] = data
        return len(data)
