"""Warm-up and the clock: compiling is no work of a method's, and figures are of compiled code."""

from pathlib import Path

import pytest
from processes import python

from optsched import deadline
from optsched.cli import execute
from optsched.deadline import Deadline
from optsched.experiments.papers import artefacts as running
from optsched.experiments.papers.a_srpt import table2
from optsched.experiments.papers.artefact import Scale
from optsched.experiments.papers.sts import fig7


def test_no_deadline_comes_nearer_while_code_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(deadline.time, "perf_counter", lambda: now[0])
    limit = Deadline(2.0)
    with deadline.clock_stopped():
        now[0] += 50.0
        with deadline.clock_stopped():
            now[0] += 7.0
    now[0] += 1.5
    assert (limit.is_over, limit.spent, limit.left) == (False, 1.5, 0.5)
    now[0] += 0.6
    assert limit.is_over


@pytest.mark.nightly
def test_warm_up_once_on_a_machine(tmp_path: Path) -> None:
    names = []
    for _ in range(2):
        variables = {"NUMBA_CACHE_DIR": str(tmp_path)}
        done = python("-m", "optsched", "warm-up", "selection", variables=variables)
        names.append([line.split(":")[0] for line in done.stderr.splitlines()])
    assert names[1] == ["selection, 1 of 1"]
    assert names[0][-1] == names[1][0]
    assert any(line.startswith("compiling ") for line in names[0])


@pytest.mark.parametrize("runs", [0, 3])
def test_uncompiled_timings_are_called_so(
    runs: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("optsched.kernels.python_runs", lambda: runs)
    for command in ("solve", "compare"):
        assert execute([command, "placement/fig2"]) == 0
        assert ("timings include uncompiled code" in capsys.readouterr().err) == (runs > 0)


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
