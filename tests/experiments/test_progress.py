"""What long work says where there is no terminal: how far it is, and when it may end."""

import pytest

from optsched.cli import progress
from optsched.cli.progress import StepProgress, SweepProgress
from optsched.experiments.run.runner import SweepState


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
            said.show(SweepState(total=10, done=0, run=run, failed=run // 3))
    assert capsys.readouterr().err.splitlines() == [
        "0 of 10 units, 0 failed now",
        "1 of 10 units, 0 failed now",
        "2 of 10 units, 0 failed now, about 96 s remaining",
        "3 of 10 units, 1 failed now, about 84 s remaining",
        "10 of 10 units, 3 failed now",
    ]


@pytest.mark.parametrize(
    ("steps", "last"),
    [
        # 50 of 100 from an earlier start, then one each 20 s: 35/3 s each, 46 left
        (
            [(0, 50, 100), (5, 51, 100), (20, 52, 100), (25, 53, 100), (40, 54, 100)],
            "54 of 100 steps, about 537 s remaining",
        ),
        # two rounds of 30 steps, 10 s each: after 2 of the second, 28 are left
        (
            [(10 * at, at, 30) for at in range(31)] + [(300 + 10 * at, at, 30) for at in range(3)],
            "2 of 30 steps, about 280 s remaining",
        ),
    ],
)
def test_what_was_done_before_is_no_speed(
    steps: list[tuple[float, int, int]],
    last: str,
    clock: list[float],
    capsys: pytest.CaptureFixture[str],
) -> None:
    with StepProgress("a-srpt-fig6") as said:
        for clock[0], done, total in steps:
            said(done, total)
    assert capsys.readouterr().err.splitlines()[-1] == f"a-srpt-fig6: {last}"
