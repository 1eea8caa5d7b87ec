"""Interrupts (Ctrl-C) while a method runs: it ends as at its time limit, with its incumbent.

Within `deferred` the first interrupt makes every `Deadline` pass. Work that does not check the
deadline is stopped a second later by an exception; a second interrupt is a KeyboardInterrupt. If
the caller ignores or handles interrupts, or runs in another thread than the main one, nothing
changes.
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
    """The interrupts during a run; `came` is True after the first."""

    def __init__(self) -> None:
        self.came = False
        self._silenced = logging.root.manager.disable
        self._is_late = False
        self._is_over = False
        self._timer: threading.Timer | None = None

    def begin(self) -> None:
        """Install the handler."""
        signal.signal(signal.SIGINT, self._handle)

    def end(self) -> None:
        """Restore Python's handler."""
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
            logging.disable()  # Pyomo logs on standard output which rule was cut short
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
    """Make the first interrupt end a method's time instead of the program."""
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
    """Return whether one came during the last `deferred`, on which a loop has to act."""
    return _last.came


def heed() -> None:
    """Raise the KeyboardInterrupt that the last `deferred` suppressed, if any."""
    if _last.came:
        raise KeyboardInterrupt


def forget() -> None:
    """Forget earlier interrupts, at the start of a new command."""
    global _last
    _last = Interrupt()


_last = Interrupt()
