"""SRPT on worked examples, and the properties that make it SRPT."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from optsched.online.audit_rules.queue import virtual_order
from optsched.online.bounds.kernels import srpt_completions


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


def test_no_order_of_whole_jobs_beats_it() -> None:
    """Non-preemptive schedules are a subset: SRPT's total flow is at most the best of them."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        release, work = np.sort(rng.uniform(0, 5, 5)), rng.uniform(0.1, 3, 5)
        best = np.inf
        for order in permutations(range(5)):
            clock = total = 0.0
            for i in order:
                clock = max(clock, release[i]) + work[i]
                total += clock
            best = min(best, total)
        assert srpt_completions(release, work).sum() <= best * (1 + 1e-12)
