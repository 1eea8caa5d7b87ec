"""The tables of a result store, and what their columns may hold; raise SCHEMA when one changes.

A store may come from a stranger, and SQLite takes any value. SQLite itself refuses a damaged file;
`require_content` refuses a sound file with a value that no sweep writes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from optsched.errors import InputError, shown

SCHEMA = 1
APPLICATION = 0x6F707473
"""SQLite's application id: "opts" in ASCII."""

TIMES = ("build_time", "solve_time", "unit_time", "finished")
"""Columns that differ between two runs of one unit."""

TABLES = """
CREATE TABLE instances (
    sha256 TEXT PRIMARY KEY, problem TEXT NOT NULL, name TEXT NOT NULL, document TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE plans (
    name TEXT PRIMARY KEY, sha256 TEXT NOT NULL, text TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE members (
    plan TEXT NOT NULL, number INTEGER NOT NULL, family TEXT NOT NULL, key TEXT NOT NULL,
    sha256 TEXT NOT NULL, method TEXT NOT NULL, options TEXT NOT NULL, settings TEXT NOT NULL,
    seed INTEGER NOT NULL, version TEXT NOT NULL, PRIMARY KEY (plan, number)
) WITHOUT ROWID;
CREATE INDEX members_by_key ON members (key);
CREATE TABLE results (
    key TEXT PRIMARY KEY, sha256 TEXT NOT NULL, problem TEXT NOT NULL, instance TEXT NOT NULL,
    method TEXT NOT NULL, options TEXT NOT NULL, settings TEXT NOT NULL, seed INTEGER NOT NULL,
    version TEXT NOT NULL, status TEXT NOT NULL, message TEXT, termination TEXT NOT NULL,
    objective REAL, bound REAL, bound_source TEXT, chosen TEXT, solver TEXT, solver_version TEXT,
    feasible INTEGER, violations TEXT, details TEXT, solution TEXT,
    build_time REAL, solve_time REAL, unit_time REAL, finished TEXT
) WITHOUT ROWID;
CREATE TABLE runs (
    number INTEGER PRIMARY KEY, plan TEXT NOT NULL, command TEXT NOT NULL, workers TEXT NOT NULL,
    environment TEXT NOT NULL, started TEXT NOT NULL
);
"""


def require_content(path: str, row: Mapping[str, Any]) -> None:
    """Refuse a row with a value that its column cannot have."""
    for column, value in row.items():
        expected, good = KINDS.get(column, _ANYTHING)
        if not good(value):
            raise InputError(path, f"column {column}", shown(value), expected)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and math.isfinite(value))


def _is_whole(value: Any) -> bool:
    return isinstance(value, int)


def _is_object(value: Any) -> bool:
    try:
        held = json.loads(value)
        text = json.dumps(held, ensure_ascii=False, allow_nan=False)
        text.encode()  # half characters cannot be shown
        return isinstance(held, dict)
    except (TypeError, ValueError, RecursionError):
        return False


def _is_details(value: Any) -> bool:
    if value is None or not _is_object(value):
        return value is None
    measures = json.loads(value).get("measures", {})
    return isinstance(measures, dict) and all(map(_is_number, measures.values()))


def _is_list(value: Any) -> bool:
    return value is None or (_is_text(value) and _is_object(f'{{"list":{value}}}'))


Kind = tuple[str, Callable[[Any], bool]]
_ANYTHING: Kind = ("", lambda _: True)
_TEXT: Kind = ("a text", _is_text)
_TEXT_OR_NONE: Kind = ("a text or nothing", lambda value: value is None or _is_text(value))
_NUMBER: Kind = ("a finite number or nothing", _is_number)
_OBJECT: Kind = ("a JSON object", _is_object)

KINDS: dict[str, Kind] = {
    **dict.fromkeys(("plan", "family", "method", "problem", "instance", "sha256", "key"), _TEXT),
    **dict.fromkeys(("name", "text", "command", "workers", "started"), _TEXT),
    **dict.fromkeys(("status", "message", "termination", "chosen", "bound_source"), _TEXT_OR_NONE),
    **dict.fromkeys(("objective", "bound", "build_time", "solve_time", "unit_time"), _NUMBER),
    **dict.fromkeys(("asked", "options", "settings", "environment"), _OBJECT),
    "details": ("a JSON object, its measures numbers, or nothing", _is_details),
    "violations": ("a JSON list or nothing", _is_list),
    "seed": ("a whole number", _is_whole),
    "feasible": ("0, 1 or nothing", lambda value: value in (0, 1, None)),
}
"""By column, in whichever table it stands."""
