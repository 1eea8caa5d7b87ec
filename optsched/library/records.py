"""The history of a set: values and bounds as they became known, a line each, never changed.

A store is a folder of ``problem/set.jsonl``: the one that ships, and those that users submit to.
Lines are added under a lock, whole, and are on the disk when the writer returns; a line cut
short by a kill is removed by the next writer. Solutions and certificates are checked where they are
used; here they are compressed text.
"""

from __future__ import annotations

import base64
import json
import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated, Any, Literal, Self

from pydantic import Field

from optsched.errors import InputError, shown
from optsched.schema import FileModel, Number, parse

VERSION = 1
MOST_BYTES = 2**25
"""Of a line, and of what is unpacked from it."""
MOST_FILE = 2**28
Text = Annotated[str, Field(max_length=1000)]
Packed = Annotated[str, Field(max_length=MOST_BYTES)]
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Proof = Literal["certificate", "enumeration", "formula", "solver"]


class Record(FileModel):
    """A value that a solution attains, or a bound.

    Attributes
    ----------
    instance, sha256 : str
        ``problem/set/number``, and its hash.
    kind : "value" or "bound"
    value : float
        In the objective's own unit, as the checker or the verifier has it.
    solution, certificate : str or None
        JSON, packed: of a value its solution, of a bound what proves it.
    proof : str or None
        Of a bound: "certificate", "enumeration" by the method named, a "formula" that it works out
        of the instance, or a "solver"'s word.
    argument : str or None
        Of a bound: what the method calls it.
    solver, gap
        Whose word it is, with its version, and the relative gap it stopped at.
    method, command : str
        What found it, and how to run it.
    processor_seconds : float or None
    date, by : str
    """

    version: Literal[1] = 1
    instance: Text
    sha256: Sha256
    kind: Literal["value", "bound"]
    value: Number
    solution: Packed | None = None
    certificate: Packed | None = None
    proof: Proof | None = None
    argument: Text | None = None
    solver: Text | None = None
    gap: Number | None = None
    method: Text | None = None
    command: Text | None = None
    processor_seconds: Number | None = None
    date: Annotated[str, Field(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
    by: Text

    @classmethod
    def of(cls, **values: Any) -> Self:
        """Make one in Python; raises InputError."""
        return cls(**{key: value for key, value in values.items() if value is not None})

    def line(self) -> bytes:
        """The record as it stands in its file."""
        document = self.model_dump(mode="json", exclude_none=True)
        return json.dumps(document, sort_keys=True, allow_nan=False).encode() + b"\n"


def packed(document: Any) -> str:
    """A JSON document as compressed text, equal ones as equal text."""
    text = json.dumps(document, sort_keys=True, allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def unpacked(text: str, source: str) -> Any:
    """What `packed` made; raises InputError for what it did not make."""
    try:
        opened = zlib.decompressobj()
        raw = opened.decompress(base64.b64decode(text, validate=True), MOST_BYTES)
        if opened.unconsumed_tail or not opened.eof:
            raise InputError(source, "", "too much to unpack, or half of it", "a packed document")
        return json.loads(raw)
    except (ValueError, zlib.error, RecursionError) as error:
        found = type(error).__name__
        raise InputError(source, "", f"text that does not unpack ({found})", "packed JSON") from (
            None
        )


def read_records(path: str | Path) -> list[Record]:
    """The records of a file, in order; none where there is no file."""
    try:
        if os.path.getsize(path) > MOST_FILE:
            raise InputError(str(path), "", "a file too large", f"at most {MOST_FILE} bytes")
        raw = Path(path).read_bytes()
    except FileNotFoundError:
        return []
    except OSError as error:
        found = error.strerror or str(error)
        raise InputError(str(path), "", found, "a file of records") from None
    return list(_records(raw, str(path)))


def _records(raw: bytes, path: str) -> Iterator[Record]:
    lines = raw.split(b"\n")
    for number, line in enumerate(lines, start=1):
        place = f"line {number}"
        try:
            document = json.loads(line) if line else None
        except (ValueError, RecursionError):
            if number == len(lines):  # a write that never ended
                return
            raise InputError(path, place, "no JSON", "a record") from None
        if document is None and number == len(lines):
            return
        version = document.get("version") if isinstance(document, dict) else None
        if type(version) is int and version > VERSION:
            expected = f"{VERSION}: a newer optsched wrote it"
            raise InputError(path, f"{place}: version", str(version), expected)
        if not isinstance(document, dict):
            raise InputError(path, place, shown(document), "a record")
        yield parse(Record, document, f"{path}: {place}")


@contextmanager
def locked(path: str | Path) -> Iterator[IO[bytes]]:
    """A file of records to read and add to while nobody else does; raises InputError."""
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        with open(path, "a+b") as stream:
            _lock(stream)
            yield stream
    except OSError as error:
        found = error.strerror or str(error)
        raise InputError(str(path), "", found, "a folder to write records into") from None


def _lock(stream: IO[bytes]) -> None:
    """Wait for a lock that ends with the open file, and so with the process."""
    try:
        import fcntl
    except ImportError:  # Windows locks bytes: one that no file has
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
    if _is_json(last):
        new = b"\n" + new
    elif last:  # what a kill left of a line
        stream.truncate(len(old) - len(last))
    stream.seek(0, os.SEEK_END)
    stream.write(new)
    stream.flush()
    os.fsync(stream.fileno())


def _is_json(line: bytes) -> bool:
    try:
        return bool(line) and isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False
