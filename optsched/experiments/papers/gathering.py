"""Gather the rows of an artefact: progress is told, and an interrupt keeps what is finished.

Finished rows stand in ``NAME.SIZE.unfinished.jsonl`` until the artefact is made, so that the same
command goes on where it was stopped; SIZE is a digest of what was asked for. Rows that another
version of this code has made are not taken.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from optsched.errors import InputError
from optsched.experiments.run.worker import tie_to_parent
from optsched.writing import write_text

T = TypeVar("T")
R = TypeVar("R")
UNFINISHED = ".unfinished.jsonl"
Progress = Callable[[int, int], None]
"""Called with how many steps are done, and of how many."""


def gather(
    items: Iterable[T],
    run: Callable[[T], list[R]],
    row: type[R],
    *,
    key: Callable[[T], str] = repr,
    weight: Callable[[T], float] | None = None,
    parallel: bool = False,
) -> list[R]:
    """Run every item that has no rows yet; all rows, in the items' order.

    Parameters
    ----------
    items : iterable
        What the steps are about.
    run : callable
        The rows of an item; in parallel it runs in another process.
    row : type
        The dataclass of a row; its fields are numbers, texts and None.
    key : callable
        Tells an item from the others.
    weight : callable, optional
        The heaviest first; only where they run in parallel.
    parallel : bool
        On every core rather than here.
    """
    items, making = list(items), _MAKING.get()
    making.calls += 1
    names = [f"{making.calls}: {key(item)}" for item in items]
    kept = [making.kept(name, row) for name in names]
    made: dict[int, list[R]] = {i: rows for i, rows in enumerate(kept) if rows is not None}
    making.progress(len(made), len(items))
    left = [i for i in range(len(items)) if i not in made]
    if parallel and weight is not None:
        left.sort(key=lambda i: -weight(items[i]))
    turns = _in_processes if parallel else _here
    for i, rows in turns(items, left, run):
        making.keep(names[i], rows)
        made[i] = rows
        making.progress(len(made), len(items))
    return [row for i in range(len(items)) for row in made[i]]


@contextmanager
def making(folder: Path, name: str, size: str, progress: Progress | None) -> Iterator[None]:
    """Everything gathered within belongs to one artefact, made in one size."""
    path = folder / f"{name}.{hashlib.sha256(size.encode()).hexdigest()[:8]}{UNFINISHED}"
    now = _Making(path, {"size": size, "code": _code()}, progress)
    token = _MAKING.set(now)
    try:
        yield
        now.done()
    finally:
        _MAKING.reset(token)


@dataclass
class _Making:
    """An artefact in the making: where its finished rows are, and who is told."""

    path: Path | None = None
    head: dict[str, str] = field(default_factory=dict)
    tell: Progress | None = None
    calls: int = 0

    def __post_init__(self) -> None:
        self._rows = {} if self.path is None else _read(self.path, self.head)
        self._writes = False

    def kept(self, key: str, row: type[R]) -> list[R] | None:
        """The rows of an item that was finished before, if any."""
        found = self._rows.get(key)
        return None if found is None else [row(**each) for each in found]

    def keep(self, key: str, rows: Sequence[Any]) -> None:
        """Write the rows of a finished item."""
        if self.path is None:
            return
        self._rows[key] = [asdict(row) for row in rows]
        if not self._writes:  # anew: the file there may end in half a line
            lines = [json.dumps(self.head), *(_line(item, self._rows[item]) for item in self._rows)]
            write_text(self.path, "".join(f"{line}\n" for line in lines))
            self._writes = True
            return
        try:
            with self.path.open("a", encoding="utf-8") as stream:
                stream.write(_line(key, self._rows[key]) + "\n")
        except OSError as error:
            what = error.strerror or str(error)
            raise InputError(str(self.path), "", what, "a file to write") from None

    def progress(self, done: int, total: int) -> None:
        """Tell who watches."""
        if self.tell is not None:
            self.tell(done, total)

    def done(self) -> None:
        """The artefact is made."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)


_MAKING: ContextVar[_Making] = ContextVar("making", default=_Making())  # noqa: B039


def _line(item: str, rows: list[dict[str, Any]]) -> str:
    return json.dumps({"item": item, "rows": rows})


def _read(path: Path, head: dict[str, str]) -> dict[str, list[dict[str, Any]]]:
    """Finished items of a file with the same head; a line that was cut off ends them."""
    found: dict[str, list[dict[str, Any]]] = {}
    try:
        with path.open(encoding="utf-8") as stream:
            if json.loads(next(stream)) != head:
                return {}
            for line in stream:
                made = json.loads(line)
                found[made["item"]] = made["rows"]
    except (OSError, ValueError, KeyError, TypeError, StopIteration):
        pass
    return found


@lru_cache(maxsize=1)
def _code() -> str:
    """A digest of this package's source."""
    root = Path(__file__).resolve().parents[2]
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _here(
    items: Sequence[T], left: Sequence[int], run: Callable[[T], list[R]]
) -> Iterator[tuple[int, list[R]]]:
    return ((i, run(items[i])) for i in left)


def _in_processes(
    items: Sequence[T], left: Sequence[int], run: Callable[[T], list[R]]
) -> Iterator[tuple[int, list[R]]]:
    """As they finish; whatever ends this ends the processes too."""
    before = set(multiprocessing.active_children())
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(os.cpu_count(), spawn, initializer=tie_to_parent)
    try:
        with _interrupts_later():
            begun = {pool.submit(run, items[i]): i for i in left}
        for future in as_completed(begun):
            yield begun[future], future.result()
    except BaseException:
        for child in set(multiprocessing.active_children()) - before:
            child.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """Hold interrupts back where processes are started: they inherit it, and leave them to us."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
