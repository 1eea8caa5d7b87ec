"""The result store: an SQLite file with one committed row per result.

Write-ahead logging with ``synchronous = NORMAL``: killing the process loses no committed row,
a power cut may lose the last ones, neither harms the file.
A row of a finished unit is never overwritten.

Stores may come from other users and SQLite does not enforce types. SQLite itself refuses a damaged
file; `require_content` refuses a sound file with a value that no sweep writes.
"""

from __future__ import annotations

import json
import math
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from optsched.errors import InputError, one_line, shown
from optsched.experiments.plans.units import Unit, canonical
from optsched.files import plain
from optsched.problems import PROBLEMS
from optsched.result import Result, Termination

if TYPE_CHECKING:
    import pandas as pd

PATIENCE = 30.0
"""Seconds to wait for another process that writes to the same store."""

SCHEMA = 1
"""To be increased on every change of the tables."""
APPLICATION = 0x6F707473
"""SQLite's application id: "opts" in ASCII."""

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


MEASURES = "measures"
"""Key of a row's details with the cost parts that gap tables show instead of the excess."""


class Status(StrEnum):
    """How a unit ended; every one but DONE and REFUSED is tried again by ``--retry errors``."""

    DONE = "done"
    REFUSED = "refused"
    ERROR = "error"
    CRASHED = "crashed"
    TIMED_OUT = "timed-out"
    OUT_OF_MEMORY = "out-of-memory"


LONGEST_MESSAGE = 300
FAILURES = (Status.ERROR, Status.CRASHED, Status.TIMED_OUT, Status.OUT_OF_MEMORY)


@dataclass(frozen=True)
class Row:
    """A row of the table of results; texts are canonical JSON."""

    unit: Unit
    status: str
    message: str | None
    termination: str
    objective: float | None = None
    bound: float | None = None
    bound_source: str | None = None
    chosen: str | None = None
    solver: str | None = None
    solver_version: str | None = None
    feasible: bool | None = None
    violations: str | None = None
    details: str | None = None
    solution: str | None = None
    build_time: float | None = None
    solve_time: float | None = None
    unit_time: float | None = None
    finished: str | None = None


UNIT_COLUMNS = (
    *("key", "sha256", "problem", "instance", "method", "options", "settings"),
    *("seed", "version"),
)
COLUMNS = (*UNIT_COLUMNS, *(field.name for field in fields(Row)[1:]))
"""Columns of the table of results."""
FRAME_COLUMNS = ("plan", "family", *(n for n in COLUMNS if n not in ("key", "solution")))


SAME_AS_RESULT = (
    *("objective", "bound", "bound_source", "chosen", "solver", "solver_version"),
    *("build_time", "solve_time"),
)


def done(unit: Unit, result: Result, seconds: float) -> Row:
    """The row of a unit whose method returned; a violated rule makes it an error."""
    check, problem = result.check, PROBLEMS[result.problem]
    is_error = result.termination is Termination.ERROR
    violations = "" if check is None else "; ".join(str(v) for v in check.violations[:3])
    details = dict(result.details)
    if problem.parts:
        details[MEASURES] = dict(result.measures)
    solution = None
    if result.solution is not None and not problem.over_time:  # those may have a million jobs
        solution = canonical(result.solution.to_dict())
    return Row(
        unit,
        status=Status.ERROR if is_error else Status.DONE,
        **{name: getattr(result, name) for name in SAME_AS_RESULT},
        message=(violations or "the method returned status error") if is_error else None,
        termination=result.termination.value,
        feasible=None if check is None else check.feasible,
        violations=None if check is None else canonical([v.to_dict() for v in check.violations]),
        details=canonical(plain(details)),
        solution=solution,
        unit_time=seconds,
        finished=now(),
    )


def failed(unit: Unit, status: Status, message: str, seconds: float | None = None) -> Row:
    """The row of a unit without a result; its message is cut to one short line."""
    return Row(
        unit,
        status=status,
        message=one_line(message)[:LONGEST_MESSAGE],
        termination=Termination.ERROR.value,
        unit_time=seconds,
        finished=now(),
    )


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


class Store:
    """A result store, open for writing; use it as a context manager."""

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        with translated_errors(self.path):
            self._base = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None)
        try:
            with translated_errors(self.path):
                _require_store(self._base, self.path, may_be_empty=True)
                self._base.execute("PRAGMA journal_mode = WAL")
                self._base.execute("PRAGMA synchronous = NORMAL")
            with self._transaction() as base:
                if base.execute("PRAGMA user_version").fetchone()[0] == 0:
                    for statement in TABLES.split(";"):
                        base.execute(statement)
                base.execute(f"PRAGMA application_id = {APPLICATION}")
                base.execute(f"PRAGMA user_version = {SCHEMA}")  # fails early on a read-only file
        except BaseException:
            self._base.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._base.close()  # and checkpoint the write-ahead log

    def register(
        self, name: str, sha256: str, text: str, planned: Iterable[tuple[str, tuple[Unit, ...]]]
    ) -> int:
        """Register a plan, its instances and units in one transaction; return how many units.

        A plan of the same name is replaced; results stay.
        """
        number = 0
        with self._transaction() as base:
            base.execute("DELETE FROM members WHERE plan = ?", (name,))
            base.execute("INSERT OR REPLACE INTO plans VALUES (?, ?, ?)", (name, sha256, text))
            for document, units in planned:
                base.execute(
                    "INSERT OR IGNORE INTO instances VALUES (?, ?, ?, ?)",
                    (units[0].sha256, units[0].problem, units[0].instance, document),
                )
                for unit in units:
                    key = (name, number, unit.family, unit.key, unit.sha256)
                    values = (unit.method, unit.options, unit.settings, unit.seed, unit.version)
                    base.execute(f"INSERT INTO members VALUES ({_marks(10)})", (*key, *values))
                    number += 1
        return number

    def record_start(self, plan: str, command: str, workers: str, environment: str) -> None:
        with self._transaction() as base:
            base.execute(
                "INSERT INTO runs (plan, command, workers, environment, started) "
                f"VALUES ({_marks(5)})",
                (plan, command, workers, environment, now()),
            )

    def pending(self, plan: str, *, retry_errors: bool = False) -> list[tuple[int, str]]:
        """Numbers and keys of the plan's units without a row, or with a failed one to retry."""
        failed = f"OR r.status IN ({_marks(len(FAILURES))})" if retry_errors else ""
        query = (
            "SELECT min(m.number), m.key FROM members m LEFT JOIN results r ON r.key = m.key "
            f"WHERE m.plan = ? AND (r.key IS NULL {failed}) GROUP BY m.key ORDER BY 1"
        )
        return self._fetch(query, (plan, *(FAILURES if retry_errors else ())))

    def problems(self, plan: str) -> tuple[str, ...]:
        query = (
            "SELECT DISTINCT i.problem FROM members m JOIN instances i ON i.sha256 = m.sha256 "
            "WHERE m.plan = ? ORDER BY 1"
        )
        return tuple(problem for (problem,) in self._fetch(query, (plan,)))

    def unit(self, plan: str, number: int, key: str) -> Unit:
        """One unit of a plan; refused if another plan of the same name has taken its place."""
        query = (
            "SELECT m.family, i.problem, i.name, m.sha256, m.method, m.options, m.settings, "
            "m.seed, m.version FROM members m JOIN instances i ON i.sha256 = m.sha256 "
            "WHERE m.plan = ? AND m.number = ? AND m.key = ?"
        )
        rows = self._fetch(query, (plan, number, key))
        if not rows:
            found = f"plan {shown(plan)} was replaced by another of that name during the sweep"
            raise InputError(self.path, "", found, "a name for each plan; finished rows are kept")
        return Unit(*rows[0])

    def document(self, sha256: str) -> str:
        ((text,),) = self._fetch("SELECT document FROM instances WHERE sha256 = ?", (sha256,))
        return text

    def add(self, row: Row) -> None:
        """Commit one row; a row of a finished unit stays as it is."""
        updates = ", ".join(f"{name} = excluded.{name}" for name in COLUMNS if name != "key")
        failures = ", ".join(f"'{status}'" for status in FAILURES)
        with self._transaction() as base:
            base.execute(
                f"INSERT INTO results VALUES ({_marks(len(COLUMNS))}) ON CONFLICT (key) "
                f"DO UPDATE SET {updates} WHERE results.status IN ({failures})",
                [getattr(row.unit if c in UNIT_COLUMNS else row, c) for c in COLUMNS],
            )

    def _fetch(self, query: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        with translated_errors(self.path):
            return self._base.execute(query, values).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with translated_errors(self.path), self._base:  # which commits or rolls back
            self._base.execute("BEGIN IMMEDIATE")
            yield self._base


class StoreReader:
    """A store open for reading only, also in a folder that cannot be written."""

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        if not os.path.isfile(path):
            raise InputError(self.path, "", "no such file", "a store made by `optsched sweep`")
        with translated_errors(self.path):
            self._base = _open_to_read(Path(path))
            self._base.row_factory = sqlite3.Row

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._base.close()

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
        """The rows of a query, as dictionaries; raises InputError for what no sweep writes."""
        with translated_errors(self.path):
            rows = [dict(row) for row in self._base.execute(query, values)]
        for row in rows:
            require_content(self.path, row)
        return rows


def read_store(path: str | Path) -> pd.DataFrame:
    """Read the runs of a result store, one row per run.

    Parameters
    ----------
    path : str or Path
        A store made by `optsched sweep`.

    Returns
    -------
    pandas.DataFrame
        The plan and family a run belongs to, instance, method, options and seed; status, objective
        and the run's own bound in the problem's unit; details as dictionaries; seconds. A run
        shared by several families appears once per family. Solutions are left out.

    Raises
    ------
    InputError
        If the file is not a result store.

    Examples
    --------
    >>> from pathlib import Path
    >>> import optsched
    >>> from optsched.experiments.run.runner import sweep
    >>> plan = '[[families]]\\nname = "a"\\ninstances = ["placement/fig2"]\\nmethods = ["exact"]'
    >>> _ = Path("plan.toml").write_text(plan)
    >>> _ = sweep("plan.toml", "results.sqlite", workers=0)
    >>> runs = optsched.read_store("results.sqlite")
    >>> runs[["instance", "method", "status"]].values.tolist()
    [['fig2', 'exact', 'done']]
    """
    import pandas as pd

    columns = ", ".join(f"r.{name}" for name in FRAME_COLUMNS[2:])
    query = (
        f"SELECT m.plan, m.family, {columns} FROM members m JOIN results r ON r.key = m.key "
        "ORDER BY m.plan, m.number"
    )
    with StoreReader(path) as reader:
        frame = pd.DataFrame(reader.rows(query), columns=list(FRAME_COLUMNS))
    for name in ("options", "settings", "details", "violations"):
        frame[name] = [json.loads(text) if isinstance(text, str) else None for text in frame[name]]
    return frame


def files_of_store(store: str | Path) -> tuple[Path, ...]:
    """A store's file and those that SQLite keeps beside it."""
    return tuple(Path(f"{store}{end}") for end in ("", "-wal", "-shm"))


def remove_if_empty(store: str | Path) -> None:
    """Delete a new store whose plan turned out to be invalid."""
    try:
        with StoreReader(store) as base:
            has_plan = bool(base.rows("SELECT name FROM plans LIMIT 1"))
    except InputError:
        has_plan = not os.path.isfile(store) or os.path.getsize(store) > 0
    if not has_plan:
        for path in files_of_store(store):
            path.unlink(missing_ok=True)


@contextmanager
def translated_errors(path: str) -> Iterator[None]:
    """Turn SQLite's errors into one line about the store."""
    try:
        yield
    except sqlite3.Error as error:
        raise InputError(path, "", *_found_and_expected(str(error))) from None
    except UnicodeError:  # SQLite returned text that is not UTF-8
        raise InputError(path, "", "a damaged file (no UTF-8)", "a result store") from None


def _found_and_expected(message: str) -> tuple[str, str]:
    if "full" in message or "disk I/O" in message:
        return message, "room on the disk; the rows committed so far are safe"
    if "readonly" in message or "unable to open" in message:
        return message, "a writable folder and file; nothing was changed"
    if "not a database" in message or "malformed" in message:
        return f"a damaged file ({message})", "a result store; it was left as it is"
    if "locked" in message or "busy" in message:
        return message, "a store that no other process holds"
    return message, "a result store"


def _open_to_read(path: Path) -> sqlite3.Connection:
    """Open for reading; in a read-only folder without a log, with ``immutable=1``."""
    address = path.resolve().as_uri()
    try:
        base = sqlite3.connect(f"{address}?mode=ro", uri=True, timeout=PATIENCE)
        return _checked(base, path)
    except sqlite3.OperationalError:
        if path.with_name(f"{path.name}-wal").exists():
            raise
        return _checked(sqlite3.connect(f"{address}?immutable=1", uri=True), path)


def _checked(base: sqlite3.Connection, path: Path) -> sqlite3.Connection:
    try:
        _require_store(base, str(path))
    except BaseException:
        base.close()
        raise
    return base


def _require_store(base: sqlite3.Connection, path: str, *, may_be_empty: bool = False) -> None:
    """Refuse another program's database, a newer store and a damaged one."""
    (tables,) = base.execute("SELECT count(*) FROM sqlite_master").fetchone()
    (version,) = base.execute("PRAGMA user_version").fetchone()
    (application,) = base.execute("PRAGMA application_id").fetchone()
    if tables == 0 and version == 0 and may_be_empty:
        return
    if application != APPLICATION:
        raise InputError(path, "", "no result store", "a store made by `optsched sweep`")
    if version > SCHEMA:
        found = f"schema {version}"
        raise InputError(path, "", found, f"at most {SCHEMA}: a newer optsched made this store")
    (verdict,) = base.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise InputError(path, "", f"a damaged file ({verdict})", "a result store; left as it is")
    with closing(sqlite3.connect(":memory:")) as expected:
        expected.executescript(TABLES)
        for (table,) in expected.execute("SELECT name FROM sqlite_master WHERE type = 'table'"):
            absent = _columns_of(expected, table) - _columns_of(base, table)
            if absent:
                found = f"no column {min(absent)}"
                raise InputError(path, f"table {table}", found, f"those of schema {SCHEMA}")


def _columns_of(base: sqlite3.Connection, table: str) -> set[str]:
    return {row[1] for row in base.execute(f"PRAGMA table_info({table})")}


def _marks(count: int) -> str:
    return ", ".join("?" * count)


def require_content(path: str, row: Mapping[str, Any]) -> None:
    """Refuse a row with a value that its column cannot have."""
    for column, value in row.items():
        expected, good = KINDS.get(column, _ANYTHING)
        if not good(value):
            raise InputError(path, f"column {column}", shown(value), expected)


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and math.isfinite(value))


def _is_json(value: Any, kind: type) -> bool:
    try:
        content = json.loads(value)
        json.dumps(content, ensure_ascii=False, allow_nan=False).encode()  # no lone surrogates
    except (TypeError, ValueError, RecursionError):
        return False
    return isinstance(content, kind)


def _are_details(value: Any) -> bool:
    if value is None or not _is_json(value, dict):
        return value is None
    measures = json.loads(value).get("measures", {})
    return isinstance(measures, dict) and all(map(_is_number, measures.values()))


Kind = tuple[str, Callable[[Any], bool]]
_ANYTHING: Kind = ("", lambda _: True)
_TEXT: Kind = ("a text", lambda value: isinstance(value, str))
_TEXT_OR_NONE: Kind = ("a text or nothing", lambda value: isinstance(value, str | None))
_NUMBER: Kind = ("a finite number or nothing", _is_number)
_OBJECT: Kind = ("a JSON object", lambda value: _is_json(value, dict))

KINDS: dict[str, Kind] = {
    **dict.fromkeys(("plan", "family", "method", "problem", "instance", "sha256", "key"), _TEXT),
    **dict.fromkeys(("name", "content", "text", "command", "workers", "started"), _TEXT),
    **dict.fromkeys(("status", "message", "termination", "chosen", "bound_source"), _TEXT_OR_NONE),
    **dict.fromkeys(("objective", "bound", "build_time", "solve_time", "unit_time"), _NUMBER),
    **dict.fromkeys(("options", "settings", "environment"), _OBJECT),
    "details": ("a JSON object, its measures numbers, or nothing", _are_details),
    "violations": ("a JSON list or nothing", lambda v: v is None or _is_json(v, list)),
    "seed": ("an integer", lambda value: isinstance(value, int)),
    "feasible": ("0, 1 or nothing", lambda value: value in (0, 1, None)),
}
"""By the column's name, in any table: what a message expects, and the check."""
