"""Append-only history of the values and bounds of a set, one JSON line per record.

A store is a folder of ``problem/set.jsonl``: the shipped one, and those that users submit to.
Lines are appended under a lock and synced to disk; the next writer removes an incomplete last line.
Solutions and certificates are compressed text.
"""

import base64
import json
import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Annotated, Any, Literal

from pydantic import Field

from optsched.errors import InputError, shown
from optsched.io.reading import read_bytes
from optsched.schema import FileModel, Number, parse

VERSION = 1
MAX_LINE_BYTES = 2**25
"""Limit of a line, and of the document unpacked from it."""
MAX_FILE_BYTES = 2**28
Text = Annotated[str, Field(max_length=1000)]
Packed = Annotated[str, Field(max_length=MAX_LINE_BYTES)]
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Proof = Literal["certificate", "enumeration", "formula", "solver"]


class Record(FileModel):
    """A value that a solution attains, or a bound."""

    version: Literal[1] = 1
    instance: Text  # ``problem/set/number``
    sha256: Sha256
    kind: Literal["value", "bound"]
    # in the objective's own unit; a bound without a certificate is as the method states it
    value: Number
    # packed JSON: the solution of a value, the certificate of a bound
    solution: Packed | None = None
    certificate: Packed | None = None
    # proof of a bound: "certificate" (verifiable), "enumeration" (repeat the method),
    # "formula" (recompute it) or "solver" (claimed by a solver, not certified)
    proof: Proof | None = None
    argument: Text | None = None  # source of the bound, as `Result.bound_source` names it
    # the solver with its version, and the relative gap at which it stopped
    solver: Text | None = None
    gap: Number | None = None
    method: Text | None = None
    command: Text | None = None  # that runs the method
    processor_seconds: Number | None = None
    date: Annotated[str, Field(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
    by: Text

    def line(self) -> bytes:
        document = self.model_dump(mode="json", exclude_none=True)
        return json.dumps(document, sort_keys=True, allow_nan=False).encode() + b"\n"


def packed(document: Any) -> str:
    """A JSON document as compressed text; equal documents give equal text."""
    text = json.dumps(document, sort_keys=True, allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def unpacked(text: str, source: str) -> Any:
    """Unpack the document of `packed`; raises InputError for any other text."""
    try:
        decoder = zlib.decompressobj()
        raw = decoder.decompress(base64.b64decode(text, validate=True), MAX_LINE_BYTES)
        if decoder.unconsumed_tail or not decoder.eof:
            raise InputError(source, "", "compressed data too large or incomplete", "packed JSON")
        return json.loads(raw)
    except (ValueError, zlib.error, RecursionError) as error:
        found = f"text that cannot be unpacked ({type(error).__name__})"
        raise InputError(source, "", found, "packed JSON") from None


def read_records(path: str | Path) -> list[Record]:
    """Read the records of a file, in order; none if there is no file."""
    if not os.path.exists(path):
        return []
    lines = read_bytes(path, MAX_FILE_BYTES).split(b"\n")
    if not _is_json_object(lines[-1]):  # empty, or an unfinished write
        lines.pop()
    return [_record(line, str(path), f"line {n}") for n, line in enumerate(lines, start=1)]


def _record(line: bytes, path: str, location: str) -> Record:
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        raise InputError(path, location, "invalid JSON", "a record") from None
    if not isinstance(document, dict):
        raise InputError(path, location, shown(document), "a record")
    version = document.get("version")
    if type(version) is int and version > VERSION:
        expected = f"{VERSION}: a newer optsched wrote it"
        raise InputError(path, f"{location}: version", str(version), expected)
    return parse(Record, document, f"{path}: {location}")


@contextmanager
def locked(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a file of records while no other process writes to it; raises InputError."""
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        with open(path, "a+b") as stream:
            _lock(stream)
            yield stream
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(str(path), "", reason, "a folder to write records into") from None


def _lock(stream: IO[bytes]) -> None:
    """Acquire an exclusive lock; it is released when the file is closed."""
    try:
        import fcntl
    except ImportError:  # Windows locks bytes: one beyond the end of any file
        import msvcrt

        stream.seek(2**40)
        getattr(msvcrt, "locking")(stream.fileno(), getattr(msvcrt, "LK_LOCK"), 1)  # noqa: B009
        stream.seek(0)
        return
    fcntl.flock(stream, fcntl.LOCK_EX)


def add(stream: IO[bytes], lines: Iterable[bytes]) -> None:
    """Add lines to a `locked` file: all in one write, on the disk when this returns."""
    new = b"".join(lines)
    if not new:
        return
    stream.seek(0)
    old = stream.read()
    last = old[old.rfind(b"\n") + 1 :]
    if _is_json_object(last):  # complete but for its line end
        new = b"\n" + new
    elif last:  # incomplete: the writer was killed
        stream.truncate(len(old) - len(last))
    stream.seek(0, os.SEEK_END)
    stream.write(new)
    stream.flush()
    os.fsync(stream.fileno())


def _is_json_object(line: bytes) -> bool:
    try:
        return bool(line) and isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def without_certificate(document: dict[str, Any]) -> dict[str, Any]:
    """A solution's document without its certificate, which has a record of its own."""
    return {key: value for key, value in document.items() if key != "certificate"}


def today() -> str:
    return datetime.now(UTC).date().isoformat()
