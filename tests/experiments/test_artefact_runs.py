"""An artefact's runs: a sweep in its folder, taken up where it stopped, by the same code only."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import optsched
from optsched.cli import _code
from optsched.errors import InputError, OptschedError
from optsched.experiments.papers import running
from optsched.experiments.papers.artefact import Scale
from optsched.experiments.papers.artefacts import ARTEFACTS, modules_of, reproduce
from optsched.experiments.papers.running import STORE, runs_of, seeded
from optsched.generators.makespan import generate_makespan

NAME = "sjf-bco-fig7"
QUICK = Scale(quick=True)
RUNS = 2 * 3 * 4  # strengths x draws x values of lambda


def plan_of(count: int) -> Callable[[Scale], list]:
    families = [
        seeded("f", "makespan", {"servers": 2, "jobs": 4}, seed, ["first-fit"])
        for seed in range(count)
    ]
    return lambda scale: families


def test_runs_come_in_the_plans_order_with_their_instances_seed(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    artefact = replace(ARTEFACTS[NAME], plan=plan_of(3))
    frame = runs_of(artefact, tmp_path, QUICK, lambda done, total: told.append((done, total)))
    assert list(frame["seed"]) == [0, 1, 2]
    assert list(frame["instance"]) == [f"f, seed {seed}" for seed in range(3)]
    assert told[0] == (0, 3)
    assert told[-1] == (3, 3)
    direct = optsched.solve(generate_makespan(4, 2, seed=1), "first-fit")
    assert frame["objective"][1] == direct.objective


def test_what_is_finished_is_taken_up_by_the_same_code_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[int] = []

    def stop(done: int, total: int) -> None:
        told.append(done)
        if done == 2:
            raise KeyboardInterrupt

    artefact = replace(ARTEFACTS[NAME], plan=plan_of(5))
    with pytest.raises(KeyboardInterrupt):
        runs_of(artefact, tmp_path, QUICK, stop)
    first: list[int] = []
    again = runs_of(artefact, tmp_path, QUICK, lambda done, total: first.append(done))
    assert first[0] >= 2
    assert len(again) == 5
    monkeypatch.setattr(running, "_code", lambda: "other")
    first.clear()
    runs_of(artefact, tmp_path, QUICK, lambda done, total: first.append(done))
    assert first[0] == 0


def test_artefacts_share_the_runs_they_have_in_common(tmp_path: Path) -> None:
    runs_of(replace(ARTEFACTS[NAME], plan=plan_of(2)), tmp_path, QUICK)
    first: list[int] = []
    other = replace(ARTEFACTS["sjf-bco-fig4"], plan=plan_of(3))
    runs_of(other, tmp_path, QUICK, lambda done, total: first.append(done))
    assert first[0] == 2


def test_no_table_is_made_of_runs_that_failed(tmp_path: Path) -> None:
    families = [seeded("f", "makespan", {"servers": 0}, 0, ["first-fit"])]
    artefact = replace(ARTEFACTS[NAME], plan=lambda scale: families)
    with pytest.raises(OptschedError, match=r"first-fit on f, seed 0: .*servers"):
        runs_of(artefact, tmp_path, QUICK)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="file"):
        reproduce(NAME, tmp_path / "file", quick=True)


def test_every_artefact_takes_a_picture() -> None:
    for name in ARTEFACTS:
        assert "matplotlib" in modules_of([name])


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
def test_a_stopped_command_says_what_is_kept_and_goes_on(tmp_path: Path) -> None:
    root = str(Path(optsched.__file__).resolve().parents[1])
    process = subprocess.Popen(
        [sys.executable, "-m", "optsched", "reproduce", NAME, "--quick", "-o", str(tmp_path)],
        env={**os.environ, "PYTHONPATH": root},
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    try:
        end = time.monotonic() + 120
        while finished(tmp_path) < 3:
            assert time.monotonic() < end
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
    finally:
        process.kill()
    assert process.returncode == 130
    assert "the same command goes on from it" in said
    done = finished(tmp_path)
    assert 3 <= done < RUNS
    assert _code(["reproduce", NAME, "--quick", "-o", str(tmp_path)]) == 0
    assert finished(tmp_path) == RUNS
    assert (tmp_path / f"{NAME}.verdict.json").is_file()


def finished(folder: Path) -> int:
    """Runs in the store of a folder."""
    try:
        return len(optsched.read_store(folder / STORE))
    except OptschedError:
        return 0
