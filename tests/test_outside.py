"""A package outside the tree, installed: its problem, method and policy stand beside ours."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from optsched.experiments.store.store import StoreReader

OUTSIDE = Path(__file__).parent / "outside"
JOBS = [(3.0, 1.0), (1.0, 2.0), (2.0, 2.0)]
BEST = 2 * 1 + 2 * 3 + 1 * 6
AS_FILED = 1 * 3 + 2 * 4 + 2 * 6
PLAN = """
name = "outside"

[[families]]
name = "machine"
instances = ["three.json"]

[[families]]
name = "placement"
instances = ["placement/fig2"]
methods = ["heavy-edge", "server-by-server"]

[[families]]
name = "rolling"
instances = ["rolling/three-by-hand"]
methods = ["clairvoyant-bound", "edf", "latest-first"]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of site packages, with `tests/outside` installed as its pyproject.toml says."""
    made = tmp_path_factory.mktemp("site")
    project = tomllib.loads((OUTSIDE / "pyproject.toml").read_text())["project"]
    for module in OUTSIDE.glob("*.py"):
        shutil.copy(module, made)
    name, version = project["name"], project["version"]
    info = made / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = [
        line
        for group, entries in project["entry-points"].items()
        for line in (f"[{group}]", *(f"{key} = {value}" for key, value in entries.items()))
    ]
    (info / "entry_points.txt").write_text("\n".join(lines))
    document = {
        "schema": "optsched/single-machine",
        "version": 1,
        "name": "three",
        "jobs": [{"seconds": p, "weight": w} for p, w in JOBS],
    }
    (made / "three.json").write_text(json.dumps(document))
    (made / "plan.toml").write_text(PLAN)
    return made


def run(folder: Path, *arguments: str, code: int = 0) -> str:
    """What a command prints where the package is installed."""
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "optsched", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == code, done.stderr
    return done.stdout


def test_methods_lists_what_is_installed(folder: Path) -> None:
    rows = json.loads(run(folder, "methods", "--json"))
    kinds = {(row["problem"], row["method"]): row["kind"] for row in rows}
    assert kinds["single-machine", "smith"] == "exact"
    assert kinds["placement", "server-by-server"] == "heuristic"
    assert kinds["rolling", "latest-first"] == "policy"
    assert ("placement", "heavy-edge") in kinds


def test_a_problem_from_outside_goes_through_every_command(folder: Path) -> None:
    solved = json.loads(run(folder, "solve", "three.json", "-o", "s.json", "--json"))
    assert (solved["problem"], solved["method"]) == ("single-machine", "smith")
    assert solved["termination"] == "optimal"
    assert solved["objective"] == BEST
    assert json.loads(run(folder, "check", "three.json", "s.json", "--json"))["feasible"]
    worse = json.loads((folder / "s.json").read_text()) | {"order": [0, 1, 1]}
    (folder / "worse.json").write_text(json.dumps(worse))
    run(folder, "check", "three.json", "worse.json", code=1)
    schema = json.loads(run(folder, "schema", "single-machine"))
    assert "jobs" in schema["properties"]
    for verb in ("explain", "plot", "export"):  # it has none of these, and says so
        extra = {"plot": ["-o", "p.png"], "export": ["--method", "smith", "--format", "lp"]}
        more = [*extra.get(verb, []), *(["-o", "m.lp"] if verb == "export" else [])]
        run(folder, verb, "three.json", *more, code=2)


def test_compare_puts_all_three_beside_ours(folder: Path) -> None:
    rows = json.loads(run(folder, "compare", "three.json", "--json"))
    assert {row["method"]: row["objective"] for row in rows} == {
        "as-filed": AS_FILED,
        "smith": BEST,
    }
    assert {row["bound"] for row in rows} == {BEST}
    assert rows[0]["excess"] == pytest.approx(AS_FILED / BEST - 1)
    for name, method, ours in (
        ("placement/fig2", "server-by-server", "heavy-edge"),
        ("rolling/three-by-hand", "latest-first", "edf"),
    ):
        found = json.loads(run(folder, "compare", name, "--methods", f"{ours},{method}", "--json"))
        assert [row["method"] for row in found] == [ours, method]
        assert all(row["check"]["feasible"] for row in found)


def test_a_sweep_of_two_workers_its_table_and_report(folder: Path) -> None:
    told = run(folder, "sweep", "plan.toml", "--store", "s.sqlite", "--workers", "2")
    assert "7 units, 7 run now, 0 failed now" in told
    with StoreReader(folder / "s.sqlite") as base:
        found = list(base.rows("SELECT problem, method, objective, feasible FROM results"))
    values = {(row["problem"], row["method"]): row["objective"] for row in found}
    assert values["single-machine", "smith"] == BEST
    assert values["single-machine", "as-filed"] == AS_FILED
    assert all(row["feasible"] for row in found if row["method"] != "clairvoyant-bound")
    run(folder, "table", "s.sqlite", "--csv", "t.csv")
    lines = list(csv.DictReader((folder / "t.csv").open()))
    assert {"smith", "server-by-server", "latest-first"} <= {line["method"] for line in lines}
    run(folder, "report", "s.sqlite", "-o", "r.html")
    page = (folder / "r.html").read_text()
    assert all(name in page for name in ("single-machine", "server-by-server", "latest-first"))
