"""Seats in arrays: what plain mappings of them say, and what a policy of anybody's may give."""

from __future__ import annotations

import math

from rolling.small import instance, job

from optsched.rolling.audit import audit
from optsched.rolling.simulator.engine import Plan, simulate_rolling
from optsched.rolling.simulator.world import View, World
from optsched.selection.assignment import Placement

TWO = {7: Placement(2, (3, 0), 1), 4: Placement(0, (1,), 5)}


class Always:
    """The same seats at every decision, of whoever is there."""

    name, wake = "always", math.inf

    def __init__(self, *seats: Placement) -> None:
        self.seats = seats

    def decide(self, view: View) -> Plan:
        return Plan({i: self.seats[j] for i, j in enumerate(view.jobs)})


def test_a_job_on_gpus_that_its_node_lacks_is_the_audits_to_report() -> None:
    """Three GPUs, one of number 9, on a node of two; as fast as its configuration says, 1.25 s."""
    given = instance([job("a", 0.0, 100.0, 10)])
    run = simulate_rolling(World(given), Always(Placement(0, (0, 1, 9), 1)))
    assert [(s.end, s.gpus) for s in run.segments] == [(12.5, (0, 1, 9))]
    assert [i.used for i in run.nodes] == [3]
    assert not audit(given, run).feasible


def test_gpus_that_jobs_share_are_in_use_once() -> None:
    """From 4 s on b holds both GPUs and a one of them, until a is done at 20 s; b needs 12.5 s."""
    given = instance([job("a", 0.0, 100.0, 10), job("b", 4.0, 100.0, 10)])
    run = simulate_rolling(World(given), Always(Placement(0, (1,), 0), Placement(0, (1, 0), 1)))
    assert [(i.start, i.end, i.used) for i in run.nodes] == [(0, 4, 1), (4, 16.5, 2), (16.5, 20, 1)]
    assert [s.gpus for s in run.segments] == [(1,), (1, 0)]
