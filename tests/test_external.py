"""Methods from outside: callables, module:name, and what installed packages add."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import optsched
from optsched.cli import _code
from optsched.errors import InputError, MethodError
from optsched.experiments import sweep
from optsched.experiments.store.store import StoreReader
from optsched.result import Outcome, Termination
from optsched.verbs.comparing import compare_each

NAME = "placement/fig2"
OWN = '''
"""Methods of a user."""
from optsched.placement.heuristics.heavy_edge import heavy_edge
from optsched.result import Outcome, Termination

def greedy(instance, options, settings):
    """Heavy-Edge, asked for by somebody else."""
    return heavy_edge(instance, options, settings).solution

def raising(instance, options, settings):
    raise RuntimeError("no idea\\nat all")

number = 3
'''
PACKAGE = """
from dataclasses import replace
from optsched.placement.problem import PLACEMENT
from optsched.problem import Method

BOUND = Method("zero", "bound", "nothing takes less than no time", "added_package:zero")
METHODS = {"placement": [BOUND, Method("theirs", "heuristic", "theirs", "own:greedy")]}

def zero(instance, options, settings):
    from optsched.result import Outcome, Termination
    return Outcome(None, Termination.FEASIBLE, bound=0.0, bound_source="zero")
"""


def all_on_the_first(instance, options, settings):
    """Counts filled server by server, as plain data."""
    free, counts = list(instance.free_gpus), []
    for stage in instance.job.stages:
        left, row = stage.replicas, []
        for m, has in enumerate(free):
            row.append(min(left, has))
            free[m] -= row[-1]
            left -= row[-1]
        counts.append(row)
    document = {"schema": "optsched/placement-solution", "version": 1}
    return {**document, "instance": instance.name, "counts": counts}


def test_a_callable_is_solved_and_checked_like_ours() -> None:
    result = optsched.solve(NAME, all_on_the_first)
    assert result.method == f"{__name__}:all_on_the_first"
    assert result.termination is Termination.FEASIBLE
    assert result.check is not None
    assert result.check.feasible
    best = optsched.solve(NAME)
    assert best.objective is not None
    assert result.objective is not None
    assert result.objective >= best.objective
    assert result.bound is not None  # the problem's quick one: every row has a certificate


def test_compare_puts_it_beside_ours() -> None:
    frame = optsched.compare(NAME, ["heavy-edge", all_on_the_first])
    assert list(frame["method"]) == ["heavy-edge", f"{__name__}:all_on_the_first"]
    assert frame["excess"].notna().all()


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (None, "neither a solution nor a bound"),
        (7, "returned 7, expected a PlacementSolution"),
        (Outcome(None, Termination.FEASIBLE), "neither a solution nor a bound"),
    ],
)
def test_what_is_no_answer_is_said(found: object, said: str) -> None:
    with pytest.raises(MethodError, match=said):
        optsched.solve(NAME, lambda *_: found)


def test_raising_is_a_row_with_status_error() -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("line one\nline two")

    (rows,) = compare_each(NAME, ["heavy-edge", broken])
    assert [r.termination for r in rows] == [Termination.FEASIBLE, Termination.ERROR]
    assert rows[1].details["message"].endswith("raised RuntimeError: line one line two")


def test_a_broken_rule_is_an_error_whatever_it_claims() -> None:
    def crowded(instance, options, settings):
        solution = dict(all_on_the_first(instance, options, settings))
        solution["counts"] = [row[::-1] for row in solution["counts"]]
        return solution

    result = optsched.solve("placement/vgg19-16", crowded)
    assert result.termination is Termination.ERROR
    assert result.check is not None
    assert {v.rule for v in result.check.violations} == {"capacity"}


def test_optimal_needs_a_bound_that_proves_it() -> None:
    def sure(bound: float | None):
        def method(instance, options, settings):
            solution = optsched.solve(instance).solution
            return Outcome(solution, Termination.OPTIMAL, bound=bound)

        return method

    best = optsched.solve("placement/vgg19-16")
    assert best.objective is not None
    said = optsched.solve("placement/vgg19-16", sure(best.objective))
    assert said.termination is Termination.OPTIMAL
    assert said.bound_source == f"{__name__}:{sure(1.0).__qualname__}"
    low = optsched.solve("placement/vgg19-16", sure(best.objective / 2))
    assert low.termination is Termination.FEASIBLE
    high = optsched.solve("placement/vgg19-16", sure(2 * best.objective))
    assert high.termination is Termination.ERROR


def test_a_bound_that_another_row_refutes_reaches_no_row() -> None:
    def wrong(instance, options, settings):
        return Outcome(None, Termination.FEASIBLE, bound=1e9)

    (rows,) = compare_each(NAME, ["heavy-edge", wrong])
    assert rows[1].termination is Termination.ERROR
    assert rows[1].bound == rows[0].bound
    assert rows[0].bound is not None
    assert rows[0].objective is not None
    assert rows[0].bound <= rows[0].objective
    assert "is above the" in rows[1].details["message"]


def test_names_that_lead_nowhere_are_one_line(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "own_bad.py").write_text("1 / 0\n")
    (tmp_path / "own_number.py").write_text("number = 3\n")
    monkeypatch.chdir(tmp_path)
    for name in ("nowhere:f", "own_number:f", "own_bad:f", "own_number:number"):
        with pytest.raises(InputError) as caught:
            optsched.solve(NAME, name)
        assert "\n" not in str(caught.value)


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line in a folder, with the packages that stand there installed."""
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-m", "optsched", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=600,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a module of a user's, and a package installed beside it."""
    made = tmp_path_factory.mktemp("outside")
    (made / "own.py").write_text(OWN)
    (made / "added_package.py").write_text(PACKAGE)
    info = made / "added_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: added-package\nVersion: 1.0\n")
    entries = "[optsched.methods]\nall = added_package:METHODS\nbad = nowhere:METHODS\n"
    (info / "entry_points.txt").write_text(entries)
    return made


def test_the_command_line_takes_a_module_of_the_current_folder(folder: Path) -> None:
    done = command(folder, "solve", NAME, "--method", "own:greedy", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["method"] == "own:greedy"
    assert found["check"]["feasible"]
    assert command(folder, "solve", NAME, "--method", "own:raising").returncode == 4
    assert command(folder, "solve", NAME, "--method", "own:number").returncode == 2


def test_an_installed_package_adds_methods(folder: Path) -> None:
    listed = command(folder, "methods", "--json")
    names = {row["method"] for row in json.loads(listed.stdout) if row["problem"] == "placement"}
    assert {"zero", "theirs", "heavy-edge"} <= names
    assert listed.stderr.count("\n") == 1  # the entry point that cannot be loaded
    assert "entry point bad is left out" in listed.stderr
    shown = command(folder, "compare", NAME, "--methods", "theirs,zero", "--json")
    assert [row["method"] for row in json.loads(shown.stdout)] == ["theirs", "zero"]


PLAN = """
name = "outside"
[[families]]
name = "one"
instances = ["placement/fig2"]
methods = ["heavy-edge", "own:greedy", "theirs", "own:raising"]
"""


def test_a_plan_runs_only_modules_that_are_allowed(folder: Path) -> None:
    (folder / "plan.toml").write_text(PLAN)
    refused = command(folder, "sweep", "plan.toml", "--store", "no.sqlite", "--workers", "1")
    assert refused.returncode == 2
    assert "--allow own" in refused.stderr
    assert not (folder / "no.sqlite").exists()
    arguments = ("sweep", "plan.toml", "--store", "s.sqlite", "--workers", "2")
    done = command(folder, *arguments, "--allow", "own")
    assert done.returncode == 0, done.stderr
    with StoreReader(folder / "s.sqlite") as base:
        found = list(base.rows("SELECT method, status, version FROM results"))
    versions = {row["method"]: row["version"] for row in found}
    assert {row["method"]: row["status"] for row in found} == {
        "heavy-edge": "done",
        "own:greedy": "done",
        "theirs": "done",
        "own:raising": "error",
    }
    assert versions["heavy-edge"] == optsched.__version__
    assert versions["own:greedy"].startswith(f"{optsched.__version__}+")
    table = command(folder, "table", "s.sqlite", "--csv", "t.csv")
    assert table.returncode == 0
    assert "own:greedy" in (folder / "t.csv").read_text()
    assert command(folder, "report", "s.sqlite", "-o", "r.html").returncode == 0


def test_an_edited_method_runs_again(folder: Path) -> None:
    module = folder / "own_edited.py"
    module.write_text(OWN)
    text = PLAN.replace("own:", "own_edited:").replace("outside", "edited")
    (folder / "edited.toml").write_text(text)
    arguments = ("sweep", "edited.toml", "--store", "e.sqlite", "--allow", "own_edited")
    arguments += ("--workers", "0")
    first = command(folder, *arguments)
    assert "4 units, 4 run now" in first.stdout
    assert "4 units, 0 run now" in command(folder, *arguments).stdout
    module.write_text(OWN + "# edited\n")
    assert "4 units, 2 run now" in command(folder, *arguments).stdout


def test_a_stores_own_units_need_allowing_too(folder: Path, tmp_path: Path) -> None:
    """A store that comes from elsewhere cannot make a sweep import a module."""
    plan = tmp_path / "p.toml"
    plan.write_text(PLAN.replace('"own:greedy", "theirs", "own:raising"', '"repartition"'))
    store = tmp_path / "p.sqlite"
    sweep(plan, store, workers=0)
    with sqlite3.connect(store) as base:
        base.execute("DELETE FROM results")
        base.execute("UPDATE members SET method = 'os:system' WHERE method = 'repartition'")
    sweep(plan, store, workers=0)
    with sqlite3.connect(store) as base:
        methods = {method for (method,) in base.execute("SELECT method FROM results")}
    assert methods == {"heavy-edge", "repartition"}


class FirstCome:
    """First come, first served, on the servers with most free GPUs."""

    def schedule(self, view):
        for job in view.queue:
            if job.gpus > view.free_gpus:
                break
            view.start(job, view.offer(job, "most"))


class Idle:
    def schedule(self, view):
        pass


class Dearest:
    """Whatever edf does, under another name."""

    def __init__(self) -> None:
        self._edf = None

    def schedule(self, view):
        from optsched.rolling.policies.queue import Queue

        if self._edf is None:
            self._edf = Queue(view.world, "edf")
        return self._edf.decide(view)


def test_a_policy_of_ones_own_runs_beside_ours() -> None:
    frame = optsched.compare("online/small-400x40", ["flow-bound", "wcs-subtime", FirstCome()])
    own = frame.iloc[2]
    assert own["method"] == f"{__name__}:FirstCome"
    assert own["checked"]
    assert own["bound"] == frame.iloc[0]["bound"] <= own["objective"]
    with pytest.raises(InputError, match="left waiting"):
        optsched.solve("online/small-400x40", Idle())


def test_a_rolling_policy_of_ones_own_costs_what_ours_does() -> None:
    mine = optsched.solve("rolling/delay-3x30", Dearest, seed=4)
    ours = optsched.solve("rolling/delay-3x30", "edf", seed=4)
    assert mine.objective == ours.objective
    assert mine.check is not None
    assert mine.check.feasible


@pytest.mark.parametrize("name", ["rolling/delay-3x30", "online/small-400x40"])
def test_what_runs_over_time_goes_through_the_same_commands(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """solve -o, check and explain: the run's file is the solution."""
    run = str(tmp_path / "run.json")
    assert _code(["solve", name, "-o", run, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["method"] == {"rolling": "sts", "online": "a-srpt"}[said["problem"]]
    assert _code(["check", name, run, "--json"]) == 0
    checked = json.loads(capsys.readouterr().out)
    assert checked["objective"] == pytest.approx(said["objective"], rel=1e-9)
    assert _code(["explain", name, run, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    total = told.get("total_cost", told.get("total_flow_time"))
    assert total == pytest.approx(said["objective"], rel=1e-9)
    document = json.loads(Path(run).read_text())
    document["objective"] *= 0.9
    (tmp_path / "claim.json").write_text(json.dumps(document))
    assert _code(["check", name, str(tmp_path / "claim.json")]) == 1
