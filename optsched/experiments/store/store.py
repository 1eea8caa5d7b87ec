"""The result store: an SQLite file that takes one committed row a result.

Write-ahead logging with ``synchronous = NORMAL``: killing the process loses no committed row,
a power cut may lose the last ones, neither harms the file.
A row of a finished unit is never overwritten.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any, Self

from optsched.errors import InputError, shown
from optsched.experiments.plans.units import PlannedInstance, Unit
from optsched.experiments.store.row import FAILURES, Row, now
from optsched.experiments.store.schema import APPLICATION, SCHEMA, TABLES, TIMES, require_content

PATIENCE = 30.0
"""Seconds to wait for another process that writes to the same store."""

COLUMNS = tuple(field.name for field in fields(Row))
"""Of the table of results, which are those of a row."""


class Store:
    """A result store, open for writing; use it as a context manager."""

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        with self._clear():
            self._base = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None)
        try:
            with self._clear():
                _require_store(self._base, self.path, empty_is_fine=True)
                self._base.execute("PRAGMA journal_mode = WAL")
                self._base.execute("PRAGMA synchronous = NORMAL")
                self._make_tables()
        except BaseException:
            self._base.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; the write-ahead log is folded into it."""
        self._base.close()

    def register(
        self, name: str, sha256: str, text: str, planned: Iterable[PlannedInstance]
    ) -> int:
        """Note a plan, its instances and units, all or nothing; returns the number of units.

        A plan of the same name is replaced; results stay.
        """
        number = 0
        with self._transaction() as base:
            base.execute("DELETE FROM members WHERE plan = ?", (name,))
            base.execute("INSERT OR REPLACE INTO plans VALUES (?, ?, ?)", (name, sha256, text))
            for each in planned:
                base.execute(
                    "INSERT OR IGNORE INTO instances VALUES (?, ?, ?, ?)",
                    (each.sha256, each.problem, each.name, each.document),
                )
                rows = [_member(name, number + i, unit) for i, unit in enumerate(each.units)]
                base.executemany(f"INSERT INTO members VALUES ({_marks(10)})", rows)
                number += len(rows)
        return number

    def note_run(self, plan: str, command: str, workers: str, environment: str) -> None:
        """Note a start of a sweep: its command line and what it runs on."""
        with self._transaction() as base:
            base.execute(
                "INSERT INTO runs (plan, command, workers, environment, started) "
                f"VALUES ({_marks(5)})",
                (plan, command, workers, environment, now()),
            )

    def pending(self, plan: str, *, retry_errors: bool = False) -> list[tuple[int, str]]:
        """Numbers and keys of the plan's units without a row, or with a failed one to retry."""
        failed = f"OR r.status IN ({_marks(len(FAILURES))})" if retry_errors else ""
        chosen = (
            "SELECT min(m.number), m.key FROM members m LEFT JOIN results r ON r.key = m.key "
            f"WHERE m.plan = ? AND (r.key IS NULL {failed}) GROUP BY m.key ORDER BY 1"
        )
        values = (plan, *(FAILURES if retry_errors else ()))
        with self._clear():
            return [(number, key) for number, key in self._base.execute(chosen, values)]

    def unit(self, plan: str, number: int, key: str) -> Unit:
        """One unit of a plan; refused if another plan of the same name has taken its place."""
        chosen = (
            "SELECT m.family, i.problem, i.name, m.sha256, m.method, m.options, m.settings, "
            "m.seed, m.version FROM members m JOIN instances i ON i.sha256 = m.sha256 "
            "WHERE m.plan = ? AND m.number = ? AND m.key = ?"
        )
        with self._clear():
            found = self._base.execute(chosen, (plan, number, key)).fetchone()
        if found is None:
            taken = f"plan {shown(plan)} replaced by another of that name, while it was run"
            raise InputError(self.path, "", taken, "a name for each plan; finished rows are kept")
        return Unit(*found)

    def document(self, sha256: str) -> str:
        """An instance as JSON text."""
        chosen = "SELECT document FROM instances WHERE sha256 = ?"
        with self._clear():
            text: str = self._base.execute(chosen, (sha256,)).fetchone()[0]
        return text

    def add(self, row: Row) -> None:
        """Commit one row; a row of a finished unit stays as it is."""
        updates = ", ".join(f"{name} = excluded.{name}" for name in COLUMNS if name != "key")
        failures = ", ".join(f"'{status}'" for status in FAILURES)
        with self._transaction() as base:
            base.execute(
                f"INSERT INTO results VALUES ({_marks(len(COLUMNS))}) ON CONFLICT (key) "
                f"DO UPDATE SET {updates} WHERE results.status IN ({failures})",
                astuple(row),
            )

    def _make_tables(self) -> None:
        with self._transaction() as base:
            if base.execute("PRAGMA user_version").fetchone()[0] == 0:
                for statement in TABLES.split(";"):
                    base.execute(statement)
            base.execute(f"PRAGMA application_id = {APPLICATION}")
            base.execute(f"PRAGMA user_version = {SCHEMA}")  # writes: a read-only file is found now

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._clear():
            self._base.execute("BEGIN IMMEDIATE")
            try:
                yield self._base
            except BaseException:
                if self._base.in_transaction:  # a full disk has already ended it
                    self._base.execute("ROLLBACK")
                raise
            self._base.execute("COMMIT")

    @contextmanager
    def _clear(self) -> Iterator[None]:
        """Turn SQLite's errors into one line."""
        with clear_errors(self.path):
            yield


class StoreReader:
    """A store open for reading only, also in a folder that cannot be written."""

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        if not os.path.isfile(path):
            raise InputError(self.path, "", "no such file", "a store made by `optsched sweep`")
        with clear_errors(self.path):
            self._base = _open_to_read(Path(path))
            self._base.row_factory = sqlite3.Row

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._base.close()

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
        """The rows of a query, as dictionaries; raises InputError for what no sweep writes."""
        with clear_errors(self.path):
            found = [dict(row) for row in self._base.execute(query, values)]
        for row in found:
            require_content(self.path, row)
        return found

    def content(self) -> list[tuple[Any, ...]]:
        """Every result without its times, by key: what two sweeps of one plan have in common."""
        kept = ", ".join(name for name in COLUMNS if name not in TIMES)
        with clear_errors(self.path):
            return [
                tuple(r) for r in self._base.execute(f"SELECT {kept} FROM results ORDER BY key")
            ]


def files_of_store(store: str | Path) -> tuple[Path, ...]:
    """A store's file and those that SQLite keeps beside it."""
    return tuple(Path(f"{store}{end}") for end in ("", "-wal", "-shm"))


@contextmanager
def clear_errors(path: str) -> Iterator[None]:
    """Turn SQLite's errors into one line about the store."""
    try:
        yield
    except sqlite3.Error as error:
        raise InputError(path, "", *_words(error)) from None
    except UnicodeError:  # in a name or a complaint of SQLite's, which Python cannot show
        raise InputError(path, "", "a damaged file (no UTF-8)", "a result store") from None


def _words(error: sqlite3.Error) -> tuple[str, str]:
    text = str(error)
    if "full" in text or "disk I/O" in text:
        return text, "room on the disk; the rows committed so far are safe"
    if "readonly" in text or "unable to open" in text:
        return text, "a writable folder and file; nothing was changed"
    if "not a database" in text or "malformed" in text:
        return f"a damaged file ({text})", "a result store; it was left as it is"
    if "locked" in text or "busy" in text:
        return text, "a store that no other process holds"
    return text, "a result store"


def _open_to_read(path: Path) -> sqlite3.Connection:
    """Open for reading; in a read-only folder without a log, as a file that never changes."""
    address = path.resolve().as_uri()
    try:
        return _checked(sqlite3.connect(f"{address}?mode=ro", uri=True, timeout=PATIENCE), path)
    except sqlite3.OperationalError:
        if path.with_name(f"{path.name}-wal").exists():
            raise
        return _checked(sqlite3.connect(f"{address}?immutable=1", uri=True), path)


def _checked(base: sqlite3.Connection, path: Path) -> sqlite3.Connection:
    try:
        _require_store(base, str(path), empty_is_fine=False)
    except BaseException:
        base.close()
        raise
    return base


def _require_store(base: sqlite3.Connection, path: str, *, empty_is_fine: bool) -> None:
    """Refuse another program's database, a newer store and a damaged one."""
    (tables,) = base.execute("SELECT count(*) FROM sqlite_master").fetchone()
    (version,) = base.execute("PRAGMA user_version").fetchone()
    (application,) = base.execute("PRAGMA application_id").fetchone()
    if tables == 0 and version == 0 and empty_is_fine:
        return
    if application != APPLICATION:
        raise InputError(path, "", "no result store", "a store made by `optsched sweep`")
    if version > SCHEMA:
        found = f"schema {version}"
        raise InputError(path, "", found, f"at most {SCHEMA}: a newer optsched made this store")
    (verdict,) = base.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise InputError(path, "", f"a damaged file ({verdict})", "a result store; left as it is")
    for table, columns in _columns_by_table().items():
        absent = columns - _columns_of(base, table)
        if absent:
            found = f"no column {min(absent)}"
            raise InputError(path, f"table {table}", found, f"those of schema {SCHEMA}")


def _columns_by_table() -> dict[str, set[str]]:
    """The columns of a store's tables."""
    with closing(sqlite3.connect(":memory:")) as base:
        base.executescript(TABLES)
        tables = [
            name for (name,) in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        return {table: _columns_of(base, table) for table in tables}


def _columns_of(base: sqlite3.Connection, table: str) -> set[str]:
    return {row[1] for row in base.execute(f"PRAGMA table_info({table})")}


def _member(plan: str, number: int, unit: Unit) -> tuple[Any, ...]:
    parts = (unit.method, unit.options, unit.settings, unit.seed, unit.version)
    return (plan, number, unit.family, unit.key, unit.sha256, *parts)


def _marks(count: int) -> str:
    return ", ".join("?" * count)
