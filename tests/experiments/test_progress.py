"""What long work says where there is no terminal: how far it is, and when it may end."""

from __future__ import annotations

import pytest

from optsched.cli import progress
from optsched.cli.progress import StepProgress, SweepProgress
from optsched.experiments.run.runner import Standing


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that stands where a test puts it."""
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
            said.standing(Standing(total=10, done=0, run=run, failed=run // 3))
    assert capsys.readouterr().err.splitlines() == [
        "0 of 10 units, 0 failed now",
        "1 of 10 units, 0 failed now",
        "2 of 10 units, 0 failed now, about 96 s remaining",
        "3 of 10 units, 1 failed now, about 84 s remaining",
        "10 of 10 units, 3 failed now",
    ]


def test_what_was_done_before_is_no_speed(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    """50 of 100 from an earlier start; then one each 20 s."""
    with StepProgress("a-srpt-fig6") as said:
        for at, done in ((0, 50), (5, 51), (20, 52), (25, 53), (40, 54)):
            clock[0] = at
            said(done, 100)
    assert capsys.readouterr().err.splitlines() == [
        "a-srpt-fig6: 52 of 100 steps, about 720 s remaining",  # 15 s each, 48 left
        "a-srpt-fig6: 54 of 100 steps, about 537 s remaining",  # 35/3 s each, 46 left
    ]


def test_a_second_round_starts_anew(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    """Two rounds of 30 steps, 10 s each: after 2 of the second, 28 are left."""
    with StepProgress("a-srpt-fig9", "draws") as said:
        for at in range(31):
            clock[0] = 10.0 * at
            said(at, 30)
        capsys.readouterr()
        for at in range(3):
            clock[0] = 300.0 + 10.0 * at
            said(at, 30)
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == "a-srpt-fig9: 2 of 30 draws, about 280 s remaining"
