"""Compiled functions: kept on disk wherever there is a place, and without counts where that helps.

A run's state is some fifty arrays in tuples. Counting references to all of them at every call took
half of a run's time; functions that only read and write arrays of their caller can do without. The
option that says so is a private one of numba's: where it is unknown, they count, and are slower.
"""

from __future__ import annotations

import logging
import os
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import numba


def njit(*, cache: bool) -> Callable[[Callable[..., Any]], Any]:
    """numba's own, which has no place to keep its code where nothing can be written."""
    return lambda function: _kept(function, cache=cache)


def njit_borrowing(function: Callable[..., Any]) -> Any:
    """Compile a function that borrows its caller's arrays: it makes none and returns none."""
    return _compiled(function, counts=False)


def njit_owning(function: Callable[..., Any]) -> Any:
    """Compile a function that makes arrays though borrowing ones call it."""
    return _compiled(function, counts=True)


def _compiled(function: Callable[..., Any], counts: bool) -> Any:
    try:
        return _kept(function, cache=True, _nrt=counts)
    except (KeyError, TypeError):
        return _kept(function, cache=True)


def _kept(function: Callable[..., Any], **options: Any) -> Any:
    try:
        return _stamped(numba.njit(**options)(function))
    except RuntimeError as error:  # numba found no folder it can write into
        if "no locator" not in str(error):
            raise
    place = _own_folder()
    if place is None:
        return numba.njit(**{**options, "cache": False})(function)
    numba.config.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"] = place  # processes we start, too
    return _stamped(numba.njit(**options)(function))


def _stamped(compiled: Any) -> Any:
    """Let kept code be as new as every file whose compiled functions the function's own imports.

    numba looks at the one file a function stands in: code that calls an older version of another
    file's function would be kept, and run. Its stamp is a private matter of numba's; where that is
    another, kept code is as numba has it.
    """
    try:
        kept = compiled._cache._cache_file
        kept._load_index = partial(_index_of, kept._load_index)
        others = {
            repr(each._cache._cache_file._source_stamp)
            for each in compiled.py_func.__globals__.values()
            if isinstance(each, type(compiled)) and each.__module__ != compiled.__module__
        }
        if others:
            kept._source_stamp = (kept._source_stamp, *sorted(others))
    except AttributeError:
        pass
    return compiled


def _index_of(load: Callable[[], Any]) -> Any:
    """What is kept, or nothing where it names a class that has moved since: an older version's."""
    try:
        return load()
    except (ImportError, AttributeError):
        return {}


def _own_folder() -> str | None:
    """A folder of this user's for compiled code, or None; says so once."""
    global _is_said
    try:
        place = _private_folder()
    except OSError:
        place = None
    where = "is made anew by each process" if place is None else f"is kept in {place}"
    if not _is_said:
        _log.warning("optsched: neither its folder nor a home can be written: code %s", where)
    _is_said = True
    return place


def _private_folder() -> str:
    """A folder that nobody else may write into: what is read from it is run."""
    if hasattr(os, "getuid"):
        place = os.path.join(tempfile.gettempdir(), f"optsched-{os.getuid()}")
        with suppress(FileExistsError):
            os.mkdir(place, 0o700)
        found = os.lstat(place)
        is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
        if is_ours and not stat.S_IMODE(found.st_mode) & 0o077:
            return place
    return tempfile.mkdtemp(prefix="optsched-")


_log = logging.getLogger("optsched")
_is_said = False
