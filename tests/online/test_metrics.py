"""Metrics by hand and against a slow sweep; plots draw what the records say."""

import itertools

import numpy as np
import pytest
from online.small import records_of
from oracles.random_online import random_case

from optsched.online.metrics import compute_metrics, fragmentation, timeline
from optsched.online.records import Records
from optsched.online.simulator.engine import simulate_online


def two_jobs() -> Records:
    """2 servers x 2 GPUs. A: 3 GPUs 0-4; B: 2 GPUs, submitted 1, 4-6."""
    usual = {"iterations": 2.0, "predicted": 2.0}
    a = {"end": 4.0, "alpha": 2.0, "on": {0: 2, 1: 1}, **usual}
    b = {"submit": 1.0, "start": 4.0, "end": 6.0, "on": {0: 2}, **usual}
    return records_of(a, b, servers=2, per_server=2)


def test_by_hand() -> None:
    made = compute_metrics(two_jobs())
    assert made.total_completion_time == 10
    assert made.total_flow_time == 9
    assert made.mean_flow_time == 4.5
    assert made.mean_slowdown == pytest.approx((4 / 2 + 5 / 2) / 2)
    assert made.inflation == pytest.approx((3 * 2 * 2 + 2 * 2 * 1) / (3 * 2 + 2 * 2))
    assert made.makespan == 6
    assert made.utilisation == pytest.approx((3 * 4 + 2 * 2) / (4 * 6))
    assert made.fragmentation == 1.0  # while b queues (1-4) the only free GPU is on server 1
    time, queue, used = timeline(two_jobs())
    assert time.tolist() == [0, 1, 4, 6]
    assert queue.tolist() == [0, 1, 0, 0]
    assert used.tolist() == [3, 3, 2, 0]


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.full) for seed in range(1, 5))]
)
def test_fragmentation_against_a_slow_sweep(seed: int) -> None:
    jobs, predicted = random_case(seed)
    records = simulate_online(jobs, "a-srpt", predicted)
    moments = np.unique(np.concatenate((records.submit, records.start, records.end)))
    queued = weighted = 0.0
    for begin, end in itertools.pairwise(moments):
        middle = (begin + end) / 2
        if not ((records.submit <= middle) & (records.start > middle)).any():
            continue
        used = np.zeros(records.servers, dtype=int)
        for record in records:
            if record.start <= middle < record.end:
                for server, count in record.servers:
                    used[server] += count
        free = records.server_gpus - used
        partly = free[(used > 0) & (free > 0)].sum()
        queued += end - begin
        weighted += (end - begin) * (partly / free.sum() if free.sum() else 0.0)
    assert fragmentation(records) == pytest.approx(weighted / queued if queued else 0.0)
