"""The program: `optsched` and ``python -m optsched``.

It imports next to nothing, so that an interrupt (Ctrl-C) while the rest is imported ends it as one
does later: one line, exit code 130, within two seconds. While a command runs an interrupt is a
KeyboardInterrupt, which the command may use to keep what it has; a command that is not done with
that in time, because compiled code holds it up, is ended.
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
"""Seconds a command has after an interrupt."""


def main() -> None:
    """Run the command line and exit with its code."""
    # Where interrupts are ignored, as for a script's background jobs, they stay so.
    heeded = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if heeded:
        signal.signal(signal.SIGINT, _end)
    from optsched.cli import execute

    if heeded:
        _watch()
        sys.unraisablehook = _again
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        code = execute(sys.argv[1:])
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command is done
    except KeyboardInterrupt:  # on the last lines
        _end()
    if code == INTERRUPTED:
        os._exit(code)  # a solver's thread may still be at work
    sys.exit(code)


def _watch() -> None:
    """Let a thread hear of an interrupt even while compiled code keeps Python from it."""
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    signal.set_wakeup_fd(theirs, warn_on_full_buffer=False)
    stderr = os.dup(2)  # solvers' output is caught at the descriptor for a time
    threading.Thread(target=_end_late, args=(ours, stderr), daemon=True, name="watch").start()


def _end_late(signals: int, stderr: int) -> None:
    while os.read(signals, 1) != bytes([signal.SIGINT]):
        continue
    time.sleep(PATIENCE)
    _end(stderr=stderr)


def _again(unraisable: Any) -> None:
    """An interrupt that fell into a callback, where Python would drop it with a traceback."""
    if unraisable.exc_type is KeyboardInterrupt:
        again = threading.Timer(0.05, _thread.interrupt_main)  # when the callback is over
        again.daemon = True
        again.start()
    else:
        sys.__unraisablehook__(unraisable)


def _end(number: int = signal.SIGINT, frame: Any = None, stderr: int = 2) -> None:
    os.write(stderr, b"optsched: interrupted\n")
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    main()
