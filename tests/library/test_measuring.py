"""`benchmarks/measure_library.py`: records of what methods find, resumed where it stopped."""

from dataclasses import replace
from pathlib import Path

import pytest
from scripts import script

from optsched.library.best_records import BestRecords, best_records, status_counts
from optsched.library.records import read_records
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


def test_a_record_of_another_instance_counts_for_nothing(store: Path) -> None:
    measuring.main([SET, "--store", str(store), "--methods", "exact"])
    entry = library_set(SET).entries[0]
    history = [r for r in read_records(store / f"{SET}.jsonl") if r.instance == entry.name]
    assert BestRecords.of(entry, history).proved
    other = replace(entry, sha256="0" * 64)
    assert BestRecords.of(other, history).value is None


def test_a_method_that_does_not_exist(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        measuring.main([SET, "--store", str(store), "--methods", "magic"])
    error = capsys.readouterr().err
    assert "magic" in error
    assert error.count("\n") == 1
    assert not store.exists()
