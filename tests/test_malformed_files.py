"""Broken and hostile files: one exact line, exit code 2, and little memory."""

import copy
import json
import re
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from commands import printed, refusal, run
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from placement.jobs import document
from processes import python

import optsched
from optsched.errors import InputError
from optsched.experiments import sweep
from optsched.experiments.plans.plan import Family, Plan
from optsched.files import MAX_CONTAINERS, MAX_KEYS, MAX_VALUES, read_document
from optsched.io.reading import MAX_FILE_BYTES
from optsched.placement.instance import MAX_COUNTS, PlacementInstance
from optsched.problems import PROBLEMS

FILE = "broken.json"
LONGEST_LINE = 1000
SCHEMAS_KNOWN = " or ".join(f"optsched/{name}" for name in PROBLEMS)
STAGE = {"forward_time": 0.01, "backward_time": 0.02, "parameter_bytes": 1e8}
STAGES = [
    {"name": "a", "replicas": 3, "output_bytes": 2e7, **STAGE},
    {"name": "b", "replicas": 2, "input_bytes": 3e7, **STAGE},
]
INSTANCE = document([3, 2], STAGES, gpus=4, inter=1.25e9, intra=3e11, name="small")
INSTANCE["provenance"] = {"note": "by hand"}
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


def write(name: str, content: Any) -> str:
    """Write a file: bytes and text as they are, anything else as JSON."""
    if isinstance(content, bytes):
        Path(name).write_bytes(content)
    else:
        text = content if isinstance(content, str) else json.dumps(content)
        Path(name).write_text(text, encoding="utf-8")
    return name


def changed(document: dict[str, Any], place: str, value: Any) -> dict[str, Any]:
    """A copy of a document with the value at a JSON path replaced, or taken away (by ``...``)."""
    made = copy.deepcopy(document)
    path = [int(p) if p.isdigit() else p for p in re.findall(r"[^.\[\]]+|(?<=\[)\d+", place)]
    parent: Any = made
    for part in path[:-1]:
        parent = parent[part]
    if value is ...:
        del parent[path[-1]]
    else:
        parent[path[-1]] = value
    return made


# --- what every reader of JSON refuses, before it looks at the schema


PLAIN_JSON = "expected JSON with finite numbers and unique keys"
TOO_DEEP = "found objects nested too deep, expected at most 64 levels"
TOO_LARGE = "found a number too large, expected a finite number"
NOT_UTF8 = "found not UTF-8, expected UTF-8 text"
INVALID = "found invalid JSON"
BOM = "(Unexpected UTF-8 BOM (decode using utf-8-sig))"
NO_VALUE = f"line 1 column 1: {INVALID} (Expecting value), expected JSON"
OPEN_STRING = f"line 1 column 12: {INVALID} (Unterminated string starting at), expected JSON"
NOT_EVEN_JSON: dict[str, tuple[bytes, str]] = {
    "empty": (b"", NO_VALUE),
    "truncated": (b'{"schema": "optsched/pla', OPEN_STRING),
    "byte order mark": (b"\xef\xbb\xbf{}", f"line 1 column 1: {INVALID} {BOM}, expected JSON"),
    "null byte": (b"\x00{}", NO_VALUE),
    "invalid UTF-8": (b'{"a": "\xff"}', f"byte 7: {NOT_UTF8}"),
    "an array": (b"[1, 2]", "found [1, 2], expected an object"),
    "NaN": (b'{"a": NaN}', f"found NaN, {PLAIN_JSON}"),
    "1e400": (b'{"a": {"b": [0, 1e400]}}', f"a.b[1]: {TOO_LARGE}"),
    "a key twice": (b'{"a": {"b": 1, "c": 2, "b": 1}}', f"found key 'b' twice, {PLAIN_JSON}"),
    "5000 digits": (
        b'{"a": ' + b"9" * 5000 + b"}",
        "found an integer too long to read, expected numbers below 1e18",
    ),
    "half a character": (b'{"a": {"b": "\\ud800"}}', "a.b: found '\\ud800', expected Unicode text"),
    "65 levels": (b'{"a":' * 64 + b"[]" + b"}" * 64, TOO_DEEP),
    "100000 levels": (b"[" * 100_000, TOO_DEEP),
    "too many bytes": (
        b"{}" + b" " * MAX_FILE_BYTES,
        f"found more than {MAX_FILE_BYTES} bytes, expected at most {MAX_FILE_BYTES} bytes",
    ),
    "too many values": (
        b"[" + b"0," * MAX_VALUES + b"0,0]",
        f"found too many values, expected at most {MAX_VALUES}",
    ),
    "too many keys": (
        b"{" + b'"":0,' * MAX_KEYS + b'"":0}',
        f"found too many keys, expected at most {MAX_KEYS}",
    ),
    "too many objects": (
        b"[" + b"{}," * MAX_CONTAINERS + b"{}]",
        f"found too many arrays and objects, expected at most {MAX_CONTAINERS}",
    ),
}


@pytest.mark.parametrize("case", NOT_EVEN_JSON)
def test_not_json_of_ours(case: str) -> None:
    raw, line = NOT_EVEN_JSON[case]
    write(FILE, raw)
    whole = write("whole.json", INSTANCE)
    for command in ("solve", "compare", "explain", f"check {whole}"):
        assert refusal(command, FILE) == f"{FILE}: {line}"


def test_the_limits_themselves_are_allowed() -> None:
    rows = (MAX_CONTAINERS - 2) // 2
    write(FILE, '{"a":[' + ",".join(["[[]]"] * rows) + "]}")
    assert len(read_document(FILE)["a"]) == rows
    write(FILE, '{"a":[' + "0," * MAX_VALUES + "0]}")
    assert len(read_document(FILE)["a"]) == MAX_VALUES + 1
    write(FILE, "{}" + " " * (MAX_FILE_BYTES - 2))
    assert read_document(FILE) == {}
    write(FILE, '{"a":' * 63 + "[]" + "}" * 63)
    assert read_document(FILE)
    write(FILE, '{"smile": "\\ud83d\\ude00"}')
    assert read_document(FILE) == {"smile": "\U0001f600"}


# --- instances: file, JSON path, found, expected


MISSING = "missing required field"
POSITIVE = "a finite number in [1e-09, 1e+18]"
ANY_SIZE = "a finite number in [0, 1e+18]"
NAME = "a printable string of at most 200 characters"
SENT = "the 6e+07 bytes that stages[0] sends"
BAD_INSTANCES: tuple[tuple[Any, ...], ...] = (
    ("schema", "optsched/other", SCHEMAS_KNOWN),
    ("schema", ..., SCHEMAS_KNOWN),
    ("version", 2, "1"),
    ("version", True, "1"),
    ("version", 1.0, "1"),
    ("name", 3, NAME),
    ("name", "two\nlines", NAME),
    ("name", "n" * 10**6, NAME, f"'{'n' * 56}..."),
    ("provenance", [], "an object"),
    ("cluster", ..., MISSING),
    ("cluster", [1], "an object"),
    ("cluster.nic", 1, "no such key"),
    ("cluster.gpus_per_server", 4.0, "an integer in [1, 1024]"),
    ("cluster.inter_bandwidth", 0, POSITIVE),
    ("cluster.intra_bandwidth", 1e308, POSITIVE),
    ("cluster.intra_bandwidth", 10**400, POSITIVE, f"1{'0' * 56}..."),
    ("cluster.intra_bandwidth", True, POSITIVE),
    ("free_gpus", 5, "an array"),
    ("free_gpus", "32", "an array"),
    ("free_gpus", [3, 1], "the 5 replicas of the job", "a sum of 4"),
    ("free_gpus", [5], "at most gpus_per_server = 4", "5", "free_gpus[0]"),
    ("free_gpus[1]", -2, "an integer in [0, 1024]"),
    ("free_gpus[1]", None, "an integer in [0, 1024]"),
    ("free_gpus", [1] * 10**6, "at most 32768 entries", "an array of 1000000 entries"),
    ("job.all_reduce", "tree", "'ring' or 'double-tree'"),
    ("job.stages", [], "at least one stage", "no stage"),
    ("job.stages[0]", 7, "an object"),
    ("job.stages[1].replicas", 10**9, "an integer in [1, 32768]"),
    ("job.stages[1].replicas", 2.5, "an integer in [1, 32768]"),
    ("job.stages[0].forward_time", -0.1, ANY_SIZE),
    ("job.stages[0].parameter_bytes", "1e8", ANY_SIZE),
    ("job.stages[0].input_bytes", 5, "0"),
    ("job.stages[1].output_bytes", 5, "0"),
    ("job.stages[1].input_bytes", 3.0001e7, SENT, "6.0002e+07 bytes in all"),
    ("job.stages[1].a\x1b(31m\nb", 0, "no such key", "0", "job.stages[1].a (31m b"),
)
"""Place, value there, what is expected; and what is found and where, if the line says otherwise."""


def line_of(place: str, value: Any, expected: str, found: str = "", where: str = "") -> str:
    if expected == MISSING:
        return f"{FILE}: {place}: {MISSING}"
    found = found or ("nothing" if value is ... else repr(value))
    return f"{FILE}: {where or place}: found {found}, expected {expected}"


@pytest.mark.parametrize("row", BAD_INSTANCES)
def test_a_bad_instance(row: tuple[Any, ...]) -> None:
    write(FILE, changed(INSTANCE, *row[:2]))
    assert refusal("solve", FILE) == line_of(*row)


def test_the_instance_itself_is_good() -> None:
    write(FILE, INSTANCE)
    write("solution.json", SOLUTION)
    printed("solve", FILE)
    printed("check", FILE, "solution.json")
    printed("explain", FILE, "solution.json")


def test_transfers_agree_to_one_in_a_million() -> None:
    near = changed(INSTANCE, "job.stages[1].input_bytes", 3e7 * (1 + 9e-7))
    assert PlacementInstance.from_dict(near)
    with pytest.raises(InputError, match="bytes in all"):
        PlacementInstance.from_dict(changed(near, "job.stages[1].input_bytes", 3e7 * (1 + 2e-6)))


def long_chain(length: int) -> dict[str, Any]:
    """An instance of so many stages and servers, one replica each, nothing sent."""
    return document([1] * length, [{"replicas": 1, **STAGE}] * length, name="small")


@pytest.mark.parametrize(
    ("document", "line"),
    [
        (
            long_chain(4000),
            f"free_gpus: found 4000 stages x 4000 servers, expected at most {MAX_COUNTS} counts",
        ),
        (INSTANCE | {f"key{i}": i for i in range(30_000)}, "key0: found 0, expected no such key"),
        ({**INSTANCE, "k" * 10**6: 1}, f"{'k' * 197}...: found 1, expected no such key"),
    ],
    ids=["counts", "keys", "a long key"],
)
def test_too_much_in_an_instance(document: dict[str, Any], line: str) -> None:
    assert refusal("solve", write(FILE, document)) == f"{FILE}: {line}"


# --- solutions


COUNT = "an integer in [-32768, 32768]"
BAD_SOLUTIONS: tuple[tuple[Any, ...], ...] = (
    ("schema", "optsched/placement", "'optsched/placement-solution'"),
    ("version", False, "1"),
    ("counts", ..., MISSING),
    ("counts", "30", "an array"),
    ("counts[0]", 3, "an array"),
    ("counts[0][1]", 0.0, COUNT),
    ("counts[0][1]", 10**9, COUNT),
    ("counts[1][1]", True, COUNT),
    ("counts", [[0]] * 5000, "at most 4096 entries", "an array of 5000 entries"),
    ("counts[0]", [0] * 40_000, "at most 32768 entries", "an array of 40000 entries"),
    ("objective", "fast", "a finite number in [-1e+300, 1e+300]"),
    ("options", None, "an object"),
    (
        "options.colour",
        1,
        "one of all_reduce_bandwidth, backward_overlap, all_reduce_overlap",
        "an unknown option",
        "options.'colour'",
    ),
    ("options.all_reduce_bandwidth", ["own"], "own or bottleneck"),
    ("options.backward_overlap", -1, "a finite number in [0, 100]"),
    ("more", {}, "no such key"),
)


@pytest.mark.parametrize("row", BAD_SOLUTIONS)
def test_a_bad_solution(row: tuple[Any, ...]) -> None:
    whole = write("whole.json", INSTANCE)
    write(FILE, changed(SOLUTION, *row[:2]))
    assert refusal("check", whole, FILE) == line_of(*row)
    assert refusal("explain", whole, FILE) == line_of(*row)


# --- what nobody thought of


def places(node: Any, place: str = "") -> Iterator[str]:
    """The JSON paths of all values of a document."""
    for key in node if isinstance(node, dict) else range(len(node)):
        here = f"{place}[{key}]" if isinstance(key, int) else f"{place}.{key}".removeprefix(".")
        yield here
        if isinstance(node[key], dict | list):
            yield from places(node[key], here)


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
    max_examples=30,
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


@lru_cache
def packing() -> tuple[dict[str, Any], dict[str, Any]]:
    result = optsched.solve("packing/two-nodes", "fgd")
    return optsched.load("packing/two-nodes").to_dict(), result.solution.to_dict()


@pytest.mark.parametrize("method", ["heavy-edge", "fgd"])
@FUZZED
@given(st.data(), ANYTHING)
def test_any_value_anywhere_in_an_instance(method: str, data: st.DataObject, value: Any) -> None:
    instance, solution = (INSTANCE, SOLUTION) if method == "heavy-edge" else packing()
    place = data.draw(st.sampled_from(list(places(instance))))
    write(FILE, changed(instance, place, value))
    write("solution.json", solution)
    assert_survives(f"solve {FILE} --method {method}")
    assert_survives(f"solve {FILE} --json --time-limit 5")
    assert_survives(f"check {FILE} solution.json")


@pytest.mark.parametrize("method", ["heavy-edge", "fgd"])
@FUZZED
@given(st.data(), ANYTHING)
def test_any_value_anywhere_in_a_solution(method: str, data: st.DataObject, value: Any) -> None:
    instance, solution = (INSTANCE, SOLUTION) if method == "heavy-edge" else packing()
    place = data.draw(st.sampled_from(list(places(solution))))
    write(FILE, changed(solution, place, value))
    whole = write("whole.json", instance)
    assert_survives("check", whole, FILE)
    assert_survives("explain", whole, FILE)


@lru_cache
def store_content() -> bytes:
    family = Family(name="f", instances=("placement/fig2",), methods=("heavy-edge", "repartition"))
    sweep(Plan("p", (family,), "", "test"), "whole.sqlite", workers=0)
    return Path("whole.sqlite").read_bytes()


def test_a_store_with_a_flipped_bit_in_its_details() -> None:
    raw = store_content()
    at = raw.index(b'{"', raw.index(b'"counts"') - 600)
    flipped = write("broken.sqlite", raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :])
    assert_survives("table", flipped)


@FUZZED
@given(st.sampled_from(["instance", "solution", "graph", "store"]), st.data())
def test_any_bytes_anywhere(which: str, data: st.DataObject) -> None:
    texts = {"instance": json.dumps(INSTANCE), "solution": json.dumps(SOLUTION), "graph": GRAPH}
    raw = texts[which].encode() if which in texts else store_content()
    first = data.draw(st.integers(0, len(raw)))
    last = data.draw(st.integers(first, min(len(raw), first + 30)))
    raw = raw[:first] + data.draw(st.binary(max_size=30)) + raw[last:]
    whole = write("whole.json", INSTANCE)
    if which == "graph":
        write("broken.graph.txt", raw)
        offer = ("--gpus", "2", "--servers", "2", "-o", "out.json")
        assert_survives("import", "pipedream", "broken.graph.txt", *offer)
    elif which == "store":
        assert_survives("table", write("broken.sqlite", raw))
    else:
        write(FILE, raw)
        argv = ("solve", FILE) if which == "instance" else ("check", whole, FILE)
        assert_survives(*argv)


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


@pytest.mark.parametrize("is_whole", [False, pytest.param(True, marks=pytest.mark.full)])
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs RLIMIT_AS and /proc")
def test_enormous_sizes_need_little_memory(is_whole: bool) -> None:
    tail = b"0]}"
    head = b'{"schema":"optsched/placement","free_gpus":['
    rows = b'{"schema":"optsched/placement-solution","version":1,"instance":"small","counts":['
    instances: dict[str, Any] = {
        "replicas": changed(INSTANCE, "job.stages[0].replicas", 10**9),
        "gpus-per-server": changed(INSTANCE, "cluster.gpus_per_server", 10**9),
        "servers": changed(INSTANCE, "free_gpus", [1] * 10**6),
        "counts": long_chain(4000),
        "numbers": head + b"1," * 15_000_000 + tail,
        "floats": head + b"0.5," * 7_500_000 + tail,
        "floats-under-the-limit": head + b"0.5," * (MAX_VALUES - 10) + tail,
        "arrays": head + b"[]," * 10_000_000 + tail,
        "arrays-under-the-limit": head + b"[]," * (MAX_CONTAINERS - 10) + tail,
        "objects": head + b'{"a":0},' * 3_700_000 + tail,
        "keys": b"{" + b",".join(b'"%d":0' % i for i in range(MAX_KEYS - 1)) + b"}",
        "a-name": changed(INSTANCE, "name", "n" * 30_000_000),
        "a-number": head + b"9" * 30_000_000 + tail,
        "opened": b"[" * 30_000_000,
    }
    solutions = {
        "sol-row": rows + b"[" + b"0," * (MAX_VALUES - 10) + b"0]]}",
        "sol-rows": rows + b"[0]," * (MAX_CONTAINERS - 10) + b"[0]]}",
        "sol-garbage": rows + b"[0]," * 7_500_000 + b"[0]]}",
    }
    if not is_whole:  # a file of each kind that the reader stops at
        for name in {*instances} - {"replicas", "servers", "arrays-under-the-limit", "keys"}:
            del instances[name]
        del solutions["sol-row"], solutions["sol-garbage"]
    for name, content in (instances | solutions).items():
        write(f"{name}.json", content)
    whole = write("whole.json", INSTANCE)
    commands = [["solve", f"{name}.json"] for name in instances]
    commands += [["check", whole, f"{name}.json"] for name in solutions]
    done = python("-c", LIMITED, input=json.dumps(commands))
    for argv, (code, error) in zip(commands, json.loads(done.stdout), strict=True):
        assert code == 2, (argv, error)
        assert len(error.splitlines()) == 1, (argv, error)
        assert error.startswith(f"optsched: {argv[-1]}: "), error
