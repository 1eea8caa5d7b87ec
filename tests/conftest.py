"""The day's seed: the default run draws new adversarial cases each day, and says which."""

from __future__ import annotations

import os
from datetime import UTC, datetime

import pytest

SEED_OF_THE_DAY = "OPTSCHED_TEST_SEED"
"""Environment variable that fixes the day's seed, to repeat a run."""


def pytest_configure() -> None:
    """Fix the seed once, so that all workers of a run draw the same cases."""
    os.environ.setdefault(SEED_OF_THE_DAY, datetime.now(UTC).strftime("%Y%m%d"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how to repeat the day's draw, also where -q hides the header."""
    seed = os.environ[SEED_OF_THE_DAY]
    terminalreporter.write_line(f"adversarial cases were drawn with {SEED_OF_THE_DAY}={seed}")
