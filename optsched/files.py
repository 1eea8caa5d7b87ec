"""Reading and writing JSON files, with limits against malformed or malicious input."""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from optsched.errors import InputError, shown
from optsched.io.numerals import is_numpy, python_of_numpy
from optsched.io.reading import read_text
from optsched.io.writing import write_text

MAX_VALUES = 2_500_000
MAX_KEYS = 750_000
MAX_CONTAINERS = 500_000
MAX_DEPTH = 64


def read_document(path: str | Path) -> dict[str, Any]:
    """Parse a JSON file whose top level is an object; raises InputError."""
    source = str(path)
    text = read_text(path)
    _require_few_tokens(text, source)
    try:
        document = json.loads(
            text, parse_constant=_refuse_constant, object_pairs_hook=_object_without_repeats
        )
    except json.JSONDecodeError as error:
        raise InputError(
            source,
            f"line {error.lineno} column {error.colno}",
            f"invalid JSON ({error.msg})",
            "JSON",
        ) from None
    except RecursionError:
        raise _too_deep(source) from None
    except _RefusedError as error:
        raise InputError(
            source, "", str(error), "JSON with finite numbers and unique keys"
        ) from None
    except ValueError:  # an integer of thousands of digits
        raise InputError(source, "", "an integer too long to read", "numbers below 1e18") from None
    if not isinstance(document, dict):
        raise InputError(source, "", shown(document), "an object")
    _require_shallow_and_finite(document, source)
    if "\\ud" in text or "\\uD" in text:
        _require_unicode(document, source)
    return document


def write_document(path: str | Path, document: Mapping[str, Any]) -> None:
    """Write JSON atomically; numpy's numbers and arrays become plain, NaN raises ValueError."""
    encoder = json.JSONEncoder(
        indent=1, ensure_ascii=False, allow_nan=False, default=python_of_numpy
    )
    write_text(path, encoder.encode(document) + "\n")


def instance_sha256(document: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the canonical JSON (sorted keys, no spaces) without ``provenance``.

    Characters beyond ASCII are escaped, as `json.dumps` does by default.
    """
    content = {key: value for key, value in document.items() if key != "provenance"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), default=python_of_numpy)
    return hashlib.sha256(text.encode()).hexdigest()


def json_text(value: Any) -> str:
    """Return valid JSON for the command line, with null for NaN and infinities."""
    return json.dumps(plain(value), indent=1, allow_nan=False)


def plain(value: Any) -> Any:
    """Convert a value to JSON types: NaN and infinities become null, other objects their text."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return float(value) if value - value == 0 else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return plain(value.tolist()) if is_numpy(value) else str(value)


class _RefusedError(Exception):
    pass


def _refuse_constant(name: str) -> None:
    raise _RefusedError(name)


def _object_without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        repeated = next(key for key, count in counts.items() if count > 1)
        raise _RefusedError(f"key {shown(repeated)} twice")
    return result


def _require_few_tokens(text: str, source: str) -> None:
    """Bound time and memory before parsing; characters inside strings count too."""
    for marks, limit, what in (
        (",", MAX_VALUES, "values"),
        (":", MAX_KEYS, "keys"),
        ("[{", MAX_CONTAINERS, "arrays and objects"),
    ):
        if sum(text.count(mark) for mark in marks) > limit:
            raise InputError(source, "", f"too many {what}", f"at most {limit}")


def _require_shallow_and_finite(document: Any, source: str) -> None:
    """Check level by level, without a call for each value: files may hold millions."""
    level, infinite = [document], False
    for _ in range(MAX_DEPTH):
        contents = [list(node.values()) if type(node) is dict else node for node in level]
        infinite = infinite or any(math.inf in v or -math.inf in v for v in contents)
        level = [child for values in contents for child in values if type(child) in (dict, list)]
        if not level:
            break
    else:
        raise _too_deep(source)
    if infinite:  # a number such as 1e400
        path = next(p for p, value in _leaves(document) if value in (math.inf, -math.inf))
        raise InputError(source, path, "a number too large", "a finite number")


def _require_unicode(document: Any, source: str) -> None:
    for path, value in _leaves(document):
        try:
            str(value).encode()
        except UnicodeEncodeError:
            raise InputError(source, path, shown(value), "Unicode text") from None


def _leaves(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Keys and plain values of a document of checked depth, with their JSON paths."""
    for key, value in node.items() if isinstance(node, dict) else enumerate(node):
        child = f"{path}[{key}]" if isinstance(key, int) else f"{path}.{key}".removeprefix(".")
        yield child, key
        if isinstance(value, dict | list):
            yield from _leaves(value, child)
        else:
            yield child, value


def _too_deep(source: str) -> InputError:
    return InputError(source, "", "objects nested too deep", f"at most {MAX_DEPTH} levels")
