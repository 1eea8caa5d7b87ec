"""Sweeps on a real Dask cluster of two worker processes, one of them killed on the way."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import distributed
import pytest

from optsched.cli import _code
from optsched.experiments import read_plan, sweep
from optsched.experiments.plans.units import expand
from optsched.experiments.run.runner import Standing
from optsched.experiments.run.worker import run_unit
from optsched.experiments.store.store import Store, StoreReader

ROOT = Path(__file__).resolve().parents[2]
PLAN = """
[[families]]
name = "a"
generator = "placement"
arguments = { model = "VGG19", gpus = 16 }
count = 3
methods = ["heavy-edge", "min-cut", "exact"]
limits = { iterations = 100, unit_time = 120.0 }
"""
UNITS = 9


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    path = os.pathsep.join(p for p in (str(ROOT), os.environ.get("PYTHONPATH", "")) if p)
    monkeypatch.setenv("PYTHONPATH", path)
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        silence_logs=50,
    ) as made:
        yield made


def test_a_killed_worker_changes_nothing(cluster: Any, tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN, encoding="utf-8")
    killed: list[int] = []

    def kill_one(standing: Standing) -> None:
        if standing.run == 2 and not killed:
            killed.append(next(iter(cluster.workers.values())).pid)
            os.kill(killed[0], signal.SIGKILL)

    standing = sweep(
        plan, tmp_path / "dask.sqlite", dask=cluster.scheduler_address, progress=kill_one
    )
    assert killed
    assert (standing.run, standing.failed) == (UNITS, 0)
    with Store(tmp_path / "here.sqlite") as here:
        for planned in expand(read_plan(plan)):
            for unit in planned.units:
                here.add(run_unit(unit, planned.document))
    with StoreReader(tmp_path / "dask.sqlite") as a, StoreReader(tmp_path / "here.sqlite") as b:
        assert a.content() == b.content()
        assert len(a.content()) == UNITS
        (run,) = a.rows("SELECT workers FROM runs")
    assert "2 workers, 2 threads" in run["workers"]


def test_nobody_at_the_address(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("optsched.experiments.run.dask.PATIENCE", 1)
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN, encoding="utf-8")
    address = "tcp://127.0.0.1:9"
    assert _code(["sweep", str(plan), "--store", str(tmp_path / "s"), "--dask", address]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert "expected a Dask scheduler" in error
