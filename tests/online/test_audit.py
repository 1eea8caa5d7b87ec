"""The audit: clean on every run, and one rule named for each thing corrupted; what it imports."""

from __future__ import annotations

import ast
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from oracles.random_online import random_case

import optsched.online.audit as audit_module
from optsched.online.audit import audit
from optsched.online.engine import simulate
from optsched.online.jobs import Jobs
from optsched.online.offers import RULES
from optsched.online.policies import POLICIES, Settings
from optsched.online.records import Records


@pytest.mark.parametrize("name", POLICIES)
def test_clean_runs(name: str) -> None:
    for seed, offer in product(range(20, 24), RULES):
        jobs, predicted = random_case(seed)
        records = simulate(jobs, name, predicted, Settings(offer=offer))
        assert audit(jobs, records) == ()


def corrupted(records: Records, column: str, row: int, change: float) -> Records:
    values = getattr(records, column).copy()
    values[row] += change
    return replace(records, **{column: values})


@pytest.fixture(scope="module")
def run() -> tuple[Jobs, Records]:
    jobs, predicted = random_case(5)
    return jobs, simulate(jobs, "wcs-subtime", predicted)


def rules(jobs: Jobs, records: Records) -> set[str]:
    return {violation.rule for violation in audit(jobs, records)}


def test_early_start(run: tuple[Jobs, Records]) -> None:
    jobs, records = run
    row = int(np.argmin(records.start - records.submit))
    shift = -1.0 - (records.start - records.submit)[row]
    moved = corrupted(corrupted(records, "start", row, shift), "end", row, shift)
    assert "start" in rules(jobs, moved)


def test_wrong_duration(run: tuple[Jobs, Records]) -> None:
    jobs, records = run
    shorter = -(records.end - records.start)[3] * 1e-6
    assert rules(jobs, corrupted(records, "end", 3, shorter)) == {"duration"}


def test_wrong_alpha(run: tuple[Jobs, Records]) -> None:
    jobs, records = run
    assert rules(jobs, corrupted(records, "alpha", 0, 1e-3)) == {"alpha"}


@pytest.mark.parametrize("column", ["submit", "gpus", "iterations"])
def test_not_as_submitted(run: tuple[Jobs, Records], column: str) -> None:
    jobs, records = run
    assert rules(jobs, corrupted(records, column, 2, 1)) >= {f"record: {column}"}


def test_gang(run: tuple[Jobs, Records]) -> None:
    jobs, records = run
    assert "gang" in rules(jobs, corrupted(records, "taken", 0, 1))
    assert "gang" in rules(jobs, corrupted(records, "server", 0, 10**6))


def test_capacity(run: tuple[Jobs, Records]) -> None:
    """A job moved in time onto servers that others hold."""
    jobs, records = run
    whole = int(np.flatnonzero(records.gpus == jobs.cluster.gpus)[0])
    busy = records.start[0] + (records.end - records.start)[0] / 2
    shift = busy - records.start[whole]
    moved = corrupted(corrupted(records, "start", whole, shift), "end", whole, shift)
    assert "capacity" in rules(jobs, moved)


def test_missing_and_repeated_jobs(run: tuple[Jobs, Records]) -> None:
    jobs, records = run
    names = records.job_id.copy()
    names[1] = names[0]
    assert rules(jobs, replace(records, job_id=names)) == {"record"}
    names[1] = "nobody"
    assert rules(jobs, replace(records, job_id=names)) == {"record"}


def test_queue_rules() -> None:
    """A run of one policy does not pass for another's."""
    jobs, predicted = random_case(7)
    order = {"spjf", "spwf", "a-srpt"}
    for name in ("spjf", "spwf", "wcs-duration", "a-srpt"):
        other = simulate(jobs, "spwf" if name == "spjf" else "spjf", predicted)
        found = rules(jobs, replace(other, policy=name))
        assert found == {"queue order" if name in order else "work conservation"}, name


def test_offer_rules() -> None:
    """A run under one offer rule does not pass for another's."""
    jobs, predicted = random_case(6, (150, 150))
    for policy in ("wcs-subtime", "a-srpt"):
        for told, done in (("least", "most"), ("most", "first-fit"), ("best-fit-last", "least")):
            records = simulate(jobs, policy, predicted, Settings(offer=done))
            told_records = replace(records, settings=replace(records.settings, offer=told))
            assert rules(jobs, told_records) == {"offer"}, (policy, told, done)


def test_it_shares_nothing_with_the_engine() -> None:
    folder = Path(audit_module.__file__).parent
    allowed = {
        "checking",
        "online.audit_queue",
        "online.audit_offers",
        "online.jobs",
        "online.records",
    }
    for name in ("audit.py", "audit_queue.py", "audit_offers.py"):
        for node in ast.walk(ast.parse((folder / name).read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("optsched"):
                module = (node.module or "").removeprefix("optsched.")
                assert module in allowed or module.startswith("placement."), module
