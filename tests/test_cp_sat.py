"""CP-SAT's models equal brute force; its process ends with a limit, an interrupt or by itself."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from oracles import makespan, placement

import optsched
from optsched.backends import cp_sat as backend
from optsched.deadline import Deadline
from optsched.errors import MissingExtraError
from optsched.generators.makespan import generate_makespan
from optsched.makespan.contention import evaluate
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.models import cp_sat as of_makespan
from optsched.makespan.models.data import model_data
from optsched.placement.cost import placement_time, tables_of
from optsched.placement.instance import PlacementInstance
from optsched.placement.models import cp_sat as of_placement
from optsched.placement.options import PlacementOptions
from optsched.result import Settings, Termination

pytest.importorskip("ortools")
ROOT = Path(__file__).parent.parent
SEVERAL = """
import json, sys
from ortools.sat.python import cp_model
from optsched.problem import resolve
for line in sys.stdin:
    name, data = json.loads(line)
    model, decisions = resolve(name)(cp_model, data)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    status = solver.status_name(solver.solve(model))
    values = [] if status == "INFEASIBLE" else [solver.value(x) for x in decisions]
    print(json.dumps([status, solver.best_objective_bound, values]))
"""
"""Many models in one process: its start takes longer than a tiny model."""


def solved(asked: list[tuple[str, dict[str, Any]]]) -> list[tuple[str, float, list[int]]]:
    """Status, bound and decisions of each model by name and data."""
    done = subprocess.run(
        [sys.executable, "-c", SEVERAL],
        input="".join(json.dumps(one) + "\n" for one in asked),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()]


def makespans(seeds: range) -> None:
    """From no bound at all, two slots above the optimum, and one below it."""
    documents = [makespan.tiny_instance(seed) for seed in seeds]
    best = [makespan.brute_force(document)[0] for document in documents]
    instances = [MakespanInstance.from_dict(document) for document in documents]
    name = f"{of_makespan.__name__}:state"
    asked = []
    for instance, slots in zip(instances, best, strict=True):
        assert slots is not None
        asked.append((name, of_makespan.data_of(model_data(instance, slots + 2, 1))))
        asked.append((name, of_makespan.data_of(model_data(instance, slots - 1, 0))))
    answers = solved(asked)
    for i, (instance, slots) in enumerate(zip(instances, best, strict=True)):
        status, bound, values = answers[2 * i]
        assert (status, bound) == ("OPTIMAL", slots)
        found = evaluate(instance, of_makespan.schedule_of_values(instance, values))
        assert found.fits
        assert found.makespan == slots
        assert answers[2 * i + 1][0] == "INFEASIBLE"


def placements(seeds: range) -> None:
    """Plain, the bottleneck reading, and micro-batches, from half of the unit."""
    cases = []
    for seed in seeds:
        plain = placement.random_instance(random.Random(seed))
        parallel = placement.random_parallel_instance(random.Random(seed))
        cases += [(plain, "own"), (plain, "bottleneck"), (parallel, "own")]
    asked, expected = [], []
    for document, reading in cases:
        try:
            best, _ = placement.brute_force(document, reading)
        except ValueError:  # the servers do not hold the replicas
            continue
        instance, options = PlacementInstance.from_dict(document), PlacementOptions(reading)
        tables = tables_of(instance, options)
        data = of_placement.data_of(instance, options, tables, 2 * best or 1.0, 0.0)
        asked.append((f"{of_placement.__name__}:state", data))
        expected.append((document, tables, options, best))
    for answer, (document, tables, options, best) in zip(solved(asked), expected, strict=True):
        status, bound, values = answer
        assert status == "OPTIMAL"
        proven = bound / (of_placement.PARTS * tables.parts) * (2 * best or 1.0)
        assert best * (1 - 1e-7) <= proven <= best * (1 + 1e-14)  # down, and not by much
        shape = len(document["job"]["stages"]), len(document["free_gpus"])
        counts = of_placement.counts_of(values, shape)
        assert placement.is_placement(document, counts.tolist())
        assert placement_time(tables, counts, options) == pytest.approx(best, rel=1e-7)


def test_makespans_equal_brute_force() -> None:
    makespans(range(8))


def test_placements_equal_brute_force() -> None:
    placements(range(12))


@pytest.mark.full
def test_both_equal_brute_force_in_full() -> None:
    makespans(range(60))
    placements(range(1000, 1200))


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes started, all of which have ended when the test does."""
    started: list[subprocess.Popen[bytes]] = []
    start = subprocess.Popen

    def noted(*arguments: Any, **named: Any) -> Any:
        started.append(start(*arguments, **named))
        return started[-1]

    monkeypatch.setattr(backend.subprocess, "Popen", noted)
    yield started
    assert len(started) == 1
    assert started[0].returncode is not None


def hard(seed: int = 0) -> MakespanInstance:
    """20 slots at first, 19 at best; no rival proves it in seconds."""
    return generate_makespan(
        24, 8, contention="strong", server_sizes=(2, 4, 8), largest_job=8, slot=30.0, seed=seed
    )


def test_a_limit_leaves_the_incumbent(
    processes: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two seconds for the process alone: what comes before takes as long as it takes."""

    def limited(model: str, data: Any, settings: Settings, heard: Any) -> backend.CpAnswer:
        return backend.solve_cp(model, data, settings.within(Deadline(2.0)), heard)

    monkeypatch.setattr(of_makespan, "solve_cp", limited)
    result = optsched.solve(hard(), "cp-sat")
    assert result.termination is Termination.TIME_LIMIT
    assert (result.objective, result.bound) == (20, 19)
    assert result.details["stopped_at"] == "cp-sat"
    assert result.check is not None
    assert result.check.feasible
    assert result.solver_version == backend.cp_sat_version()


def test_what_is_too_large_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_makespan.sizes, "MOST_NONZEROS", 10)
    result = optsched.solve("makespan/contended-3x3", "cp-sat")
    assert result.termination is Termination.FEASIBLE  # no limit ended it
    assert "nonzeros" in str(result.details["stopped_at"])
    assert result.solver is None


def test_an_interrupt_leaves_the_incumbent(
    processes: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    wait = backend.select.select

    def interrupted(*arguments: Any) -> Any:
        monkeypatch.setattr(backend.select, "select", wait)
        os.kill(os.getpid(), signal.SIGINT)
        return wait(*arguments)

    monkeypatch.setattr(backend.select, "select", interrupted)
    result = optsched.solve(hard(), "cp-sat")
    assert result.termination is Termination.INTERRUPTED
    assert (result.objective, result.bound) == (20, 19)
    assert result.check is not None
    assert result.check.feasible
    assert processes[0].returncode == -signal.SIGKILL


def test_a_death_is_a_message_and_costs_nothing(
    processes: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of_placement, "__name__", "nowhere")
    result = optsched.solve("placement/vgg19-16", "cp-sat")
    assert result.termination is Termination.FEASIBLE
    assert result.check is not None
    assert result.check.feasible
    assert "ended with 1: ModuleNotFoundError: No module named 'nowhere'" in str(
        result.details["message"]
    )


def test_what_rounding_leaves_open_is_not_called_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a thousand parts instead of 2^32 the bound ends a few of them below the optimum."""
    monkeypatch.setattr(of_placement, "PARTS", 1000)
    result = optsched.solve("placement/bert-large-16", "cp-sat")
    best = optsched.solve("placement/bert-large-16").objective
    assert result.bound <= best <= result.objective
    assert result.bound < result.objective * (1 - 1e-6)
    assert result.termination is Termination.FEASIBLE


def test_without_the_extra_it_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ortools", None)
    for name in ("placement/fig2", "makespan/fig2"):
        with pytest.raises(MissingExtraError, match=r"ortools.*optsched\[cp\]"):
            optsched.solve(name, "cp-sat")


def test_a_deadline_that_has_passed_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend.subprocess, "Popen", lambda *_, **__: pytest.fail("started"))
    answer = backend.solve_cp("nowhere:state", {}, Settings(time_limit=0.0))
    assert (answer.ended, answer.values, answer.bound) == (False, None, None)
