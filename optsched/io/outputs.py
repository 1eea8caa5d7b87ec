"""Validation of output paths: no overwritten input, no duplicate output."""

import os
from collections.abc import Iterable
from pathlib import Path

from optsched.errors import InputError
from optsched.io.writing import STANDARD_OUTPUT, is_device

File = str | Path


def require_outputs(outputs: Iterable[File | None], inputs: Iterable[File | None] = ()) -> None:
    """Raise InputError if outputs overwrite an input or each other, as files or by a link."""
    accepted: list[File] = []
    read = [path for path in inputs if path is not None]
    for path in outputs:
        if path is None:
            continue
        if any(is_same_file(path, other) for other in accepted):
            raise InputError(str(path), "", "a path used for two outputs", "a file for each")
        if str(path) != STANDARD_OUTPUT:
            if any(is_same_file(path, other) for other in read):
                raise InputError(str(path), "", "a file that is read", "another file to write")
            _require_writable(path)
        accepted.append(path)


def require_file(path: File | None, why: str) -> None:
    """Raise InputError for standard output where it cannot be used."""
    if path is not None and str(path) == STANDARD_OUTPUT:
        raise InputError(STANDARD_OUTPUT, "", "standard output", f"a file: {why}")


def is_same_file(one: File, other: File) -> bool:
    """Return whether two paths name one file, which need not exist; False for devices and pipes."""
    if STANDARD_OUTPUT in (str(one), str(other)):
        return str(one) == str(other)
    try:
        if not (os.path.exists(one) and os.path.exists(other)):
            return os.path.realpath(one) == os.path.realpath(other)
        return not is_device(one) and os.path.samefile(one, other)
    except (OSError, ValueError):  # a null character: reading or writing will refuse it
        return False


def _require_writable(path: File) -> None:
    """Raise InputError for a folder, or a file whose folder is not writable or not a folder."""
    try:
        target = Path(os.path.realpath(path))
        if target.is_dir() or str(path).endswith("/"):
            raise InputError(str(path), "", "a folder", "a file to write")
        if target.exists() and not target.is_file():
            return
        folder = target.parent
        while not os.path.lexists(folder):
            folder = folder.parent
    except (OSError, ValueError) as error:
        raise InputError(str(path), "", str(error), "a file to write") from None
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        found = (
            "a folder that may not be written" if folder.is_dir() else "a file for a parent folder"
        )
        raise InputError(str(path), "", found, "a writable file")
