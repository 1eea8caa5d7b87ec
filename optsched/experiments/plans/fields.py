"""Reading a TOML table field by field, so that each fault is one line with its place."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from optsched.declared import Seed, expected_of, read_as
from optsched.errors import InputError, shown, suggestion

_REQUIRED: Any = object()


class Reader:
    """A table of which every key must be asked for."""

    def __init__(self, source: str, table: dict[str, Any], place: str = "") -> None:
        self.source = source
        self._left = dict(table)
        self._place = place
        self._asked: list[str] = []

    def take(self, key: str, read: Callable[[Any], Any], default: Any = _REQUIRED) -> Any:
        """The value of a key, read by a function that raises ValueError(expected)."""
        self._asked.append(key)
        if key not in self._left:
            if default is _REQUIRED:
                self._refuse_unknown()
                raise self.fault(key, "nothing", "a value")
            return default
        value = self._left.pop(key)
        try:
            return read(value)
        except ValueError as error:
            raise self.fault(key, shown(value), str(error)) from None

    def table(self, key: str) -> Reader | None:
        """A reader of the table at a key, or None."""
        inner = self.take(key, as_table, None)
        return None if inner is None else Reader(self.source, inner, self._at(key))

    def tables(self, key: str) -> list[Reader]:
        """A reader for each table of an array that must not be empty."""
        rows = self.take(key, _as_tables)
        return [Reader(self.source, row, f"{self._at(key)}[{i}]") for i, row in enumerate(rows)]

    def finish(self) -> None:
        """Refuse what nobody asked for."""
        self._refuse_unknown()

    def fault(self, key: str, found: str, expected: str) -> InputError:
        """An error at a key of this table."""
        return InputError(self.source, self._at(key), found, expected)

    def _at(self, key: str) -> str:
        return f"{self._place}.{key}".strip(".")

    def _refuse_unknown(self) -> None:
        for key in self._left:
            if key not in self._asked:
                raise self.fault("", f"unknown key {shown(key)}", suggestion(key, self._asked))


def as_name(value: Any) -> str:
    """A text in one line."""
    if not isinstance(value, str) or not value.isprintable() or len(value) > 500:
        raise ValueError("a text in one line")
    return value


def as_names(value: Any) -> tuple[str, ...]:
    """A list of texts, none of them twice."""
    texts = value if isinstance(value, list) else [value]
    if not texts or not all(isinstance(v, str) and v and v.isprintable() for v in texts):
        raise ValueError("a list of names")
    if len(set(texts)) < len(texts):
        raise ValueError("names that differ")
    return tuple(texts)


def as_seeds(value: Any) -> tuple[int, ...]:
    """A list of seeds, or how many from 0 on."""
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 1_000_000:
        return tuple(range(value))
    good = isinstance(value, list) and all(expected_of(Seed, v) is None for v in value)
    if not good or not value or len(set(value)) < len(value):
        raise ValueError("a list of different seeds from 0 on, or how many")
    return tuple(value)


def as_table(value: Any) -> dict[str, Any]:
    """A table."""
    if not isinstance(value, dict):
        raise ValueError("a table")
    return dict(value)


def as_values(value: Any) -> dict[str, Any]:
    """A table of values that JSON and a database can hold."""
    table = as_table(value)
    if not _usable(table):
        raise ValueError("a table of texts, truths, finite numbers, and lists and tables of them")
    return table


def as_declared(hint: Any) -> Callable[[Any], Any]:
    """A reader of what a field of this annotation takes."""

    def read(value: Any) -> Any:
        expected = expected_of(hint, value)
        if expected is not None:
            raise ValueError(expected)
        return read_as(hint, value)

    return read


def _usable(value: Any) -> bool:
    """Whether JSON and a database can hold it; TOML also has dates, and integers of any length."""
    if isinstance(value, dict):
        return all(map(_usable, value.values()))
    if isinstance(value, list):
        return all(map(_usable, value))
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, str) or (isinstance(value, int) and abs(value) < 2**63)


def _as_tables(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not value or not all(isinstance(v, dict) for v in value):
        raise ValueError("one or more tables [[families]]")
    return value
