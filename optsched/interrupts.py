"""Interrupts (Ctrl-C) while a method runs: it ends as at its time limit, with its incumbent.

Within `deferred` the first interrupt makes every `Deadline` pass. Work that does not check the
deadline is stopped a second later by an exception; a second interrupt is a KeyboardInterrupt. If
the caller ignores or handles interrupts, or runs in another thread than the main one, nothing
changes.
"""

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from optsched.deadline import OutOfTimeError, expire_all

PATIENCE = 1.0
"""Seconds a method has to end by itself."""


class Interrupt:
    """The interrupts during a run; `received` is True after the first."""

    def __init__(self) -> None:
        self.received = False
        self._is_late = False
        self._is_over = False
        self._timer: threading.Timer | None = None

    @contextmanager
    def handled(self) -> Iterator[None]:
        logging_before = logging.root.manager.disable
        signal.signal(signal.SIGINT, self._handle)
        try:
            yield
        finally:
            self._is_over = True
            if self._timer is not None:
                self._timer.cancel()
                self._timer.join()  # otherwise it could fire after the handler is restored
            signal.signal(signal.SIGINT, signal.default_int_handler)
            if self.received:
                logging.disable(logging_before)
                expire_all(False)

    def _handle(self, number: int, frame: Any) -> None:
        if self._is_over:
            return
        if not self.received:
            self.received = True
            expire_all(True)
            self._timer = threading.Timer(PATIENCE, self._interrupt_again)
            self._timer.daemon = True
            self._timer.start()
        elif self._is_late:
            self._is_late = False
            logging.disable()  # Pyomo logs on standard output which rule was cut short
            raise OutOfTimeError
        else:
            raise KeyboardInterrupt

    def _interrupt_again(self) -> None:
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
    is_ours = is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with interrupt.handled() if is_ours else nullcontext():
        yield interrupt


def call_uninterrupted(function: Callable[..., Any], *args: Any) -> Any:
    """Call compiled code; an interrupt is handled once it has returned.

    numba runs Python code to make results: a handler's exception there ends the process with a
    fault, or becomes a SystemError.
    """
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        return function(*args)
    interrupts: list[tuple[int, Any]] = []
    signal.signal(signal.SIGINT, lambda number, frame: interrupts.append((number, frame)))
    try:
        return function(*args)
    finally:
        signal.signal(signal.SIGINT, handler)
        for each in interrupts:
            handler(*each)


def received() -> bool:
    """Return whether an interrupt was received during the last `deferred` block."""
    return _last.received


def raise_if_received() -> None:
    """Raise the KeyboardInterrupt that the last `deferred` suppressed, if any."""
    if _last.received:
        raise KeyboardInterrupt


def reset() -> None:
    global _last
    _last = Interrupt()


_last = Interrupt()
