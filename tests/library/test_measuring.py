"""`benchmarks/measure_library.py`: records of what methods find, resumed where it stopped."""

from dataclasses import replace
from pathlib import Path

import pytest
from scripts import script

from optsched.library.best_records import best_records, status_counts
from optsched.library.sets import library_set

SET = "placement/shared-batch-1"
measuring = script("measure_library")


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A set of two instances of which nothing is known."""
    few = replace(library_set(SET), entries=library_set(SET).entries[:2])
    monkeypatch.setattr(measuring, "library_set", {SET: few}.__getitem__)
    monkeypatch.setattr("optsched.library.best_records.shipped_records", lambda path: ())
    return tmp_path / "store"


def test_what_methods_find_becomes_records(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = [SET, "--store", str(store), "--time-limit", "10"]
    measuring.main([*command, "--methods", "heavy-edge"])
    assert len(capsys.readouterr().out.splitlines()) == 2
    measuring.main([*command, "--methods", "heavy-edge"])
    assert capsys.readouterr().out == ""  # all of it was run before
    log = store / f"{SET}.runs.jsonl"
    log.write_bytes(log.read_bytes()[:-5])  # a kill in the middle of the last line
    measuring.main([*command, "--methods", "heavy-edge,exact"])
    assert capsys.readouterr().out.count("easy") == 2
    entries = library_set(SET).entries[:2]
    found = best_records(entries, store)
    assert all(each.proved_by_certificate for each in found)
    for each in found:
        values = [r.value for r in each.history if r.kind == "value"]
        assert values == sorted(values, reverse=True)
    assert status_counts(found)["certified"] == 2
    measuring.main([*command, "--open", "--methods", "repartition"])
    assert capsys.readouterr().out == ""  # nothing is open
