"""Bounds by hand and at extremes; test_oracle has them below every schedule and every run."""

from dataclasses import replace

import numpy as np
import pytest
from online.small import jobs_of, one_stage
from oracles.random_online import min_total_flow_of

from optsched.generators.online import WorkloadShape, generate_workload
from optsched.online.audit_rules.queue import virtual_order
from optsched.online.bounds.flow import (
    capacity_duals,
    cell_edges,
    fast_machine_bound,
    flow_bounds,
    mean_busy_time_bound,
    srpt_completions,
)
from optsched.online.data.cluster import OnlineCluster
from optsched.online.data.jobs import prepare_jobs
from optsched.online.metrics import compute_metrics
from optsched.online.simulator.engine import simulate_online

ALLOWED = 1 + 1e-9


def test_two_jobs_by_hand() -> None:
    """Two 1-GPU jobs of 2 and 4 s on one GPU at time 0: optimum 2 + 6 = 8."""
    jobs = jobs_of((0, 1, 4), (0, 1, 2), per_server=1)
    length = jobs.min_length
    assert length.tolist() == [4, 2]
    assert fast_machine_bound(jobs, length) == 8
    assert mean_busy_time_bound(jobs, length) == pytest.approx(8)  # (1 + 1) + (4 + 2)
    assert min_total_flow_of(jobs) == 8
    assert 6 <= flow_bounds(jobs, known_flow=8.0).capacity_dual <= 8 * ALLOWED


@pytest.mark.parametrize("micro_batches", [None, 2])
def test_the_optimum_of_jobs_with_slices_by_hand(micro_batches: int | None) -> None:
    """4 s on one GPU and 1 s on both of a server, two servers of two GPUs: 4 + 1 = 5.

    Two GPUs of two servers hold no replica of two slices; in two micro-batches of half a second
    it is one stage's (2 - 1) 0.5 + 0.5 = 1 s again.
    """
    pair = one_stage(1, "pair", tensor_parallel=2)
    pair = pair.model_copy(update={"micro_batches": micro_batches})
    assert min_total_flow_of(jobs_of((0, 1, 4), (0, pair, 1), servers=2)) == 5


@pytest.mark.full
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
    jobs = jobs_of((0, 1, 3), (0, 2, 5), (0, 2, 1), (0, 1, 9))
    late = replace(jobs, submit=np.full(len(jobs), 2.0**40))
    lengths = np.full(len(jobs), length)
    edges = cell_edges(late, lengths, 40)
    assert edges[0] == 2.0**40
    assert (np.diff(edges) > 0).all()
    bound, _, _ = capacity_duals(late, lengths, None, 40, 10)
    fast = fast_machine_bound(late, lengths)
    assert bound <= max(fast, lengths.sum()) + len(jobs) * (2 * np.spacing(2.0**40) + length)


def test_no_job_no_flow() -> None:
    assert flow_bounds(jobs_of()).best == 0


@pytest.mark.parametrize(
    ("release", "work", "completion"),
    [
        # one after another
        ([0, 10], [3, 2], [3, 12]),
        # a shorter job preempts: 0-1 A, 1-3 B, 3-6 A
        ([0, 1], [4, 2], [6, 3]),
        # textbook: A runs 0-1, B 1-2, C 2-4, B 4-7 (3 left < A's 7), A 7-14
        ([0, 1, 2], [8, 4, 2], [14, 7, 4]),
        # not shorter than what is left: no preemption; ties to the earlier row
        ([0, 2], [4, 2], [4, 6]),
        ([0, 0, 0], [2, 2, 2], [2, 4, 6]),
        # no work: complete at its submission, whatever runs
        ([0, 1, 1], [5, 0, 1], [6, 1, 2]),
        # idle in between
        ([0, 5, 5], [1, 3, 1], [1, 9, 6]),
        ([], [], []),
    ],
)
def test_worked_examples(release: list, work: list, completion: list) -> None:
    made = srpt_completions(np.array(release, dtype=float), np.array(work, dtype=float))
    assert made.tolist() == completion


def test_the_audits_own_srpt_agrees() -> None:
    for seed in range(30):
        rng = np.random.default_rng(seed)
        release = np.sort(rng.integers(0, 40, 60)).astype(float)
        work = rng.choice([0.0, 1.0, 2.0, 3.5, 7.0], 60)
        done, place = virtual_order(release, work)
        assert done.tolist() == srpt_completions(release, work).tolist()
        assert sorted(place.tolist()) == list(range(60))
