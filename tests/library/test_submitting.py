"""Submitting: five answers, two at once, a kill in the middle, newer records, hostile files."""

import json
from pathlib import Path
from typing import Any

import pytest
from commands import printed, refusal
from processes import started

import optsched
from optsched.errors import InputError
from optsched.library.best_records import best_records, certificate_in
from optsched.library.records import Record, add, locked, read_records, unpacked
from optsched.library.sets import entry_of, library_folder

NAME = "placement/shared-batch-1/001"
FILE = "placement/shared-batch-1.jsonl"
SUBMIT = f"submit {NAME} --by Ada --store"


def best_solution() -> dict[str, Any]:
    (best,) = best_records([entry_of(NAME)])
    solution: dict[str, Any] = unpacked(best.value.solution, NAME)
    return solution


def written(folder: Path, document: Any) -> str:
    path = folder / "solution.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return str(path)


@pytest.fixture
def empty_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No records ship: whatever is submitted is new."""
    monkeypatch.setattr("optsched.library.best_records.shipped_records", lambda path: ())
    return tmp_path / "store"


def submit(store: Path, *arguments: object, code: int = 0) -> str:
    return printed(SUBMIT, store, *arguments, code=code)


def test_better_equal_not_better(empty_library: Path, tmp_path: Path) -> None:
    instance = optsched.load(NAME)
    worse = optsched.solve(instance, "heavy-edge").solution.to_dict()
    better = optsched.solve(instance, "exact").solution.to_dict()
    for solution, verdict in (
        (worse, "better and recorded"),
        (better, "better and recorded (best known so far"),
        (better, ": equal (best"),
        (worse, ": not better (best"),
    ):
        assert verdict in submit(empty_library, written(tmp_path, solution))
    records = read_records(empty_library / FILE)
    assert len(records) == 2
    assert records[0].value > records[1].value
    assert {record.by for record in records} == {"Ada"}


def test_other_options_are_not_taken_and_what_ships_is_known(tmp_path: Path) -> None:
    own = best_solution()
    other = {key: value for key, value in own.items() if key != "objective"}
    for solution in (own, {**other, "options": {"all_reduce_overlap": 0.0}}):
        assert ": equal" in submit(tmp_path / "s", written(tmp_path, solution))
        assert read_records(tmp_path / "s" / FILE) == []


def test_the_best_known_is_written_as_it_is_submitted(tmp_path: Path) -> None:
    files = tmp_path / "solution.json", tmp_path / "proof.json"
    both = ["--solution", files[0], "--certificate", files[1]]
    printed("library show", NAME, *both)
    printed("verify", NAME, *both)
    assert submit(tmp_path / "s", files[0], "--certificate", files[1]).count(": equal") == 2


def test_nothing_to_write_and_an_infeasible_solution(empty_library: Path, tmp_path: Path) -> None:
    line = refusal("library show", NAME, "--solution", tmp_path / "s.json")
    assert "no stored solution" in line
    assert not (tmp_path / "s.json").exists()
    solution = optsched.solve(NAME, "heavy-edge").solution.to_dict()
    solution["counts"][0][0] += 1
    said = submit(empty_library, written(tmp_path, solution), code=1)
    assert "infeasible: replicas, (2), violated at stage 0" in said
    assert not (empty_library / FILE).exists()


def test_not_readable_with_the_line(tmp_path: Path) -> None:
    for text, line in (
        *(('{\n "schema": ,\n}', "line 2"), ("[" * 100_000, "deep"), ("{}", "schema")),
        *(('{"counts": [[1e400]]}', "a finite number"), ("\x00", "line 1")),
    ):
        assert line in refusal(SUBMIT, tmp_path / "s", written(tmp_path, text))
        assert not (tmp_path / "s" / FILE).exists()


def test_a_certificate_with_it(empty_library: Path, tmp_path: Path) -> None:
    solution = written(tmp_path, optsched.solve(NAME, "exact").solution.to_dict())
    proof = tmp_path / "certificate.json"
    shipped = read_records(library_folder() / FILE)
    good = next(r for r in shipped if r.instance == NAME and r.proof == "certificate")
    good = dict(certificate_in(good))
    proof.write_text(json.dumps({**good, "threshold": 2 * good["threshold"]}))
    said = submit(empty_library, solution, "--certificate", proof, code=1)
    assert "bound: refused: the replicas are worth" in said
    assert not (empty_library / FILE).exists()  # nothing is kept of what does not hold as a whole
    proof.write_text(json.dumps(good))
    said = submit(empty_library, solution, "--certificate", proof)
    assert said.count("better and recorded") == 2
    kinds = [record.kind for record in read_records(empty_library / FILE)]
    assert sorted(kinds) == ["bound", "value"]


def test_two_at_once_lose_nothing(tmp_path: Path) -> None:
    script = (
        "import sys\nfrom optsched.library.records import Record, add, locked\n"
        "for i in range(25):\n"
        "    r = Record(instance='a/b/001', sha256='0' * 64, kind='value', value=float(i),\n"
        "                  date='2026-11-22', by=sys.argv[2], solution='x' * 5000)\n"
        "    with locked(sys.argv[1]) as stream:\n        add(stream, [r.line()])\n"
    )
    path = tmp_path / "p" / "s.jsonl"
    running = [started("-c", script, path, n, stderr=None) for n in range(2)]
    assert [each.wait() for each in running] == [0, 0]
    found = [(r.by, r.value) for r in read_records(path)]
    assert sorted(found) == sorted((str(n), float(i)) for n in range(2) for i in range(25))


def record(value: float) -> Record:
    said = {"kind": "value", "date": "2026-11-22", "by": "Ada"}
    return Record(instance=NAME, sha256="0" * 64, value=value, **said)


@pytest.mark.parametrize("cut", [1, 10, 60])
def test_a_kill_in_the_middle_of_a_line(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(record(1.0).line() + record(2.0).line()[:-cut])
    complete = 2 if cut == 1 else 1  # only its line end is missing
    assert len(read_records(path)) == complete
    with locked(path) as stream:
        add(stream, [record(3.0).line()])
    assert [r.value for r in read_records(path)] == [*[1.0, 2.0][:complete], 3.0]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"version": 2, "kind": "dream"}', "version: found 2, expected 1: a newer optsched"),
        ("nonsense", "found invalid JSON"),
        ("7", "found 7, expected a record"),
        ('{"version": 1, "kind": "dream"}', "instance: missing required field"),
    ],
)
def test_a_store_that_cannot_be_read_is_left_as_it_is(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "s" / FILE
    path.parent.mkdir(parents=True)
    text = record(1.0).line().decode() + line + "\n"
    path.write_text(text)
    told = refusal(SUBMIT, tmp_path / "s", written(tmp_path, best_solution()))
    assert "line 2" in told
    assert said in told
    assert path.read_text() == text


def test_what_is_packed_may_be_hostile() -> None:
    import base64
    import zlib

    bomb = base64.b64encode(zlib.compress(b" " * 2**26, 9)).decode()
    deep = base64.b64encode(zlib.compress(b"[" * 10**6)).decode()
    for text in (bomb, deep, "?", base64.b64encode(b"x").decode()):
        with pytest.raises(InputError):
            unpacked(text, "here")
