"""The audit: clean on every run, and one rule named for each thing corrupted; what it imports."""

import os
import subprocess
import sys
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from oracles.random_online import LARGE_VOLUMES, VOLUMES, random_case, random_job, sliced_job

from optsched.online.audit import audit
from optsched.online.audit_rules.placement import IterationTimes, heavy_edge
from optsched.online.data.cluster import OnlineCluster
from optsched.online.data.jobs import Jobs
from optsched.online.policies.by_name import POLICIES, PolicyOptions
from optsched.online.records import Records
from optsched.online.simulator.engine import simulate_online
from optsched.online.simulator.offers import RULES
from optsched.placement.cost import worst_iteration_time
from optsched.placement.heuristics.heavy_edge import (
    estimated_minimum,
    graph_arrays,
    heavy_edge_counts,
)


@cache
def case(seed: int, delays: bool) -> tuple[Jobs, np.ndarray]:
    """What every policy is run on, under every offer."""
    return random_case(seed, delays=delays)


@pytest.mark.parametrize("seeds", [[20], pytest.param([21, 22, 23], marks=pytest.mark.full)])
@pytest.mark.parametrize("name", POLICIES)
def test_clean_runs(name: str, seeds: list[int]) -> None:
    for seed, offer, delays in product(seeds, RULES, (False, True)):
        jobs, predicted = case(seed, delays)
        records = simulate_online(jobs, name, predicted, PolicyOptions(offer=offer))
        assert audit(jobs, records).violations == ()


@pytest.mark.parametrize("seed", [1028, 1031])
def test_jobs_that_communicate_exactly_so_much(seed: int) -> None:
    """alpha^max is alpha~ but for the last digits, which are others in other arithmetic."""
    jobs, predicted = random_case(seed)
    settings = PolicyOptions(comm_heavy=1.0, offer="adaptive")
    for name in ("a-srpt", "wcs-workload", "srpt-workload-hold", "spwf-consolidated"):
        assert audit(jobs, simulate_online(jobs, name, predicted, settings)).violations == ()


def corrupted(records: Records, column: str, row: int, change: float) -> Records:
    values = getattr(records, column).copy()
    values[row] += change
    return replace(records, **{column: values})


def rules(jobs: Jobs, records: Records) -> set[str]:
    return {violation.rule for violation in audit(jobs, records).violations}


def test_queue_rules() -> None:
    """A run of one policy does not pass for another's."""
    jobs, predicted = random_case(7)
    order = {"spjf", "spwf", "a-srpt"}
    runs = {name: simulate_online(jobs, name, predicted) for name in ("spjf", "spwf")}
    for name in ("spjf", "spwf", "wcs-duration", "a-srpt"):
        other = runs["spwf" if name == "spjf" else "spjf"]
        found = rules(jobs, replace(other, policy=name))
        assert found == {"queue order" if name in order else "work conservation"}, name
    for name in ("srpt-workload-hold", "a-srpt-backfill"):
        assert "queue order" in rules(jobs, replace(runs["spjf"], policy=name)), name
    for name, rule in (("spwf-consolidated", "consolidation"), ("easy", "work conservation")):
        assert rule in rules(jobs, replace(runs["spwf"], policy=name)), name


def test_offer_rules() -> None:
    """A run under one offer rule does not pass for another's."""
    jobs, predicted = random_case(6, (150, 150))
    for policy in ("wcs-subtime", "a-srpt"):
        for said, ran in (("least", "most"), ("most", "first-fit"), ("best-fit-last", "least")):
            records = simulate_online(jobs, policy, predicted, PolicyOptions(offer=ran))
            changed = replace(records, options=replace(records.options, offer=said))
            assert rules(jobs, changed) == {"offer"}, (policy, said, ran)


@pytest.mark.parametrize(
    "seeds", [[30, 31], pytest.param([*range(32, 36)], marks=pytest.mark.full)]
)
@pytest.mark.parametrize("hold", ["none", "window", "inf"])
def test_every_hold_is_clean(hold: str, seeds: list[int]) -> None:
    for seed, tau in product(seeds, (0.0, 1.0, 100.0)):
        jobs, predicted = random_case(seed, delays=True)
        settings = PolicyOptions(tau=tau, hold=hold)  # type: ignore[arg-type]
        assert audit(jobs, simulate_online(jobs, "a-srpt", predicted, settings)).violations == ()


@pytest.mark.parametrize("seeds", [10, pytest.param(20, marks=pytest.mark.full)])
def test_delay_window(seeds: int) -> None:
    """A heavy head that waits longer, or for another window, than a-srpt's rule lets it."""
    for said, ran in ((1.0, 100.0), (100.0, 1.0), (0.0, 5.0)):
        found = set()
        for seed in range(20, 20 + seeds):
            jobs, predicted = random_case(seed, delays=True)
            records = simulate_online(jobs, "a-srpt", predicted, PolicyOptions(tau=ran))
            changed = replace(records, options=replace(records.options, tau=said))
            found |= rules(jobs, changed)
        assert found == {"delay"}, (said, ran)


@pytest.mark.parametrize("policy", ["a-srpt", "a-srpt-backfill"])
def test_delay_windows_late_in_a_long_run(policy: str) -> None:
    """Before, no job is predicted to have a length, so that all windows end at once."""
    jobs, predicted = random_case(20, (8000, 8000), delays=True)
    predicted[:7000] = 0
    records = simulate_online(jobs, policy, predicted, PolicyOptions(tau=1.0))
    assert rules(jobs, records) == set()
    longer = replace(records, options=replace(records.options, tau=100.0))
    assert "delay" in rules(jobs, longer)


def test_a_head_that_is_late() -> None:
    """The last job of the queue, moved to a later start, breaks its own turn and nothing else."""
    for seed in range(20, 30):
        jobs, predicted = random_case(seed, delays=True)
        records = simulate_online(jobs, "a-srpt", predicted)
        last = int(np.argmax(records.start))
        assert np.count_nonzero(records.start == records.start[last]) >= 1
        late = corrupted(corrupted(records, "start", last, 5.0), "end", last, 5.0)
        assert rules(jobs, late) in ({"delay"}, {"queue order"}), seed


@pytest.mark.parametrize("cases", [120, pytest.param(600, marks=pytest.mark.full)])
def test_alpha_on_any_offer_is_that_of_heavy_edge(cases: int) -> None:
    """The audit's plain Heavy-Edge places as the compiled one, ring and double tree alike."""
    rng = np.random.default_rng(11)
    for case in range(cases):
        gpus, most = int(rng.integers(1, 33)), int(rng.choice([1, 2, 4, 8]))
        job = random_job(rng, gpus, "x", LARGE_VOLUMES if case % 2 else VOLUMES)
        if case % 3 == 0:
            job = sliced_job(rng, min(gpus, 12), "x")
            gpus = job.gpus
        cuts: list[int] = []
        while sum(cuts) < gpus:
            cuts.append(min(gpus - sum(cuts), int(rng.integers(1, most + 1))))
        held = tuple(sorted(cuts, reverse=True))
        assert heavy_edge(job, held) == heavy_edge_counts(graph_arrays(job), held).tolist()
        hardware = OnlineCluster.of(4, most).hardware
        times = IterationTimes([job], hardware)
        assert np.isinf(times.of(0, held)) == (sum(map(sum, heavy_edge(job, held))) < job.replicas)
        if case % 3 == 0 and np.isinf(times.estimate(0)):
            continue  # no cluster of such servers takes the job
        assert times.estimate(0) == pytest.approx(estimated_minimum(job, hardware), rel=1e-12)
        assert times.worst(0) == pytest.approx(worst_iteration_time(job, hardware), rel=1e-12)


def test_a_wrong_alpha_of_the_engine_is_found() -> None:
    """The compiled loop sees other tables than the audit: 1% in one of them is enough."""
    jobs, predicted = random_case(5)
    made = jobs.configurations
    for name in ("near", "all_reduce"):
        packed = made.packed._replace(**{name: getattr(made.packed, name) * 1.01})
        wrong = replace(jobs, configurations=replace(made, packed=packed))
        found = rules(jobs, simulate_online(wrong, "wcs-subtime", predicted))
        assert found == {"alpha", "duration"}
    wrong = replace(jobs, configurations=replace(made, estimate=made.estimate * 1.01))
    assert "alpha~" in rules(jobs, simulate_online(wrong, "wcs-subtime", predicted))


MUTATED = """
from oracles.random_online import random_case
from optsched.online.simulator import iteration_times
from optsched.online.audit import audit
from optsched.online.simulator.engine import simulate_online

time, grow = iteration_times._iteration_time, iteration_times.grow_servers

def reversed_first_stage(*arguments):
    counts = grow(*arguments)
    counts[0] = counts[0][::-1].copy()
    return counts

for mutated in ("none", "alpha", "placement"):
    iteration_times._iteration_time, iteration_times.grow_servers = time, grow
    if mutated == "alpha":
        iteration_times._iteration_time = lambda *arguments: 1.01 * time(*arguments)
    elif mutated == "placement":
        iteration_times.grow_servers = reversed_first_stage
    jobs, predicted = random_case(21, (40, 40), delays=True)
    report = audit(jobs, simulate_online(jobs, "wcs-subtime", predicted))
    print(mutated, *sorted({v.rule for v in report.violations}))
"""


def test_a_mutated_kernel_is_found() -> None:
    """The loop as plain Python, with another function in the place of one of its own."""
    tests = Path(__file__).parent.parent
    path = os.pathsep.join((str(tests.parent), str(tests)))
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path}
    command = [sys.executable, "-c", MUTATED]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert lines == ["none", "alpha alpha duration", "placement alpha duration"]
