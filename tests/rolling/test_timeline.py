"""Timelines worked by hand, with the arithmetic; what any policy may give as seats."""

import math

import pytest
from rolling.small import instance, job, run_on, three_jobs

from optsched.rolling.audit import audit
from optsched.rolling.instance import RollingInstance
from optsched.rolling.metrics import Metrics, compute_metrics, cost_reduction
from optsched.rolling.records import Records
from optsched.rolling.simulator.engine import Plan, simulate_rolling
from optsched.rolling.simulator.world import View, World
from optsched.selection.assignment import Placement


def run_of(instance: RollingInstance, name: str) -> tuple[Records, Metrics]:
    run = run_on(instance, name)
    return run, compute_metrics(instance, run)


def rows(run: Records) -> list[tuple[int, float, float, int]]:
    return [(s.job, s.start, s.end, len(s.gpus)) for s in run.segments]


def test_three_jobs_by_sts() -> None:
    """One node, two GPUs, 1 $/s each; 2 s an epoch on one GPU (2 $), 1.25 s on two (2.5 $).

    t = 0     a: 10 epochs, due 100: 20 s on one GPU are in time, and cheapest. One GPU.
    t = 4     b: 10 epochs in 15.5 s: y slow ones with 2 y + 1.25 (10 - y) = 15.5, so y = 4: one
              GPU until T_b = 4 + 8 = 12. Two GPUs in use.
    t = 12    b has 6 epochs left and 7.5 s: 6 x 1.25 = 7.5, so two GPUs. a, 12/2 = 6 epochs done,
              has less pressure: preempted.
    t = 15    c: 4 epochs, due in 3 s, takes 5 s at best: pressure (5 - 3) x 10 > 0. b has
              6 - 3/1.25 = 3.6 left, 4.5 s for 4.5 s: pressure 0. c takes both GPUs, b stops.
    t = 20    c is done, 2 s late. b, overdue by 0.5 s, takes both: 3.6 x 1.25 = 4.5 s.
    t = 24.5  b is done, 5 s late. a has 4 epochs left and 75.5 s: one GPU, 8 s.
    t = 32.5  a is done.
    Energy: 4 x 1 + (24.5 - 4) x 2 + 8 x 1 = 53. Tardiness: (2 + 5) x 10 = 70.
    """
    run, metrics = run_of(three_jobs(), "sts")
    assert rows(run) == [
        (0, 0.0, 12.0, 1),
        (1, 4.0, 12.0, 1),
        (1, 12.0, 15.0, 2),
        (2, 15.0, 20.0, 2),
        (1, 20.0, 24.5, 2),
        (0, 24.5, 32.5, 1),
    ]
    causes = ["arrival", "arrival", "change", "arrival", "completion", "completion"]
    assert [d.time for d in run.decisions] == [0, 4, 12, 15, 20, 24.5]
    assert [d.cause for d in run.decisions] == causes
    used = [(0, 4, 1), (4, 24.5, 2), (24.5, 32.5, 1)]
    assert [(i.start, i.end, i.used) for i in run.nodes] == used
    assert metrics.energy_cost == pytest.approx(53, rel=1e-12)
    assert metrics.tardiness_cost == pytest.approx(70, rel=1e-12)
    assert (metrics.late_jobs, metrics.preemptions, metrics.migrations) == (2, 2, 0)
    assert metrics.most_jobs == 3
    assert audit(three_jobs(), run).objective == pytest.approx(123, rel=1e-12)


def test_three_jobs_by_edf() -> None:
    """EDF never re-evaluates.

    t = 0   a: one GPU is cheapest in time, 20 s.        t = 4   b: one GPU is free, 20 s, late.
    t = 15  c waits.         t = 20  a is done; c gets its GPU, 4 x 2 = 8 s.    t = 24  b is done.
    t = 28  c is done. Energy: 4 + 20 x 2 + 4 = 48. Tardiness: ((24 - 19.5) + (28 - 18)) x 10 = 145.
    """
    run, metrics = run_of(three_jobs(), "edf")
    assert rows(run) == [(0, 0.0, 20.0, 1), (1, 4.0, 24.0, 1), (2, 20.0, 28.0, 1)]
    assert metrics.energy_cost == pytest.approx(48, rel=1e-12)
    assert metrics.tardiness_cost == pytest.approx(145, rel=1e-12)
    assert cost_reduction(123, metrics.total_cost) == pytest.approx(100 * 70 / 193)


def test_a_change_of_speed_costs_the_reconfiguration_delay() -> None:
    """b alone, delay 0.5 s: 4 epochs in 8 s, then 0.5 s lost, then 6 x 1.25 = 7.5 s: done at 20.

    Energy: 8 x 1 + 8 x 2 = 24; 0.5 s late.
    """
    delayed = instance([job("b", 4.0, 19.5, 10)], reconfiguration_delay=0.5)
    run, metrics = run_of(delayed, "sts")
    assert rows(run) == [(0, 4.0, 12.0, 1), (0, 12.0, 20.0, 2)]
    assert [s.setup for s in run.segments] == [0.0, 0.5]
    assert metrics.energy_cost == pytest.approx(24, rel=1e-12)
    assert metrics.tardiness == pytest.approx(0.5, rel=1e-9)
    assert audit(delayed, run).feasible


def test_a_decision_falls_due_after_h() -> None:
    run, _ = run_of(instance([job("a", 0.0, 100.0, 10)], interval=8.0), "sts")
    made = [(0.0, "arrival"), (8.0, "interval"), (16.0, "interval")]
    assert [(d.time, d.cause) for d in run.decisions] == made
    assert len(run.segments) == 1


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
