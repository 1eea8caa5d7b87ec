"""A user's own policy: the documented example, and exactness against the compiled policies."""

import math
import re
from collections.abc import Callable
from dataclasses import astuple
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from online.small import jobs_of
from oracles.random_online import random_case

from optsched.errors import InputError
from optsched.online.audit import audit
from optsched.online.policies.by_name import PolicyOptions
from optsched.online.records import Records
from optsched.online.simulator.engine import simulate_online
from optsched.online.simulator.offers import RULES
from optsched.online.simulator.own_policy import QueuedJob, View, simulate_policy

ROOT = Path(__file__).parents[2]


class Easy:
    """EASY backfilling, in a policy's own words."""

    def schedule(self, view: View) -> None:
        queue = list(view.queue)
        while queue and queue[0].gpus <= view.free_gpus:
            head = queue.pop(0)
            view.start(head, view.offer(head, "most"))
        if not queue:
            return
        head, free, promised = queue[0], view.free_gpus, view.now
        for running in sorted(view.running, key=lambda running: running.expected_end):
            if free >= head.gpus and running.expected_end > promised:
                break
            free, promised = free + running.job.gpus, max(promised, running.expected_end)
        spare = free - head.gpus
        for job in queue[1:]:
            if (offer := view.offer(job, "most")) is None:
                continue
            end = view.now + job.predicted * view.iteration_time(job, offer)
            if end > promised and job.gpus > spare:
                continue
            spare -= job.gpus if end > promised else 0
            view.start(job, offer)


class Consolidated:
    """spwf-consolidated, in a policy's own words."""

    def __init__(self, most: float) -> None:
        self.most = most

    def schedule(self, view: View) -> None:
        for job in sorted(view.queue, key=lambda j: (j.gpus * j.predicted * j.estimate, j.row)):
            offer = view.offer(job, "best-fit-last") if job.gpus <= view.free_gpus else None
            if offer and view.iteration_time(job, offer) <= self.most * job.estimate:
                view.start(job, offer)


class FirstSubmitted:
    """wcs-subtime under any offer rule."""

    def __init__(self, rule: str) -> None:
        self.rule = rule

    def schedule(self, view: View) -> None:
        for job in view.queue:
            offer = view.offer(job, self.rule)
            if offer is not None:
                view.start(job, offer)


class Remaining:
    """srpt-preemptive in a policy's own words."""

    def schedule(self, view: View) -> None:
        def key(job: QueuedJob) -> tuple[float, int]:
            return job.gpus * view.remaining(job) * job.estimate, job.row

        running = [each.job for each in view.running]
        room = view.gpus
        for job in sorted([*view.queue, *running], key=key):
            if job.gpus <= room:
                room -= job.gpus
            elif job in running:
                view.preempt(job)
        for job in sorted(view.queue, key=key):
            if (offer := view.offer(job, "best-fit-last")) is not None:
                view.start(job, offer)


def documented(name: str) -> Any:
    """The example of the how-to page, with rounds of 4 s."""
    page = (ROOT / "docs/how-to/own-policy.md").read_text(encoding="utf-8")
    example = re.search(rf"class {name}:.*?(?=```)", page, re.S)
    space: dict[str, Any] = {}
    exec(example.group().replace("360", "4.0"), space)
    return space[name]()


def agree(first: Any, second: Any) -> bool:
    """Whether records are equal, floats to 1e-9: compiled code may round the last bit otherwise."""
    if isinstance(first, float):
        return math.isclose(first, second, rel_tol=1e-9)
    if isinstance(first, Records):
        first, second = (tuple(map(astuple, records)) for records in (first, second))
    if isinstance(first, tuple):
        return len(first) == len(second) and all(map(agree, first, second))
    return bool(first == second)


ROUNDS = {"checkpoint": 0.25, "round": 4.0}
OWN = [  # the policy, the compiled one and its options, with slices or not
    (lambda: documented("ShortestFirst"), "spjf", {"offer": "most"}, False),
    (lambda: documented("LeastAttained"), "las", ROUNDS, True),
    (Remaining, "srpt-preemptive", ROUNDS, True),
    (Easy, "easy", {}, False),
    *((lambda rule=rule: FirstSubmitted(rule), "wcs-subtime", {"offer": rule}, False)
      for rule in RULES),
]  # fmt: skip


@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(2, 20), marks=pytest.mark.full)])
@pytest.mark.parametrize(("own", "name", "options", "sliced"), OWN)
def test_a_policy_on_a_view_is_the_compiled_one(
    own: Callable[[], Any], name: str, options: dict[str, Any], sliced: bool, seeds: range
) -> None:
    settings = PolicyOptions(**options)
    for seed, with_slices in product(seeds, {False, sliced}):
        jobs, predicted = random_case(seed, sliced=with_slices)
        records = simulate_policy(jobs, own(), predicted, settings)
        compiled = simulate_online(jobs, name, predicted, settings)
        assert agree(records, compiled)
        assert audit(jobs, records).violations == audit(jobs, compiled).violations == ()


@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.full) for seed in range(3, 30))]
)
def test_consolidation_on_a_view_is_the_compiled_one(seed: int) -> None:
    """On drawn jobs, slices, ties and predictions of nothing; both that wait and that go on."""
    jobs, predicted = random_case(seed, delays=seed % 2 == 0, sliced=seed % 3 == 0)
    for most in (1.0, 1.1, 1.5):
        settings = PolicyOptions(comm_heavy=most)
        for known in (predicted, jobs.iterations, np.zeros(len(jobs))):
            own = simulate_policy(jobs, Consolidated(max(most, 1 + 1e-9)), known)
            compiled = simulate_online(jobs, "spwf-consolidated", known, settings)
            assert agree(own, compiled)
        assert audit(jobs, compiled).violations == ()


class Patient:
    """Starts everything one minute after its submission."""

    def schedule(self, view: View) -> None:
        for job in view.arrived:
            view.wake(job.submit + 60.0)
        for job in view.queue:
            if view.now >= job.submit + 60.0 and job.gpus <= view.free_gpus:
                offer = view.offer(job, "least")
                assert view.iteration_time(job, offer) > 0
                assert sum(view.free) == view.free_gpus
                view.start(job, offer)


def test_wake() -> None:
    jobs, predicted = random_case(2)
    records = simulate_policy(jobs, Patient(), predicted, name="patient")
    assert (records.start - records.submit).min() >= 60.0 * (1 - 1e-12)
    assert audit(jobs, records).violations == ()


class Bad:
    def __init__(self, act: Callable[[View, QueuedJob], Any]) -> None:
        self.act = act

    def schedule(self, view: View) -> None:
        self.act(view, view.queue[0])


BAD: dict[str, Callable[[View, QueuedJob], Any]] = {
    "too few": lambda view, job: view.start(job, {}),
    "not free": lambda view, job: view.start(job, {0: job.gpus + 100}),
    "twice": lambda view, job: [view.start(job, view.offer(job, "most")) for _ in range(2)],
    "past": lambda view, job: view.wake(view.now),
    "rule": lambda view, job: view.offer(job, "worst"),
    "never": lambda view, job: None,
}


@pytest.mark.parametrize("act", BAD)
def test_broken_rules_are_refused(act: str) -> None:
    jobs, predicted = random_case(0)
    with pytest.raises(InputError):
        simulate_policy(jobs, Bad(BAD[act]), np.asarray(predicted))


def test_easy_takes_the_users_estimates() -> None:
    """The third job may go ahead of the second only where its user says that it is short."""
    rows = ((0, 1, 10), (1, 2, 1), (2, 1, 20))
    starts = []
    for walltime in (None, [None, None, 8.0], [30.0, None, None], [5.0, None, 4.0]):
        jobs = jobs_of(*rows, walltime=walltime)
        records = simulate_online(jobs, "easy")
        assert not audit(jobs, records).violations
        starts.append(records.start.tolist())
    assert starts == [[0, 10, 11], [0, 22, 2], [0, 22, 2], [0, 10, 11]]
