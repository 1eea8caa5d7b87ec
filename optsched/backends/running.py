"""Interruptible solver runs.

A solver in the main thread would block Python's signal handlers until it ends. It therefore runs in
its own thread. A stop is requested when its deadline passes or when the waiting thread is
interrupted. After the deadline the caller waits for it; after an interrupt the caller returns at
once, and the solver ends at its next check or with Python.
"""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import highspy

from optsched.deadline import Deadline
from optsched.errors import SolverError

POLL_SECONDS = 0.1
"""Seconds between two checks of the deadline."""
MAX_SCIP_RUNS = 32
"""Runs of SCIP at the same time; further ones wait for a thread."""
_scip_threads: ThreadPoolExecutor


def run_highs(highs: Any, deadline: Deadline, on_poll: Callable[[], None] | None = None) -> None:
    """Run HiGHS to its end, the deadline or an interrupt; call `on_poll` between the checks.

    Each run gets a new thread, however small the model: HiGHS keeps a pool of worker threads for
    each thread that calls it, and refuses a thread count other than that pool's. In the caller's
    own thread the pool may be a user's, and ours would constrain the user's later runs. Raises
    SolverError if HiGHS did not run at all.
    """
    if not highs.HandleUserInterrupt:
        highs.HandleUserInterrupt = True
    _run_in_thread(highs.run, highs.cancelSolve, deadline, on_poll)
    status, known = highs.getModelStatus(), highspy.HighsModelStatus
    if status in (known.kNotset, known.kLoadError, known.kModelError):
        raise SolverError(f"HiGHS did not run: {highs.modelStatusToString(status)}")


class InterruptibleScip:
    """A SCIP model whose `optimize` an interrupt can end; all else is the model's."""

    def __init__(self, model: Any, deadline: Deadline) -> None:
        self._model = model
        self._deadline = deadline
        model.setParam("misc/catchctrlc", False)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def optimize(self) -> None:
        # CppAD's tables of derivatives have room for the first 64 threads only: SCIP has a pool.
        run, stop = self._model.optimizeNogil, self._model.interruptSolve
        _run_in_thread(run, stop, self._deadline, begin=lambda work: _scip_threads.submit(work))


def _start_thread(work: Callable[[], None]) -> None:
    threading.Thread(target=work, daemon=True, name="solver").start()


def _make_pool() -> None:
    global _scip_threads
    _scip_threads = ThreadPoolExecutor(MAX_SCIP_RUNS, "solver")


def _run_in_thread(
    run: Callable[[], object],
    stop: Callable[[], object],
    deadline: Deadline,
    on_poll: Callable[[], None] | None = None,
    begin: Callable[[Callable[[], None]], object] = _start_thread,
) -> None:
    """Run in another thread, and raise what it raises."""
    # A bare lock: an interrupt amid the wait of `threading.Event` leaves its lock broken, and
    # amid that of `SimpleQueue.get` may leave it waiting without its timeout (CPython 3.11).
    done_lock = threading.Lock()
    done_lock.acquire()
    errors: list[BaseException] = []

    def work() -> None:
        try:
            run()
        except BaseException as raised:
            errors.append(raised)
        finally:
            done_lock.release()

    try:
        begin(work)
        while not done_lock.acquire(timeout=POLL_SECONDS):
            if deadline.is_over:
                stop()
            elif on_poll is not None:
                on_poll()
    except BaseException:
        stop()
        raise
    for error in errors:
        raise error


_make_pool()
if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_make_pool)  # threads are not forked
