"""The audit: clean on every policy's runs, and each broken rule is found by its name."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rolling.small import job, three_jobs

import optsched.rolling.audit as module
from optsched.generators.rolling import generate_rolling, rolling_settings
from optsched.result import Settings
from optsched.rolling.audit import audit
from optsched.rolling.metrics import compute_metrics
from optsched.rolling.options import RollingOptions
from optsched.rolling.policies.by_name import MODELS, POLICIES, make_policy
from optsched.rolling.records import Records
from optsched.rolling.simulator.engine import simulate_rolling
from optsched.rolling.simulator.world import World

LOADS = (0.2, 0.6, 1.1)
SLOW = (*MODELS, "exact", "price-patterns")
FAST = [name for name in POLICIES if name not in SLOW]


def run_on(instance: Any, name: str, *, seed: int = 0, sharing: str = "on") -> Records:
    world = World(instance, RollingOptions.from_dict({"sharing": sharing}))
    settings = Settings(seed=seed, iterations=3, time_limit=0.3)
    return simulate_rolling(world, make_policy(name, world, settings), seed=seed)


def assert_clean(seed: int, name: str, load: float) -> None:
    settings = rolling_settings(
        3,
        arrivals="load",
        load=load,
        sharing=bool(seed % 2),
        reconfiguration_delay=60.0 * (seed % 3),
        jobs=24,
        interval=1800.0,
    )
    instance = generate_rolling(settings, seed=seed)
    run = run_on(instance, name, seed=seed, sharing="on" if seed % 2 else "off")
    metrics = compute_metrics(instance, run)
    claimed = {"energy_cost": metrics.energy_cost, "tardiness_cost": metrics.tardiness_cost}
    report = audit(instance, run, claimed)
    assert report.violations == ()
    assert report.objective == pytest.approx(metrics.total_cost, rel=1e-9)


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("name", [*FAST, "patterns", "price-patterns"])
def test_runs_are_clean(name: str, load: float) -> None:
    for seed in range(1 if name in SLOW else 4):
        assert_clean(seed, name, load)


@pytest.mark.full
@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("seed", range(40))
def test_120_seeded_runs_of_each_fast_policy_are_clean(seed: int, load: float) -> None:
    for name in FAST:
        assert_clean(seed, name, load)


def rules(run: Records, instance: Any = None, claimed: Any = None) -> set[str]:
    return {v.rule for v in audit(instance or three_jobs(), run, claimed).violations}


@pytest.fixture(scope="module")
def run() -> Records:
    return run_on(three_jobs(), "sts")


def changed(run: Records, index: int, **fields: Any) -> Records:
    segments = list(run.segments)
    segments[index] = replace(segments[index], **fields)
    return replace(run, segments=tuple(segments))


def test_a_clean_run_has_no_violation(run: Records) -> None:
    assert rules(run) == set()


def test_a_gpu_in_use_twice(run: Records) -> None:
    other = run.segments[1].gpus
    assert rules(changed(run, 0, gpus=other)) == {"GPU share", "node intervals"}


def test_a_gpu_that_is_not_there(run: Records) -> None:
    assert rules(changed(run, 0, gpus=(7,))) == {"place"}
    assert rules(changed(run, 0, node=3)) == {"place"}
    assert rules(changed(run, 0, gpus=())) == {"place"}


def test_a_fraction_that_is_not_offered(run: Records) -> None:
    assert "fraction" in rules(changed(run, 0, fraction=0.5))


def test_memory(run: Records) -> None:
    jobs = [job("a", 0.0, 100.0, 10), job("b", 4.0, 19.5, 10), job("c", 15.0, 18.0, 4)]
    document = three_jobs().to_dict()
    document["jobs"] = [*jobs[:2], jobs[2] | {"memory_bytes": 8.5}]
    document["gpu_types"]["B"] = {"memory_bytes": 9.0, "slowdown": {}}
    document["nodes"].append({"name": "m", "gpu_type": "B", "gpus": 2, "cost_rate": [1.0, 2.0]})
    for each in document["jobs"]:
        each["epoch_time"] = each["epoch_time"] | {"B": [2.0, 1.25]}
    other = type(three_jobs()).from_dict(document)
    assert rules(run, other) == {"memory"}


def test_a_type_that_the_job_cannot_use(run: Records) -> None:
    document = three_jobs().to_dict()
    document["gpu_types"]["B"] = {"memory_bytes": 9.0, "slowdown": {}}
    document["nodes"].append({"name": "m", "gpu_type": "B", "gpus": 2, "cost_rate": [1.0, 2.0]})
    other = type(three_jobs()).from_dict(document)
    assert "gpu type" in rules(changed(run, 0, node=1), other)


def test_two_places_at_once(run: Records) -> None:
    twice = replace(run.segments[0], start=10.0, end=14.0, gpus=(1,), epochs=2.0)
    assert "one node" in rules(replace(run, segments=(*run.segments, twice)))


def test_epochs(run: Records) -> None:
    assert rules(changed(run, 0, epochs=7.0)) == {"epochs"}
    missing = replace(run, segments=run.segments[1:])
    assert {"epochs add up", "node intervals"} <= rules(missing)
    more = replace(run, jobs=(replace(run.jobs[0], epochs=11.0), *run.jobs[1:]))
    assert rules(more) == {"epochs add up", "true epochs"}


def test_setup_time(run: Records) -> None:
    assert "reconfiguration" in rules(run, three_jobs(reconfiguration_delay=1.0))
    assert "reconfiguration" in rules(changed(run, 0, setup=1.0))


def test_arrivals_and_completions(run: Records) -> None:
    document = three_jobs().to_dict()
    document["jobs"][0]["submit_time"] = 1.0
    assert rules(run, type(three_jobs()).from_dict(document)) == {"arrival"}
    late = replace(run, jobs=(replace(run.jobs[0], completion=40.0), *run.jobs[1:]))
    assert rules(late) == {"completion"}
    assert rules(replace(run, jobs=run.jobs[1:])) == {"job"}


def test_node_intervals(run: Records) -> None:
    assert rules(replace(run, nodes=run.nodes[1:])) == {"node intervals"}


def test_claims(run: Records) -> None:
    assert rules(run, claimed={"energy_cost": 53.0, "tardiness_cost": 70.0}) == set()
    assert rules(run, claimed={"energy_cost": 52.9}) == {"claimed objective"}


def test_the_audit_shares_no_code_with_the_simulator() -> None:
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    imported = {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    ours = {name for name in imported if name and name.startswith("optsched")}
    assert ours == {"optsched.checking", "optsched.rolling.instance", "optsched.rolling.records"}
