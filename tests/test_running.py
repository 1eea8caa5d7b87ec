"""SCIP's runs share a thread: its tables of derivatives have room for 64, and it counts them all.

Seventy selections in a row, of which every run had a thread of its own, ended in a segmentation
fault; `pytest -m full tests/selection` solves as many.
"""

import os
import sys
import threading
from collections.abc import Callable

import pytest

from optsched.backends.running import MAX_SCIP_RUNS, POLL_SECONDS, InterruptibleScip
from optsched.deadline import Deadline


class Solver:
    """What `InterruptibleScip` asks of SCIP; it notes the thread it runs in."""

    def __init__(self, run: Callable[[], object] = lambda: None) -> None:
        self.run, self.thread, self.stopped = run, 0, threading.Event()

    def setParam(self, name: str, value: object) -> None:  # noqa: N802 (SCIP's name)
        """Any."""

    def optimizeNogil(self) -> None:  # noqa: N802 (SCIP's name)
        self.thread = threading.get_ident()
        self.run()

    def interruptSolve(self) -> None:  # noqa: N802 (SCIP's name)
        self.stopped.set()


def thread_of(solver: Solver, deadline: Deadline | None = None) -> int:
    InterruptibleScip(solver, deadline or Deadline(None)).optimize()
    return solver.thread


def test_runs_share_a_thread_that_is_not_ours() -> None:
    threads = {thread_of(Solver()) for _ in range(100)}
    assert len(threads) <= MAX_SCIP_RUNS
    assert threading.get_ident() not in threads


def test_an_error_is_raised_here_and_the_thread_works_on() -> None:
    def fail() -> None:
        raise ValueError("no")

    usual, failing = thread_of(Solver()), Solver(fail)
    with pytest.raises(ValueError, match="no"):
        thread_of(failing)
    assert failing.thread == usual == thread_of(Solver())


def test_a_deadline_stops_the_run() -> None:
    solver = Solver()
    solver.run = lambda: solver.stopped.wait(600 * POLL_SECONDS)
    thread_of(solver, Deadline(0.0))
    assert solver.stopped.is_set()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_has_a_thread_of_its_own() -> None:
    thread_of(Solver())
    child = os.fork()
    if child == 0:  # threads are not forked: waiting for ours would last for ever
        thread_of(Solver())
        os._exit(0)
    ended = threading.Event()
    threading.Timer(30.0, lambda: ended.is_set() or os.kill(child, 9)).start()
    assert os.waitpid(child, 0)[1] == 0
    ended.set()
