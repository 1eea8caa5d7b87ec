"""Runs of a solver that an interrupt can end.

A solver in the main thread would keep Python from hearing of an interrupt until it is done. It
works in a thread of its own, and is told to stop when its deadline passes or when whoever waits for
it is interrupted. One that does not stop is left alone: it ends when it next looks, or with Python.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from optsched.deadline import Deadline

LOOK = 0.1
"""Seconds between two looks at the deadline."""

SMALL = 20_000
"""Nonzeros up to which a linear programme takes no time worth a thread."""


def run_lp(highs: Any, deadline: Deadline) -> None:
    """Run HiGHS on a linear programme, small ones where we are."""
    if highs.getNumNz() <= SMALL:
        highs.run()
    else:
        run_highs(highs, deadline)


def run_highs(highs: Any, deadline: Deadline, meanwhile: Callable[[], None] | None = None) -> None:
    """Run HiGHS to its end, to the deadline or to an interrupt; `meanwhile` is called here."""
    import highspy

    if not highs.HandleUserInterrupt:
        highs.HandleUserInterrupt = True
    _run_aside(lambda: highspy.Highs.run(highs), highs.cancelSolve, deadline, meanwhile)


class InterruptibleScip:
    """A SCIP model whose `optimize` an interrupt can end; otherwise the model itself."""

    def __init__(self, model: Any, deadline: Deadline) -> None:
        self._model = model
        self._deadline = deadline
        model.setParam("misc/catchctrlc", False)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def optimize(self) -> None:
        """Solve without holding Python up."""
        _run_aside(self._model.optimizeNogil, self._model.interruptSolve, self._deadline)


def _run_aside(
    run: Callable[[], object],
    stop: Callable[[], object],
    deadline: Deadline,
    meanwhile: Callable[[], None] | None = None,
) -> None:
    """Run in another thread; whatever it raises is raised here."""
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
        working.release()

    try:
        threading.Thread(target=work, daemon=True, name="solver").start()
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
