"""An artefact's runs: a sweep in its folder, taken up where it stopped, by the same code only."""

import os
import signal
import sqlite3
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from commands import printed
from processes import started

import optsched
from optsched.errors import InputError, OptschedError
from optsched.experiments.papers import artefacts as running
from optsched.experiments.papers.artefact import STORE, Scale, seeded
from optsched.experiments.papers.artefacts import ARTEFACTS, runs_of
from optsched.experiments.papers.verdict import read_verdict
from optsched.experiments.plans.plan import Family, Plan
from optsched.experiments.run.runner import SweepState, sweep
from optsched.generators.makespan import generate_makespan

NAME = "sjf-bco-fig7"
JOBS = "optsched.experiments.papers.a_srpt.workloads"
QUICK = Scale(quick=True)
RUNS = 2 * 2 * 3 * 5  # worlds x values of xi_1 x draws x (values of lambda, all jobs packed)


def plan_of(draws: int) -> Callable[[Scale], list]:
    size = {"servers": 2, "jobs": 4}
    families = [seeded("f", "makespan", size, seed, ["first-fit"]) for seed in range(draws)]
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
    for other, code, taken in (("sjf-bco-fig4", running._source_digest(), 5), (NAME, "other", 0)):
        monkeypatch.setattr(running, "_source_digest", lambda code=code: code)
        first.clear()
        shared = replace(ARTEFACTS[other], plan=plan_of(5))
        runs_of(shared, tmp_path, QUICK, lambda done, total: first.append(done))
        assert first[0] == taken  # artefacts share their common runs; other code has none


def test_no_table_is_made_of_runs_that_failed(tmp_path: Path) -> None:
    families = [seeded("f", "makespan", {"servers": 0}, 0, ["first-fit"])]
    artefact = replace(ARTEFACTS[NAME], plan=lambda scale: families)
    with pytest.raises(OptschedError, match=r"first-fit on f, seed 0: .*servers"):
        runs_of(artefact, tmp_path, QUICK)


def own_family(seed: int = 0) -> Family:
    size, generator = {"jobs": 5, "servers": 1}, f"{JOBS}:generate_case"
    return seeded("f", "online", size, seed, ["spjf"], generator=generator)


def test_a_function_makes_instances_only_where_its_module_is_allowed(tmp_path: Path) -> None:
    plan, store = Plan("p", (own_family(),), "", "test"), tmp_path / "s.sqlite"
    with pytest.raises(InputError, match=f"--allow {JOBS}"):
        sweep(plan, store, workers=0)
    assert not store.exists()
    assert sweep(plan, store, workers=0, allow=[JOBS]).failed == 0
    assert optsched.read_store(store)["feasible"].all()


def test_a_store_that_was_tampered_with_imports_nothing(tmp_path: Path) -> None:
    families = (own_family(), own_family(1))
    plan, store = Plan("p", families, "", "test"), tmp_path / "s.sqlite"

    def stop(state: SweepState) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(plan, store, workers=0, allow=[JOBS], progress=stop)
    how = '{"arguments":{},"generator":"this:that","seed":0}'
    recipe = f'{{"recipe":{how}}}'
    for document in (recipe, f'{{"recipe":{{}},"recipe":{how}}}'):
        rewrite(store, document)
        with pytest.raises(InputError, match="--allow this"):
            sweep(plan, store, workers=0, allow=[JOBS])
    for document in (f" {recipe}", f'{{"a":1,"recipe":{how}}}', recipe.replace("r", "\\u0072", 1)):
        rewrite(store, document)
        assert sweep(plan, store, workers=0, allow=[JOBS], retry_errors=True).failed == 2
    assert "this" not in sys.modules


def rewrite(store: Path, document: str) -> None:
    with sqlite3.connect(store) as base:
        base.execute("UPDATE instances SET document = ?", (document,))


@pytest.mark.full
@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
def test_a_stopped_command_says_what_is_kept_and_goes_on(tmp_path: Path) -> None:
    process = started("-m", "optsched", "reproduce", NAME, "--quick", "-o", tmp_path)
    try:
        end = time.monotonic() + 120
        while finished(tmp_path) < 3:
            assert time.monotonic() < end
            time.sleep(0.1)  # reading a store takes the command as much time as us
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
    finally:
        process.kill()
    assert process.returncode == 130
    assert "repeat the command to resume" in said
    done = finished(tmp_path)
    assert 3 <= done < RUNS
    printed("reproduce --quick -o", tmp_path, NAME)
    assert finished(tmp_path) == RUNS
    verdict = read_verdict(tmp_path, NAME)
    assert verdict.smoke
    assert all(part.settings for part in verdict.parts)


def finished(folder: Path) -> int:
    try:
        return len(optsched.read_store(folder / STORE))
    except OptschedError:
        return 0
