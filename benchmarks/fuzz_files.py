"""Fuzz the reading of files: `python benchmarks/fuzz_files.py [--seconds 30] [--seed 0]`.

Broken and hostile instance files, solution files and PipeDream profiles go through the command
line's own entry, in this process. Every run must end with exit code 0, 1 or 2, without a
traceback, with exactly one line on standard error when the code is 2, and soon. What fails is
kept in the folder named at the end. Times are above start-up: the process is warm.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import io
import json
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from optsched.cli import _code
from optsched.files import MOST_CONTAINERS, MOST_KEYS, MOST_VALUES
from optsched.reading import LARGEST_FILE

SLOWEST_ALLOWED = 20.0
HUNG = 120.0
LONGEST_LINE = 2000

STAGE = {"forward_time": 0.01, "backward_time": 0.02, "parameter_bytes": 1e8}
INSTANCE: dict[str, Any] = {
    "schema": "optsched/placement",
    "version": 1,
    "name": "fuzzed",
    "provenance": {"made": "by hand"},
    "cluster": {"gpus_per_server": 4, "inter_bandwidth": 1.25e9, "intra_bandwidth": 3e11},
    "free_gpus": [3, 2, 1],
    "job": {
        "model": "three stages",
        "all_reduce": "ring",
        "stages": [
            {"name": "a", "replicas": 3, "input_bytes": 0, "output_bytes": 2e7, **STAGE},
            {"name": "b", "replicas": 2, "input_bytes": 3e7, "output_bytes": 1e6, **STAGE},
            {"name": "c", "replicas": 1, "input_bytes": 2e6, "output_bytes": 0, **STAGE},
        ],
    },
}
SOLUTION: dict[str, Any] = {
    "schema": "optsched/placement-solution",
    "version": 1,
    "instance": "fuzzed",
    "counts": [[3, 0, 0], [0, 2, 0], [0, 0, 1]],
    "options": {"all_reduce_bandwidth": "own", "backward_overlap": 1.0},
}
GRAPH = "".join(
    f"node{n} -- Layer({n}) -- forward_compute_time={n}.5, backward_compute_time={2 * n}.0, "
    f"activation_size={[1000.0 * n, '[64.0; 8.0]'][n % 2]}, parameter_size={100 * n}.000\n"
    for n in range(1, 9)
) + "".join(f"\tnode{n} -- node{n + 1}\n" for n in range(1, 8))

Text = tuple[str, bytes]  # which of the three files, and its bytes
Maker = Callable[[random.Random, str], bytes]


def main() -> int:
    """Run for the seconds asked and print what happened; 1 if a run broke the contract."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--count", type=int, default=10**9, help="at most so many files")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="optsched-fuzz-"))
    faults = fuzz(folder, arguments.seconds, arguments.count, arguments.seed)
    if not faults:
        shutil.rmtree(folder)
    return 1 if faults else 0


def fuzz(folder: Path, seconds: float, count: int, seed: int) -> list[str]:
    """Run broken files in a folder; prints a report and returns what broke the contract."""
    rng = random.Random(seed)
    bench = Bench(folder)
    bench.warm_up()
    ends = time.perf_counter() + seconds
    for number, (target, kind, maker) in enumerate(cycle(list(_kinds()))):
        if number >= count or time.perf_counter() > ends:
            break
        bench.try_file(target, kind, maker(rng, TEXTS[target]), rng)
    bench.report()
    return bench.faults


@dataclass
class Bench:
    """The folder that the files stand in, and what their runs gave."""

    folder: Path
    runs: Counter[tuple[str, str]] = field(default_factory=Counter)
    codes: dict[tuple[str, str], Counter[int]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    slowest: tuple[float, str] = (0.0, "none")

    def warm_up(self) -> None:
        """Write the valid files and run each command once, so that imports are not timed."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for target, text in TEXTS.items():
            (self.folder / f"valid.{SUFFIX[target]}").write_text(text, encoding="utf-8")
        rng = random.Random(0)
        for target, text in TEXTS.items():
            for _ in range(6):
                self.try_file(target, "valid", text.encode(), rng)
        self.slowest = (0.0, "none")

    def try_file(self, target: str, kind: str, raw: bytes, rng: random.Random) -> None:
        """Run one file through a command that reads it."""
        path = self.folder / f"tried.{SUFFIX[target]}"
        path.write_bytes(raw)
        argv = rng.choice(self._commands(target, str(path)))
        faulthandler.dump_traceback_later(HUNG, exit=True)
        began = time.perf_counter()
        code, out, error = run(argv)
        seconds = time.perf_counter() - began
        faulthandler.cancel_dump_traceback_later()
        self.runs[target, kind] += 1
        self.codes.setdefault((target, kind), Counter())[code] += 1
        label = f"{target}, {kind}, {len(raw)} bytes, {' '.join(argv[:1])}"
        self.slowest = max(self.slowest, (seconds, label))
        for fault in _faults(code, out, error, seconds):
            kept = self.folder / f"fault-{len(self.faults)}.{SUFFIX[target]}"
            kept.write_bytes(raw)
            self.faults.append(
                f"{fault}: {label}: {' '.join(argv)}: kept as {kept}: {error[-300:]}"
            )

    def report(self) -> None:
        """Print counts by kind, the slowest file and the faults."""
        print(f"{'file':10} {'kind':28} {'runs':>6}  exit codes")
        for (target, kind), runs in sorted(self.runs.items()):
            codes = ", ".join(f"{c}: {n}" for c, n in sorted(self.codes[target, kind].items()))
            print(f"{target:10} {kind:28} {runs:6}  {codes}")
        seconds, label = self.slowest
        print(f"{sum(self.runs.values())} runs; slowest {seconds:.3f} s above start-up: {label}")
        print(f"{len(self.faults)} faults")
        for fault in self.faults:
            print(fault)

    def _commands(self, target: str, path: str) -> list[list[str]]:
        instance, solution = (
            str(self.folder / f"valid.{SUFFIX[t]}") for t in ("instance", "solution")
        )
        if target == "solution":
            return [["check", instance, path, "--json"], ["explain", instance, path]]
        if target == "graph":
            made = str(self.folder / "made.json")
            offer = ["--gpus", "4", "--servers", "3,1", "-o", made]
            return [
                ["import", "pipedream", path, *offer, *extra] for extra in ([], ["--stages", "2"])
            ]
        return [
            ["solve", path, "--method", "heavy-edge", "--json"],
            ["solve", path, "--time-limit", "1"],
            ["check", path, solution],
            ["explain", path, "--method", "heavy-edge"],
            ["compare", path, "--methods", "heavy-edge,repartition", "--time-limit", "1"],
            ["compare", path, "--methods", "heavy-edge", "--json"],
        ]


def run(argv: list[str]) -> tuple[int, str, str]:
    """The exit code, output and error output of a command line, in this process."""
    out, error = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        code = _code(argv)
    return code, out.getvalue(), error.getvalue()


def _faults(code: int, out: str, error: str, seconds: float) -> Iterator[str]:
    if code not in (0, 1, 2):
        yield f"exit code {code}"
    if "Traceback" in out + error:
        yield "a traceback"
    lines = error.splitlines()
    if code == 2 and (len(lines) != 1 or not error.startswith("optsched: ")):
        yield f"{len(lines)} lines on standard error"
    if code == 2 and len(error) > LONGEST_LINE:
        yield f"a line of {len(error)} characters"
    if seconds > SLOWEST_ALLOWED:
        yield f"{seconds:.1f} s"


TEXTS = {
    "instance": json.dumps(INSTANCE, indent=1),
    "solution": json.dumps(SOLUTION, indent=1),
    "graph": GRAPH,
}
SUFFIX = {"instance": "json", "solution": "solution.json", "graph": "graph.txt"}

NASTY: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    2,
    10**9,
    10**18,
    10**400,
    -(10**400),
    2**63,
    0.5,
    -0.0,
    5e-324,
    1e-300,
    1e18,
    1e308,
    -1e308,
    float("nan"),
    float("inf"),
    float("-inf"),
    "",
    "1",
    "nan",
    "ring",
    "double-tree",
    "\ud800",
    "a\x00b",
    "\x1b[31m",
    "line\nline",
    "\u202e\u2028",
    "x" * 10_000,
    [],
    {},
    [[]],
    [None],
    {"": 0},
    {"__class__": "x"},
    [10**9] * 9,
    list(range(300)),
)

NUMBERS = (
    *("NaN", "Infinity", "-Infinity", "1e308", "1e400", "-1e400", "1e-400", "9" * 400, "9" * 5000),
    *("1000000000", "0x10", "1_0", "01", "+1", ".5", "-", "1e", "\u0661", "nan", "[1;nan]"),
)


def _replaced(rng: random.Random, text: str) -> bytes:
    """A value replaced by another of any type."""

    def edit(parent: Any, key: Any) -> None:
        parent[key] = rng.choice(NASTY)

    return _edited(rng, text, edit)


def _scaled(rng: random.Random, text: str) -> bytes:
    """A number replaced by another that may be in range."""

    def edit(parent: Any, key: Any) -> None:
        if isinstance(parent[key], int | float):
            parent[key] = rng.choice((0, 1e-9, 1e-300, 5e-324, 1e18, 10**18, 1, 2, 3, 7, 1024))

    return _edited(rng, text, edit, times=rng.randint(1, 4))


def _deleted(rng: random.Random, text: str) -> bytes:
    """A value taken away."""

    def edit(parent: Any, key: Any) -> None:
        del parent[key]

    return _edited(rng, text, edit)


def _unknown(rng: random.Random, text: str) -> bytes:
    """Keys that do not belong: strange, long, or many."""
    names = ["extra", "", "schema_", "a\nb", "\ud800", "k" * rng.choice((10, 10**6)), "__proto__"]
    more = {rng.choice(names): 1} if rng.random() < 0.8 else {f"k{i}": i for i in range(200_000)}

    def edit(parent: Any, key: Any) -> None:
        (parent if isinstance(parent, dict) else {}).update(more)

    return _edited(rng, text, edit)


def _resized(rng: random.Random, text: str) -> bytes:
    """An array made long, or a string."""
    times = rng.choice((2, 100, 50_000, 200_000))

    def edit(parent: Any, key: Any) -> None:
        value = parent[key]
        small = isinstance(value, str | int | float)
        if isinstance(value, list | str) and len(json.dumps(value)) * times < LARGEST_FILE:
            parent[key] = value * times
        elif small:
            parent[key] = [value] * times

    return _edited(rng, text, edit)


def _edited(
    rng: random.Random, text: str, edit: Callable[[Any, Any], None], times: int = 1
) -> bytes:
    document = json.loads(text)
    for _ in range(times):
        places = list(_places(document))
        if places:
            edit(*rng.choice(places))
    return json.dumps(document).encode()


def _places(node: Any) -> Iterator[tuple[Any, Any]]:
    for key in list(node) if isinstance(node, dict) else range(len(node)):
        yield node, key
        if isinstance(node[key], dict | list):
            yield from _places(node[key])


def _truncated(rng: random.Random, text: str) -> bytes:
    return text.encode()[: rng.randrange(len(text))]


def _flipped(rng: random.Random, text: str) -> bytes:
    raw = bytearray(text.encode())
    for _ in range(rng.randint(1, 8)):
        raw[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
    return bytes(raw)


def _spliced(*pieces: bytes) -> Maker:
    """One of some pieces put anywhere."""

    def make(rng: random.Random, text: str) -> bytes:
        raw, at = text.encode(), rng.randrange(len(text))
        return raw[:at] + rng.choice(pieces) + raw[at:]

    return make


def _constant(*raws: bytes) -> Maker:
    return lambda rng, text: rng.choice(raws)


def _number(rng: random.Random, text: str) -> bytes:
    """A number of the text written otherwise."""
    digits = [i for i, c in enumerate(text) if c.isdigit()]
    at = rng.choice(digits)
    new = rng.choice(NUMBERS)
    return (text[:at] + new + text[at + 1 :]).encode()


def _twice(rng: random.Random, text: str) -> bytes:
    lines = text.splitlines(keepends=True)
    at = rng.randrange(1, len(lines))
    return "".join([*lines[:at], lines[at], *lines[at:]]).encode()


def _shuffled(rng: random.Random, text: str) -> bytes:
    lines = text.splitlines(keepends=True)
    rng.shuffle(lines)
    return "".join(lines).encode()


def _nested(rng: random.Random, text: str) -> bytes:
    depth = rng.choice((60, 70, 900, 5_000, 1_000_000))
    opened, closed = rng.choice((("[", "]"), ('{"a":', "}")))
    bare = opened * depth + "0" + (closed * depth if rng.random() < 0.7 else "")
    if rng.random() < 0.3:
        return bare.encode()
    return text.replace('"version": 1', f'"version": 1, "provenance": {bare}', 1).encode()


def _around_the_limit(rng: random.Random, text: str) -> bytes:
    """A file of almost, exactly or more than the most bytes, values, keys or objects read."""
    unit = rng.choice((b"[],", b"{},", b"0,", b"0.5,", b'"",', b'{"a":0},', b" ", b"[", b'"x":1,'))
    if unit == b" ":  # valid but for its size
        return text.encode() + b" " * (LARGEST_FILE - len(text) + rng.choice((0, 1, -1)))
    most = rng.choice((MOST_CONTAINERS, MOST_KEYS, MOST_VALUES, LARGEST_FILE))
    raw = unit * (min(most, LARGEST_FILE // len(unit)) - 200)
    end = len(unit.rstrip(b",")) - len(unit) or None
    where = rng.choice((b'{"schema":"optsched/placement","provenance":[', b'{"counts":[', b"["))
    tail = b"]}" if where.startswith(b"{") else b"]"
    return where + raw[:end] + tail


def _long_graph(rng: random.Random, text: str) -> bytes:
    """Many layers, many edges, one long line, or more bytes than are read."""
    layer = text.partition("\n")[0].partition(" -- ")[2]
    count = rng.choice((300, 2_000, 20_001))
    made = rng.randrange(5)
    if made == 0:
        return "".join(f"node{n} -- {layer}\n" for n in range(count)).encode()
    if made == 1:
        return (text + "\tnode1 -- node2\n" * 200_001).encode()
    if made == 2:
        return text.replace("Layer(1)", "L" * 10**6).encode()
    if made == 3:
        return text.encode() + b"\n" * (16 * 2**20)
    return text.replace("[64.0; 8.0]", "[" + "1.0; " * 500_000 + "1.0]", 1).encode()


_ANY: tuple[tuple[str, Maker], ...] = (
    ("truncated", _truncated),
    ("bytes flipped", _flipped),
    ("numbers", _number),
    ("line twice", _twice),
    ("lines shuffled", _shuffled),
    ("invalid UTF-8", _spliced(b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80")),
    ("control characters", _spliced(b"\x00", b"\x1b[2J", b"\x7f", b"\x0c", b"\r", b"\xe2\x80\xa8")),
    ("empty or other", _constant(b"", b" ", b"\n" * 9, b"null", b"[]", b"{}", b"0", b'"x"')),
)
_JSON: tuple[tuple[str, Maker], ...] = (
    *_ANY,
    ("value replaced", _replaced),
    ("numbers in range", _scaled),
    ("value deleted", _deleted),
    ("unknown keys", _unknown),
    ("resized", _resized),
    ("deep nesting", _nested),
    ("byte order mark", lambda rng, text: b"\xef\xbb\xbf" + text.encode()),
    ("another encoding", lambda rng, text: text.encode(rng.choice(("utf-16", "utf-32")))),
    ("another schema", lambda rng, text: text.replace("placement", "makespan").encode()),
    ("two documents", lambda rng, text: (text * 2).encode()),
)


def _kinds() -> Iterator[tuple[str, str, Maker]]:
    for target in ("instance", "solution"):
        for _ in range(8):  # the large files are slow to make: one in a round
            yield from ((target, kind, maker) for kind, maker in _JSON)
        yield target, "around the limit of bytes", _around_the_limit
    for _ in range(8):
        yield from (("graph", kind, maker) for kind, maker in _ANY)
    yield "graph", "long", _long_graph


if __name__ == "__main__":
    sys.exit(main())
