"""Sweeps on a real Dask cluster of two worker processes, some of them killed on the way."""

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import distributed
import pytest
from commands import stderr_of
from processes import ROOT
from stored_results import content

from optsched.experiments import sweep
from optsched.experiments.run.runner import SweepState
from optsched.experiments.store.store import StoreReader

PLAN = """
[[families]]
name = "a"
generator = "placement"
arguments = { model = "VGG19", gpus = 16 }
count = 3
methods = ["heavy-edge", "repartition", "exact"]
limits = { iterations = 100, unit_time = 120.0 }
"""
Written = Callable[[str], Path]
KILLS = 6
"""Of each of five nightly sweeps of thirty units: thirty in all."""


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
    quiet = {"dashboard_address": None, "silence_logs": 50}
    with distributed.LocalCluster(2, threads_per_worker=1, processes=True, **quiet) as made:
        yield made


@pytest.mark.full
@pytest.mark.parametrize(
    ("count", "kills", "seed"),
    [(3, 1, 0), *(pytest.param(10, KILLS, seed, marks=pytest.mark.nightly) for seed in range(5))],
)
def test_killed_workers_change_nothing(
    cluster: Any, tmp_path: Path, plan_file: Written, count: int, kills: int, seed: int
) -> None:
    """At random moments of a sweep; a unit that too many workers died of is tried again."""
    rng, units, store = random.Random(seed), 3 * count, tmp_path / "dask.sqlite"
    plan = plan_file(PLAN.replace("count = 3", f"count = {count}"))
    points = sorted(rng.sample(range(1, units - 2), kills))
    killed: list[int] = []

    def kill(state: SweepState) -> None:
        while points and state.run >= points[0]:
            points.pop(0)
            time.sleep(rng.uniform(0.0, 0.3))  # into another unit
            killed.append(kill_one(cluster, rng))

    state = sweep(plan, store, dask=cluster.scheduler_address, progress=kill)
    assert len(killed) == len(set(killed)) == kills
    assert state.run == units
    with StoreReader(store) as base:
        lost = base.rows("SELECT status FROM results WHERE status <> 'done'")
        (run,) = base.rows("SELECT workers FROM runs")
    assert "2 workers, 2 threads" in run["workers"]
    assert {row["status"] for row in lost} <= {"crashed"}
    again = sweep(plan, store, dask=cluster.scheduler_address, retry_errors=True)
    assert (again.run, again.failed) == (len(lost), 0)
    sweep(plan, tmp_path / "here.sqlite", workers=0)
    assert content(store) == content(tmp_path / "here.sqlite")
    assert len(content(store)) == units


def kill_one(cluster: Any, rng: random.Random) -> int:
    while not (running := [w.pid for w in cluster.workers.values() if is_running(w)]):
        time.sleep(0.05)
    pid: int = rng.choice(running)
    os.kill(pid, signal.SIGKILL)
    return pid


def is_running(worker: Any) -> bool:
    """Whether a nanny's worker process has come up, and has not been killed."""
    return worker.status is distributed.core.Status.running and worker.is_alive()


def test_nobody_there(tmp_path: Path, plan_file: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("optsched.experiments.run.dask.PATIENCE", 1)
    missing = "--dask nope: found no scheduler (missing port"
    lines = {"tcp://127.0.0.1:9": "expected a Dask scheduler", "nope": missing}
    for address, line in lines.items():
        command = f"sweep --dask {address} --store"
        error = stderr_of(command, tmp_path / "s", plan_file(PLAN), code=2)
        assert line in error.splitlines()[-1]
