"""What long work says where there is no terminal: how far it is, and when it may end."""

import pytest

from optsched.cli import progress
from optsched.cli.progress import SweepProgress
from optsched.experiments.run.runner import SweepState


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_the_rest_is_reckoned_from_the_first_that_landed(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    """60 s of compiling before the first unit say nothing about the others: 12 s each, 7 left."""
    with SweepProgress() as said:
        for at, run in ((0, 0), (60, 1), (72, 2), (84, 3), (85, 10)):
            clock[0] = at
            said.show(SweepState(total=10, done=0, run=run, failed=run // 3))
    assert capsys.readouterr().err.splitlines() == [
        "0 of 10 units, 0 failed now",
        "1 of 10 units, 0 failed now",
        "2 of 10 units, 0 failed now, about 96 s remaining",
        "3 of 10 units, 1 failed now, about 84 s remaining",
        "10 of 10 units, 3 failed now",
    ]
