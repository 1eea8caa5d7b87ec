"""Every shipped best_known.json: no bound above its value; the slices' tests attain the values."""

import pytest

from optsched.library import shipped_folder
from optsched.library.best_known import read_best_known
from optsched.problems import PROBLEMS

FILES = sorted(shipped_folder().rglob("best_known.json"))
ENTRIES = [
    (path.parent.name, name, entry)
    for path in FILES
    for name, entry in sorted(read_best_known(path).items())
]


def test_there_are_files() -> None:
    once = {problem.name for problem in PROBLEMS.values() if not problem.over_time}
    assert {path.parent.name for path in FILES} == {*once, "efficient", "communication-bound"}


@pytest.mark.parametrize(("problem", "name", "entry"), ENTRIES, ids=lambda v: str(v)[:40])
def test_bound_is_at_most_the_value(problem: str, name: str, entry: dict) -> None:
    if entry["objective"] is None:
        assert entry["bound"] is None
    else:
        assert entry["bound"] <= entry["objective"]
