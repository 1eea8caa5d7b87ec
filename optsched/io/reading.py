"""Reading files that may come from strangers: never more bytes, lines or cells than stated here.

A name that ends in ``.gz`` is read through gzip, whatever is in it.
"""

from __future__ import annotations

import codecs
import csv
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
"""Bytes that a compressed file may hold however small it is."""

MOST_EXPANSION = 100
"""Beyond those, bytes a byte of a compressed file may hold: tables reach 20, a bomb 1000."""

MOST_MEMBERS = 100_000
"""Compressed streams in one .gz file, one behind the other."""

_BLOCK = 2**16


@contextmanager
def opened(path: str | Path) -> Iterator[io.BufferedReader]:
    """A file open for reading, of a .gz its content; whatever goes wrong is one line."""
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
    """The content of a file of at most so many bytes; raises InputError."""
    with opened(path) as stream:
        raw = stream.read(most + 1)
    if len(raw) > most:
        raise InputError(str(path), "", f"more than {most} bytes", f"at most {most} bytes")
    return raw


def read_text(path: str | Path, most: int = LARGEST_FILE) -> str:
    """The text of a file of at most so many bytes of UTF-8; raises InputError."""
    raw = read_bytes(path, most)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(str(path), f"byte {error.start}", "no UTF-8", "UTF-8 text") from None


def lines_of(
    path: str | Path, *, most: int = LARGEST_TEXT, errors: str = "strict"
) -> Iterator[tuple[int, str]]:
    """Line numbers from 1 and lines of a UTF-8 file, or of a .gz of one."""
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
    """Line numbers and cells of a CSV file; a blank line has no cells, a cell no line break.

    Cells that were written for spreadsheets (`optsched.io.writing.csv_text`) come as they were.
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
"""What a cell begins with that a spreadsheet would run."""


def unescaped(cell: str) -> str:
    """A text cell without the apostrophe that keeps a spreadsheet from running it."""
    rest = cell.lstrip("'")
    return cell[1:] if cell[:1] == "'" and rest[:1] and rest[0] in FORMULA else cell


class _Expanded(io.RawIOBase):
    """The content of a gzip file, as a raw stream that keeps to the limits above."""

    def __init__(self, raw: Any, source: str) -> None:
        self._raw, self._source = raw, source
        self._read = self._made = self._members = 0
        self._waiting = b""
        self._member: Any = None

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer as far as the next block goes; 0 at the end."""
        made = b""
        while not made:
            if not self._waiting:
                self._waiting = self._raw.read(_BLOCK)
                self._read += len(self._waiting)
            if not self._waiting:
                if self._member is not None or not self._members:
                    raise self._damaged("it ends too early")
                return 0
            made = self._expanded(len(buffer))
        self._made += len(made)
        if self._made > max(ALWAYS_EXPANDED, MOST_EXPANSION * self._read):
            found = f"a .gz that expands more than {MOST_EXPANSION} times"
            raise InputError(self._source, "", found, "a text: decompress it first")
        buffer[: len(made)] = made
        return len(made)

    def _expanded(self, most: int) -> bytes:
        if self._member is None:
            if self._members:
                self._waiting = self._waiting.lstrip(b"\0")  # padding between members
                if not self._waiting:
                    return b""
            self._members += 1
            if self._members > MOST_MEMBERS:
                found = f"more than {MOST_MEMBERS} streams"
                raise InputError(self._source, "", found, "a .gz of one")
            self._member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        try:
            made: bytes = self._member.decompress(self._waiting, most)
        except zlib.error as error:
            raise self._damaged(str(error)) from None
        done = self._member.eof
        self._waiting = self._member.unused_data if done else self._member.unconsumed_tail
        if done:
            self._member = None
        return made

    def _damaged(self, how: str) -> InputError:
        return InputError(self._source, "", f"a damaged .gz ({how})", "a whole gzip file")
