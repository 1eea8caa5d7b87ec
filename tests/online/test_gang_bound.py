"""The bound that knows gangs: by hand, below every schedule enumerated, proved by its prices."""

from __future__ import annotations

from itertools import combinations, pairwise, permutations
from typing import Any

import numpy as np
import pytest
from oracles.random_online import least_flow_of, one_stage, tiny_case

import optsched
from optsched.deadline import Deadline
from optsched.library.verify import RefusedError, verify
from optsched.online.bounds.flow import flow_bounds
from optsched.online.bounds.gang import gang_bound, max_simultaneous_jobs
from optsched.online.data.catalogue import Catalogue
from optsched.online.data.cluster import OnlineCluster
from optsched.online.data.jobs import Jobs, prepare_jobs
from optsched.online.data.workload import Workload
from optsched.online.instance import OnlineInstance

ALLOWED = 1 + 1e-9
Gangs = list[tuple[float, float, int]]
"""Submission, seconds and GPUs, in order of submission."""


def instance_of(gangs: Gangs, gpus: int) -> OnlineInstance:
    """Jobs on one server, where an iteration takes a second."""
    submit, seconds, sizes = zip(*gangs, strict=True)
    models = {key: job for size in set(sizes) for key, job in one_stage(size).items()}
    workload = Workload.of(
        submit_time=list(submit),
        gpus=list(sizes),
        iterations=[float(n) for n in seconds],
        model=[f"m{size}" for size in sizes],
    )
    return OnlineInstance(workload, Catalogue.of(models), OnlineCluster.of(1, gpus))


def jobs_of(instance: OnlineInstance) -> Jobs:
    jobs = prepare_jobs(instance.workload, instance.catalogue, instance.cluster)
    assert (jobs.min_length == jobs.iterations).all()
    return jobs


def least_flow(gangs: Gangs, gpus: int) -> float:
    """Over all orders, each job at the first moment from which it fits until it ends.

    Some best schedule has no job that could start earlier, the others as they are: the order of its
    starts gives it.
    """
    best = np.inf
    for order in permutations(gangs):
        placed: Gangs = []
        flow = 0.0
        for ready, seconds, size in order:
            moments = sorted({ready, *(s + d for s, d, _ in placed if s + d > ready)})
            start = next(t for t in moments if _fits(placed, t, t + seconds, gpus - size))
            placed.append((start, seconds, size))
            flow += start + seconds - ready
        best = min(best, flow)
    return best


def _fits(placed: Gangs, begin: float, end: float, room: int) -> bool:
    looked_at = {begin, *(s for s, _, _ in placed if begin < s < end)}
    return all(sum(g for s, d, g in placed if s <= t < s + d) <= room for t in looked_at)


def drawn(seed: int) -> tuple[Gangs, int]:
    rng = np.random.default_rng(seed)
    gpus, count = int(rng.integers(3, 9)), int(rng.integers(2, 6))
    submit = np.sort(rng.integers(0, 5, count)).astype(float)
    submit -= submit[0]
    seconds, sizes = rng.integers(1, 7, count), rng.integers(1, gpus + 1, count)
    return [*zip(submit.tolist(), seconds.tolist(), sizes.tolist(), strict=True)], gpus


def test_two_gangs_that_cannot_run_together() -> None:
    """3 + 3 GPUs on 5, one second each: 1 + 2 = 3; a fluid lets a third of one wait: 7/3."""
    gangs = [(0.0, 1.0, 3), (0.0, 1.0, 3)]
    jobs = jobs_of(instance_of(gangs, 5))
    assert least_flow(gangs, 5) == least_flow_of(jobs) == 3
    assert gang_bound(jobs, 3.0).value == pytest.approx(3)
    fluid = flow_bounds(jobs, known_flow=3.0, cells=400, iterations=2_000)
    assert fluid.best <= 7 / 3 * ALLOWED
    assert fluid.capacity_dual > 2.3


def test_a_big_gang_waits_whole() -> None:
    """1 of 4 GPUs is too many for [1, 3): the big job or the small one waits two seconds."""
    gangs = [(0.0, 3.0, 4), (1.0, 9.0, 1)]
    jobs = jobs_of(instance_of(gangs, 4))
    assert least_flow(gangs, 4) == 14
    assert gang_bound(jobs, 14.0).value == pytest.approx(14)
    assert flow_bounds(jobs, known_flow=14.0, cells=400, iterations=2_000).best < 13.5


def _check(seed: int) -> float:
    """Gang bound over the best of the others, both below the optimum."""
    gangs, gpus = drawn(seed)
    instance = instance_of(gangs, gpus)
    jobs, optimum = jobs_of(instance), least_flow(gangs, gpus)
    found = gang_bound(jobs, optimum, iterations=60)
    assert sum(d for _, d, _ in gangs) / ALLOWED <= found.value <= optimum * ALLOWED
    proved = verify(instance.to_dict(), found.to_dict())
    assert proved == pytest.approx(found.value, rel=1e-9)
    return found.value / flow_bounds(jobs, known_flow=optimum).best


def test_below_every_schedule_of_gangs() -> None:
    gains = [_check(seed) for seed in range(40)]
    assert max(gains) > 1.15
    assert sum(gain > 1.01 for gain in gains) >= 8


@pytest.mark.full
@pytest.mark.parametrize("seed", range(40, 400))
def test_below_every_schedule_of_gangs_in_full(seed: int) -> None:
    _check(seed)


@pytest.mark.parametrize("seed", range(10))
def test_below_the_optimum_on_servers(seed: int) -> None:
    jobs = tiny_case(seed)
    optimum = least_flow_of(jobs)
    assert gang_bound(jobs, optimum, iterations=60).value <= optimum * ALLOWED


@pytest.mark.parametrize("seed", range(6))
def test_any_two_prices_prove_no_more_than_the_optimum(seed: int) -> None:
    gangs, gpus = drawn(seed)
    document, optimum = instance_of(gangs, gpus).to_dict(), least_flow(gangs, gpus)
    rng = np.random.default_rng(seed)
    proved = []
    for trial in range(100):
        edges = np.unique(rng.integers(0, 30, 8)).astype(float)
        lam, early = rng.exponential(0.1, len(edges) - 1), rng.exponential(1.0, len(edges) - 1)
        certificate = {
            "kind": "prices",
            "edges": edges.tolist(),
            "prices": (lam * (trial % 3 > 0)).tolist(),
            "early": np.minimum(early, 1.0 if trial % 2 else np.inf).tolist(),
        }
        proved.append(verify(document, certificate))
    assert max(proved) <= optimum * ALLOWED
    assert max(proved) > 0


@pytest.mark.parametrize("seed", range(8))
def test_most_at_once_over_all_subsets(seed: int) -> None:
    """Whole seconds: the largest subset of those that would run at each half that fits."""
    gangs, gpus = drawn(seed)
    edges = np.array([0.0, 2.0, 3.0, 7.0, 20.0])
    count = np.zeros(20)
    for second in range(20):
        there = [g for s, d, g in gangs if s <= second + 0.5 < s + d]
        count[second] = max(
            size
            for size in range(len(there) + 1)
            if any(sum(some) <= gpus for some in combinations(there, size))
        )
    jobs = jobs_of(instance_of(gangs, gpus))
    wanted = [count[int(a) : int(b)].sum() for a, b in pairwise(edges)]
    assert max_simultaneous_jobs(jobs, jobs.min_length, edges).tolist() == wanted


@pytest.mark.parametrize("early", [[-1.0], [0.0] * 99, [float("nan")], 1.0, None])
def test_corrupted_early_prices_are_refused(early: Any) -> None:
    instance = instance_of([(0.0, 1.0, 3), (0.0, 1.0, 3)], 5)
    certificate = gang_bound(jobs_of(instance), 3.0).to_dict()
    assert verify(instance.to_dict(), certificate) == pytest.approx(3)
    rest = certificate["early"][1:] if isinstance(early, list) else []
    changed = {**certificate, "early": [*early, *rest] if isinstance(early, list) else early}
    with pytest.raises(RefusedError):
        verify(instance.to_dict(), changed)
    del certificate["early"]
    assert verify(instance.to_dict(), certificate) < 2.5


def test_a_deadline_that_has_passed_leaves_a_bound() -> None:
    gangs, gpus = drawn(4)
    jobs = jobs_of(instance_of(gangs, gpus))
    late = gang_bound(jobs, deadline=Deadline(0.0)).value
    assert late == pytest.approx(gang_bound(jobs, iterations=0).value, rel=1e-9)
    nothing = Workload.of(submit_time=[], gpus=[], iterations=[], model=[])
    assert gang_bound(prepare_jobs(nothing, Catalogue.of({}), OnlineCluster.of(1))).value == 0


def test_as_a_method_it_is_no_weaker_than_the_flow_bound() -> None:
    instance = optsched.load("online/mixed-1/005")
    found = {name: optsched.solve(instance, name) for name in ("flow-bound", "gang-bound")}
    weak, strong = (result.bound for result in found.values())
    assert weak is not None
    assert strong is not None
    assert weak * 1.0005 < strong < 488_126.62
    assert found["gang-bound"].bound_source == "gang bound"
