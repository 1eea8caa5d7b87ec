"""Writing files: atomically, ``.gz`` compressed, "-" to standard output.

A text cell of a CSV file that a spreadsheet would run as a formula (it begins with ``=``, ``+``,
``-``, ``@``, a tab or a line break, and is no number) gets an apostrophe before it, which
`optsched.io.reading` removes again.
"""

import csv
import gzip
import io
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from optsched.errors import InputError
from optsched.io.numerals import parse_real
from optsched.io.reading import FORMULA

STANDARD_OUTPUT = "-"
COMPRESSION = 6


def is_device(path: str | Path) -> bool:
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Yield a temporary file that replaces `path`, or a link's target; devices are yielded."""
    try:
        if is_device(path):
            yield Path(path)
            return
        target = Path(os.path.realpath(path))
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}.")
        os.close(handle)
        try:
            yield Path(name)
            os.chmod(name, 0o666 & ~_umask())
            os.replace(name, target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InputError(str(path), "", error.strerror or str(error), "a writable file") from None


def write_bytes(path: str | Path, raw: bytes) -> None:
    """Write bytes atomically, compressed reproducibly for ".gz"; "-" is standard output."""
    if str(path) == STANDARD_OUTPUT:
        sys.stdout.buffer.write(raw)
        return
    if str(path).endswith(".gz"):
        raw = gzip.compress(raw, COMPRESSION, mtime=0)
    with replacing(path) as temporary, temporary.open("wb") as stream:
        stream.write(raw)


def write_text(path: str | Path, text: str) -> None:
    """Write text in UTF-8, as `write_bytes` does; raises InputError."""
    if str(path) == STANDARD_OUTPUT:
        sys.stdout.write(text)
        return
    try:
        raw = text.encode("utf-8")
    except UnicodeEncodeError:
        raise InputError(str(path), "", "text with lone surrogates", "Unicode text") from None
    write_bytes(path, raw)


def csv_text(header: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    """Return a table as CSV: numbers with every digit, escaped formulas, None as an empty cell."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([_cell(cell) for cell in header])
    writer.writerows([_cell(cell) for cell in row] for row in rows)
    return stream.getvalue()


def _cell(cell: Any) -> Any:
    if not isinstance(cell, str) or not cell or cell[0] not in _FORMULA_STARTS:
        return cell
    rest = cell.lstrip("'")
    runs = rest[:1] and rest[0] in FORMULA and parse_real(cell) is None
    return f"'{cell}" if runs else cell


_FORMULA_STARTS = f"'{FORMULA}"


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
