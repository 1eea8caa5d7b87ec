"""Fixtures of the makespan tests."""

import pytest

from optsched.makespan.exact import starting_schedules
from optsched.makespan.heuristics import local_search
from optsched.makespan.models import ilp


@pytest.fixture
def short_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundredth of the moves: for tests of statuses and messages, not of makespans."""
    for module, name, value in (
        (starting_schedules, "SEARCH_MOVES", 200),
        (starting_schedules, "NESTED_MOVES", 20_000),
        (ilp, "NESTED_MOVES", 20_000),
        (ilp, "MAX_ANNEALING_MOVES", 50_000),
        (local_search, "MOVES_TIMES_JOBS", 30_000),
    ):
        monkeypatch.setattr(module, name, value)
