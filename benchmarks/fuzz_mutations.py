"""How `fuzz_files` breaks files: bytes, lines, cells, JSON values, compressed streams, pages."""

import gzip
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

from optsched.files import MAX_CONTAINERS, MAX_KEYS, MAX_VALUES
from optsched.io.reading import MAX_FILE_BYTES

Maker = Callable[[random.Random, bytes], bytes]

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
    "=1+1",
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


CELLS = (
    *NUMBERS,
    *(
        "",
        " ",
        "-1",
        "0",
        "1e18",
        "1e-300",
        "0.5",
        '"',
        "'",
        "=1+1",
        "a" * 300,
        "\u202e",
        "\x00",
        "\t",
    ),
    *("2017-10-09 07:01:55", "9999-12-31", "0001-01-01", "None", "1;2", "[1.0; 2.0]"),
)


def json_value(rng: random.Random, raw: bytes) -> bytes:
    """A value replaced by another of any type."""

    def edit(parent: Any, key: Any) -> None:
        parent[key] = rng.choice(NASTY)

    return _edited(rng, raw, edit)


def json_number(rng: random.Random, raw: bytes) -> bytes:
    """Numbers replaced by others that may be in range."""

    def edit(parent: Any, key: Any) -> None:
        if isinstance(parent[key], int | float):
            parent[key] = rng.choice((0, 1e-9, 1e-300, 5e-324, 1e18, 10**18, 1, 2, 3, 7, 1024))

    return _edited(rng, raw, edit, times=rng.randint(1, 4))


def json_less(rng: random.Random, raw: bytes) -> bytes:
    """A value taken away."""

    def edit(parent: Any, key: Any) -> None:
        del parent[key]

    return _edited(rng, raw, edit)


def json_more(rng: random.Random, raw: bytes) -> bytes:
    """Keys that do not belong: strange, long, or many."""
    names = ["extra", "", "schema_", "a\nb", "\ud800", "k" * rng.choice((10, 10**5)), "__proto__"]
    more = {rng.choice(names): 1} if rng.random() < 0.98 else {f"k{i}": i for i in range(20_000)}

    def edit(parent: Any, key: Any) -> None:
        (parent if isinstance(parent, dict) else {}).update(more)

    return _edited(rng, raw, edit)


def json_longer(rng: random.Random, raw: bytes) -> bytes:
    """An array made long, or a string."""
    times = rng.choice((2, 3, 10, 100, 100, 1000))

    def edit(parent: Any, key: Any) -> None:
        value = parent[key]
        if isinstance(value, list | str):
            parent[key] = value * times
        elif isinstance(value, int | float):
            parent[key] = [value] * times

    return _edited(rng, raw, edit)


def json_twice(rng: random.Random, raw: bytes) -> bytes:
    """A key twice."""
    text = raw.decode()
    keys = [i for i in range(len(text)) if text.startswith('": ', i)]
    if not keys:
        return raw
    end = rng.choice(keys)
    begin = text.rindex('"', 0, end)
    return (text[:begin] + text[begin:end] + '": 1, ' + text[begin:]).encode()


def json_deep(rng: random.Random, raw: bytes) -> bytes:
    """Nests deeper than are read."""
    depth = rng.choice((60, 70, 900, 5_000, 100_000))
    opened, closed = rng.choice((("[", "]"), ('{"a":', "}")))
    bare = opened * depth + "0" + (closed * depth if rng.random() < 0.7 else "")
    if rng.random() < 0.3:
        return bare.encode()
    at = raw.find(b'"version": 1')
    return bare.encode() if at < 0 else raw[:at] + f'"provenance": {bare}, '.encode() + raw[at:]


def json_large(rng: random.Random, raw: bytes) -> bytes:
    """A file of almost, exactly or more than the most bytes, values, keys or objects read."""
    unit = rng.choice((b"[],", b"{},", b"0,", b"0.5,", b'"",', b'{"a":0},', b" ", b"[", b'"x":1,'))
    if unit == b" ":  # valid but for its size
        return raw + b" " * (MAX_FILE_BYTES - len(raw) + rng.choice((0, 1, -1)))
    most = rng.choice((MAX_CONTAINERS, MAX_KEYS, MAX_VALUES, MAX_FILE_BYTES))
    made = unit * (min(most, MAX_FILE_BYTES // len(unit)) - 200)
    end = len(unit.rstrip(b",")) - len(unit) or None
    where = rng.choice((b'{"schema":"optsched/placement","provenance":[', b'{"counts":[', b"["))
    return where + made[:end] + (b"]}" if where.startswith(b"{") else b"]")


def truncated(rng: random.Random, raw: bytes) -> bytes:
    """The beginning alone."""
    return raw[: rng.randrange(len(raw))]


def flipped(rng: random.Random, raw: bytes) -> bytes:
    """Some bits flipped."""
    made = bytearray(raw)
    for _ in range(rng.randint(1, 8)):
        made[rng.randrange(len(made))] ^= 1 << rng.randrange(8)
    return bytes(made)


def spliced(rng: random.Random, raw: bytes) -> bytes:
    """Bytes that are no UTF-8, or control characters, put anywhere."""
    pieces = (b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x00", b"\x1b[2J", b"\x0c")
    at = rng.randrange(len(raw))
    return raw[:at] + rng.choice((*pieces, b"\r", b"\xe2\x80\xa8", b"\xef\xbb\xbf")) + raw[at:]


def number(rng: random.Random, raw: bytes) -> bytes:
    """A digit replaced by a number written otherwise."""
    digits = [i for i, c in enumerate(raw) if 48 <= c <= 57]
    if not digits:
        return raw
    at = rng.choice(digits)
    return raw[:at] + rng.choice(NUMBERS).encode() + raw[at + 1 :]


def other(rng: random.Random, raw: bytes) -> bytes:
    """Nothing, something else, twice the same, or another encoding."""
    text = raw.decode("latin-1")
    more = (raw * 2, b"\xef\xbb\xbf" + raw, text.encode("utf-16"), text.encode("utf-32"))
    return rng.choice((b"", b" ", b"\n" * 9, b"null", b"[]", b"{}", b"0", b'"x"', *more))


def lines(rng: random.Random, raw: bytes) -> bytes:
    """Lines doubled, taken away, shuffled or joined."""
    held = raw.splitlines(keepends=True)
    at = rng.randrange(len(held))
    how = rng.randrange(5)
    if how == 0:
        held.insert(at, held[at])
    elif how == 1:
        del held[at]
    elif how == 2:
        rng.shuffle(held)
    elif how == 3:
        held[at] = held[at].rstrip(b"\n")
    else:
        held[at:at] = [held[at]] * rng.choice((10, 300))
    return b"".join(held)


def cell(rng: random.Random, raw: bytes) -> bytes:
    """Some cells of a table replaced."""
    held = raw.decode().split("\n")
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(held))
        mark = next((m for m in ("\t", ",", " ") if m in held[at]), ",")
        cells = held[at].split(mark)
        cells[rng.randrange(len(cells))] = rng.choice(CELLS)
        held[at] = mark.join(cells)
    return "\n".join(held).encode()


def long_text(rng: random.Random, raw: bytes) -> bytes:
    """Many rows, a long line, or a long cell."""
    held = raw.splitlines(keepends=True)
    how = rng.randrange(4)
    if how == 0:
        return raw + held[-1] * 20_000
    if how == 1:
        return raw + b"x" * (2**20 + 1)
    if how == 2:
        return held[0].rstrip(b"\n") + b",x" * 200_000 + b"\n" + b"".join(held[1:])
    return raw + b'"' + held[-1] * 2_000


def blocks(rng: random.Random, raw: bytes) -> bytes:
    """A block of a binary file zeroed, filled, copied elsewhere or taken away."""
    size = rng.choice((1, 4, 16, 64, 512, 4096))
    at, there = rng.randrange(len(raw)), rng.randrange(len(raw))
    piece = rng.choice((bytes(size), b"\xff" * size, raw[there : there + size], b""))
    return raw[:at] + piece + raw[at + size :]


def compressed(rng: random.Random, raw: bytes) -> bytes:
    """A gzip stream, damaged in one of many ways, or a bomb."""
    made = gzip.compress(raw, 1, mtime=0)
    how = rng.randrange(8)
    if how == 0 and rng.random() < 0.02:
        return gzip.compress(raw + b"\n" * 20_000_000, 1, mtime=0)
    if how == 1:
        return made * rng.choice((2, 50)) + bytes(rng.choice((0, 512)))
    if how == 2:
        return made + b"garbage"
    return rng.choice((flipped, truncated, blocks))(rng, made)


def _edited(
    rng: random.Random, raw: bytes, edit: Callable[[Any, Any], None], times: int = 1
) -> bytes:
    document = json.loads(raw)
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


ANY: tuple[Maker, ...] = (truncated, flipped, spliced, number, other)
TEXT: tuple[Maker, ...] = (*ANY, lines, cell, cell)
JSON: tuple[Maker, ...] = (
    *(*ANY, json_value, json_value, json_number, json_number),
    *(json_less, json_more, json_longer, json_twice, json_deep),
)
BINARY: tuple[Maker, ...] = (truncated, flipped, flipped, blocks, blocks)
