"""A pool of processes on this machine that survives a dead worker (pebble's)."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import Future
from typing import Any

from optsched.errors import MissingExtraError
from optsched.experiments.plan import Limits
from optsched.experiments.row import Row, Status
from optsched.experiments.units import Unit
from optsched.experiments.worker import prepare, run_unit, warm_up


class Lost(Exception):  # noqa: N818 - a status on its way to a row, not an error of ours
    """A unit that brought no row, and how it ended."""

    def __init__(self, status: Status, message: str, seconds: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.seconds = seconds

    def __reduce__(self) -> Any:
        return Lost, (self.status, str(self), self.seconds)


class LocalPool:
    """Worker processes on this machine.

    Parameters
    ----------
    workers : int
        How many.
    problems : tuple of str
        Problems whose compiled code each worker loads before its first unit.

    Raises
    ------
    MissingExtraError
        Without pebble.
    """

    def __init__(self, workers: int, problems: tuple[str, ...]) -> None:
        try:
            from pebble import ProcessPool
        except ImportError:
            raise MissingExtraError("pebble", "sweep") from None
        warm_up(problems)  # once here, or every worker would compile the same
        self.workers = workers
        self.name = f"{workers} processes" if workers > 1 else "1 process"
        # A fresh interpreter on every platform: no worker inherits threads or state of its parent.
        spawn = multiprocessing.get_context("spawn")
        self._pool = ProcessPool(
            max_workers=workers, initializer=prepare, initargs=(problems,), context=spawn
        )

    def submit(self, unit: Unit, document: str, limits: Limits) -> Future[Row]:
        """Start a unit; the future gives its row or raises `Lost`."""
        inner = self._pool.schedule(
            run_unit, args=(unit, document, limits.unit_memory), timeout=limits.unit_time
        )
        outer: Future[Row] = Future()
        inner.add_done_callback(lambda done: _pass_on(done, outer, limits))
        return outer

    def stop(self) -> None:
        """End every worker, whatever it is doing."""
        self._pool.stop()
        self._pool.join()


def _pass_on(inner: Any, outer: Future[Row], limits: Limits) -> None:
    """Hand a row on, and what pebble raises as `Lost`."""
    from pebble import ProcessExpired

    if inner.cancelled():
        outer.set_exception(Lost(Status.CRASHED, "cancelled by the pool"))
        return
    error = inner.exception()
    if error is None:
        outer.set_result(inner.result())
    elif isinstance(error, TimeoutError):
        message = f"ended after its {limits.unit_time:g} s"
        outer.set_exception(Lost(Status.TIMED_OUT, message, limits.unit_time))
    elif isinstance(error, ProcessExpired):
        message = f"the worker died (exit code {error.exitcode})"
        outer.set_exception(Lost(Status.CRASHED, message))
    elif isinstance(error, MemoryError):
        outer.set_exception(Lost(Status.OUT_OF_MEMORY, "the memory limit was reached"))
    else:
        message = f"{type(error).__name__}: {error}"[:300]
        outer.set_exception(Lost(Status.ERROR, message))
