"""Seed of the day, printed after a run; interrupts as on a terminal; the order of folders."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

SEED_OF_THE_DAY = "OPTSCHED_TEST_SEED"
"""Environment variable that fixes the day's seed, to repeat a run."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of online runs first, so that one worker alone compiles their many kernels.

    pytest-xdist gives each of two workers a half of the tests (``--dist worksteal``).
    """
    items.sort(key=lambda item: item.path.parent.name != "online")


@pytest.fixture(autouse=True)
def _no_figure_stays_open() -> Iterator[None]:
    """Matplotlib warns of 20 open figures, whichever tests of a worker opened them."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def pytest_collection_finish() -> None:
    """Look for no garbage in what collecting made: half of the time that looking took."""
    gc.collect()
    gc.freeze()


def pytest_configure() -> None:
    """Fix the seed once, so that all workers of a run draw the same cases; heed interrupts.

    A script's background jobs are started with interrupts ignored, and so would be every program
    that a test starts and interrupts.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # programs that tests start import the installed package, too, not a copy in the current folder
    os.environ.setdefault("PYTHONSAFEPATH", "1")
    os.environ.setdefault(SEED_OF_THE_DAY, datetime.now(UTC).strftime("%Y%m%d"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how to repeat the day's draw, also where -q hides the header."""
    seed = os.environ[SEED_OF_THE_DAY]
    terminalreporter.write_line(f"adversarial cases were drawn with {SEED_OF_THE_DAY}={seed}")
