"""Every best_known.json is of the shipped instances; the slices' tests attain the values."""

import pytest

from optsched.files import instance_sha256, read_document
from optsched.library import BEST_KNOWN, shipped_files, shipped_folder
from optsched.library.best_known import read_best_known
from optsched.problems import PROBLEMS

FILES = sorted(shipped_folder().rglob(BEST_KNOWN))
ENTRIES = {path.parent: read_best_known(path) for path in FILES}
ONCE = {problem.name for problem in PROBLEMS.values() if not problem.over_time}
SHIPPED = {name: path for name, path in shipped_files().items() if name.partition("/")[0] in ONCE}


def test_there_are_files() -> None:
    assert {path.parent.name for path in FILES} == {*ONCE, "efficient", "communication-bound"}


def test_every_entry_is_of_a_shipped_instance() -> None:
    entries = {folder / f"{name}.json" for folder, named in ENTRIES.items() for name in named}
    assert entries == set(SHIPPED.values())


@pytest.mark.parametrize("name", SHIPPED)
def test_an_entry_is_of_the_file_of_today(name: str) -> None:
    path = SHIPPED[name]
    entry = ENTRIES[path.parent][path.stem]
    assert entry["sha256"] == instance_sha256(read_document(path))
    if entry["method"] is not None:
        command = entry["command"].partition(" --time-limit ")[0]
        assert command == f"optsched solve {name} --method {entry['method']}"
    if entry["objective"] is None:
        assert entry["bound"] is None
    else:
        assert entry["bound"] <= entry["objective"]
