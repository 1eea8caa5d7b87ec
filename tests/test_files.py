"""Reading, writing and hashing JSON files."""

import errno
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from privileges import as_nobody, read_only

import optsched
from optsched.errors import InputError
from optsched.files import instance_sha256, read_document, write_document
from optsched.io import writing
from optsched.io.writing import write_text
from optsched.placement.instance import PlacementInstance
from optsched.placement.solution import PlacementSolution

# Odd but valid: numbers as integers and as floats, in several notations, keys in no order.
RAW = """{"version": 1, "schema": "optsched/placement", "name": "odd \\u00e9 \U0001f600",
 "provenance": {"big": 123456789012345678901234567890, "deep": [null, true, 1e5, {"x": -0.0}]},
 "free_gpus": [1, 0, 2],
 "cluster": {"intra_bandwidth": 300000000000, "inter_bandwidth": 1.25E+9, "gpus_per_server": 2},
 "job": {"all_reduce": "double-tree", "model": "m", "stages": [
  {"name": "a", "replicas": 2, "forward_time": 0.1, "backward_time": 5e-324, "input_bytes": 0.0,
   "output_bytes": 12345678.9, "parameter_bytes": 0.30000000000000004},
  {"name": "b", "replicas": 1, "forward_time": 1, "backward_time": 0, "input_bytes": 24691357.8,
   "output_bytes": 0, "parameter_bytes": 100000000000000000}]}}"""


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    path = tmp_path / "odd.json"
    path.write_text(RAW, encoding="utf-8")
    return path


def exact(document: Any) -> str:
    """A text that tells 1 from 1.0 and keeps every digit, but not the order of keys."""
    return json.dumps(document, sort_keys=True)


# --- round trips


def test_an_instance_round_trips_exactly(odd: Path, tmp_path: Path) -> None:
    made = optsched.load(odd).to_dict()
    assert exact(made) == exact(json.loads(RAW))
    write_document(tmp_path / "again.json", made)
    again = optsched.load(tmp_path / "again.json")
    assert exact(again.to_dict()) == exact(json.loads(RAW))
    assert again == optsched.load(odd)


def test_what_a_file_leaves_out_stays_out(tmp_path: Path) -> None:
    document = json.loads(RAW)
    del document["provenance"]
    assert exact(PlacementInstance.from_dict(document).to_dict()) == exact(document)


def test_a_solution_round_trips_exactly(tmp_path: Path) -> None:
    document = {
        "schema": "optsched/placement-solution",
        "version": 1,
        "instance": "odd",
        "counts": [[1, 0, 1], [0, -1, 2]],
        "objective": 0.30000000000000004,
        "options": {"backward_overlap": 1},
    }
    made = PlacementSolution.from_dict(document)
    write_document(tmp_path / "solution.json", made.to_dict())
    assert exact(read_document(tmp_path / "solution.json")) == exact(document)


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)


@settings(max_examples=25, derandomize=True, deadline=None, database=None)
@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=4), PLAIN))
def test_any_document_round_trips_exactly(
    tmp_path_factory: pytest.TempPathFactory, document: dict[str, Any]
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    write_document(path, document)
    assert exact(read_document(path)) == exact(document)


# --- the hash


def test_the_hash_is_that_of_the_raw_file(odd: Path) -> None:
    kept = {k: v for k, v in json.loads(odd.read_bytes()).items() if k != "provenance"}
    canonical = json.dumps(kept, sort_keys=True, separators=(",", ":"))
    by_hand = hashlib.sha256(canonical.encode("utf-8")).hexdigest()
    assert instance_sha256(optsched.load(odd).to_dict()) == by_hand
    assert optsched.solve(odd, "heavy-edge").instance_sha256 == by_hand


def test_what_the_hash_sees() -> None:
    accent = '{"a":"\\u00e9","b":[1,2.5,null]}'  # escaped, as JSON in ASCII
    by_hand = hashlib.sha256(accent.encode("utf-8")).hexdigest()
    assert instance_sha256({"b": [1, 2.5, None], "provenance": {}, "a": "\u00e9"}) == by_hand
    document = json.loads(RAW)
    first = instance_sha256(document)
    assert instance_sha256({**document, "provenance": {}}) == first
    assert instance_sha256(dict(reversed(document.items()))) == first
    for key, value in (("name", "other"), ("free_gpus", [2, 0, 1]), ("version", 2)):
        assert instance_sha256({**document, key: value}) != first
    nested = {"a": {"provenance": 1}}
    assert instance_sha256(nested) != instance_sha256({"a": {}})


# --- writing: the old file or the new one


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "file.json"
    write_document(path, {"a": 1})
    write_document(path, {"a": [2]})
    assert path.read_bytes() == b'{\n "a": [\n  2\n ]\n}\n'
    assert os.listdir(path.parent) == ["file.json"]


@pytest.mark.parametrize("error", [OSError(errno.EIO, "broken"), KeyboardInterrupt()])
def test_a_failing_rename_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    path = tmp_path / "file.json"
    write_document(path, {"a": 1})

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(writing.os, "replace", fail)
    with pytest.raises(InputError if isinstance(error, OSError) else KeyboardInterrupt):
        write_document(path, {"a": 2})
    assert read_document(path) == {"a": 1}
    assert os.listdir(tmp_path) == ["file.json"]


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), {1, 2}, "\ud800"])
def test_what_is_not_json_is_not_written(tmp_path: Path, bad: Any) -> None:
    path = tmp_path / "file.json"
    write_document(path, {"a": 1})
    with pytest.raises((ValueError, TypeError, InputError)):
        write_document(path, {"a": bad})
    assert read_document(path) == {"a": 1}
    assert os.listdir(tmp_path) == ["file.json"]


def test_a_read_only_folder(tmp_path: Path) -> None:
    """Also for root, who may write everywhere: a child process gives its rights up."""
    folder = tmp_path / "shut"
    folder.mkdir()
    with read_only(folder):
        line = as_nobody(lambda: str(write_document(folder / "file.json", {})))
    assert line.startswith("InputError: ")
    assert line.endswith("found Permission denied, expected a writable file")
    assert os.listdir(folder) == []


# --- reading


def test_what_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in (tmp_path, tmp_path / "nowhere", Path("a\x00b")):
        with pytest.raises(InputError, match="expected a readable file"):
            read_document(path)


def test_a_device_is_written_to_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_text(pipe, "text")
    assert os.read(reader, 10) == b"text"
    os.close(reader)
    assert pipe.is_fifo()


def test_the_file_behind_a_link_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_text(tmp_path / "link", "text")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text(encoding="utf-8") == "text"


def as_numpy(value: Any) -> Any:
    """A document whose numbers are numpy's, and its lists of numbers arrays."""
    if isinstance(value, dict):
        return {key: as_numpy(each) for key, each in value.items()}
    if isinstance(value, list):
        numbers = all(type(each) in (int, float) for each in value)
        return np.array(value) if value and numbers else [as_numpy(each) for each in value]
    return np.array(value)[()] if type(value) in (int, float) else value


@pytest.mark.parametrize(
    "name",
    ["placement/vgg19-16", "selection/3x6", "rolling/three-by-hand", "makespan/contended-3x3"],
)
def test_numpy_makes_the_same_instance(tmp_path: Path, name: str) -> None:
    instance = optsched.load(name)
    document = instance.to_dict() | {"provenance": {"seed": 3}}
    kind = type(instance)
    made = kind.from_dict(as_numpy(document))
    assert made.to_dict() == document
    values = {key: as_numpy(document[key]) for key in document if key not in ("schema", "version")}
    assert kind(**values).to_dict() == document
    assert instance_sha256(as_numpy(document)) == instance_sha256(document)
    write_document(tmp_path / "a.json", as_numpy(document))
    assert read_document(tmp_path / "a.json") == document
