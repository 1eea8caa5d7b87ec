"""The store: what it refuses, and that nothing committed is lost."""

import os
import sqlite3
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from commands import refusal
from privileges import as_nobody, read_only
from stored_results import content

from optsched.errors import InputError
from optsched.experiments.plans.plan import read_plan
from optsched.experiments.plans.units import Unit, expand
from optsched.experiments.report.page import page
from optsched.experiments.run.processes import run_unit
from optsched.experiments.store.store import Row, Status, Store, StoreReader, failed

PLAN = """
name = "p"
[[families]]
name = "a"
instances = ["placement/fig2"]
methods = ["heavy-edge"]
seeds = 3
"""


@pytest.fixture
def store(tmp_path: Path, plan_file: Callable[[str], Path]) -> Path:
    """A store with three planned units, the first of them run."""
    plan_file(PLAN)
    with Store(tmp_path / "results.sqlite") as base:
        register(base)
        base.add(row_of(base, 0))
    return tmp_path / "results.sqlite"


def register(base: Store) -> None:
    plan = read_plan(Path(base.path).with_name("plan.toml"))
    assert base.register("p", plan.sha256, plan.text, expand(plan)) == 3


def numbers(base: Store, *, retry_errors: bool = False) -> list[int]:
    return [number for number, _ in base.pending("p", retry_errors=retry_errors)]


def unit_of(base: Store, number: int) -> Unit:
    with StoreReader(base.path) as reader:
        (row,) = reader.rows("SELECT key FROM members WHERE number = ?", (number,))
    return base.unit("p", number, row["key"])


def row_of(base: Store, number: int) -> Row:
    unit = unit_of(base, number)
    return run_unit(unit, base.document(unit.sha256))


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(InputError) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def rows(path: Path) -> int:
    return len(content(path))


def test_a_finished_row_is_never_overwritten(store: Path) -> None:
    with Store(store) as base:
        unit = unit_of(base, 0)
        before = numbers(base)
        base.add(failed(unit, Status.CRASHED, "later"))
        base.add(failed(unit_of(base, 1), Status.CRASHED, "first"))
        assert numbers(base) == [2]
        assert numbers(base, retry_errors=True) == [1, 2] == before
        base.add(row_of(base, 1))
        assert numbers(base, retry_errors=True) == [2]
    with StoreReader(store) as reader:
        assert {r["status"] for r in reader.rows("SELECT status FROM results")} == {"done"}


def test_a_row_holds_the_checked_solution(store: Path) -> None:
    with StoreReader(store) as base:
        (row,) = base.rows("SELECT * FROM results")
    assert row["feasible"] == 1
    assert row["violations"] == "[]"
    assert '"counts":[[2,0,0],[2,0,0],[0,1,1]]' in row["solution"]
    assert row["objective"] == pytest.approx(0.0396)


@pytest.mark.parametrize(
    ("script", "line"),
    [
        ("PRAGMA user_version = 7", "schema 7, expected at most 1: a newer optsched made this"),
        ("PRAGMA application_id = 0", "no result store"),
        *(
            (f"DROP TABLE {table}; CREATE TABLE {table} (key, sha256, plan)", f"table {table}: ")
            for table in ("results", "runs", "members", "plans", "instances")
        ),
    ],
)
def test_another_schema_is_refused(store: Path, script: str, line: str) -> None:
    with sqlite3.connect(store) as base:
        base.executescript(script)
    before = store.read_bytes()
    for opened in (Store, StoreReader):
        assert line in refused(lambda opened=opened: opened(store))
    assert store.read_bytes() == before


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "start": lambda raw: b"x" * 64 + raw[64:],
    "middle": lambda raw: raw[:4096] + b"\xff" * (len(raw) - 8192) + raw[-4096:],
    "text": lambda raw: b"not a database, but long enough to be taken for one\n" * 40,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_store_is_refused_and_left(store: Path, damage: str) -> None:
    raw = DAMAGES[damage](store.read_bytes())
    store.write_bytes(raw)
    for opened in (Store, StoreReader):
        assert "expected a result store" in refused(lambda opened=opened: opened(store))
    assert store.read_bytes() == raw


def test_a_full_disk_loses_nothing(store: Path) -> None:
    with Store(store) as base:
        (pages,) = base._base.execute("PRAGMA page_count").fetchone()
        base._base.execute(f"PRAGMA max_page_count = {pages}")
        big = replace(failed(unit_of(base, 1), Status.ERROR, ""), details="x" * 100_000)
        line = refused(lambda: base.add(big))
        assert "database or disk is full, expected room on the disk" in line
        base._base.execute("PRAGMA max_page_count = 1000000")
        base.add(row_of(base, 1))
    assert rows(store) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_a_read_only_folder(store: Path, tmp_path: Path) -> None:
    """Also for root, who may write everywhere: a child process gives its rights up."""
    assert rows(store) == 1
    os.chmod(store, 0o444)
    with read_only(tmp_path):
        assert as_nobody(lambda: str(rows(store))) == "1"
        line = as_nobody(lambda: refused(lambda: Store(store)))
        assert "expected a writable folder and file" in line
        line = as_nobody(lambda: refused(lambda: Store(tmp_path / "new.sqlite")))
        assert "unable to open database file, expected a writable folder and file" in line
    os.chmod(store, 0o644)
    assert rows(store) == 1


def test_the_commands_say_it_in_one_line(tmp_path: Path) -> None:
    missing = tmp_path / "missing.sqlite"
    refusal("table", missing)
    refusal("report", missing, "-o", tmp_path / "r.html")
    assert not missing.exists()
    with Store(missing):
        pass
    assert "no plan" in refusal("table", missing)


@pytest.mark.parametrize(
    "change",
    [
        *(f"results SET objective = {value}" for value in ("'abc'", "x'00ff'", "9e999")),
        *("results SET bound = 'x'", "results SET solve_time = 'zz'"),
        *("results SET feasible = 'maybe'", "results SET details = 'z\"a\":1}'"),
        "results SET details = '{\"measures\":[1]}'",
        *("members SET options = '{'", "members SET options = '[1]'"),
        *("members SET seed = 'one'", "members SET family = x'ff'"),
        *("instances SET problem = 'foo'", "results SET problem = 'foo'"),
        *("runs SET environment = '['", "runs SET environment = '[3]'"),
        "plans SET text = x'ff'",
    ],
)
def test_a_value_that_no_sweep_writes(store: Path, change: str) -> None:
    table, _, column, *_ = change.split()
    with Store(store) as base:
        base.record_start("p", "optsched sweep", "1 process", "{}")
    assert page(store)
    with sqlite3.connect(store) as base:
        base.execute(f"UPDATE {change}")
    line = refused(lambda: page(store))
    assert line.startswith(f"{store}: ")
    assert (f"{table}.problem" if column == "problem" else column) in line


def test_a_plan_that_another_replaced(store: Path, plan_file: Callable[[str], Path]) -> None:
    """Neither its numbers nor the text of its plan tell a unit: other files may match a glob."""
    with Store(store) as base:
        ((number, key), *_) = base.pending("p")
        assert base.unit("p", number, key).instance == "fig2"
        other = read_plan(plan_file(PLAN.replace("fig2", "vgg19-16")))
        base.register("p", other.sha256, PLAN, expand(other))
        line = refused(lambda: base.unit("p", number, key))
        assert "plan 'p' was replaced by another of that name" in line
    assert rows(store) == 1


def test_a_method_that_this_version_does_not_have(store: Path) -> None:
    with sqlite3.connect(store) as base:
        base.execute("UPDATE members SET method = 'older'")
    assert "older" in page(store)
