"""The audit is clean on every policy's runs; broken rules are in test_audit_values."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

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


def test_the_audit_shares_no_code_with_the_simulator() -> None:
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    imported = {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    ours = {name for name in imported if name and name.startswith("optsched")}
    assert ours == {"optsched.checking", "optsched.rolling.instance", "optsched.rolling.records"}
