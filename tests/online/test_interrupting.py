"""`optsched simulate` interrupted from outside: what had started is kept and said to be a part."""

import csv
import subprocess
import sys
from pathlib import Path

import pytest

from optsched.cli import _code

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="a process of Windows cannot send itself SIGINT"
)
INTERRUPTED = 130
DRIVER = """
import os, signal, sys
import optsched.cli.progress as progress
import optsched.online.simulator.engine as engine
from optsched import __main__ as program

program.PATIENCE = 600  # what is kept is asked for here, also on a slow machine

engine.STEPS_BETWEEN_REPORTS = 5
real, calls, looks = progress.StepProgress.__call__, [], int(sys.argv[1])

def update(self, *arguments, **options):
    real(self, *arguments, **options)
    calls.append(1)
    if len(calls) == looks:
        os.kill(os.getpid(), signal.SIGINT)

progress.StepProgress.__call__ = update
sys.argv = ["optsched", *sys.argv[2:]]
program.main()
"""
"""The program itself, looking up every five events; at so many looks it is sent SIGINT."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("workload")
    command = "generate workload --jobs 300 --servers 6 --seed 1 -o"
    assert _code([*command.split(), str(folder)]) == 0
    return folder


def interrupted(folder: Path, looks: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    files = [str(folder / "workload.csv"), "--cluster", str(folder / "cluster.json")]
    command = ["simulate", *files, "--policy", "spwf,a-srpt", *arguments]
    return subprocess.run(
        [sys.executable, "-c", DRIVER, str(looks), *command],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_runs_before_it_are_whole(folder: Path, tmp_path: Path) -> None:
    records = tmp_path / "records.csv"
    done = interrupted(folder, 150, "--records", str(records))
    assert done.returncode == INTERRUPTED, done.stderr
    assert "a-srpt (interrupted)" in done.stdout
    with records.open() as stream:
        policies = [row["policy"] for row in csv.DictReader(stream)]
    assert policies.count("spwf") == 300
    assert 0 < policies.count("a-srpt") < 300
