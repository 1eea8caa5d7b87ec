"""The bound that knows gangs: by hand, below every schedule enumerated, proved by its prices."""

from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from online.small import instance_of, jobs_of, prepared
from oracles.random_online import min_total_flow_of

import optsched
from optsched.deadline import Deadline
from optsched.library.verify import RefusedError, verify
from optsched.online.bounds.flow import flow_bounds
from optsched.online.bounds.gang import gang_bound, max_simultaneous_jobs

ALLOWED = 1 + 1e-9
Gangs = list[tuple[float, int, float]]
"""Submission, GPUs and seconds, in order of submission; all on one server."""


def drawn(seed: int) -> tuple[Gangs, int]:
    rng = np.random.default_rng(seed)
    gpus, count = int(rng.integers(3, 9)), int(rng.integers(2, 6))
    submit = np.sort(rng.integers(0, 5, count)).astype(float)
    submit -= submit[0]
    seconds, sizes = rng.integers(1, 7, count), rng.integers(1, gpus + 1, count)
    return [*zip(submit.tolist(), sizes.tolist(), seconds.tolist(), strict=True)], gpus


@pytest.mark.parametrize(
    ("gangs", "gpus", "optimum", "fluid"),
    [
        # 3 + 3 GPUs on 5, one second each: 1 + 2 = 3; a fluid lets a third of one wait: 7/3
        ([(0, 3, 1), (0, 3, 1)], 5, 3, (2.3, 7 / 3)),
        # 1 of 4 GPUs is too many for [1, 3): the big job or the small one waits two seconds
        ([(0, 4, 3), (1, 1, 9)], 4, 14, (12.5, 13.5)),
    ],
)
def test_gangs_wait(gangs: Gangs, gpus: int, optimum: float, fluid: tuple[float, float]) -> None:
    jobs = jobs_of(*gangs, per_server=gpus)
    assert min_total_flow_of(jobs) == optimum
    assert gang_bound(jobs, optimum).value == pytest.approx(optimum)
    by_fluid = flow_bounds(jobs, known_flow=optimum, cells=400, iterations=2_000)
    assert fluid[0] < by_fluid.best <= fluid[1] * ALLOWED


def _gain(seed: int) -> float:
    """Check the bound and its certificate; its ratio to the best of the other bounds."""
    gangs, gpus = drawn(seed)
    instance = instance_of(*gangs, per_server=gpus)
    jobs = prepared(instance)
    optimum = min_total_flow_of(jobs)
    bound = gang_bound(jobs, optimum, iterations=60)
    assert sum(seconds for *_, seconds in gangs) / ALLOWED <= bound.value <= optimum * ALLOWED
    assert verify(instance.to_dict(), bound.to_dict()) == pytest.approx(bound.value, rel=1e-9)
    return bound.value / flow_bounds(jobs, known_flow=optimum).best


def test_below_every_schedule_of_gangs() -> None:
    gains = [_gain(seed) for seed in range(40)]
    assert max(gains) > 1.15
    assert sum(gain > 1.01 for gain in gains) >= 8


@pytest.mark.full
@pytest.mark.parametrize("seed", range(40, 400))
def test_below_every_schedule_of_gangs_in_full(seed: int) -> None:
    _gain(seed)


@pytest.mark.parametrize("seed", range(8))
def test_max_simultaneous_jobs_over_all_subsets(seed: int) -> None:
    """Whole seconds: the largest subset of those that would run at each half that fits."""
    gangs, gpus = drawn(seed)
    edges = np.array([0.0, 2.0, 3.0, 7.0, 20.0])
    count = np.zeros(20)
    for second in range(20):
        there = [g for s, g, d in gangs if s <= second + 0.5 < s + d]
        count[second] = max(
            size
            for size in range(len(there) + 1)
            if any(sum(some) <= gpus for some in combinations(there, size))
        )
    jobs = jobs_of(*gangs, per_server=gpus)
    wanted = [count[int(a) : int(b)].sum() for a, b in pairwise(edges)]
    assert max_simultaneous_jobs(jobs, jobs.min_length, edges).tolist() == wanted


@pytest.mark.parametrize("early", [[-1.0], [0.0] * 99, [float("nan")], 1.0, None])
def test_corrupted_early_prices_are_refused(early: Any) -> None:
    instance = instance_of((0, 3, 1), (0, 3, 1), per_server=5)
    certificate = gang_bound(prepared(instance), 3.0).to_dict()
    assert verify(instance.to_dict(), certificate) == pytest.approx(3)
    rest = certificate["early"][1:] if isinstance(early, list) else []
    changed = {**certificate, "early": [*early, *rest] if isinstance(early, list) else early}
    with pytest.raises(RefusedError):
        verify(instance.to_dict(), changed)
    del certificate["early"]
    assert verify(instance.to_dict(), certificate) < 2.5


def test_a_deadline_that_has_passed_leaves_a_bound() -> None:
    gangs, gpus = drawn(4)
    jobs = jobs_of(*gangs, per_server=gpus)
    late = gang_bound(jobs, deadline=Deadline(0.0)).value
    assert late == pytest.approx(gang_bound(jobs, iterations=0).value, rel=1e-9)
    assert gang_bound(jobs_of()).value == 0


def test_as_a_method_it_is_no_weaker_than_the_flow_bound() -> None:
    instance = optsched.load("online/mixed-1/005")
    weak, strong = (optsched.solve(instance, name) for name in ("flow-bound", "gang-bound"))
    assert weak.bound * 1.0005 < strong.bound < 488_126.62
    assert strong.bound_source == "gang bound"
