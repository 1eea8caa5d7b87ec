"""How many adversarial cases a run takes, and from which seed."""

from __future__ import annotations

import os

import pytest


def seed_of_the_day() -> int:
    """The day's seed, as the run's last lines print it (see ``tests/conftest.py``)."""
    return int(os.environ["OPTSCHED_TEST_SEED"])


def batches(nightly: int, default: int, size: int) -> list:
    """Parameters of a test over ``size`` cases a call, each a range of case numbers.

    The default run takes the first ``default`` cases, ``pytest -m nightly`` all ``nightly``. A case
    is drawn from ``(seed_of_the_day(), its number)``, so that any can be made again alone.
    """
    drawn = [range(at, min(at + size, default)) for at in range(0, default, size)]
    whole = [range(at, min(at + size, nightly)) for at in range(0, nightly, size)]
    return [
        *(pytest.param(part, id=f"{part.start}-{part.stop}") for part in drawn),
        *(
            pytest.param(part, id=f"nightly-{part.start}-{part.stop}", marks=pytest.mark.nightly)
            for part in whole
        ),
    ]
