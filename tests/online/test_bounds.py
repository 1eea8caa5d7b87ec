"""Bounds: below every policy on every run, below the exact optimum, and by hand where one can."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from oracles.random_online import least_flow_of, one_stage, random_case, tiny_case

from optsched.generators.online import WorkloadShape, generate_workload
from optsched.online.bounds.flow import (
    capacity_duals,
    cell_edges,
    fast_machine_bound,
    flow_bounds,
    mean_busy_time_bound,
)
from optsched.online.bounds.kernels import dual_value
from optsched.online.data.catalogue import Catalogue
from optsched.online.data.cluster import OnlineCluster
from optsched.online.data.jobs import prepare_jobs
from optsched.online.data.workload import Workload
from optsched.online.metrics import compute_metrics
from optsched.online.policies.by_name import POLICIES
from optsched.online.simulator.engine import simulate_online

ALLOWED = 1 + 1e-9


@pytest.mark.parametrize("seed", range(12))
def test_bounds_hold_on_every_policy(seed: int) -> None:
    jobs, predicted = random_case(seed)
    best = min(simulate_online(jobs, name, predicted).flow.sum() for name in POLICIES)
    bounds = flow_bounds(jobs, known_flow=best)
    assert 0 < bounds.best <= best * ALLOWED
    assert bounds.capacity_dual >= bounds.durations * (1 - 1e-9)


@pytest.mark.parametrize("seed", range(25))
def test_bounds_below_the_optimum_below_every_policy(seed: int) -> None:
    jobs = tiny_case(seed)
    optimum = least_flow_of(jobs)
    assert flow_bounds(jobs, known_flow=optimum).best <= optimum * ALLOWED
    for name in POLICIES:
        assert simulate_online(jobs, name).flow.sum() >= optimum / ALLOWED


@pytest.mark.full
@pytest.mark.parametrize("seed", range(25, 150))
def test_bounds_below_the_optimum_in_full(seed: int) -> None:
    test_bounds_below_the_optimum_below_every_policy(seed)


def test_two_jobs_by_hand() -> None:
    """Two 1-GPU jobs of 2 and 4 s on one GPU at time 0: optimum 2 + 6 = 8."""
    workload = Workload.of(submit_time=[0, 0], gpus=[1, 1], iterations=[4, 2], model=["m1", "m1"])
    jobs = prepare_jobs(workload, Catalogue.of(one_stage(1)), OnlineCluster.of(1, 1))
    length = jobs.min_length
    assert length.tolist() == [4, 2]
    assert fast_machine_bound(jobs, length) == 8
    assert mean_busy_time_bound(jobs, length) == pytest.approx(8)  # (1 + 1) + (4 + 2)
    assert least_flow_of(jobs) == 8
    assert 6 <= flow_bounds(jobs, known_flow=8.0).capacity_dual <= 8 * ALLOWED


def test_the_optimum_of_jobs_with_slices_by_hand() -> None:
    """4 s on one GPU and 1 s on both of a server, two servers of two GPUs: 4 + 1 = 5.

    Two GPUs of two servers hold no replica of two slices; in two micro-batches of half a second
    it is one stage's (2 - 1) 0.5 + 0.5 = 1 s again.
    """
    (one,) = one_stage(1).values()
    sliced = one.stages[0].model_copy(update={"tensor_parallel": 2})
    for parts in (None, 2):
        pair = one.model_copy(update={"stages": (sliced,), "micro_batches": parts})
        workload = Workload.of(
            submit_time=[0, 0], gpus=[1, 2], iterations=[4, 1], model=["m1", "pair"]
        )
        catalogue = Catalogue.of({"m1": one, "pair": pair})
        jobs = prepare_jobs(workload, catalogue, OnlineCluster.of(2, 2))
        assert least_flow_of(jobs) == 5


def test_any_price_is_valid_and_none_gives_the_durations() -> None:
    rng = np.random.default_rng(3)
    jobs = tiny_case(3)
    length = jobs.min_length
    optimum = least_flow_of(jobs)
    edges = np.linspace(0, float(length.sum()) + 7, 9)
    used = np.empty(8)
    for trial in range(300):
        price = rng.exponential(rng.choice([0.01, 0.1, 1.0]), 8) * (trial > 0)
        value = dual_value(edges, price, jobs.submit, length, jobs.gpus, used)
        value -= jobs.cluster.gpus * (price * np.diff(edges)).sum()
        assert value <= optimum * ALLOWED
        if trial == 0:
            assert value == pytest.approx(length.sum())
        assert (
            used.sum() == pytest.approx((jobs.gpus * length).sum(), rel=1e-9)
            or used.sum() <= (jobs.gpus * length).sum()
        )


def test_dual_beats_durations_under_load() -> None:
    cluster = OnlineCluster.of(4)
    workload, catalogue = generate_workload(400, cluster, WorkloadShape(load=1.2), seed=2)
    jobs = prepare_jobs(workload, catalogue, cluster)
    flow = compute_metrics(simulate_online(jobs, "srpt-workload-hold")).total_flow_time
    bounds = flow_bounds(jobs, known_flow=flow)
    assert bounds.durations * 1.02 < bounds.capacity_dual <= flow


@pytest.mark.parametrize("length", [0.0, 1e-30, 1e-3])
def test_cells_of_jobs_that_take_next_to_no_time(length: float) -> None:
    """All submitted late in one moment: the cells span what is left of it, and the bound holds."""
    jobs = tiny_case(3)
    late = replace(jobs, submit=np.full(len(jobs), 2.0**40))
    lengths = np.full(len(jobs), length)
    edges = cell_edges(late, lengths, 40)
    assert edges[0] == 2.0**40
    assert (np.diff(edges) > 0).all()
    bound, _, _ = capacity_duals(late, lengths, None, 40, 10)
    fast = fast_machine_bound(late, lengths)
    assert bound <= max(fast, lengths.sum()) + len(jobs) * (2 * np.spacing(2.0**40) + length)


def test_no_job_no_flow() -> None:
    workload = Workload.of(submit_time=[], gpus=[], iterations=[], model=[])
    jobs = prepare_jobs(workload, Catalogue.of({}), OnlineCluster.of(1))
    assert flow_bounds(jobs).best == 0
