"""Compiled kernels: one decorator over numba's, code kept on disk, and Python for small work.

A kernel file has one or more entries, which Python calls, and their helpers::

    from numba.extending import register_jitable
    from optsched.kernels import kernel

    @register_jitable
    def _excess(load, capacity):
        return max(load - capacity, 0.0)

    @kernel
    def total_excess(loads, capacities):
        ...

`total_excess(...)` runs compiled code. `total_excess.for_size(steps)(...)` leaves small work to
Python while nothing is compiled on this machine, since compiling takes seconds. Both give the same
values up to rounding (1e-9): kernels sum in loops (`np.sum` rounds differently) and avoid int8 and
int16 arrays (numpy's arithmetic overflows).
"""

import gc
import hashlib
import logging
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, update_wrapper
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
import numpy as np

from optsched.deadline import clock_stopped
from optsched.interrupts import call_uninterrupted
from optsched.progress import compiling

SMALL_WORK = 400_000
"""Rounds of an inner loop that Python runs in about 0.3 s; compiling a kernel takes 1 to 10 s."""


class Kernel:
    """A function that numba compiles when it is first called, for the types of its arguments.

    `py_func` is the function itself, which runs in Python, helpers included.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function)
        self.py_func = function
        self._dispatcher: Any = None
        self._steps = 0.0

    def __call__(self, *args: Any) -> Any:
        if numba.config.DISABLE_JIT:
            return self.py_func(*args)
        self.prepare(*args)
        return call_uninterrupted(self._dispatcher, *args)

    def for_size(self, steps: float) -> Callable[..., Any]:
        """Choose Python or compiled code for about `steps` rounds of the innermost loop.

        Python is used while all calls so far add up to at most `SMALL_WORK` steps and no compiled
        code exists in this process or on disk.
        """
        if self._dispatcher is not None or _compile_all:
            return self
        self._steps += steps
        if self._steps > SMALL_WORK or _has_code(cache_folder(self.py_func)):
            return self
        return self._run_in_python

    def _run_in_python(self, *args: Any) -> Any:
        global _python_runs
        _python_runs += 1
        with np.errstate(all="ignore"):
            return self.py_func(*args)

    def prepare(self, *args: Any) -> None:
        """Load the kernel's code from disk, or compile it for these arguments and store it."""
        if self._dispatcher is None and not numba.config.DISABLE_JIT:
            with _lock, clock_stopped():
                if self._dispatcher is None:  # else another thread was first
                    self._dispatcher = self._loaded_or_compiled(args)

    def _loaded_or_compiled(self, args: tuple[Any, ...]) -> Any:
        folder = cache_folder(self.py_func)
        types = tuple(numba.typeof(value) for value in args)
        if folder is not None and _has_code(folder):
            with suppress(Exception):  # of any kind, where a file is damaged
                return _compiled(self.py_func, folder, types)
            shutil.rmtree(folder, ignore_errors=True)
        with compiling(_title(self.py_func)):
            return _compiled(self.py_func, folder, types)


def kernel(function: Callable[..., Any]) -> Kernel:
    """Compile an entry; helpers that it calls are `numba.extending.register_jitable`."""
    return Kernel(function)


@contextmanager
def always_compile() -> Iterator[None]:
    """Compile every kernel that is called in this block, however small its work."""
    global _compile_all
    before, _compile_all = _compile_all, True
    try:
        yield
    finally:
        _compile_all = before


def python_runs() -> int:
    """Number of kernel runs so far that were left to Python."""
    return _python_runs


def _has_code(folder: Path | None) -> bool:
    return folder is not None and any(folder.rglob("*.nbc"))


def _compiled(function: Callable[..., Any], folder: Path | None, types: tuple[Any, ...]) -> Any:
    """Return numba's own dispatcher, with its cache in a folder."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder or before)  # read when a function is decorated
    try:
        dispatcher = numba.njit(cache=folder is not None, nogil=True)(function)
    finally:
        numba.config.CACHE_DIR = before
    collects = gc.isenabled()
    gc.disable()  # numba makes millions of objects; looking for garbage among them costs time
    try:
        dispatcher.compile(types)
    finally:
        if collects:
            gc.enable()
    return dispatcher


def _title(function: Callable[..., Any]) -> str:
    """Return a kernel's name in words, and its problem: "best patterns (placement)"."""
    words = function.__name__.strip("_").replace("_", " ")
    return f"{words} ({function.__module__.removeprefix('optsched.').split('.')[0]})"


@cache
def cache_folder(function: Callable[..., Any]) -> Path | None:
    """Return the folder of a kernel's code; None where nothing can be written.

    Its name has a hash of the kernel's sources: numba itself sees changes in the kernel's own file,
    but not in helpers and constants of other files.
    """
    root = cache_root()
    if root is None:
        return None
    name = f"{function.__module__}.{function.__qualname__}"
    return root / f"{name}-{_content_hash(function)}"


def _content_hash(function: Callable[..., Any]) -> str:
    """Hash the files of a kernel and its helpers, and the constants that they use."""
    files, constants = set(), set()
    pending, seen = [function], set()
    while pending:
        helper = pending.pop()
        if helper in seen or not isinstance(helper, FunctionType):
            continue
        seen.add(helper)
        files.add(helper.__code__.co_filename)
        for name in helper.__code__.co_names:
            value = helper.__globals__.get(name)
            if isinstance(value, FunctionType):
                pending.append(value)
            elif isinstance(value, int | float | str | tuple | np.generic):
                constants.add(f"{name} = {value!r}")
    digest = hashlib.sha256(f"{numba.__version__} {sys.version}".encode())
    for file in sorted(files):
        path = Path(file)
        digest.update(path.read_bytes() if path.is_file() else file.encode())
    digest.update("\n".join(sorted(constants)).encode())
    return digest.hexdigest()[:16]


@cache
def cache_root() -> Path | None:
    """Folder for compiled code: the user's choice, the package's or the home's."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    package_cache = Path(__file__).parent / "__pycache__" / "kernels"
    for place in [Path(chosen)] if chosen else [package_cache, Path(home) / "optsched"]:
        with suppress(OSError):
            place.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=place):
                return place
    logging.getLogger("optsched").warning(
        "optsched: each process compiles its own code; NUMBA_CACHE_DIR can name a folder"
    )
    return None


_lock = threading.RLock()
_compile_all = False
_python_runs = 0
