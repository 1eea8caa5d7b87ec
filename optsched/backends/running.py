"""Solver runs that an interrupt can end.

A solver in the main thread would block Python's signal handlers until it ends. It therefore runs in
its own thread. A stop is requested when its deadline passes or when the waiting thread is
interrupted. After the deadline the caller waits for it; after an interrupt the caller returns at
once, and the solver ends at its next check or with Python.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from optsched.deadline import Deadline
from optsched.errors import SolverError

Result = TypeVar("Result")

LOOK = 0.1
"""Seconds between two checks of the deadline."""


def run_highs(highs: Any, deadline: Deadline, meanwhile: Callable[[], None] | None = None) -> None:
    """Run HiGHS to its end, the deadline or an interrupt; call `meanwhile` between the checks.

    Raises SolverError if HiGHS did not run at all.
    """
    import highspy

    call_highs(highs, highs.run, deadline, meanwhile)
    status, known = highs.getModelStatus(), highspy.HighsModelStatus
    if status in (known.kNotset, known.kLoadError, known.kModelError):
        raise SolverError(f"HiGHS did not run: {highs.modelStatusToString(status)}")


def call_highs(
    highs: Any,
    run: Callable[[], Result],
    deadline: Deadline,
    meanwhile: Callable[[], None] | None = None,
) -> Result:
    """Call a method of HiGHS that solves, and return its result.

    The call gets a new thread, however small the model: HiGHS keeps a pool of worker threads for
    each thread that calls it, and refuses a thread count other than that pool's. In the caller's
    own thread the pool may be a user's, and ours would be in the user's way afterwards.
    """
    if not highs.HandleUserInterrupt:
        highs.HandleUserInterrupt = True
    results: list[Result] = []
    _run_aside(lambda: results.append(run()), highs.cancelSolve, deadline, meanwhile)
    return results[0]


class InterruptibleScip:
    """A SCIP model whose `optimize` an interrupt can end; all else is the model's."""

    def __init__(self, model: Any, deadline: Deadline) -> None:
        self._model = model
        self._deadline = deadline
        model.setParam("misc/catchctrlc", False)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def optimize(self) -> None:
        """Solve without blocking Python."""
        run, stop = self._model.optimizeNogil, self._model.interruptSolve
        _run_aside(run, stop, self._deadline, begin=_begin_in_a_thread_that_stays)


def _begin_in_a_new_thread(work: Callable[[], None], tell: Callable[[], None]) -> None:
    def work_and_tell() -> None:
        work()
        tell()

    threading.Thread(target=work_and_tell, daemon=True, name="solver").start()


def _run_aside(
    run: Callable[[], object],
    stop: Callable[[], object],
    deadline: Deadline,
    meanwhile: Callable[[], None] | None = None,
    begin: Callable[[Callable[[], None], Callable[[], None]], None] = _begin_in_a_new_thread,
) -> None:
    """Run in another thread, and raise what it raises."""
    # A bare lock: an interrupt amid the wait of `threading.Event` leaves its lock broken, and
    # amid that of `SimpleQueue.get` may leave it waiting without its timeout (CPython 3.11).
    working = threading.Lock()
    working.acquire()
    errors: list[BaseException] = []

    def work() -> None:
        try:
            run()
        except BaseException as raised:
            errors.append(raised)

    try:
        begin(work, working.release)
        while not working.acquire(timeout=LOOK):
            if deadline.is_over:
                stop()
            elif meanwhile is not None:
                meanwhile()
    except BaseException:
        stop()
        raise
    for error in errors:
        raise error


class _ThreadThatStays:
    """A thread that serves one caller after another until Python ends."""

    def __init__(self) -> None:
        self._told = threading.Lock()
        self._told.acquire()
        self._task: tuple[Callable[[], None], Callable[[], None]] | None = None
        threading.Thread(target=self._serve, daemon=True, name="solver").start()

    def begin(self, work: Callable[[], None], tell: Callable[[], None]) -> None:
        """Let the thread do the work, become idle, and call `tell`."""
        self._task = (work, tell)
        self._told.release()

    def _serve(self) -> None:
        while True:
            self._told.acquire()
            if self._task is not None:
                work, tell = self._task
                self._task = None
                work()
                _idle.append(self)  # before the waiting thread continues and may need one again
                tell()
                del work, tell  # a model is not kept until the next


_idle: list[_ThreadThatStays] = []
if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_idle.clear)


def _begin_in_a_thread_that_stays(work: Callable[[], None], tell: Callable[[], None]) -> None:
    """For SCIP, whose tables of derivatives (CppAD's) have room for the first 64 threads only."""
    try:
        thread = _idle.pop()
    except IndexError:  # none yet, or all of them are busy
        thread = _ThreadThatStays()
    thread.begin(work, tell)
