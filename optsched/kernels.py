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
values up to rounding (1e-9): a kernel adds up arrays in a loop, not by `sum`, and reads no narrow
integers, with which numpy computes in their own few bits.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import stat
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import cache, update_wrapper
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
import numpy as np

from optsched.deadline import clock_stopped
from optsched.progress import compiling

SMALL_WORK = 400_000
"""Rounds of an inner loop that Python runs in about 0.3 s; compiling a kernel takes 1 to 10 s."""
RECORD = "complete.json"
"""In a kernel's folder: the SHA-256 of each of its files, written when all of them are."""


class Kernel:
    """A function that numba compiles when it is first called, for the types of its arguments.

    Attributes
    ----------
    py_func : callable
        The function itself, which runs in Python, helpers included.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function)
        self.py_func = function
        self._dispatcher: Any = None
        self._folder: Path | None = None
        self._signatures = 0
        self._steps = 0.0

    def __call__(self, *args: Any) -> Any:
        """Run compiled code."""
        if numba.config.DISABLE_JIT:
            return self.py_func(*args)
        if self._dispatcher is None:
            with _lock:
                self._prepare(args)
        value = self._dispatcher(*args)
        if self._folder is not None and len(self._dispatcher.signatures) > self._signatures:
            self._keep()  # another type of argument
        return value

    def for_size(self, steps: float) -> Callable[..., Any]:
        """Return what to call for work of about so many rounds of the innermost loop.

        Python serves as long as all calls so far come to `SMALL_WORK` steps and neither this
        process nor an earlier one has compiled the kernel.
        """
        if self._dispatcher is not None or _compile_all:
            return self
        self._steps += steps
        if self._steps > SMALL_WORK or is_intact(cache_folder(self.py_func)):
            return self
        return self._run_in_python

    def _run_in_python(self, *args: Any) -> Any:
        global _python_runs
        _python_runs += 1
        with np.errstate(all="ignore"):
            return self.py_func(*args)

    def _prepare(self, args: tuple[Any, ...]) -> None:
        """Load the kernel's code from disk, or compile it for these arguments and store it."""
        if self._dispatcher is not None:
            return
        folder = cache_folder(self.py_func)
        with clock_stopped(), _one_process(folder):
            is_kept = is_intact(folder)
            if folder is not None and not is_kept:
                _empty(folder)
            dispatcher = _dispatcher(self.py_func, folder)
            self._folder = None if dispatcher.stats.cache_path is None else folder
            with nullcontext() if is_kept else compiling(_title(self.py_func)):
                dispatcher.compile(tuple(numba.typeof(value) for value in args))
            self._dispatcher = dispatcher
            self._keep()

    def _keep(self) -> None:
        """Record the files of the kernel's folder, so that a damaged one is noticed."""
        self._signatures = len(self._dispatcher.signatures)
        if self._folder is None:
            return
        with suppress(OSError):
            text = json.dumps(_hashes(self._folder))
            new = self._folder / f"{RECORD}.{os.getpid()}"
            new.write_text(text, encoding="utf-8")
            new.replace(self._folder / RECORD)


def kernel(function: Callable[..., Any]) -> Kernel:
    """Compile an entry; helpers that it calls are `numba.extending.register_jitable`."""
    return Kernel(function)


@contextmanager
def compiled_at_once() -> Iterator[None]:
    """Compile every kernel that is called meanwhile, however small its work."""
    global _compile_all
    before, _compile_all = _compile_all, True
    try:
        yield
    finally:
        _compile_all = before


def python_runs() -> int:
    """Number of kernel runs so far that were left to Python."""
    return _python_runs


def is_intact(folder: Path | None) -> bool:
    """Return whether a folder's files have the recorded hashes."""
    if folder is None:
        return False
    try:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        return bool(record) and record == _hashes(folder)
    except (OSError, ValueError):
        return False


def _hashes(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*.nb[ci]"))
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        elif path.name != "lock":
            path.unlink(missing_ok=True)


def _dispatcher(function: Callable[..., Any], folder: Path | None) -> Any:
    """Wrap a function by numba's own decorator, its code kept in a folder."""
    if folder is None:
        return numba.njit(function)
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)  # read when a function is decorated; others keep theirs
    try:
        return numba.njit(cache=True)(function)
    except RuntimeError:  # numba found no folder that it can write into
        return numba.njit(function)
    finally:
        numba.config.CACHE_DIR = before


def _title(function: Callable[..., Any]) -> str:
    """Return a kernel's name in words, and its problem: "best patterns (placement)"."""
    words = function.__name__.strip("_").replace("_", " ")
    return f"{words} ({function.__module__.removeprefix('optsched.').split('.')[0]})"


@contextmanager
def _one_process(folder: Path | None) -> Iterator[None]:
    """Let only one process compile a kernel at a time, where files can be locked."""
    try:
        import fcntl

        file = (folder / "lock").open("w") if folder is not None else None
    except (ImportError, OSError):
        file = None
    if file is None:
        yield
        return
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@cache
def cache_folder(function: Callable[..., Any]) -> Path | None:
    """Return the folder of a kernel's code, created if needed; None where nothing can be written.

    Its name has a hash of the kernel's sources: numba itself sees changes in the kernel's own file,
    but not in helpers and constants of other files.
    """
    root = cache_root()
    if root is None:
        return None
    name = f"{function.__module__}.{function.__qualname__}"
    folder = root / f"{name}-{_content_hash(function)}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder


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
        digest.update(_content(file))
    digest.update("\n".join(sorted(constants)).encode())
    return digest.hexdigest()[:16]


@cache
def _content(file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError:
        return file.encode()


@cache
def cache_root() -> Path | None:
    """Folder for compiled code: the user's choice, the package's, the home's or a new one."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    beside = Path(__file__).parent / "__pycache__" / "kernels"
    for place in [Path(chosen)] if chosen else [beside, Path(home) / "optsched"]:
        with suppress(OSError):
            place.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=place):
                return place
    try:
        folder = _private_folder()
    except OSError:
        _log.warning("optsched: no folder can be written: each process compiles its own code")
        return None
    _log.warning("optsched: neither its folder nor a home can be written: code is in %s", folder)
    return folder


def _private_folder() -> Path:
    """Return a temporary folder that no other user can write into, since its code is executed."""
    if hasattr(os, "getuid"):
        place = Path(tempfile.gettempdir()) / f"optsched-{os.getuid()}"
        with suppress(FileExistsError):
            place.mkdir(mode=0o700)
        status = place.lstat()
        is_own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()
        if is_own and not stat.S_IMODE(status.st_mode) & 0o077:
            return place
    return Path(tempfile.mkdtemp(prefix="optsched-"))


_log = logging.getLogger("optsched")
_lock = threading.RLock()
_compile_all = False
_python_runs = 0
