"""The commands: generate, import, simulate; JSON as the contract has it, exit codes."""

import csv
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import optsched
from optsched.cli import _code
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
    command += " --single-gpu-share 0.7 --seed 1 -o"
    assert _code([*command.split(), str(folder)]) == 0
    return folder


def simulate(folder: Path, *arguments: str) -> list[str]:
    files = [str(folder / "workload.csv"), "--cluster", str(folder / "cluster.json")]
    return ["simulate", *files, *arguments]


def assert_sound(rows: list[dict[str, Any]], jobs: int) -> None:
    """All jobs are there, at a flow time of the bound or more, and the audit is clean."""
    for row in rows:
        assert row["jobs"] == jobs
        assert row["flow_bound"] <= row["total_flow_time"]
        assert row["audit"] == {"feasible": True, "violations": []}


def test_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = simulate(folder, "--policy", "paper", "--json", "--bound", "--audit")
    assert _code(command) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["policy"] for row in rows][:3] == ["a-srpt", "a-srpt-perfect", "spjf"]
    assert all(set(row) >= KEYS for row in rows)
    assert_sound(rows, 150)
    assert _code(simulate(folder, "--policy", "spwf", "--json")) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["flow_bound"] is None
    assert row["audit"] is None


def test_a_folder_or_a_shipped_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The files beside a workload are taken by themselves."""
    outputs = []
    for command in (simulate(folder), ["simulate", str(folder)]):
        assert _code([*command, "--policy", "spjf", "--json"]) == 0
        (row,) = json.loads(capsys.readouterr().out)
        outputs.append({k: v for k, v in row.items() if not k.endswith("_time")})
    assert outputs[0] == outputs[1]
    for name, jobs in (("small-400x40", 400), ("testbed-75x14", 75), ("paper-37500x250", 37_500)):
        assert f"online/{name}" in shipped_names()
        instance = optsched.load(f"online/{name}")
        assert (instance.name, len(instance.workload)) == (name, jobs)
    command = ["simulate", "online/testbed-75x14", "--policy", "paper", "--bound", "--audit"]
    assert _code([*command, "--json"]) == 0
    assert_sound(json.loads(capsys.readouterr().out), 75)


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
    folder: Path,
    option: str,
    lacking: set[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In a line each, where one that was named is refused, before anything runs."""
    assert _code(simulate(folder, "--policy", "all", *option.split(), "--json")) == 0
    said = capsys.readouterr()
    assert {row["policy"] for row in json.loads(said.out)} == POLICIES.keys() - lacking
    for name in lacking:
        assert f"skipped (from 'all'): policy {name}: " in said.err
    monkeypatch.delattr("optsched.online.runs.simulate_online")
    for named in (f"fifo,{min(lacking)}", f"all,{min(lacking)}"):
        assert _code(simulate(folder, "--policy", named, *option.split())) == 2
        assert f"optsched: policy {min(lacking)}: " in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a POSIX pipe")
def test_workload_of_a_pipe(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    text = (folder / "workload.csv").read_text(encoding="utf-8")
    writer = threading.Thread(target=pipe.write_text, args=(text,), daemon=True)
    writer.start()
    files = ["--cluster", str(folder / "cluster.json"), "--catalogue"]
    command = ["simulate", str(pipe), *files, str(folder / "catalogue.json"), "--policy", "spjf"]
    assert _code([*command, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["jobs"] == 150
    writer.join(10)


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("simulate online/nothing --policy spjf", "online/nothing: found no such file"),
        ("simulate online --policy spjf", "online: found 4 instances"),
        ("simulate placement/fig2 --policy spjf", "found an instance of another problem"),
        ("simulate . --policy spjf", ".: found a folder without a workload.csv"),
        ("simulate FOLDER/rolling/three-by-hand.json --policy spjf", "of another problem"),
    ],
)
def test_what_is_no_workload(command: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _code(command.replace("FOLDER", str(shipped_folder())).split()) == 2
    assert says in capsys.readouterr().err


def test_without_a_cluster(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = tmp_path / "workload.csv"
    alone.write_bytes((folder / "workload.csv").read_bytes())
    assert _code(["simulate", str(alone), "--policy", "spjf"]) == 2
    lacks = "found no {0}.json beside workload.csv, expected {0}.json, or --{0} FILE"
    assert lacks.format("catalogue") in capsys.readouterr().err
    (tmp_path / "catalogue.json").write_bytes((folder / "catalogue.json").read_bytes())
    for given in (tmp_path, alone):
        assert _code(["simulate", str(given), "--policy", "spjf"]) == 2
        assert lacks.format("cluster") in capsys.readouterr().err
    assert _code(["solve", str(tmp_path)]) == 2
    assert "cluster.json: found No such file" in capsys.readouterr().err


def test_table_and_records(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = folder / "records.csv"
    command = simulate(
        folder, "--policy", "a-srpt,wcs-subtime", "--tau", "1", "--offer", "best-fit-last",
        "--hold", "window", "--predictor", "group-mean", "--records", str(records), "--bound",
        "--audit",
    )  # fmt: skip
    assert _code(command) == 0
    out = capsys.readouterr().out
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
def test_bad_usage(folder: Path, arguments: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _code(simulate(folder, "--policy", *arguments.split())) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert lines[-1].startswith("optsched: ")


def test_import(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "t.swf"
    trace.write_text("1 0 5 100 4 -1 -1 4 -1 -1 1 7 1 3 1 1 -1 -1\n2 bad\n")
    target = tmp_path / "workload.csv"
    assert _code(["import", "swf", str(trace), "-o", str(target)]) == 0
    assert "dropped 1: not 18 fields" in capsys.readouterr().err
    cluster = tmp_path / "cluster.json"
    cluster.write_text(json.dumps(OnlineCluster.of(2, 8).to_dict()))
    assert _code(["simulate", str(target), "--cluster", str(cluster), "--policy", "all",
                  "--predictor", "perfect", "--audit"]) == 0  # fmt: skip
    cluster.write_text(json.dumps(OnlineCluster.of(1, 2).to_dict()))
    assert _code(["import", "swf", str(trace), "-o", str(target)]) == 0
    assert "(largest: 1 with 4)" in capsys.readouterr().err
    assert _code(["simulate", str(target), "--policy", "fifo"]) == 2
    assert "gpus: found 4, expected at most the cluster's 2" in capsys.readouterr().err


def test_generate_like(folder: Path, tmp_path: Path) -> None:
    command = ["generate", "workload", "--jobs", "80", "--servers", "6", "--like",
               str(folder / "workload.csv"), "-o", str(tmp_path / "again")]  # fmt: skip
    assert _code(command) == 0
    assert (tmp_path / "again" / "catalogue.json").exists()


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
    command = simulate(folder, "--policy", "spwf,a-srpt", "--records", str(records))
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, *command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 130, done.stderr
    assert "a-srpt (interrupted)" in done.stdout
    with records.open() as stream:
        policies = [row["policy"] for row in csv.DictReader(stream)]
    assert policies.count("spwf") == 150
    assert 0 < policies.count("a-srpt") < 150
