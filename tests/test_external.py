"""Methods from outside: callables, module:name, and what installed packages add."""

import csv
import json
import os
import shutil
import sqlite3
import subprocess
import tomllib
from pathlib import Path

import pytest
from outside.outside_methods import server_by_server
from processes import ROOT, python

import optsched
from optsched.errors import InputError, MethodError
from optsched.experiments import sweep
from optsched.experiments.store.store import StoreReader
from optsched.result import Outcome, Termination
from optsched.verbs.comparing import compare_each

NAME = "placement/fig2"
OUTSIDE = Path(__file__).parent / "outside"


def test_a_callable_is_solved_checked_and_compared_like_ours() -> None:
    result = optsched.solve(NAME, server_by_server)
    assert result.method == "outside.outside_methods:server_by_server"
    assert result.termination is Termination.FEASIBLE
    assert result.check.feasible
    best = optsched.solve(NAME)
    assert result.objective >= best.objective
    assert result.bound is not None  # the problem's quick one: every row has a certificate
    frame = optsched.compare(NAME, ["heavy-edge", server_by_server])
    assert list(frame["method"]) == ["heavy-edge", result.method]
    assert frame["excess"].notna().all()


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (None, "neither a solution nor a bound"),
        (7, "returned 7, expected a PlacementSolution"),
        (Outcome(None, Termination.FEASIBLE), "neither a solution nor a bound"),
    ],
)
def test_an_invalid_return_value_is_an_error(returned: object, message: str) -> None:
    with pytest.raises(MethodError, match=message):
        optsched.solve(NAME, lambda *_: returned)


def test_a_broken_rule_is_an_error_whatever_it_claims() -> None:
    def crowded(instance, options, settings):
        solution = dict(server_by_server(instance, options, settings))
        solution["counts"] = [row[::-1] for row in solution["counts"]]
        return solution

    result = optsched.solve("placement/vgg19-16", crowded)
    assert result.termination is Termination.ERROR
    assert {v.rule for v in result.check.violations} == {"capacity"}


@pytest.mark.parametrize(
    ("factor", "termination"),
    [(1, Termination.OPTIMAL), (0.5, Termination.FEASIBLE), (2, Termination.ERROR)],
)
def test_optimal_needs_a_bound_that_proves_it(factor: float, termination: Termination) -> None:
    best = optsched.solve("placement/vgg19-16")

    def sure(instance, options, settings):
        return Outcome(best.solution, Termination.OPTIMAL, bound=factor * best.objective)

    result = optsched.solve("placement/vgg19-16", sure)
    assert result.termination is termination
    if termination is Termination.OPTIMAL:
        assert result.bound_source == f"{__name__}:{sure.__qualname__}"


def test_a_bound_that_another_row_refutes_reaches_no_row() -> None:
    def wrong(instance, options, settings):
        return Outcome(None, Termination.FEASIBLE, bound=1e9)

    (rows,) = compare_each(NAME, ["heavy-edge", wrong])
    assert rows[1].termination is Termination.ERROR
    assert rows[1].bound == rows[0].bound
    assert rows[0].bound <= rows[0].objective
    assert "exceeds the objective" in rows[1].details["message"]


def test_names_that_lead_nowhere_are_one_line(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "own_bad.py").write_text("1 / 0\n")
    (tmp_path / "own_number.py").write_text("number = 3\n")
    monkeypatch.chdir(tmp_path)
    for name in ("nowhere:f", "own_number:f", "own_bad:f", "own_number:number"):
        with pytest.raises(InputError) as caught:
            optsched.solve(NAME, name)
        assert "\n" not in str(caught.value)


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
    with pytest.raises(InputError, match="never started"):
        optsched.solve("online/small-400x40", Idle())


def test_a_rolling_policy_of_ones_own_costs_what_ours_does() -> None:
    mine = optsched.solve("rolling/delay-3x30", Dearest, seed=4)
    ours = optsched.solve("rolling/delay-3x30", "edf", seed=4)
    assert mine.objective == ours.objective
    assert mine.check.feasible


# --- modules of the current folder and an installed package

OWN = '''
"""Methods of a user."""
from optsched.placement.heuristics.heavy_edge import heavy_edge

def greedy(instance, options, settings):
    """Heavy-Edge under another name."""
    return heavy_edge(instance, options, settings).solution

def raising(instance, options, settings):
    raise RuntimeError("no idea\\nat all")

number = 3
'''
JOBS = [(3.0, 1.0), (1.0, 2.0), (2.0, 2.0)]
BEST = 2 * 1 + 2 * 3 + 1 * 6
AS_FILED = 1 * 3 + 2 * 4 + 2 * 6
FAMILY = """
[[families]]
name = "{0}"
instances = ["{1}"]
methods = {2}
"""
OWN_METHODS = ["heavy-edge", "own:greedy", "server-by-server", "own:raising"]
OWN_PLAN = FAMILY.format("one", NAME, OWN_METHODS)
ROLLED = ["clairvoyant-bound", "edf", "latest-first"]
PLAN = (
    FAMILY.format("machine", "three.json", ["as-filed", "smith"])
    + FAMILY.format("placement", NAME, ["heavy-edge", "server-by-server"])
    + FAMILY.format("rolling", "rolling/three-by-hand", ROLLED)
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a user's module, and `tests/outside` installed as its pyproject.toml says."""
    made = tmp_path_factory.mktemp("outside")
    project = tomllib.loads((OUTSIDE / "pyproject.toml").read_text())["project"]
    for module in OUTSIDE.glob("*.py"):
        shutil.copy(module, made)
    name, version = project["name"], project["version"]
    info = made / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines: list[str] = []
    for group, entries in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{key} = {value}" for key, value in entries.items())]
    (info / "entry_points.txt").write_text("\n".join([*lines, "bad = nowhere:METHODS"]))
    head = {"schema": "optsched/single-machine", "version": 1, "name": "three"}
    jobs = [{"seconds": p, "weight": w} for p, w in JOBS]
    (made / "three.json").write_text(json.dumps({**head, "jobs": jobs}))
    (made / "plan.toml").write_text(PLAN)
    (made / "own.py").write_text(OWN)
    return made


def command(folder: Path, line: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    variables = {"PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    return python("-m", "optsched", *line.split(), code=code, variables=variables, cwd=folder)


def run(folder: Path, line: str, code: int = 0) -> str:
    return command(folder, line, code).stdout


def test_the_command_line_takes_a_module_of_the_current_folder(folder: Path) -> None:
    found = json.loads(run(folder, f"solve {NAME} --method own:greedy --json"))
    assert found["method"] == "own:greedy"
    assert found["check"]["feasible"]
    run(folder, f"solve {NAME} --method own:raising", code=4)


def test_methods_lists_what_is_installed(folder: Path) -> None:
    done = command(folder, "methods --json")
    kinds = {(row["problem"], row["method"]): row["kind"] for row in json.loads(done.stdout)}
    assert kinds["single-machine", "smith"] == "exact"
    assert kinds["placement", "server-by-server"] == "heuristic"
    assert kinds["rolling", "latest-first"] == "policy"
    assert ("placement", "heavy-edge") in kinds
    assert done.stderr.count("\n") == 1  # the entry point that cannot be loaded
    assert "entry point bad is ignored" in done.stderr


def test_a_problem_from_outside_goes_through_every_command(folder: Path) -> None:
    solved = json.loads(run(folder, "solve three.json -o s.json --json"))
    assert (solved["problem"], solved["method"]) == ("single-machine", "smith")
    assert solved["termination"] == "optimal"
    assert solved["objective"] == BEST
    assert json.loads(run(folder, "check three.json s.json --json"))["feasible"]
    worse = json.loads((folder / "s.json").read_text()) | {"order": [0, 1, 1]}
    (folder / "worse.json").write_text(json.dumps(worse))
    run(folder, "check three.json worse.json", code=1)
    assert "jobs" in json.loads(run(folder, "schema single-machine"))["properties"]
    run(folder, "explain three.json", code=2)  # it has none, and says so


def test_a_sweep_its_table_and_report(folder: Path) -> None:
    output = run(folder, "sweep plan.toml --store s.sqlite --workers 0")
    assert "7 units, 7 run, 0 failed" in output
    with StoreReader(folder / "s.sqlite") as base:
        found = list(base.rows("SELECT problem, method, objective, feasible FROM results"))
    values = {(row["problem"], row["method"]): row["objective"] for row in found}
    assert values["single-machine", "smith"] == BEST
    assert values["single-machine", "as-filed"] == AS_FILED
    assert all(row["feasible"] for row in found if row["method"] != "clairvoyant-bound")
    run(folder, "table s.sqlite --csv t.csv")
    lines = list(csv.DictReader((folder / "t.csv").open()))
    assert {"smith", "server-by-server", "latest-first"} <= {line["method"] for line in lines}
    run(folder, "report s.sqlite -o r.html")
    page = (folder / "r.html").read_text()
    assert all(name in page for name in ("single-machine", "server-by-server", "latest-first"))


def test_a_plan_runs_only_modules_that_are_allowed(folder: Path) -> None:
    (folder / "own.toml").write_text(OWN_PLAN)
    refused = command(folder, "sweep own.toml --store no.sqlite --workers 1", code=2)
    assert "--allow own" in refused.stderr
    assert not (folder / "no.sqlite").exists()
    run(folder, "sweep own.toml --store own.sqlite --workers 0 --allow own")
    with StoreReader(folder / "own.sqlite") as base:
        found = list(base.rows("SELECT method, status, version FROM results"))
    versions = {row["method"]: row["version"] for row in found}
    statuses = {row["method"]: row["status"] for row in found}
    assert statuses == dict.fromkeys(OWN_METHODS, "done") | {"own:raising": "error"}
    assert versions["heavy-edge"] == optsched.__version__
    assert versions["own:greedy"].startswith(f"{optsched.__version__}+")


@pytest.mark.full
def test_an_edited_method_runs_again(folder: Path) -> None:
    module = folder / "own_edited.py"
    module.write_text(OWN)
    (folder / "edited.toml").write_text(OWN_PLAN.replace("own:", "own_edited:"))
    line = "sweep edited.toml --store e.sqlite --allow own_edited --workers 0"
    assert "4 units, 4 run" in run(folder, line)
    module.write_text(OWN + "# edited\n")
    assert "4 units, 2 run" in run(folder, line)


def test_a_stores_own_units_need_allowing_too(folder: Path, tmp_path: Path) -> None:
    """A store that comes from elsewhere cannot make a sweep import a module."""
    plan = tmp_path / "p.toml"
    plan.write_text(FAMILY.format("one", NAME, ["heavy-edge", "repartition"]))
    store = tmp_path / "p.sqlite"
    sweep(plan, store, workers=0)
    with sqlite3.connect(store) as base:
        base.execute("DELETE FROM results")
        base.execute("UPDATE members SET method = 'os:system' WHERE method = 'repartition'")
    sweep(plan, store, workers=0)
    with sqlite3.connect(store) as base:
        methods = {method for (method,) in base.execute("SELECT method FROM results")}
    assert methods == {"heavy-edge", "repartition"}
