"""Sweeps: the same store on one worker and two, after kills, and whatever a worker does."""

import os
import random
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import misbehaving
import pytest
from processes import started
from stored_results import content

from optsched.experiments import sweep
from optsched.experiments.store.store import StoreReader

PLAN = """
name = "kill me"
[limits]
iterations = 100
unit_time = 1200.0
[[families]]
name = "slow"
generator = "placement"
arguments = { model = "VGG19", gpus = 16 }
count = 4
methods = ["heavy-edge", "exact"]
[[families]]
name = "shipped"
instances = ["placement/fig2"]
seeds = 3
"""
Rows = list[tuple[Any, ...]]
Written = Callable[[str], Path]
TOO_LONG = 300
"""Seconds after which a test says that something does not end; also on a crowded machine."""
UNITS = 4 * 2 + 3 * 4
TRIVIAL = """
[limits]
unit_time = 4.0
unit_memory = 1_000_000_000
[[families]]
name = "trivial"
instances = ["placement/fig2"]
methods = ["heavy-edge"]
seeds = [0, 1, 2, 3, 4, 5, 6, 7]
"""


@pytest.fixture
def plan(plan_file: Written) -> Path:
    return plan_file(PLAN)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    """What an undisturbed sweep on one worker stores."""
    folder = tmp_path_factory.mktemp("expected")
    (folder / "plan.toml").write_text(PLAN, encoding="utf-8")
    standing = sweep(folder / "plan.toml", folder / "one.sqlite", workers=1)
    assert (standing.total, standing.run, standing.failed) == (UNITS, UNITS, 0)
    return content(folder / "one.sqlite")


def rows(store: Path) -> int:
    with suppress(sqlite3.Error):
        base = sqlite3.connect(f"{store.as_uri()}?mode=ro", uri=True, timeout=TOO_LONG)
        try:
            return base.execute("SELECT count(*) FROM results").fetchone()[0]
        finally:
            base.close()
    return 0


def start(
    plan: Path, store: Path, workers: int = 2, errors: Any = subprocess.DEVNULL
) -> subprocess.Popen[str]:
    command = ("-m", "optsched", "sweep", plan, "--store", store, "--workers", workers)
    return started(*command, stderr=errors)


def kill_on_the_way(plan: Path, store: Path, rng: random.Random, more: int) -> None:
    """Kill a sweep without warning, a random moment after it has stored some rows more."""
    process = start(plan, store)
    wanted = min(rows(store) + rng.randint(0, more), UNITS - 1)
    while process.poll() is None and rows(store) < wanted:
        time.sleep(0.02)
    time.sleep(rng.uniform(0.0, 0.5))
    before, workers = rows(store), children(process.pid)
    process.kill()
    process.wait()
    assert before <= rows(store)
    deadline = time.monotonic() + TOO_LONG
    while any(alive(pid) for pid in workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(alive(pid) for pid in workers)


def children(pid: int) -> list[int]:
    """Processes that a process started, where the platform tells."""
    with suppress(OSError):
        listed = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")]
        return [int(child) for child in " ".join(listed).split()]
    return []


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_two_workers_store_what_one_does(plan: Path, tmp_path: Path, expected: Rows) -> None:
    standing = sweep(plan, tmp_path / "two.sqlite", workers=2)
    assert standing.run == UNITS
    assert content(tmp_path / "two.sqlite") == expected
    assert sweep(plan, tmp_path / "two.sqlite").run == 0


@pytest.mark.parametrize(
    "kills",
    [1, pytest.param(10, marks=pytest.mark.full), pytest.param(35, marks=pytest.mark.nightly)],
)
def test_killed_and_resumed(plan: Path, tmp_path: Path, expected: Rows, kills: int) -> None:
    store, rng = tmp_path / "killed.sqlite", random.Random(kills)
    for _ in range(kills):
        kill_on_the_way(plan, store, rng, max(1, 2 * UNITS // (3 * kills)))
    assert start(plan, store).wait() == 0
    assert content(store) == expected


def kill_workers(plan: Path, store: Path, kills: int) -> None:
    """Run a sweep to its end, killing so many of its workers at random moments on the way."""
    rng = random.Random(kills)
    process = start(plan, store)
    while kills and process.poll() is None:
        time.sleep(rng.uniform(0.0, 1.0))
        if workers := [pid for pid in children(process.pid) if is_worker(pid)]:
            with suppress(ProcessLookupError):
                os.kill(rng.choice(workers), signal.SIGKILL)
            kills -= 1
    assert process.wait() == 0


def is_worker(pid: int) -> bool:
    with suppress(OSError):
        return b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="asks Linux for its processes")
@pytest.mark.parametrize(
    ("kills", "store"),
    [
        pytest.param(4, "killed.sqlite", marks=pytest.mark.full),
        *(pytest.param(n, f"{n}.sqlite", marks=pytest.mark.nightly) for n in range(2, 9)),
    ],
)
def test_killed_workers_cost_their_unit_alone(
    plan: Path, tmp_path: Path, expected: Rows, kills: int, store: str
) -> None:
    path = tmp_path / store
    kill_workers(plan, path, kills)
    assert rows(path) == UNITS
    with StoreReader(path) as base:
        lost = [r["status"] for r in base.rows("SELECT status FROM results WHERE status <> 'done'")]
    assert set(lost) <= {"crashed"}
    assert len(lost) <= kills
    assert sweep(plan, path, workers=2, retry_errors=True).run == len(lost)
    assert content(path) == expected


def test_an_interrupt_stops_and_keeps(plan: Path, tmp_path: Path) -> None:
    store = tmp_path / "interrupted.sqlite"
    with (tmp_path / "errors.txt").open("w+b") as errors:
        process = start(plan, store, workers=1, errors=errors)
        while process.poll() is None and rows(store) < 3:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        assert process.wait(TOO_LONG) == 130
        errors.seek(0)
        told = errors.read().decode()
    assert told.endswith("optsched: interrupted\n"), told  # no semaphore that a worker left
    assert 3 <= rows(store) < UNITS


def test_whatever_a_worker_does_becomes_a_row(
    tmp_path: Path, plan_file: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, store = plan_file(TRIVIAL), tmp_path / "results.sqlite"
    monkeypatch.setattr("optsched.experiments.run.processes.run_unit", misbehaving.run_unit)
    standing = sweep(plan, store, workers=2)
    assert (standing.run, standing.failed) == (8, 5)
    ended = states(store)
    assert {seed: status for seed, (status, _) in ended.items()} == {
        **dict.fromkeys((0, 6, 7), "done"),
        **dict.fromkeys((misbehaving.CRASHES, misbehaving.EXITS), "crashed"),
        misbehaving.SLEEPS: "timed-out",
        misbehaving.EATS: "out-of-memory",
        misbehaving.RAISES: "error",
    }
    assert ended[misbehaving.SLEEPS][1] == "ended after its 4 s"
    assert ended[misbehaving.RAISES][1] == "RuntimeError: two lines"
    monkeypatch.undo()
    assert sweep(plan, store, workers=1).run == 0
    again = sweep(plan, store, workers=1, retry_errors=True)
    assert (again.total, again.done, again.run, again.failed) == (8, 3, 5, 0)
    assert {status for status, _ in states(store).values()} == {"done"}


def states(store: Path) -> dict[int, tuple[str, str]]:
    with StoreReader(store) as base:
        found = base.rows("SELECT seed, status, message FROM results")
    return {row["seed"]: (row["status"], row["message"]) for row in found}
