"""The engine against the naive simulator: the same records, to the last bit, above every bound."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from itertools import product

import numpy as np
import pytest
from oracles.online import Rule, Simulator, Task
from oracles.random_online import random_case

from optsched.online.bounds.flow import FlowBounds, flow_bounds
from optsched.online.data.jobs import Jobs
from optsched.online.policies.by_name import POLICIES, PolicyOptions
from optsched.online.records import Records
from optsched.online.simulator.engine import simulate_online
from optsched.online.simulator.offers import RULES

OFFERS = tuple(RULES)
UNSTOPPED = [name for name, policy in POLICIES.items() if policy.preempts == "never"]
KINDS = {"a-srpt-perfect": "a-srpt", "srpt-workload-hold": "workload-hold"}
QUICK, FULL = range(10), range(10, 80)
SLICED = (*range(4), 34)
"""Seed 34 has a cluster of one GPU, which a job of two never fits."""


def naive(jobs: Jobs, predicted: np.ndarray, rule: Rule) -> list[Task]:
    made = jobs.configurations
    tasks = [
        Task(
            str(jobs.workload.job_id[row]),
            float(jobs.workload.submit_time[row]),
            made.jobs[jobs.configuration[row]],
            float(jobs.iterations[row]),
            float(predicted[row]),
        )
        for row in range(len(jobs))
    ]
    cluster = jobs.cluster
    return Simulator(tasks, cluster.servers, cluster.hardware, rule).run()


def assert_same(records: Records, tasks: list[Task]) -> None:
    assert len(records) == len(tasks)
    for record, task in zip(records, tasks, strict=True):
        assert record.job_id == task.name
        assert record.servers == tuple(sorted(task.pieces.items())), record.job_id
        assert (record.submit, record.start, record.end, record.alpha) == (
            task.submit,
            task.start,
            task.end,
            task.alpha,
        ), record.job_id


def settings_of(name: str, seed: int) -> PolicyOptions:
    rng = np.random.default_rng((seed, sum(map(ord, name))))
    holds = ["none", "window"] + ([] if "backfill" in name else ["inf"])
    if name == "srpt-workload-hold":
        holds = ["none", "window", "inf", "inf"]
    if name == "spwf-consolidated":
        holds = ["inf"]
    return PolicyOptions(
        tau=float(rng.choice([0.0, 0.5, 1.0, 5.0, 100.0])),
        comm_heavy=float(rng.choice([1.0, 1.2, 1.5])),
        hold=str(rng.choice(holds)),  # type: ignore[arg-type]
        slot=float(rng.choice([0.0, 0.0, 3.0, 0.7])),
    )


@cache
def case(seed: int, sliced: bool) -> tuple[Jobs, np.ndarray]:
    """What every policy is run on; every other seed has delays."""
    return random_case(seed, delays=seed % 2 == 1, sliced=sliced)


@cache
def bounds_of(seed: int, sliced: bool) -> FlowBounds:
    """Bounds on the flow of any policy; any known flow will do to aim the prices."""
    jobs, predicted = case(seed, sliced)
    return flow_bounds(jobs, known_flow=simulate_online(jobs, "spjf", predicted).flow.sum())


def check(name: str, offer: str, seed: int, sliced: bool = False) -> None:
    jobs, predicted = case(seed, sliced)
    chosen = settings_of(name, seed)
    settings = PolicyOptions(chosen.tau, chosen.comm_heavy, offer, chosen.hold, chosen.slot)
    records = simulate_online(jobs, name, predicted, settings)
    known = jobs.iterations if name == "a-srpt-perfect" else predicted
    rule = Rule(
        KINDS.get(name, name),
        offer,
        settings.tau,
        settings.comm_heavy,
        settings.hold or "none",
        settings.slot,
    )
    assert_same(records, naive(jobs, known, rule))
    bounds = bounds_of(seed, sliced)
    for bound in asdict(bounds).values():
        assert 0 < bound <= records.flow.sum() * (1 + 1e-9)


@pytest.mark.parametrize(("name", "offer"), list(product(UNSTOPPED, OFFERS)))
def test_identical_records(name: str, offer: str) -> None:
    for seed in QUICK:
        check(name, offer, seed)


@pytest.mark.parametrize(("name", "offer"), list(product(UNSTOPPED, OFFERS)))
def test_identical_records_where_slices_wait(name: str, offer: str) -> None:
    for seed in SLICED:
        check(name, offer, seed, sliced=True)


@pytest.mark.full
@pytest.mark.parametrize(("name", "offer"), list(product(UNSTOPPED, OFFERS)))
def test_identical_records_in_full(name: str, offer: str) -> None:
    for seed in FULL:
        check(name, offer, seed)
        check(name, offer, seed, sliced=True)


def test_slices_do_keep_jobs_waiting_whose_gpus_are_free() -> None:
    """FIFO's head waits at moments when as many GPUs as it takes are free."""
    waits = 0
    for seed in range(6):
        jobs, predicted = case(seed, sliced=True)
        records = simulate_online(jobs, "fifo", predicted)
        for head, before in zip(records.start[1:], records.start, strict=False):
            held = (records.start <= before) & (records.end > before)
            free = jobs.cluster.gpus - int(records.gpus[held].sum())
            row = int(np.flatnonzero(records.start == head)[0])
            waits += int(head > before >= records.submit[row] and records.gpus[row] <= free)
    assert waits >= 10


def test_the_cases_hold_what_they_should() -> None:
    """Ties, mispredictions, unseen jobs, delays, and jobs as large as the cluster."""
    windows = ties = unseen = whole = 0
    for seed in QUICK:
        jobs, predicted = case(seed, sliced=False)
        at_once, waited = (
            simulate_online(jobs, "a-srpt", predicted, PolicyOptions(tau=tau)).start
            for tau in (0.0, 100.0)
        )
        windows += int((at_once != waited).any())
        ties += len(jobs) - len(np.unique(jobs.submit))
        unseen += int((predicted == 0).sum())
        whole += int((jobs.gpus == jobs.cluster.gpus).sum())
    assert min(ties, unseen, whole) >= 10
    assert windows >= 3
