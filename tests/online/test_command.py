"""The commands: generate, import, simulate; JSON as the contract has it, exit codes."""

import csv
import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from commands import json_of, printed, refusal, run, stderr_of

import optsched
from optsched.library import shipped_folder, shipped_names
from optsched.online.data.cluster import OnlineCluster
from optsched.online.policies.by_name import POLICIES

KEYS = {
    "policy", "jobs", "total_completion_time", "total_flow_time", "mean_flow_time",
    "mean_slowdown", "inflation", "fragmentation", "makespan", "utilisation", "flow_bound",
    "audit", "engine_time", "compile_time",
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("workload")
    command = "generate workload --jobs 150 --servers 6 --gpus-per-server 8 --load 0.8"
    printed(f"{command} --single-gpu-share 0.7 --seed 1 -o", folder)
    return folder


def simulate(folder: Path) -> str:
    return f"simulate {folder / 'workload.csv'} --cluster {folder / 'cluster.json'} --policy"


def assert_sound(rows: list[dict[str, Any]], jobs: int) -> None:
    """All jobs are there, at a flow time of the bound or more, and the audit is clean."""
    for row in rows:
        assert row["jobs"] == jobs
        assert row["flow_bound"] <= row["total_flow_time"]
        assert row["audit"] == {"feasible": True, "violations": []}


def test_json(folder: Path) -> None:
    rows = json_of(f"{simulate(folder)} paper --bound --audit")
    assert [row["policy"] for row in rows][:3] == ["a-srpt", "a-srpt-perfect", "spjf"]
    assert all(set(row) >= KEYS for row in rows)
    assert_sound(rows, 150)
    (row,) = json_of(f"{simulate(folder)} spwf")
    assert row["flow_bound"] is None
    assert row["audit"] is None


def test_a_folder_or_a_shipped_name(folder: Path) -> None:
    """The files beside a workload are taken by themselves."""
    outputs = []
    for command in (simulate(folder), f"simulate {folder} --policy"):
        (row,) = json_of(f"{command} spjf")
        outputs.append({k: v for k, v in row.items() if not k.endswith("_time")})
    assert outputs[0] == outputs[1]
    for name, jobs in (("small-400x40", 400), ("testbed-75x14", 75), ("paper-37500x250", 37_500)):
        assert f"online/{name}" in shipped_names()
        instance = optsched.load(f"online/{name}")
        assert (instance.name, len(instance.workload)) == (name, jobs)
    assert_sound(json_of("simulate online/testbed-75x14 --policy paper --bound --audit"), 75)


@pytest.mark.parametrize(
    ("option", "lacking"),
    [
        ("--hold none", {"spwf-consolidated"}),
        ("--hold window", {"spwf-consolidated"}),
        ("--hold inf", {"a-srpt-backfill"}),
        ("--round 20", {"las", "max-min"}),
    ],
)
def test_a_group_leaves_out_what_an_option_rules_out(
    folder: Path, option: str, lacking: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a line each, where one that was named is refused, before anything runs."""
    code, out, error = run(f"{simulate(folder)} all {option} --json")
    assert code == 0
    assert {row["policy"] for row in json.loads(out)} == POLICIES.keys() - lacking
    for name in lacking:
        assert f"skipped (from 'all'): policy {name}: " in error
    monkeypatch.delattr("optsched.online.runs.simulate_online")
    for named in (f"fifo,{min(lacking)}", f"all,{min(lacking)}"):
        error = stderr_of(f"{simulate(folder)} {named} {option}", code=2)
        assert f"optsched: policy {min(lacking)}: " in error


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a POSIX pipe")
def test_workload_of_a_pipe(folder: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    text = (folder / "workload.csv").read_text(encoding="utf-8")
    writer = threading.Thread(target=pipe.write_text, args=(text,), daemon=True)
    writer.start()
    files = f"--cluster {folder / 'cluster.json'} --catalogue {folder / 'catalogue.json'}"
    (row,) = json_of(f"simulate {pipe} {files} --policy spjf")
    assert row["jobs"] == 150
    writer.join(10)


@pytest.mark.parametrize(
    ("workload", "says"),
    [
        ("online/nothing", "online/nothing: found no such file"),
        ("online", "online: found 4 instances"),
        ("placement/fig2", "found an instance of another problem"),
        (".", ".: found a folder without a workload.csv"),
        (shipped_folder() / "rolling/three-by-hand.json", "of another problem"),
    ],
)
def test_what_is_no_workload(workload: object, says: str) -> None:
    assert says in refusal("simulate --policy spjf", workload)


def test_without_a_cluster(folder: Path, tmp_path: Path) -> None:
    alone = shutil.copy(folder / "workload.csv", tmp_path)
    lacks = "found no {0}.json beside workload.csv, expected {0}.json, or --{0} FILE"
    assert lacks.format("catalogue") in refusal("simulate --policy spjf", alone)
    shutil.copy(folder / "catalogue.json", tmp_path)
    for given in (tmp_path, alone):
        assert lacks.format("cluster") in refusal("simulate --policy spjf", given)
    assert "cluster.json: found No such file" in refusal("solve", tmp_path)


def test_table_and_records(folder: Path) -> None:
    records = folder / "records.csv"
    options = "--tau 1 --offer best-fit-last --hold window --predictor group-mean --bound --audit"
    out = printed(f"{simulate(folder)} a-srpt,wcs-subtime {options} --records {records}")
    assert "tau 1," in out
    assert "best-fit-last" in out
    assert "Theorem 1" in out
    rows = list(csv.DictReader(records.open()))
    assert len(rows) == 2 * 30
    held = [sum(int(p.split(":")[1]) for p in row["servers"].split()) for row in rows]
    assert held == [int(row["gpus"]) for row in rows]


@pytest.mark.parametrize(
    "arguments",
    [
        "no-such-policy",
        "a-srpt --offer best",
        "a-srpt --tau -1",
        "a-srpt --comm-heavy 0.5",
        "a-srpt --hold x",
        "a-srpt --predictor x",
        "a-srpt --training-share 2",
        "a-srpt --catalogue /none.json",
        "a-srpt-backfill --hold inf",
    ],
)
def test_bad_usage(folder: Path, arguments: str) -> None:
    refusal(f"{simulate(folder)} {arguments}")


def test_import(tmp_path: Path) -> None:
    trace, target = tmp_path / "t.swf", tmp_path / "workload.csv"
    trace.write_text("1 0 5 100 4 -1 -1 4 -1 -1 1 7 1 3 1 1 -1 -1\n2 bad\n")
    assert "dropped 1: not 18 fields" in stderr_of(f"import swf {trace} -o {target}")
    cluster = tmp_path / "cluster.json"
    cluster.write_text(json.dumps(OnlineCluster.of(2, 8).to_dict()))
    printed(f"simulate {target} --cluster {cluster} --policy all --predictor perfect --audit")
    cluster.write_text(json.dumps(OnlineCluster.of(1, 2).to_dict()))
    assert "(largest: 1 with 4)" in stderr_of(f"import swf {trace} -o {target}")
    said = stderr_of(f"simulate {target} --policy fifo", code=2)
    assert "job 1: gpus: found 4, expected at most the cluster's 2" in said


def test_generate_like(folder: Path, tmp_path: Path) -> None:
    printed(f"generate workload --jobs 80 --servers 6 --like {folder}/workload.csv -o {tmp_path}")
    assert (tmp_path / "catalogue.json").exists()


DRIVER = """
import os, signal, sys, time
import optsched.online.simulator.event_loop as event_loop
from optsched import __main__ as program

program.PATIENCE = 600  # what is kept is asked for here, also on a slow machine

calls, loop = [], event_loop.simulate

def run(*arguments):
    *data, steps, stop, progress = arguments
    calls.append(1)
    some = loop.py_func(*data, 75 if len(calls) == 2 else steps, stop, progress)
    if len(calls) == 2:
        os.kill(os.getpid(), signal.SIGINT)
        while not stop[0]:
            time.sleep(0.001)
    return some

loop.for_size = lambda size: run
program.main()
"""
"""The program itself; in its second run, after 75 events, it is sent SIGINT."""


@pytest.mark.skipif(sys.platform == "win32", reason="needs to send itself SIGINT")
def test_an_interrupted_simulation_keeps_what_started(folder: Path, tmp_path: Path) -> None:
    """The run before the interrupt is whole, and the one that it met is said to be a part."""
    records = tmp_path / "records.csv"
    command = f"{simulate(folder)} spwf,a-srpt --records {records}".split()
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, *command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 130, done.stderr
    assert "a-srpt (interrupted)" in done.stdout
    with records.open() as stream:
        policies = [row["policy"] for row in csv.DictReader(stream)]
    assert policies.count("spwf") == 150
    assert 0 < policies.count("a-srpt") < 150
