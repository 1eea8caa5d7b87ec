"""Warm-up and the clock: compiling is no work of a method's, and figures are of compiled code."""

from __future__ import annotations

import multiprocessing
import os
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest
from typer.testing import CliRunner

from optsched import deadline
from optsched.cli import app, execute
from optsched.deadline import Deadline
from optsched.experiments.papers import running
from optsched.experiments.papers.a_srpt import table2
from optsched.experiments.papers.artefact import Scale
from optsched.experiments.papers.sts import fig7
from optsched.experiments.run import processes
from optsched.progress import compiling_told, tell_compiling


def test_no_deadline_comes_nearer_while_code_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(deadline.time, "perf_counter", lambda: now[0])
    limit = Deadline(2.0)
    with deadline.standing_still():
        now[0] += 50.0
        with deadline.standing_still():
            now[0] += 7.0
    now[0] += 1.5
    assert (limit.is_over, limit.spent, limit.left) == (False, 1.5, 0.5)
    now[0] += 0.6
    assert limit.is_over


@pytest.mark.nightly
def test_warm_up_once_on_a_machine(tmp_path: Path) -> None:
    told = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-m", "optsched", "warm-up", "selection"],
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        told.append([line.split(":")[0] for line in done.stderr.splitlines()])
    assert told[1] == ["selection, 1 of 1"]
    assert told[0][-1] == told[1][0]
    assert any(line.startswith("compiling ") for line in told[0])


def test_benchmarks_have_compiled_before_they_time() -> None:
    """By `optsched.methods.warm_up`: what a problem's own calls may be run by Python."""
    scripts = (Path(__file__).parents[1] / "benchmarks").glob("*.py")
    texts = {script.name: script.read_text(encoding="utf-8") for script in scripts}
    assert "from optsched.methods import warm_up" in texts["rolling.py"]
    own = re.compile(r"optsched\.\w+\.warm_up\b|\bwarm_up\(\)")
    assert [name for name, text in texts.items() if own.search(text)] == []


def test_warm_up_of_an_unknown_problem(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["warm-up", "selecton"]) == 2
    assert "selection" in capsys.readouterr().err


def test_the_command_line_names_what_is_compiled_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert CliRunner().invoke(app, ["warm-up", "--help"]).exit_code == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("optsched.methods.warm_up", lambda name: _tell(name))
        assert execute(["warm-up", "placement", "makespan"]) == 0
    assert capsys.readouterr().err.splitlines() == [
        "compiling same (a), once on this machine",
        "placement, 1 of 2: 0.5 s",
        "makespan, 2 of 2: 0.5 s",
    ]


def _tell(_: str) -> float:
    tell_compiling("same (a)")
    tell_compiling(None)
    return 0.5


def test_a_unit_is_not_ended_while_its_code_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = multiprocessing.Pipe()
    for message in ("improve (makespan)", None, 42):
        theirs.send(message)
    waited: list[float | None] = []
    monkeypatch.setattr(processes, "wait", lambda _, seconds: waited.append(seconds) or [ours])
    keeper = object.__new__(processes._Keeper)
    process = types.SimpleNamespace(sentinel=None)
    monkeypatch.setattr(keeper, "_ready", lambda: (process, ours), raising=False)
    told: list[str | None] = []
    with compiling_told(told.append):
        assert keeper._run(processes._Task((id, ()), 60.0)) == 42
    assert (waited[0], waited[1]) == (60.0, None)
    assert 0.0 < waited[2] <= 60.0
    assert told == ["improve (makespan)", None]


@pytest.mark.parametrize("runs", [0, 3])
def test_uncompiled_timings_are_called_so(
    runs: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("optsched.kernels.python_runs", lambda: runs)
    for command in ("solve", "compare"):
        assert execute([command, "placement/fig2"]) == 0
        assert ("timings are uncompiled" in capsys.readouterr().err) == (runs > 0)


def test_seconds_that_a_figure_is_about_are_of_compiled_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    compiled: list[str] = []
    monkeypatch.setattr(running, "warm_up", compiled.append)
    monkeypatch.setattr(running, "sweep", lambda *_, **__: pytest.fail("compiled: go on"))
    for artefact in (table2.ARTEFACT, fig7.ARTEFACT):
        with pytest.raises(pytest.fail.Exception):
            running.runs_of(artefact, tmp_path, Scale())
    assert compiled == ["placement", "selection"]
