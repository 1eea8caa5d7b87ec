"""The program: `optsched` and ``python -m optsched``.

This module imports almost nothing, so that Ctrl-C during the remaining imports also exits cleanly:
one line, exit code 130, within two seconds. While a command runs, an interrupt is
a KeyboardInterrupt, at which the command may save its results; if compiled code delays it beyond
`PATIENCE`, the program ends.
"""

import _thread
import os
import signal
import sys
import threading
import time
from typing import Any

INTERRUPTED = 130
PATIENCE = 1.8
"""Seconds that a command has after an interrupt."""


def main() -> None:
    """Run the command line and exit with its code."""
    # Interrupts ignored by the caller, as for a script's background jobs, stay ignored.
    handles_interrupts = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if handles_interrupts:
        signal.signal(signal.SIGINT, _exit_interrupted)
    from optsched.cli import execute

    if handles_interrupts:
        _watch()
        sys.unraisablehook = _repeat_interrupt
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        code = execute(sys.argv[1:])
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command is done
    except KeyboardInterrupt:  # on the last lines
        _exit_interrupted()
    if code == INTERRUPTED:
        os._exit(code)  # a solver's thread may still run
    sys.exit(code)


def _watch() -> None:
    """Start a thread that receives interrupts even while compiled code blocks Python's handlers."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    stderr = os.dup(2)  # Pyomo redirects the descriptor while a solver runs
    threading.Thread(
        target=_exit_after_patience, args=(reading, stderr), daemon=True, name="watch"
    ).start()


def _exit_after_patience(signals: int, stderr: int) -> None:
    while os.read(signals, 1) != bytes([signal.SIGINT]):
        continue
    time.sleep(PATIENCE)
    _exit_interrupted(stderr=stderr)


def _repeat_interrupt(unraisable: Any) -> None:
    """Repeat an interrupt that was raised in a callback, where Python drops it."""
    if unraisable.exc_type is KeyboardInterrupt:
        again = threading.Timer(0.05, _thread.interrupt_main)  # when the callback is over
        again.daemon = True
        again.start()
    else:
        sys.__unraisablehook__(unraisable)


def _exit_interrupted(number: int = signal.SIGINT, frame: Any = None, stderr: int = 2) -> None:
    os.write(stderr, b"optsched: interrupted\n")
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    main()
