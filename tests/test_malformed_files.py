"""Broken and hostile files: one exact line, exit code 2, and little memory."""

from __future__ import annotations

import contextlib
import copy
import importlib.util
import io
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from optsched.cli import _code
from optsched.errors import InputError
from optsched.files import MOST_CONTAINERS, MOST_KEYS, MOST_VALUES, read_document
from optsched.io.reading import LARGEST_FILE
from optsched.placement.instance import MOST_COUNTS, PlacementInstance
from optsched.problems import PROBLEMS

ROOT = Path(__file__).resolve().parent.parent
FILE = "broken.json"
LONGEST_LINE = 1000
SCHEMAS_KNOWN = " or ".join(f"optsched/{name}" for name in PROBLEMS)
STAGE = {"forward_time": 0.01, "backward_time": 0.02, "parameter_bytes": 1e8}
INSTANCE: dict[str, Any] = {
    "schema": "optsched/placement",
    "version": 1,
    "name": "small",
    "provenance": {"note": "by hand"},
    "cluster": {"gpus_per_server": 4, "inter_bandwidth": 1.25e9, "intra_bandwidth": 3e11},
    "free_gpus": [3, 2],
    "job": {
        "model": "two stages",
        "all_reduce": "ring",
        "stages": [
            {"name": "a", "replicas": 3, "input_bytes": 0, "output_bytes": 2e7, **STAGE},
            {"name": "b", "replicas": 2, "input_bytes": 3e7, "output_bytes": 0, **STAGE},
        ],
    },
}
SOLUTION: dict[str, Any] = {
    "schema": "optsched/placement-solution",
    "version": 1,
    "instance": "small",
    "counts": [[3, 0], [0, 2]],
    "objective": None,
    "options": {"all_reduce_bandwidth": "own"},
}
GRAPH = (
    "node1 -- Conv -- forward_compute_time=1.0, backward_compute_time=2.0, "
    "activation_size=[64.0; 8.0], parameter_size=128.000\n"
    "node2 -- Linear -- forward_compute_time=1.0, backward_compute_time=2.0, "
    "activation_size=64.0, parameter_size=128.000\n"
    "\tnode1 -- node2\n"
)


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in a folder of the test's own, so that lines name files without their folders."""
    monkeypatch.chdir(tmp_path)


def run(*argv: str) -> tuple[int, str, str]:
    """Exit code, output and error output of a command line, in this process."""
    out, error = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        code = _code(list(argv))
    return code, out.getvalue(), error.getvalue()


def write(name: str, content: Any) -> str:
    """Write a file: bytes and text as they are, anything else as JSON."""
    if isinstance(content, bytes):
        Path(name).write_bytes(content)
    else:
        text = content if isinstance(content, str) else json.dumps(content)
        Path(name).write_text(text, encoding="utf-8")
    return name


def refusal(*argv: str) -> str:
    """The one line, without the program's name, of a command line refused with code 2."""
    code, _, error = run(*argv)
    assert code == 2, error
    assert error.startswith("optsched: ")
    assert error.endswith("\n")
    assert len(error.splitlines()) == 1
    assert len(error) < LONGEST_LINE
    return error.removeprefix("optsched: ").rstrip("\n")


def changed(document: dict[str, Any], path: tuple[int | str, ...], value: Any) -> dict[str, Any]:
    """A copy of a document with one value replaced, or taken away (by ``...``)."""
    made = copy.deepcopy(document)
    parent: Any = made
    for part in path[:-1]:
        parent = parent[part]
    if value is ...:
        del parent[path[-1]]
    else:
        parent[path[-1]] = value
    return made


# --- what every reader of JSON refuses, before it looks at the schema


NOT_EVEN_JSON: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "line 1 column 1: found no JSON (Expecting value), expected JSON"),
    "truncated": (
        b'{"schema": "optsched/pla',
        "line 1 column 12: found no JSON (Unterminated string starting at), expected JSON",
    ),
    "truncated later": (
        b'{"schema":\n1,',
        "line 2 column 3: found no JSON (Expecting property name enclosed in double quotes), "
        "expected JSON",
    ),
    "two documents": (b"{}{}", "line 1 column 3: found no JSON (Extra data), expected JSON"),
    "byte order mark": (
        b"\xef\xbb\xbf{}",
        "line 1 column 1: found no JSON (Unexpected UTF-8 BOM (decode using utf-8-sig)), "
        "expected JSON",
    ),
    "null byte": (b"\x00{}", "line 1 column 1: found no JSON (Expecting value), expected JSON"),
    "control character": (
        b'{"name": "a\x07b"}',
        "line 1 column 12: found no JSON (Invalid control character at), expected JSON",
    ),
    "invalid UTF-8": (b'{"a": "\xff"}', "byte 7: found no UTF-8, expected UTF-8 text"),
    "an encoded half": (b'{"a": "\xed\xa0\x80"}', "byte 7: found no UTF-8, expected UTF-8 text"),
    "UTF-16": ("{}".encode("utf-16"), "byte 0: found no UTF-8, expected UTF-8 text"),
    "an array": (b"[1, 2]", "found [1, 2], expected an object"),
    "null": (b"null", "found None, expected an object"),
    "NaN": (b'{"a": NaN}', "found NaN, expected JSON with finite numbers and no key twice"),
    "Infinity": (
        b'{"a": [Infinity]}',
        "found Infinity, expected JSON with finite numbers and no key twice",
    ),
    "minus Infinity": (
        b'{"a": -Infinity}',
        "found -Infinity, expected JSON with finite numbers and no key twice",
    ),
    "1e400": (
        b'{"a": {"b": [0, 1e400]}}',
        "a.b[1]: found a number too large, expected a finite number",
    ),
    "-1e400": (b'{"a": -1e400}', "a: found a number too large, expected a finite number"),
    "a key twice": (
        b'{"a": {"b": 1, "c": 2, "b": 1}}',
        "found key 'b' twice, expected JSON with finite numbers and no key twice",
    ),
    "5000 digits": (
        b'{"a": ' + b"9" * 5000 + b"}",
        "found an integer too long to read, expected numbers below 1e18",
    ),
    "half a character": (
        b'{"a": {"b": "\\ud800"}}',
        "a.b: found '\\ud800', expected Unicode text",
    ),
    "half a character in a key": (
        b'{"a": [{"\\uDC00": 1}]}',
        "a[0]. : found '\\udc00', expected Unicode text",
    ),
    "65 levels": (
        b'{"a":' * 64 + b"[]" + b"}" * 64,
        "found objects nested too deep, expected at most 64 levels",
    ),
    "100000 levels": (
        b"[" * 100_000,
        "found objects nested too deep, expected at most 64 levels",
    ),
    "too many bytes": (
        b"{}" + b" " * LARGEST_FILE,
        f"found more than {LARGEST_FILE} bytes, expected at most {LARGEST_FILE} bytes",
    ),
    "too many values": (
        b"[" + b"0," * MOST_VALUES + b"0,0]",
        f"found too many values, expected at most {MOST_VALUES}",
    ),
    "too many keys": (
        b"{" + b'"":0,' * MOST_KEYS + b'"":0}',
        f"found too many keys, expected at most {MOST_KEYS}",
    ),
    "too many objects": (
        b"[" + b"{}," * MOST_CONTAINERS + b"{}]",
        f"found too many arrays and objects, expected at most {MOST_CONTAINERS}",
    ),
}


@pytest.mark.parametrize("case", NOT_EVEN_JSON)
def test_not_json_of_ours(case: str) -> None:
    raw, line = NOT_EVEN_JSON[case]
    write(FILE, raw)
    whole = write("whole.json", INSTANCE)
    for argv in (("solve", FILE), ("compare", FILE), ("explain", FILE), ("check", whole, FILE)):
        assert refusal(*argv) == f"{FILE}: {line}"


def test_the_limits_themselves_are_allowed() -> None:
    rows = (MOST_CONTAINERS - 2) // 2
    write(FILE, '{"a":[' + ",".join(["[[]]"] * rows) + "]}")
    assert len(read_document(FILE)["a"]) == rows
    write(FILE, '{"a":[' + "0," * MOST_VALUES + "0]}")
    assert len(read_document(FILE)["a"]) == MOST_VALUES + 1
    write(FILE, "{}" + " " * (LARGEST_FILE - 2))
    assert read_document(FILE) == {}
    write(FILE, '{"a":' * 63 + "[]" + "}" * 63)
    assert read_document(FILE)
    write(FILE, '{"smile": "\\ud83d\\ude00"}')
    assert read_document(FILE) == {"smile": "\U0001f600"}


# --- instances: file, JSON path, found, expected


POSITIVE = "a finite number in [1e-09, 1e+18]"
ANY_SIZE = "a finite number in [0, 1e+18]"
STAGES = ("job", "stages")
BAD_INSTANCES: tuple[tuple[tuple[int | str, ...], Any, str], ...] = (
    (("schema",), "optsched/other", f"schema: found 'optsched/other', expected {SCHEMAS_KNOWN}"),
    (("schema",), ..., f"schema: found nothing, expected {SCHEMAS_KNOWN}"),
    (("schema",), ["x"], f"schema: found ['x'], expected {SCHEMAS_KNOWN}"),
    (("version",), 2, "version: found 2, expected 1"),
    (("version",), "1", "version: found '1', expected 1"),
    (("version",), True, "version: found True, expected 1"),
    (("version",), 1.0, "version: found 1.0, expected 1"),
    (("name",), 3, "name: found 3, expected a printable string of at most 200 characters"),
    (
        ("name",),
        "two\nlines",
        "name: found 'two\\nlines', expected a printable string of at most 200 characters",
    ),
    (
        ("name",),
        "n" * 10**6,
        f"name: found '{'n' * 56}..., expected a printable string of at most 200 characters",
    ),
    (("provenance",), [], "provenance: found [], expected an object"),
    (("surprise",), 1, "surprise: found 1, expected no such key"),
    (("cluster",), ..., "cluster: found nothing, expected this key"),
    (("cluster",), [1], "cluster: found [1], expected an object"),
    (("cluster", "nic"), 1, "cluster.nic: found 1, expected no such key"),
    (
        ("cluster", "gpus_per_server"),
        10**9,
        "cluster.gpus_per_server: found 1000000000, expected an integer in [1, 1024]",
    ),
    (
        ("cluster", "gpus_per_server"),
        4.0,
        "cluster.gpus_per_server: found 4.0, expected an integer in [1, 1024]",
    ),
    (("cluster", "inter_bandwidth"), 0, f"cluster.inter_bandwidth: found 0, expected {POSITIVE}"),
    (
        ("cluster", "intra_bandwidth"),
        1e308,
        f"cluster.intra_bandwidth: found 1e+308, expected {POSITIVE}",
    ),
    (
        ("cluster", "intra_bandwidth"),
        10**400,
        f"cluster.intra_bandwidth: found 1{'0' * 56}..., expected {POSITIVE}",
    ),
    (
        ("cluster", "intra_bandwidth"),
        True,
        f"cluster.intra_bandwidth: found True, expected {POSITIVE}",
    ),
    (("free_gpus",), 5, "free_gpus: found 5, expected an array"),
    (("free_gpus",), {"0": 5}, "free_gpus: found {'0': 5}, expected an array"),
    (("free_gpus",), "32", "free_gpus: found '32', expected an array"),
    (("free_gpus",), [3, 1], "free_gpus: found a sum of 4, expected the 5 replicas of the job"),
    (("free_gpus",), [], "free_gpus: found a sum of 0, expected the 5 replicas of the job"),
    (("free_gpus",), [5], "free_gpus[0]: found 5, expected at most gpus_per_server = 4"),
    (("free_gpus", 1), -2, "free_gpus[1]: found -2, expected an integer in [0, 1024]"),
    (("free_gpus", 1), None, "free_gpus[1]: found None, expected an integer in [0, 1024]"),
    (("free_gpus", 1), [2], "free_gpus[1]: found [2], expected an integer in [0, 1024]"),
    (
        ("free_gpus",),
        [1] * 10**6,
        "free_gpus: found an array of 1000000 entries, expected at most 32768 entries",
    ),
    (("job", "model"), None, "job.model: found None, expected a printable string of at most 200 "
     "characters"),
    (
        ("job", "all_reduce"),
        "tree",
        "job.all_reduce: found 'tree', expected 'ring' or 'double-tree'",
    ),
    (STAGES, [], "job.stages: found no stage, expected at least one stage"),
    (STAGES, {}, "job.stages: found {}, expected an array"),
    ((*STAGES, 0), 7, "job.stages[0]: found 7, expected an object"),
    (
        (*STAGES, 1, "replicas"),
        10**9,
        "job.stages[1].replicas: found 1000000000, expected an integer in [1, 32768]",
    ),
    (
        (*STAGES, 1, "replicas"),
        0,
        "job.stages[1].replicas: found 0, expected an integer in [1, 32768]",
    ),
    (
        (*STAGES, 1, "replicas"),
        2.5,
        "job.stages[1].replicas: found 2.5, expected an integer in [1, 32768]",
    ),
    (
        (*STAGES, 1, "replicas"),
        32768,
        "job.stages[1].input_bytes: found 9.8304e+11 bytes in all, expected the 6e+07 bytes that "
        "stages[0] sends",
    ),
    (
        (*STAGES, 0, "forward_time"),
        -0.1,
        f"job.stages[0].forward_time: found -0.1, expected {ANY_SIZE}",
    ),
    (
        (*STAGES, 0, "parameter_bytes"),
        "1e8",
        f"job.stages[0].parameter_bytes: found '1e8', expected {ANY_SIZE}",
    ),
    ((*STAGES, 0, "backward_time"), ..., "job.stages[0].backward_time: found nothing, expected "
     "this key"),
    ((*STAGES, 0, "input_bytes"), 5, "job.stages[0].input_bytes: found 5, expected 0"),
    ((*STAGES, 1, "output_bytes"), 5, "job.stages[1].output_bytes: found 5, expected 0"),
    (
        (*STAGES, 1, "input_bytes"),
        3.0001e7,
        "job.stages[1].input_bytes: found 6.0002e+07 bytes in all, expected the 6e+07 bytes that "
        "stages[0] sends",
    ),
    (
        (*STAGES, 1, "line\x1b[31m\nbreak"),
        0,
        "job.stages[1].line [31m break: found 0, expected no such key",
    ),
)  # fmt: skip


@pytest.mark.parametrize(("path", "value", "line"), BAD_INSTANCES)
def test_a_bad_instance(path: tuple[int | str, ...], value: Any, line: str) -> None:
    write(FILE, changed(INSTANCE, path, value))
    assert refusal("solve", FILE) == f"{FILE}: {line}"


def test_the_instance_itself_is_good() -> None:
    write(FILE, INSTANCE)
    write("solution.json", SOLUTION)
    assert run("solve", FILE)[0] == 0
    assert run("check", FILE, "solution.json")[0] == 0
    assert run("explain", FILE, "solution.json")[0] == 0


def test_transfers_agree_to_one_in_a_million() -> None:
    near = changed(INSTANCE, (*STAGES, 1, "input_bytes"), 3e7 * (1 + 9e-7))
    assert PlacementInstance.from_dict(near)
    with pytest.raises(InputError, match="bytes in all"):
        PlacementInstance.from_dict(changed(near, (*STAGES, 1, "input_bytes"), 3e7 * (1 + 2e-6)))


def test_too_many_counts() -> None:
    line = refusal("solve", write(FILE, long_chain(4000)))
    found = "found 4000 stages x 4000 servers"
    assert line == f"{FILE}: free_gpus: {found}, expected at most {MOST_COUNTS} counts"


def test_too_many_replicas_in_all() -> None:
    stages = long_chain(2)["job"]["stages"]
    for stage in stages:
        stage["replicas"] = 2**15
    line = refusal("solve", write(FILE, changed(INSTANCE, STAGES, stages)))
    assert line == f"{FILE}: job.stages: found 65536 replicas, expected at most 32768 in all"


def test_a_million_unknown_keys_are_one_error() -> None:
    line = refusal("solve", write(FILE, {**INSTANCE, **{f"key{i}": i for i in range(300_000)}}))
    assert line == f"{FILE}: key0: found 0, expected no such key"


def test_a_key_as_long_as_its_file_is_cut() -> None:
    line = refusal("solve", write(FILE, {**INSTANCE, "k" * 10**6: 1}))
    assert line == f"{FILE}: {'k' * 197}...: found 1, expected no such key"


def long_chain(length: int) -> dict[str, Any]:
    """An instance of so many stages and servers, one replica each, nothing sent."""
    stage = {"name": "s", "replicas": 1, "input_bytes": 0, "output_bytes": 0, **STAGE}
    made = changed(INSTANCE, STAGES, [dict(stage) for _ in range(length)])
    return changed(made, ("free_gpus",), [1] * length)


# --- solutions


COUNT = "an integer in [-32768, 32768]"
BAD_SOLUTIONS: tuple[tuple[tuple[int | str, ...], Any, str], ...] = (
    (
        ("schema",),
        "optsched/placement",
        "schema: found 'optsched/placement', expected 'optsched/placement-solution'",
    ),
    (("version",), False, "version: found False, expected 1"),
    (("counts",), ..., "counts: found nothing, expected this key"),
    (("counts",), "30", "counts: found '30', expected an array"),
    (("counts", 0), 3, "counts[0]: found 3, expected an array"),
    (("counts", 0, 1), 0.0, f"counts[0][1]: found 0.0, expected {COUNT}"),
    (("counts", 0, 1), 10**9, f"counts[0][1]: found 1000000000, expected {COUNT}"),
    (("counts", 1, 1), True, f"counts[1][1]: found True, expected {COUNT}"),
    (
        ("counts",),
        [[0]] * 5000,
        "counts: found an array of 5000 entries, expected at most 4096 entries",
    ),
    (
        ("counts", 0),
        [0] * 40_000,
        "counts[0]: found an array of 40000 entries, expected at most 32768 entries",
    ),
    (
        ("objective",),
        "fast",
        "objective: found 'fast', expected a finite number in [-1e+300, 1e+300]",
    ),
    (("options",), None, "options: found None, expected an object"),
    (
        ("options", "colour"),
        1,
        "options.'colour': found an unknown option, expected one of all_reduce_bandwidth, "
        "backward_overlap, all_reduce_overlap",
    ),
    (
        ("options", "all_reduce_bandwidth"),
        ["own"],
        "options.all_reduce_bandwidth: found ['own'], expected own or bottleneck",
    ),
    (
        ("options", "backward_overlap"),
        -1,
        "options.backward_overlap: found -1, expected a finite number in [0, 100]",
    ),
    (("more",), {}, "more: found {}, expected no such key"),
)


@pytest.mark.parametrize(("path", "value", "line"), BAD_SOLUTIONS)
def test_a_bad_solution(path: tuple[int | str, ...], value: Any, line: str) -> None:
    whole = write("whole.json", INSTANCE)
    write(FILE, changed(SOLUTION, path, value))
    assert refusal("check", whole, FILE) == f"{FILE}: {line}"
    assert refusal("explain", whole, FILE) == f"{FILE}: {line}"


# --- PipeDream profiles


BAD_GRAPHS: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "found no layers, expected at least one layer line"),
    "JSON": (
        "{}\n",
        "line 1: found '{}', expected nodeN -- description -- forward_compute_time=..., "
        "backward_compute_time=..., activation_size=..., parameter_size=...",
    ),
    "NaN": (
        GRAPH.replace("=1.0", "=nan", 1),
        "line 1, forward_compute_time: found 'nan', expected a finite number",
    ),
    "infinity": (
        GRAPH.replace("64.0;", "1e400;"),
        "line 1, activation_size: found '1e400', expected a finite number",
    ),
    "negative": (
        GRAPH.replace("=2.0", "=-2.0", 1),
        "line 1, backward_compute_time: found '-2.0', expected a number of at least 0",
    ),
    "unknown node": (
        GRAPH.replace("-- node2", "-- node9"),
        "line 3: found unknown node9, expected a listed node",
    ),
    "node twice": (
        GRAPH.replace("node2 -- Linear", "node1 -- Linear"),
        "line 2: found node1 again, expected each node once",
    ),
    "cycle": (
        GRAPH + "\tnode2 -- node1\n",
        "line 3: found a cycle through node1, expected an acyclic graph",
    ),
    "no edge": (
        GRAPH + "\tnode1\n",
        "line 4: found '\\tnode1', expected an edge nodeN -- nodeM",
    ),
    "not UTF-8": (
        GRAPH.encode() + b"\xff",
        "line 4: found bytes that are not UTF-8, expected UTF-8",
    ),
    "too many layers": (
        "".join(GRAPH.splitlines()[0].replace("node1", f"node{n}") + "\n" for n in range(20_001)),
        "line 20001: found one layer more, expected at most 20000",
    ),
    "too many edges": (
        GRAPH + "\tnode1 -- node2\n" * 200_000,
        "line 200003: found one edge more, expected at most 200000",
    ),
    "too many bytes": (
        GRAPH + " " * 2**24,
        f"found more than {2**24} bytes, expected at most {2**24} bytes",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_GRAPHS)
def test_a_bad_profile(case: str) -> None:
    content, line = BAD_GRAPHS[case]
    write("net.graph.txt", content)
    argv = ("import", "pipedream", "net.graph.txt", "--gpus", "2", "--servers", "2", "-o", "out")
    assert refusal(*argv) == f"net.graph.txt: {line}"
    assert not Path("out").exists()


# --- what nobody thought of


def places(node: Any, path: tuple[int | str, ...] = ()) -> Iterator[tuple[int | str, ...]]:
    """The paths of all values of a document."""
    for key in node if isinstance(node, dict) else range(len(node)):
        yield (*path, key)
        if isinstance(node[key], dict | list):
            yield from places(node[key], (*path, key))


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=-(10**400), max_value=10**400)
    | st.floats()
    | st.text(st.characters(), max_size=20)
    | st.sampled_from(["ring", "own", "optsched/placement", "1", "\ud800", "x" * 500]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
FUZZED: Callable[[Any], Any] = settings(
    max_examples=60,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def assert_survives(*argv: str) -> None:
    """Whatever the file: exit code 0, 1 or 2, no traceback, one line when it is 2."""
    code, out, error = run(*argv)
    assert code in (0, 1, 2), error
    assert "Traceback" not in out + error
    if code == 2:
        assert len(error.splitlines()) == 1
        assert error.startswith(("optsched: broken", "optsched: generate placement: "))
        assert len(error) < LONGEST_LINE


@FUZZED
@given(st.sampled_from(list(places(INSTANCE))), ANYTHING)
def test_any_value_anywhere_in_an_instance(path: tuple[int | str, ...], value: Any) -> None:
    write(FILE, changed(INSTANCE, path, value))
    write("solution.json", SOLUTION)
    assert_survives("solve", FILE, "--method", "heavy-edge")
    assert_survives("solve", FILE, "--json", "--time-limit", "5")
    assert_survives("check", FILE, "solution.json")


@FUZZED
@given(st.sampled_from(list(places(SOLUTION))), ANYTHING)
def test_any_value_anywhere_in_a_solution(path: tuple[int | str, ...], value: Any) -> None:
    write(FILE, changed(SOLUTION, path, value))
    whole = write("whole.json", INSTANCE)
    assert_survives("check", whole, FILE)
    assert_survives("explain", whole, FILE)


@FUZZED
@given(st.sampled_from(["instance", "solution", "graph"]), st.data())
def test_any_bytes_anywhere(which: str, data: st.DataObject) -> None:
    texts = {"instance": json.dumps(INSTANCE), "solution": json.dumps(SOLUTION), "graph": GRAPH}
    raw = texts[which].encode()
    first = data.draw(st.integers(0, len(raw)))
    last = data.draw(st.integers(first, min(len(raw), first + 30)))
    raw = raw[:first] + data.draw(st.binary(max_size=30)) + raw[last:]
    whole = write("whole.json", INSTANCE)
    if which == "graph":
        write("broken.graph.txt", raw)
        offer = ("--gpus", "2", "--servers", "2", "-o", "out.json")
        assert_survives("import", "pipedream", "broken.graph.txt", *offer)
    else:
        write(FILE, raw)
        argv = ("solve", FILE) if which == "instance" else ("check", whole, FILE)
        assert_survives(*argv)


def test_the_fuzz_script_finds_nothing(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("fuzz", ROOT / "benchmarks" / "fuzz_files.py")
    assert spec is not None
    assert spec.loader is not None
    fuzz = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = fuzz
    try:
        spec.loader.exec_module(fuzz)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            faults = fuzz.fuzz(tmp_path / "fuzzed", seconds=60, count=80, seed=7)
    finally:
        del sys.modules[spec.name]
    assert faults == []
    assert "slowest" in printed.getvalue()


# --- memory


LIMITED = """
import contextlib, io, json, resource, sys
import optsched.methods, optsched.placement.instance, optsched.placement.solution
from optsched.cli import _code, show
from optsched.problem import resolve
from optsched.problems import PROBLEMS
resolve(PROBLEMS["placement"].warm_up)()
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + 1_500_000_000
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    bytearray(2_000_000_000)
    sys.exit("the limit does not bind")
except MemoryError:
    pass
answers = []
for argv in json.load(sys.stdin):
    error = io.StringIO()
    with contextlib.redirect_stderr(error):
        answers.append([_code(argv), error.getvalue()])
print(json.dumps(answers))
"""


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="needs RLIMIT_AS and /proc: Linux only"
)
def test_enormous_sizes_need_little_memory() -> None:
    tail = b"0]}"
    head = b'{"schema":"optsched/placement","free_gpus":['
    rows = b'{"schema":"optsched/placement-solution","version":1,"instance":"small","counts":['
    instances: dict[str, Any] = {
        "replicas": changed(INSTANCE, (*STAGES, 0, "replicas"), 10**9),
        "gpus-per-server": changed(INSTANCE, ("cluster", "gpus_per_server"), 10**9),
        "servers": changed(INSTANCE, ("free_gpus",), [1] * 10**6),
        "counts": long_chain(4000),
        "numbers": head + b"1," * 15_000_000 + tail,
        "floats": head + b"0.5," * 7_500_000 + tail,
        "floats-under-the-limit": head + b"0.5," * (MOST_VALUES - 10) + tail,
        "arrays": head + b"[]," * 10_000_000 + tail,
        "arrays-under-the-limit": head + b"[]," * (MOST_CONTAINERS - 10) + tail,
        "objects": head + b'{"a":0},' * 3_700_000 + tail,
        "keys": b"{" + b",".join(b'"%d":0' % i for i in range(MOST_KEYS - 1)) + b"}",
        "a-name": changed(INSTANCE, ("name",), "n" * 30_000_000),
        "a-number": head + b"9" * 30_000_000 + tail,
        "opened": b"[" * 30_000_000,
    }
    solutions = {
        "sol-row": rows + b"[" + b"0," * (MOST_VALUES - 10) + b"0]]}",
        "sol-rows": rows + b"[0]," * (MOST_CONTAINERS - 10) + b"[0]]}",
        "sol-garbage": rows + b"[0]," * 7_500_000 + b"[0]]}",
    }
    for name, content in (instances | solutions).items():
        write(f"{name}.json", content)
    whole = write("whole.json", INSTANCE)
    commands = [["solve", f"{name}.json"] for name in instances]
    commands += [["check", whole, f"{name}.json"] for name in solutions]
    done = subprocess.run(
        [sys.executable, "-c", LIMITED],
        input=json.dumps(commands),
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for argv, (code, error) in zip(commands, json.loads(done.stdout), strict=True):
        assert code == 2, (argv, error)
        assert len(error.splitlines()) == 1, (argv, error)
        assert error.startswith(f"optsched: {argv[-1]}: "), error
