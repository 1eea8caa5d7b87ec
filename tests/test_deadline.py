"""The clock of a limit: started once, handed on, and never started again by mistake."""

from dataclasses import replace

import pytest

from optsched.deadline import Deadline, OutOfTimeError
from optsched.result import Settings


def test_no_limit_never_passes() -> None:
    deadline = Deadline()
    deadline.check()
    assert deadline.left is None
    assert deadline.has(1e300)
    assert deadline.share(0.5).left is None


def test_time_spent_counts() -> None:
    now = Deadline().began
    passed = Deadline(5.0, began=now - 10.0)
    assert passed.left == 0.0
    assert passed.spent >= 10.0
    with pytest.raises(OutOfTimeError):
        passed.check()
    running = Deadline(100.0, began=now - 10.0)
    running.check()
    assert running.left is not None
    assert running.left <= 90.0
    assert not running.has(95.0)
    assert running.share(0.5).limit == pytest.approx(running.left / 2, abs=5.0)


def test_other_settings_keep_the_clock_and_another_limit_starts_one() -> None:
    settings = Settings(time_limit=3.0).within(Deadline(3.0, began=-100.0))
    assert replace(settings, gap=0.0).deadline is settings.deadline
    assert settings == Settings(time_limit=3.0)
    again = replace(settings, time_limit=2.0)
    assert again.deadline.limit == 2.0
    assert not again.deadline.is_over
    assert replace(settings, time_limit=None).deadline.left is None
