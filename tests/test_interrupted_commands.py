"""Every long command interrupted at a random moment: code 130 soon after, never a traceback."""

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from commands import printed
from processes import started
from sampling import first

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals to a process: POSIX only")
SEED = int(os.environ.get("OPTSCHED_TEST_SEED", "0"))
TOO_LONG = 300
"""Seconds within which even a loaded machine ends a program after an interrupt."""

PROGRAM = """
import runpy, sys
print("python runs", file=sys.stderr, flush=True)
runpy.run_module("optsched", run_name="__main__", alter_sys=True)
"""
"""`python -m optsched`, once Python's own start, which may take any time, is over."""

COMMANDS = {
    "placement ilp": "solve placement/gpt-175b-64x1 --method ilp",
    "placement min-cut": "solve placement/gpt-175b-64x1 --method min-cut",
    "placement exact": "solve placement/gpt-175b-64x1",
    "makespan ilp": "solve makespan/mixed-24x8 --method ilp",
    "makespan ilp by scip": "solve makespan/mixed-24x8 --method ilp --solver scip",
    "makespan ilp-schedules": "solve makespan/paper-160x20 --method ilp-schedules",
    "makespan exact": "solve makespan/large-1600x200",
    "makespan local-search": "solve makespan/large-1600x200 --method local-search",
    "selection milp": "solve selection/24x96-six-classes --method milp",
    "selection milp by scip": "solve selection/24x96-six-classes --method milp --solver scip",
    "selection minlp": "solve selection/12x6-light --method minlp --solver scip",
    "selection patterns": "solve selection/100x400-distinct --method patterns",
    "selection columns": "solve selection/100x400-distinct --method columns",
    "selection exact": "solve selection/100x400-distinct",
    "compare": "compare selection/24x96-six-classes makespan/mixed-24x8 --time-limit 60",
    "gaps": "compare placement --methods heavy-edge,ilp,min-cut --time-limit 60 --csv gaps.csv",
    "sweep": "sweep plans/small --store results.sqlite --workers 2",
    "simulate": "simulate {workload}/workload.csv --cluster {workload}/cluster.json "
    "--policy a-srpt,spwf --audit --bound",
    "roll": "roll rolling/paper-20x200 --policy sts,price",
    "reproduce": "reproduce sts-fig6 --quick -o made",
    "generate": "generate workload --jobs 400000 --servers 250 --seed 2 -o made",
}


@pytest.fixture(scope="module")
def workload(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("workload")
    printed("generate workload --jobs 20000 --servers 100 --seed 1 -o", folder)
    return folder


def interrupted_at(seconds: float, arguments: list[str], folder: Path) -> tuple[int, str, float]:
    """Code and errors of a command interrupted so late, and how long it took to end."""
    with started("-c", PROGRAM, *arguments, cwd=folder) as child:
        assert child.stderr.readline() == "python runs\n"
        with suppress(subprocess.TimeoutExpired):
            child.wait(seconds)
        began = time.monotonic()
        child.send_signal(signal.SIGINT)  # nothing, where it has ended
        _, error = child.communicate(timeout=TOO_LONG)
    return child.returncode, error, time.monotonic() - began


def interrupt_often(name: str, times: int, workload: Path, folder: Path) -> None:
    rng = random.Random(f"{SEED} {name}")
    arguments = COMMANDS[name].format(workload=workload).split()
    slowest, interrupted = 0.0, 0
    for _ in range(times):
        began = time.monotonic()
        subprocess.run([sys.executable, "-c", "import re, typing, importlib"], check=True)
        start = 2 * (time.monotonic() - began)  # until a program's own first line may run
        code, error, seconds = interrupted_at(start + rng.uniform(0, 60 * start), arguments, folder)
        assert code in (0, 130), error
        assert "Traceback" not in error, error
        if code == 130:
            assert error.endswith("optsched: interrupted\n"), error
            interrupted += 1
            slowest = max(slowest, seconds)
    print(f"{name}: {interrupted} of {times} interrupted, the slowest ended in {slowest:.2f} s")


@pytest.mark.parametrize("name", first(1, ["roll", "makespan ilp", "simulate", "sweep"]))
def test_interrupted_once(name: str, workload: Path, tmp_path: Path) -> None:
    interrupt_often(name, 1, workload, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("name", COMMANDS)
def test_interrupted_thirty_times(name: str, workload: Path, tmp_path: Path) -> None:
    interrupt_often(name, 30, workload, tmp_path)
