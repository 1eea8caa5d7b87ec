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
        jobs, predicted = random_case(seed, delays=True)
        assert audit(jobs, simulate(jobs, name, predicted, Settings(offer=offer))) == ()


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


@pytest.mark.parametrize("hold", ["none", "window", "inf"])
def test_every_hold_is_clean(hold: str) -> None:
    for seed, tau in product(range(30, 36), (0.0, 1.0, 100.0)):
        jobs, predicted = random_case(seed, delays=True)
        settings = Settings(tau=tau, hold=hold)  # type: ignore[arg-type]
        assert audit(jobs, simulate(jobs, "a-srpt", predicted, settings)) == ()


def test_delay_window() -> None:
    """A heavy head that waits longer, or for another window, than a-srpt's rule lets it."""
    for told, done in ((1.0, 100.0), (100.0, 1.0), (0.0, 5.0)):
        found = set()
        for seed in range(20, 40):
            jobs, predicted = random_case(seed, delays=True)
            records = simulate(jobs, "a-srpt", predicted, Settings(tau=done))
            said = replace(records, settings=replace(records.settings, tau=told))
            found |= rules(jobs, said)
        assert found == {"delay"}, (told, done)


def test_a_head_that_is_late() -> None:
    """The last job of the queue, moved to a later start, breaks nothing but the delay's rule."""
    for seed in range(20, 30):
        jobs, predicted = random_case(seed, delays=True)
        records = simulate(jobs, "a-srpt", predicted)
        last = int(np.argmax(records.start))
        assert np.count_nonzero(records.start == records.start[last]) >= 1
        late = corrupted(corrupted(records, "start", last, 5.0), "end", last, 5.0)
        assert "delay" in rules(jobs, late)


def test_beyond_the_paper() -> None:
    """Runs of a-srpt, which keeps the queue's order, do not pass for the others' or the reverse."""
    jobs, predicted = random_case(7)
    other = simulate(jobs, "spjf", predicted)
    for name in ("srpt-workload-hold", "a-srpt-backfill"):
        assert "queue order" in rules(jobs, replace(other, policy=name)), name
    backfilled = simulate(jobs, "a-srpt-backfill", predicted)
    assert audit(jobs, backfilled) == ()


def test_it_shares_nothing_with_the_engine() -> None:
    folder = Path(audit_module.__file__).parent
    allowed = {
        "checking",
        "online.audit_queue",
        "online.audit_delay",
        "online.audit_time",
        "online.audit_offers",
        "online.jobs",
        "online.records",
    }
    for name in folder.glob("audit*.py"):
        for node in ast.walk(ast.parse(name.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("optsched"):
                module = (node.module or "").removeprefix("optsched.")
                assert module in allowed or module.startswith("placement."), module
