"""What an interrupt (Ctrl-C) means while a method runs: the time is over, keep what there is.

Within `deferred` the first interrupt lets every `Deadline` pass, so that each method ends as it
does at its time limit, with its incumbent. Work that does not look at the clock is stopped a little
later by an exception; a second interrupt is a KeyboardInterrupt like any other. Where the caller
ignores interrupts or handles them, or in another thread than the main one, nothing is changed.
"""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from optsched.deadline import OutOfTimeError, pass_all

PATIENCE = 1.0
"""Seconds a method has to end by itself."""


class Interrupt:
    """Whether an interrupt came while a method ran."""

    def __init__(self) -> None:
        self.came = False
        self._silenced = logging.root.manager.disable
        self._is_late = False
        self._is_over = False
        self._timer: threading.Timer | None = None

    def begin(self) -> None:
        """Take interrupts over."""
        signal.signal(signal.SIGINT, self._handle)

    def end(self) -> None:
        """Leave them to Python again."""
        self._is_over = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()  # or it might insist after the end
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if self.came:
            logging.disable(self._silenced)
            pass_all(False)

    def _handle(self, number: int, frame: Any) -> None:
        if self._is_over:
            return
        if not self.came:
            self.came = True
            pass_all(True)
            self._timer = threading.Timer(PATIENCE, self._insist)
            self._timer.daemon = True
            self._timer.start()
        elif self._is_late:
            self._is_late = False
            logging.disable()  # or Pyomo would say on standard output which rule was cut short
            raise OutOfTimeError
        else:
            raise KeyboardInterrupt

    def _insist(self) -> None:
        self._is_late = True
        main = threading.main_thread().ident
        if hasattr(signal, "pthread_kill") and main is not None:
            signal.pthread_kill(main, signal.SIGINT)  # wakes it where it waits for a solver
        else:
            signal.raise_signal(signal.SIGINT)


@contextmanager
def deferred() -> Iterator[Interrupt]:
    """Let the first interrupt end a method's time instead of the program."""
    global _last
    _last = interrupt = Interrupt()
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield interrupt
        return
    interrupt.begin()
    try:
        yield interrupt
    finally:
        interrupt.end()


def came() -> bool:
    """Whether one came during the last `deferred`, and so is still to be acted upon by a loop."""
    return _last.came


def heed() -> None:
    """Raise the KeyboardInterrupt that the last `deferred` held back, if there was one."""
    if _last.came:
        raise KeyboardInterrupt


def forget() -> None:
    """Begin anew: what comes next was asked for after any interrupt so far."""
    global _last
    _last = Interrupt()


_last = Interrupt()
