"""The audit is clean on every policy's runs; broken rules are in test_audit_values."""

import re
from pathlib import Path

import pytest
from rolling.small import run_on

import optsched.rolling.audit as module
from optsched.generators.rolling import generate_rolling, rolling_settings
from optsched.rolling.audit import audit
from optsched.rolling.metrics import compute_metrics
from optsched.rolling.policies.by_name import MODELS, POLICIES

LOADS = (0.6, *(pytest.param(load, marks=pytest.mark.full) for load in (0.2, 1.1)))
SLOW = (*MODELS, "exact", "price-patterns")
FAST = [name for name in POLICIES if name not in SLOW]


def assert_clean(seed: int, name: str, load: float) -> None:
    usual = {"arrivals": "load", "jobs": 24, "interval": 1800.0}
    drawn = {"sharing": bool(seed % 2), "reconfiguration_delay": 60.0 * (seed % 3)}
    instance = generate_rolling(rolling_settings(3, load=load, **usual, **drawn), seed=seed)
    sharing = "on" if seed % 2 else "off"
    run = run_on(instance, name, seed, limits={"time_limit": 0.3}, sharing=sharing)
    metrics = compute_metrics(instance, run)
    claimed = {"energy_cost": metrics.energy_cost, "tardiness_cost": metrics.tardiness_cost}
    report = audit(instance, run, claimed)
    assert report.violations == ()
    assert report.objective == pytest.approx(metrics.total_cost, rel=1e-9)


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("name", [*FAST, "patterns", "price-patterns"])
def test_runs_are_clean(name: str, load: float) -> None:
    for seed in range(1 if name in SLOW else 2):
        assert_clean(seed, name, load)


@pytest.mark.full
@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("seed", range(40))
def test_120_seeded_runs_of_each_fast_policy_are_clean(seed: int, load: float) -> None:
    for name in FAST:
        assert_clean(seed, name, load)


def test_the_audit_shares_no_code_with_the_simulator() -> None:
    source = Path(str(module.__file__)).read_text(encoding="utf-8")
    ours = set(re.findall(r"(?m)^from (optsched\S*)", source))
    assert ours == {"optsched.checking", "optsched.rolling.instance", "optsched.rolling.records"}
