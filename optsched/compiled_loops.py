"""Compiled functions: kept on disk wherever there is a place, and without counts where that helps.

What has not been compiled on this machine is run by Python first (`interpreted`), and compiled once
that has taken as long. Compiling is no work of a method's: deadlines stand still meanwhile.

A run's state is some fifty arrays in tuples. Counting references to all of them at every call took
half of a run's time; functions that only read and write arrays of their caller can do without. The
option that says so is a private one of numba's: where it is unknown, they count, and are slower.

What is compiled for a caller would have its options: code would be what was compiled before. Each
function has those that stand at its own definition, whoever calls it first.
"""

from __future__ import annotations

import logging
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core.registry import CPUDispatcher

from optsched.deadline import standing_still
from optsched.interpreted import STEPS, TooLongError, interpreted, is_small, twin_for
from optsched.progress import compiling

FOR_ITSELF = {"forceinline": False, "error_model": "python"}
"""What numba hands down to functions that do not say, as they are by default."""


def njit(*, cache: bool) -> Callable[[Callable[..., Any]], Any]:
    """numba's own, which has no place to keep its code where nothing can be written."""
    return lambda function: _kept(function, cache=cache)


def njit_borrowing(function: Callable[..., Any]) -> Any:
    """Compile a function that borrows its caller's arrays: it makes none and returns none."""
    return _compiled(function, counts=False)


def njit_dividing(function: Callable[..., Any]) -> Any:
    """Compile one that borrows, and divides by no 0: not looking for one, it does many at once."""
    return _compiled(function, counts=False, error_model="numpy")


def njit_inner(function: Callable[..., Any]) -> Any:
    """Compile one that borrows, and that only compiled functions call: no way in from Python."""
    return _compiled(function, counts=False, no_cpython_wrapper=True)


def njit_inlined(function: Callable[..., Any]) -> Any:
    """Compile an inner one into its callers: where a loop calls it at every step.

    An array is seven words to whoever is called with it, and a run's state some four hundred.
    """
    return _compiled(function, counts=False, no_cpython_wrapper=True, forceinline=True)


def njit_owning(function: Callable[..., Any]) -> Any:
    """Compile a function that makes arrays though borrowing ones call it."""
    return _compiled(function, counts=True)


@contextmanager
def compiled_at_once() -> Iterator[None]:
    """Compile every function that is called meanwhile, however little it has to do."""
    global _at_once
    before, _at_once = _at_once, True
    try:
        yield
    finally:
        _at_once = before


class Tiered(CPUDispatcher):  # type: ignore[misc]
    """numba's dispatcher, which is asked to compile for arguments of new types; Python may do."""

    _steps = STEPS
    """Left to Python."""
    _on_disk: set[Any] | None = None
    """Signatures, when this process first looked."""

    def _compile_for_args(self, *args: Any, **none: Any) -> Any:
        """What to call with these arguments."""
        with standing_still():
            if self._on_disk is None:
                self._on_disk = _signatures(self)
            if self._on_disk and tuple(map(self.typeof_pyval, args)) in self._on_disk:
                return super()._compile_for_args(*args)
            is_left = not _at_once and self._steps > 0 and is_small(args, self._steps)
            if is_left and twin_for(self.py_func, args):
                return self._interpreted
        with standing_still(), compiling(_name(self)), _one_process(self):
            return super()._compile_for_args(*args)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Compile one version for a compiled caller, whatever constants it passes."""
        return super().get_call_template(tuple(map(numba.types.unliteral, args)), kws)

    def _interpreted(self, *args: Any) -> Any:
        """Run by Python, or if that takes too long after all, compiled."""
        try:
            value, self._steps = interpreted(twin_for(self.py_func, args), args, self._steps)
        except TooLongError:
            self._steps = 0
            return self(*args)
        return value


class Inner(Tiered):
    """One that has no way in from Python, where it is run as Python."""

    def __call__(self, *args: Any) -> Any:
        return self.py_func(*args)


def _name(function: Any) -> str:
    return f"{function.__name__} ({function.__module__.removeprefix('optsched.').split('.')[0]})"


def _signatures(function: Any) -> set[Any]:
    """Those a function is kept on disk for."""
    try:
        return {key[0] for key in function._cache._cache_file._load_index()}
    except (AttributeError, OSError, TypeError):
        return set()


@contextmanager
def _one_process(function: Any) -> Iterator[None]:
    """Let other processes that want the same code wait for it, where files can be locked."""
    try:
        import fcntl

        kept = function._cache._cache_file
        place = Path(kept._index_path).with_suffix(".lock").open("w")
    except (ImportError, AttributeError, OSError):
        yield
        return
    with place:
        fcntl.flock(place, fcntl.LOCK_EX)
        yield


def _compiled(function: Callable[..., Any], counts: bool, **options: Any) -> Any:
    try:
        return _kept(function, cache=True, _nrt=counts, **options)
    except (KeyError, TypeError):
        return _kept(function, cache=True, **options)


def _kept(function: Callable[..., Any], **options: Any) -> Any:
    options = FOR_ITSELF | options | {"no_cfunc_wrapper": True}  # as long as a small function
    if function.__name__.startswith("_"):
        options |= {"no_cpython_wrapper": True}
    try:
        return _stamped(_tiered(numba.njit(**options)(function)))
    except RuntimeError as error:  # numba found no folder it can write into
        if "no locator" not in str(error):
            raise
    place = _own_folder()
    if place is None:
        return _tiered(numba.njit(**{**options, "cache": False})(function))
    numba.config.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"] = place  # processes we start, too
    return _stamped(_tiered(numba.njit(**options)(function)))


def _tiered(compiled: Any) -> Any:
    if isinstance(compiled, CPUDispatcher):  # not where numba is told to compile nothing
        compiled.__class__ = Inner if "no_cpython_wrapper" in compiled.targetoptions else Tiered
    return compiled


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
            if isinstance(each, CPUDispatcher) and each.__module__ != compiled.__module__
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


numba.typeof((np.empty(0), 0.0))  # the first look at types takes milliseconds: no method's
_log = logging.getLogger("optsched")
_is_said = False
_at_once = False
