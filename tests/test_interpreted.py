"""Compiled functions that Python runs first: the same bits, and compiled once it has had enough."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import subprocess
import sys
import types
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from typer.testing import CliRunner

import optsched
from optsched import deadline, interpreted
from optsched.cli import app, execute
from optsched.compiled_loops import compiled_at_once, njit
from optsched.deadline import Deadline
from optsched.experiments.papers import running
from optsched.experiments.papers.a_srpt import table2
from optsched.experiments.papers.artefact import Scale
from optsched.experiments.papers.sts import fig7
from optsched.experiments.run import processes
from optsched.interpreted import TooLongError
from optsched.progress import compiling_told, tell_compiling


class Pair(NamedTuple):
    """Arrays in a tuple, as a run's state is."""

    seen: Any
    total: Any


@njit(cache=False)
def _added(pair: Pair, value: int) -> int:
    pair.total[0] += value
    return pair.total[0]


@njit(cache=False)
def gathered(pair: Pair, values: Any, times: int) -> Any:
    """Writes into the caller's arrays at every step, so that a second run would show."""
    last = 0
    for k in range(times):
        for value in values:
            pair.seen[k % len(pair.seen)] += value
            last = _added(pair, value)
    return last, pair.total[0] > 5


def fresh() -> tuple[Pair, np.ndarray]:
    return Pair(np.zeros(3, np.int64), np.zeros(1, np.int64)), np.array([2, 3, 5])


@pytest.fixture
def untouched(monkeypatch: pytest.MonkeyPatch) -> None:
    gathered._reset_overloads()
    monkeypatch.setattr(gathered, "_steps", 100, raising=False)


@pytest.mark.usefixtures("untouched")
def test_python_first_and_compiled_when_it_is_too_long() -> None:
    told: list[str | None] = []
    outcomes = []
    with compiling_told(told.append):
        before = interpreted.runs()
        for signatures in (0, 0, 0, 0, 1, 1):  # 24 steps a call; the fifth is too long
            pair, values = fresh()
            outcomes.append((gathered(pair, values, 6), *map(np.ndarray.tolist, pair)))
            assert len(gathered.signatures) == signatures
    assert interpreted.runs() == before + 5
    assert outcomes == [((60, True), [20, 20, 20], [60])] * 6
    assert [type(each) for each in outcomes[0][0]] == [type(each) for each in outcomes[-1][0]]
    assert [name is not None and name.startswith("gathered") for name in told] == [True, False]


@pytest.mark.usefixtures("untouched")
def test_what_is_given_up_leaves_no_trace() -> None:
    pair, values = fresh()
    run = interpreted.twin_for(gathered.py_func, (pair, values, 50))
    with pytest.raises(TooLongError):
        interpreted.interpreted(run, (pair, values, 50), 20)
    assert (pair.seen.tolist(), pair.total.tolist()) == ([0, 0, 0], [0])


@pytest.mark.usefixtures("untouched")
def test_large_arguments_are_not_copied() -> None:
    pair, _ = fresh()
    gathered(pair, np.zeros(interpreted.BYTES * 101 // 8, np.int64), 0)
    assert len(gathered.signatures) == 1


@njit(cache=False)
def mixed(servers: Any, hashes: Any) -> int:
    """Of narrow integers: bits that are set, products, and a sum in a loop."""
    found = 0
    for k in range(len(servers)):
        found |= 1 << (servers[k] & 31)
        hashes[k] = servers[k] * 2_000_000_011 + servers[k]
    for server in servers:
        found += server * 3
    for at, server in enumerate(servers):
        found ^= server << (at + 8)
    return found


@pytest.mark.parametrize("kind", [np.int16, np.int32, np.int64])
def test_narrow_integers_are_computed_with_in_64_bits(kind: Any) -> None:
    mixed._reset_overloads()
    given = np.array([31, 30, 32000, 7, 5], kind)
    seen = []
    for interpret in (True, False):
        hashes = np.zeros(5, np.int64)
        if interpret:
            seen.append((mixed(given, hashes), hashes.tolist()))
            assert mixed.signatures == []
        else:
            with compiled_at_once():
                seen.append((mixed(given, hashes), hashes.tolist()))
    assert seen[0] == seen[1]


def test_one_version_whatever_constants_a_caller_passes() -> None:
    assert called_with_constants.signatures == []
    with compiled_at_once():
        assert called_with_constants() == 9
    assert len(_plus.signatures) == 1
    assert _plus(4, 3) == 7  # by Python: it has no way in from there


@njit(cache=False)
def _plus(a: int, b: int) -> int:
    return a + b


@njit(cache=False)
def called_with_constants() -> int:
    return _plus(1, 2) + _plus(2, 4)


SOLVED = """
import json, sys
import optsched
from optsched import compiled_loops, interpreted, progress
compiled_loops.Tiered._steps = interpreted.MOST_BYTES = 10**12
told, answers = [], []
with progress.compiling_told(told.append):
    for case in sys.argv[1:]:
        found = optsched.solve(*case.split(":"), iterations=60, seed=3)
        solution = None if found.solution is None else found.solution.to_dict()
        answers.append([found.objective, found.bound, solution])
assert not told, told
print(json.dumps(answers))
"""
FEW = ("placement/gpt-13b-32:repartition", "makespan/fig2:random", "selection/3x6-overdue:dp")
MANY = (
    *("placement/gpt-13b-32:exact", "placement/t5-11b-16:exact", "placement/vgg19-16:repartition"),
    *("makespan/contended-3x3:local-search", "makespan/fig2:sjf-bco"),
    *("selection/3x6-overdue:sts", "speed-profile/resnet-8:hull", "rolling/three-by-hand:price"),
    *(f"makespan/{name}:{method}" for name in ("contended-4x3", "must-span-8x6", "paper-160x20")
      for method in ("sjf-bco", "first-fit", "list-scheduling", "random", "local-search")),
    *("makespan/continuous-12x3:local-search", "makespan/theorem5-2x1:sjf-bco"),
    *("makespan/paper-160x20:nested", "makespan/uniform-10x4:nested"),
    *(f"placement/efficient/{name}:{method}" for name in ("bert-large-16-50g", "gpt-13b-32-10g")
      for method in ("heavy-edge", "repartition", "exact")),
    *(f"rolling/light-6x60:{method}" for method in ("sts", "rg", "price", "clairvoyant-bound")),
    *(f"online/small-400x40:{method}" for method in (
        "a-srpt", "a-srpt-backfill", "spjf", "wcs-subtime", "spwf-consolidated", "las", "max-min",
        "srpt-preemptive", "easy", "fifo", "flow-bound", "gang-bound")),
    *(f"selection/{name}:{method}" for name in ("12x48-distinct", "10x20")
      for method in ("sts", "rg", "dp", "edf", "columns", "exact")),
)  # fmt: skip


def assert_same(cases: tuple[str, ...], nothing_kept: Path) -> None:
    """Python in a process of its own, against compiled code here."""
    done = subprocess.run(
        [sys.executable, "-c", SOLVED, *cases],
        env={**os.environ, "NUMBA_CACHE_DIR": str(nothing_kept)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for case, answer in zip(cases, json.loads(done.stdout), strict=True):
        with compiled_at_once():
            found = optsched.solve(*case.split(":"), iterations=60, seed=3)
        solution = None if found.solution is None else found.solution.to_dict()
        compiled = json.loads(json.dumps([found.objective, found.bound, solution]))
        assert answer == compiled, case


def test_python_and_compiled_code_give_the_same(tmp_path: Path) -> None:
    assert_same(FEW, tmp_path)


@pytest.mark.nightly
def test_python_and_compiled_code_give_the_same_everywhere(tmp_path: Path) -> None:
    assert_same(MANY, tmp_path)


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
def test_seconds_of_python_are_called_so(
    runs: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(interpreted, "runs", lambda: runs)
    for command in ("solve", "compare"):
        assert execute([command, "placement/fig2"]) == 0
        assert ("seconds are of Python" in capsys.readouterr().err) == (runs > 0)


def test_seconds_that_a_figure_is_about_are_of_compiled_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    compiled: list[str] = []
    monkeypatch.setattr(running, "warm_up", compiled.append)
    monkeypatch.setattr(running, "sweep", lambda *_, **__: pytest.fail("compiled: go on"))
    for artefact in (*table2.ARTEFACTS, *fig7.ARTEFACTS):
        with pytest.raises(pytest.fail.Exception):
            running.runs_of(artefact, tmp_path, Scale())
    assert compiled == ["placement", "selection"]
