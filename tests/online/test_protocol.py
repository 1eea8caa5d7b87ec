"""A user's own policy: the documented example, and exactness against the compiled policies."""

from __future__ import annotations

import re
import textwrap

import numpy as np
import pytest
from oracles.random_online import random_case

import optsched.online.policies.protocol as protocol
from optsched.errors import InputError
from optsched.online.audit import audit
from optsched.online.policies.by_name import PolicyOptions
from optsched.online.policies.protocol import View, simulate_policy
from optsched.online.simulator.engine import simulate_online
from optsched.online.simulator.offers import RULES


def documented_example() -> type:
    found = re.search(r"    class ShortestFirst:.*?\n\n", protocol.__doc__ or "", re.S)
    assert found is not None
    space: dict = {}
    exec(textwrap.dedent(found.group()), space)
    return space["ShortestFirst"]


@pytest.mark.parametrize("seed", range(6))
def test_the_documented_example_is_spjf(seed: int) -> None:
    jobs, predicted = random_case(seed)
    own = simulate_policy(jobs, documented_example()(), predicted)
    theirs = simulate_online(jobs, "spjf", predicted, PolicyOptions(offer="most"))
    assert list(own) == list(theirs)
    assert audit(jobs, own).violations == ()


class FirstSubmitted:
    """wcs-subtime under any offer rule."""

    def __init__(self, rule: str) -> None:
        self.rule = rule

    def schedule(self, view: View) -> None:
        for job in view.queue:
            offer = view.offer(job, self.rule)
            if offer is not None:
                view.start(job, offer)


@pytest.mark.parametrize("rule", RULES)
def test_every_offer_rule(rule: str) -> None:
    for seed in range(4):
        jobs, predicted = random_case(seed)
        own = simulate_policy(jobs, FirstSubmitted(rule), predicted)
        assert list(own) == list(
            simulate_online(jobs, "wcs-subtime", predicted, PolicyOptions(offer=rule))
        )


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
    def __init__(self, act: str) -> None:
        self.act = act

    def schedule(self, view: View) -> None:
        job = view.queue[0]
        if self.act == "too few":
            view.start(job, {})
        elif self.act == "not free":
            view.start(job, {0: job.gpus + 100})
        elif self.act == "twice":
            view.start(job, view.offer(job, "most"))
            view.start(job, view.offer(job, "most"))
        elif self.act == "past":
            view.wake(view.now)
        elif self.act == "rule":
            view.offer(job, "worst")


@pytest.mark.parametrize("act", ["too few", "not free", "twice", "past", "rule", "never"])
def test_broken_rules_are_refused(act: str) -> None:
    jobs, predicted = random_case(0)
    with pytest.raises(InputError):
        simulate_policy(jobs, Bad(act), np.asarray(predicted))
