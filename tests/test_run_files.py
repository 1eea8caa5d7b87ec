"""Runs over time as files: round trips, and each corruption refused by its own rule."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import json_of, printed, stderr_of
from oracles.harness import seed_of_the_day
from sampling import first

import optsched
from optsched import check
from optsched.errors import InputError
from optsched.files import read_document, write_document
from optsched.io.schemas import json_schema
from optsched.online.solution import OnlineSolution
from optsched.rolling.solution import RollingSolution

SOLUTIONS = {"online": OnlineSolution, "rolling": RollingSolution}
FILES = {"online": "online/small-400x40", "rolling": "rolling/light-6x60"}
SIMULATE = f"simulate {FILES['online']}"
COMMANDS = {
    "online": f"{SIMULATE} --policy spjf --predictor perfect",
    "rolling": f"roll {FILES['rolling']} --policy edf --bound 0 --seed 3",
}

Change = Callable[[dict[str, Any]], None]
Runs = dict[str, Path]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    folder = tmp_path_factory.mktemp("runs")
    for name, command in COMMANDS.items():
        recorded(command, folder / f"{name}.json")
    return {name: folder / f"{name}.json" for name in COMMANDS}


def recorded(command: str, path: Path) -> dict[str, Any]:
    printed(command, "--records", path)
    return read_document(path)


@pytest.mark.parametrize("kind", FILES)
def test_a_run_passes_as_written(kind: str, runs: Runs) -> None:
    report = json_of("check", FILES[kind], runs[kind])
    document = read_document(runs[kind])
    assert report["feasible"]
    assert report["violations"] == []
    assert report["objective"] == pytest.approx(document["objective"], rel=1e-12)
    assert printed("check", FILES[kind], runs[kind]).startswith("feasible\ntotal ")
    assert document["schema"] == f"optsched/{kind}-solution"
    assert SOLUTIONS[kind].from_dict(document).to_dict() == document
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(document, json_schema(f"{kind}-solution"))


@pytest.mark.parametrize("kind", FILES)
def test_what_solve_finds_says_of_which_instance(kind: str) -> None:
    result = optsched.solve(FILES[kind], "fifo")
    assert result.solution.instance_sha256 == result.instance_sha256


@pytest.mark.parametrize("policy", first(1, ["a-srpt", "a-srpt-backfill", "wcs-workload"]))
@pytest.mark.parametrize(
    "options",
    [
        "",
        "--offer first-fit --tau 3 --comm-heavy 1.1 --hold window",
        "--predictor group-mean --training-share 0.5",
        "--slot 30 --predictor online-constant --refit-interval 5000",
        "--unseen zero",
    ],
)
def test_every_option_is_in_the_file(policy: str, options: str, tmp_path: Path) -> None:
    recorded(f"{SIMULATE} --policy {policy} {options}", tmp_path / "run.json")
    printed("check", FILES["online"], tmp_path / "run.json")


def test_a_file_older_than_unseen_is_checked_as_it_was_made(tmp_path: Path) -> None:
    """Such a file says nothing of jobs like none known: their predictions were 0."""
    for unseen, code in (("zero", 0), ("mean", 1)):
        target = tmp_path / f"{unseen}.json"
        document = recorded(f"{SIMULATE} --policy a-srpt --unseen {unseen}", target)
        del document["options"]["unseen"]
        write_document(target, document)
        printed("check", FILES["online"], target, code=code)


def test_a_folder_of_runs(tmp_path: Path) -> None:
    command = "roll rolling/three-by-hand --policy sts,edf --bound 0 --records"
    printed(command, tmp_path / "all")
    written = sorted((tmp_path / "all").glob("*.json"))
    assert [path.stem for path in written] == ["three-by-hand-edf-s0", "three-by-hand-sts-s0"]
    for path in written:
        printed("check rolling/three-by-hand", path)
    assert "a folder, for several policies" in stderr_of(command, tmp_path / "one.json", code=2)
    assert not (tmp_path / "one.json").exists()


def test_one_policy_a_file_and_few_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "run.json"
    command = f"{SIMULATE} --records {target} --policy"
    said = stderr_of(command, "spjf,spwf", code=2)
    assert "found 2 policies, expected one policy for a .json file" in said
    monkeypatch.setattr("optsched.online.solution.MAX_JOBS", 399)
    assert "found 400 jobs, expected at most 399" in stderr_of(command, "spjf", code=2)
    assert not target.exists()


# --- corruptions


def put(*path: Any, to: Any = None, by: Callable[[Any], Any] | None = None) -> Change:
    def change(document: dict[str, Any]) -> None:
        node: Any = document
        for part in path[:-1]:
            node = node[part]
        node[path[-1]] = to if by is None else by(node[path[-1]])

    return change


def onto_a_full_server(document: dict[str, Any]) -> None:
    jobs = document["jobs"]
    for full in jobs:
        server = next((m for m, gpus in full["servers"].items() if gpus == 8), None)
        for other in jobs if server is not None else ():
            small = sum(other["servers"].values()) == 1
            if small and full["start"] <= other["start"] and other["end"] <= full["end"]:
                other["servers"] = {server: 1}
                return
    raise AssertionError("no such job")


def earlier_end(document: dict[str, Any]) -> None:
    job = document["jobs"][0]
    job["end"] -= 3e-6 * (job["end"] - job["start"])


ONLINE: dict[str, tuple[Change, set[str]]] = {
    "full server": (onto_a_full_server, {"capacity"}),
    "end too early": (earlier_end, {"duration"}),
    "lost job": (lambda d: d["jobs"].pop(7), {"record"}),
    "job twice": (lambda d: d["jobs"].append(dict(d["jobs"][7])), {"record"}),
    "another job": (put("jobs", 7, "job_id", to="nobody"), {"record"}),
    "too few GPUs": (put("jobs", 0, "servers", to={}), {"gang"}),
    "no GPU": (put("jobs", 0, "servers", to={"0": -1}), {"gang"}),
    "no such server": (put("jobs", 0, "servers", to={"999": 1}), {"gang"}),
    "objective": (put("objective", by=lambda v: v * (1 + 2e-6)), {"claimed objective"}),
    "objective 0": (put("objective", to=0), {"claimed objective"}),
    "another policy": (put("policy", to="spwf"), {"queue order"}),
    "another offer": (put("options", "offer", to="least"), {"offer"}),
    "another instance": (put("instance", to="small-400x41"), {"instance"}),
    "another workload": (put("instance_sha256", to="0" * 64), {"instance"}),
}


def test_a_start_before_submission(tmp_path: Path) -> None:
    """Two jobs on an idle cluster, the second moved to before it is there."""
    folder = tmp_path / "two"
    printed("generate workload --jobs 2 --servers 4 --load 0.01 -o", folder)
    document = recorded(f"simulate {folder} --policy spjf", tmp_path / "run.json")
    job = document["jobs"][-1]
    job.update(start=-1.0, end=job["end"] - job["start"] - 1.0)
    report = check(folder, OnlineSolution.from_dict({**document, "objective": None}))
    assert {violation.rule for violation in report.violations} == {"start"}


def on_one_gpu_twice(document: dict[str, Any]) -> None:
    """Put a segment where another one is at the time, on a node of the type."""
    segments = document["segments"]
    for one in segments:
        for other in segments:
            apart = other["job"] != one["job"] and other["node"] == one["node"]
            if apart and one["start"] < other["start"] < one["end"]:
                other["gpus"] = one["gpus"][: len(other["gpus"])]
                if len(other["gpus"]) and other["fraction"] + one["fraction"] > 1:
                    return
    raise AssertionError("no such segments")


def earlier(document: dict[str, Any]) -> None:
    """All of a run before its jobs arrive."""
    for rows, names in (
        ("segments", ("start", "end")),
        ("nodes", ("start", "end")),
        ("jobs", ("first_start", "completion")),
    ):
        for row in document[rows]:
            for name in names:
                row[name] -= 1e6


ADD_UP = "epochs add up"
ROLLING: dict[str, tuple[Change, set[str]]] = {
    "wrong speed": (put("segments", 5, "epochs", by=lambda v: v * (1 + 3e-6)), {"epochs"}),
    "lost job": (lambda d: d["jobs"].pop(7), {"job"}),
    "job twice": (lambda d: d["jobs"].append(dict(d["jobs"][7])), {"job"}),
    "unknown job": (lambda d: d["jobs"].append({**d["jobs"][7], "job": 60}), {"job"}),
    "other epochs": (put("jobs", 4, "epochs", by=lambda v: v + 1), {ADD_UP, "true epochs"}),
    "completion": (put("jobs", 4, "completion", by=lambda v: v * (1 - 1e-5)), {"completion"}),
    "moves": (put("jobs", 4, "migrations", to=99), {"record"}),
    "first start": (put("jobs", 4, "first_start", to=0.0), {"record"}),
    "setup": (put("segments", 0, "setup", to=10.0), {"epochs", ADD_UP, "reconfiguration"}),
    "node": (put("segments", 0, "node", to=6), {"place"}),
    "GPU": (put("segments", 0, "gpus", to=[4]), {"place"}),
    "no time": (put("segments", 0, "end", to=-1.0), {"segment"}),
    "node interval": (lambda d: d["nodes"].pop(0), {"node intervals"}),
    "in use": (put("nodes", 0, "used", by=lambda v: v + 1), {"node intervals"}),
    "objective": (put("objective", by=lambda v: v * (1 + 2e-6)), {"claimed objective"}),
    "too early": (earlier, {"arrival", "claimed objective"}),
    "another seed": (put("seed", to=4), {"true epochs"}),
    "another instance": (put("instance", to="light"), {"instance"}),
    "another file": (put("instance_sha256", to="0" * 64), {"instance"}),
}


CORRUPTED = {("online", name): each for name, each in ONLINE.items()}
CORRUPTED |= {("rolling", name): each for name, each in ROLLING.items()}


@pytest.mark.parametrize(("kind", "name"), CORRUPTED)
def test_corrupted_runs_are_found(kind: str, name: str, runs: Runs, tmp_path: Path) -> None:
    change, rules = CORRUPTED[kind, name]
    document = read_document(runs[kind])
    change(document)
    write_document(tmp_path / "run.json", document)
    report = json_of("check", FILES[kind], tmp_path / "run.json", code=1)
    assert {violation["rule"] for violation in report["violations"]} == rules


def test_a_gpu_used_twice(tmp_path: Path) -> None:
    command = "roll rolling/saturated-6x60 --policy edf --bound 0"
    document = recorded(command, tmp_path / "run.json")
    on_one_gpu_twice(document)
    found = check("rolling/saturated-6x60", RollingSolution.from_dict(document)).violations
    rules = {violation.rule for violation in found}
    assert {"GPU share"} <= rules <= {"GPU share", "node intervals", "claimed objective"}


def test_sharing_that_was_switched_off(tmp_path: Path) -> None:
    command = "roll rolling/sharing-6x60 --policy sts --bound 0"
    document = recorded(command, tmp_path / "run.json")
    assert any(segment["fraction"] < 1 for segment in document["segments"])
    document["options"]["sharing"] = "off"
    found = check("rolling/sharing-6x60", RollingSolution.from_dict(document)).violations
    assert {violation.rule for violation in found} == {"sharing"}


VALUES = (0, 1, -1, 7, 10**6, -1.5, 1e-9, 1e18, -1e18, "0", "x", None, [], {}, True, 0.5)


@pytest.mark.parametrize("kind", FILES)
def test_no_broken_run_passes_or_breaks_the_checker(kind: str, runs: Runs) -> None:
    """A value replaced anywhere: refused in a line, or judged; a time that changed is found."""
    rng = np.random.default_rng(seed_of_the_day())
    instance, written = optsched.load(FILES[kind]), read_document(runs[kind])
    judged = 0
    for _ in range(25):
        document = copy.deepcopy(written)
        node, path = document, []
        while isinstance(node, dict | list) and node:
            keys = list(node) if isinstance(node, dict) else range(len(node))
            key = keys[int(rng.integers(len(keys)))]
            path.append(key)
            parent, node = node, node[key]
        value = VALUES[int(rng.integers(len(VALUES)))]
        parent[key] = value
        try:
            report = check(instance, SOLUTIONS[kind].from_dict(document))
        except InputError as error:
            assert "\n" not in str(error)
            continue
        judged += 1
        harmless = {"decisions", "seed", "options", "objective", "instance_sha256"}
        if node != value and path[0] not in harmless:
            assert not report.feasible, (path, value)
    assert judged > 1
