"""Runs that could stall or never end, and due dates that only a clock's rounding misses."""

from pathlib import Path

import numpy as np
import pytest
from rolling.small import costing, instance, job, three_jobs

import optsched
from optsched import load
from optsched.errors import InputError
from optsched.generators.rolling import generate_rolling, rolling_settings
from optsched.result import Settings, Termination
from optsched.rolling import runs as rolling_runs
from optsched.rolling.bounds.clairvoyant import BoundSettings
from optsched.rolling.instance import RollingInstance
from optsched.rolling.policies import by_name as policies
from optsched.rolling.runs import run_policies
from optsched.rolling.simulator import engine
from optsched.rolling.simulator.engine import (
    MAX_PERIODIC_DECISIONS,
    Plan,
    UnfinishedRunError,
    simulate_rolling,
)
from optsched.rolling.simulator.world import View, World
from optsched.selection.assignment import Placement
from optsched.selection.cost import tables_of
from optsched.selection.heuristics.sts import sts_assignment
from optsched.selection.options import SelectionOptions

CASES = Path(__file__).parent.parent / "cases"


class Idle:
    """Never places a job."""

    name, wake = "idle", np.inf

    def decide(self, view: View) -> Plan:
        return Plan({})


class Swapping(Idle):
    """Gives the cluster to another job each time it is asked."""

    name, wake = "swapping", 900.0

    def __init__(self) -> None:
        self.turn = 0

    def decide(self, view: View) -> Plan:
        self.turn = (self.turn + 1) % len(view.jobs)
        return Plan({self.turn: Placement(0, (0,), 0)})


@pytest.fixture(name="workload", scope="module")
def a_workload() -> RollingInstance:
    return generate_rolling(rolling_settings(3, jobs=12, gpus_per_node=2))


IDLE = policies.PolicyEntry("idle", "waits", lambda world, name, settings: Idle())


@pytest.mark.parametrize("name", ["price", "price-patterns"])
def test_price_runs_a_job_that_costs_nothing_and_may_wait(name: str) -> None:
    """No energy to pay, no lateness to avoid: an epoch is worth nothing, and still made."""
    jobs = [job("a", 0.0, 20.0, 10, tardiness_weight=0.0), job("b", 0.0, 20.0, 10)]
    (done,) = run_policies(instance(jobs, interval=50.0, **costing(0.0, 0.0)), [name])
    assert done.check.feasible
    assert done.metrics.energy_cost == 0
    assert all(record.epochs == 10 for record in done.records.jobs)


def test_a_stalled_policy_leaves_the_others_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(policies.POLICIES, "idle", IDLE)
    runs = run_policies(three_jobs(), ["sts", "idle", "edf"])
    assert [next(runs).records.policy, next(runs).records.policy] == ["sts", "edf"]
    with pytest.raises(UnfinishedRunError, match="policy idle makes no progress: 3 jobs"):
        next(runs)


@pytest.mark.parametrize("case", ["a", pytest.param("b", marks=pytest.mark.full)])
def test_a_run_without_progress_ends(case: str) -> None:
    """Jobs are swapped before the delay, as long as the interval or longer, is over."""
    given = load(CASES / f"rolling-endless-{case}.json")
    result = optsched.solve(given, "price", time_limit=0.5)
    assert result.status in ("time-limit", "no-solution")
    assert result.build_time + result.solve_time < 2.0
    assert "message" in result.details
    swapping = Swapping()
    with pytest.raises(UnfinishedRunError, match="policy swapping makes no progress") as caught:
        simulate_rolling(World(given), swapping)
    assert caught.value.termination is Termination.NO_SOLUTION
    assert "optsched" not in str(caught.value)


def test_a_limit_is_kept_by_every_policy(workload: RollingInstance) -> None:
    """Decisions after the limit are first come, first served; the run is complete and audited."""
    for name in ("sts", "rg", "dp", "price", "milp"):
        result = optsched.solve(workload, name, time_limit=0.0)
        assert result.status == "time-limit"
        assert result.check.feasible
        decisions = result.details["decisions"]
        said = f"time limit reached: {decisions} of {decisions} decisions made by fifo"
        assert result.details["message"] == said
    (run,) = run_policies(workload, ["sts"], settings=Settings(time_limit=0.0))
    assert run.to_dict()["message"] == run.message == said
    fifo, whole = optsched.solve(workload, "fifo"), optsched.solve(workload, "sts")
    assert result.objective == fifo.objective
    assert (whole.status, whole.details.get("message")) == ("feasible", None)


def test_a_run_too_long_for_the_grace_ends_without_records(
    workload: RollingInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rolling_runs, "GRACE", -1.0)
    result = optsched.solve(workload, "sts", time_limit=0.0)
    assert (result.status, result.objective) == ("time-limit", None)
    assert "the time limit passed" in str(result.details["message"])


@pytest.mark.parametrize("case", ["a", "b"])
def test_no_bound_is_above_a_cost_of_zero(case: str) -> None:
    """Energy costs nothing, so the optimum is 0, to the last bit."""
    given = load(CASES / f"rolling-zero-cost-{case}.json")
    runs = list(run_policies(given, ["sts", "edf"], bound=BoundSettings()))
    assert [(run.bound, run.excess) for run in runs] == [(0.0, None)] * 2
    assert optsched.solve(given, "clairvoyant-bound").bound == 0.0


def test_policies_get_a_quick_bound_of_their_own_draw(workload: RollingInstance) -> None:
    for seed in (0, 1):
        result = optsched.solve(workload, "edf", seed=seed)
        best = optsched.solve(workload, "clairvoyant-bound", seed=seed).bound
        assert 0 < result.bound <= best <= result.objective
        assert result.bound_source == "clairvoyant Lagrangian"
    assert optsched.solve(workload, "edf", bound=False).bound is None


def slow_instance(seconds: float, interval: float) -> RollingInstance:
    times = {"A": [seconds, seconds / 2]}
    jobs = [job(name, 0.0, 1e9, 10, epoch_time=times) for name in "abc"]
    return instance(jobs, interval=interval)


@pytest.mark.parametrize("seconds", [1e6, 1e12, 1e15])
def test_endless_runs_are_refused_before_they_start(seconds: float) -> None:
    with pytest.raises(InputError) as caught:
        next(run_policies(slow_instance(seconds, 0.001), ["sts"]))
    line = str(caught.value)
    assert line.startswith("small: interval: found 0.001 s, which gives up to ")
    assert f"decisions (limit {MAX_PERIODIC_DECISIONS}), expected at least " in line


def test_what_is_named_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interval that the refusal asks for is accepted."""
    monkeypatch.setattr(engine, "MAX_PERIODIC_DECISIONS", 2_000)
    with pytest.raises(InputError) as caught:
        next(run_policies(slow_instance(1e4, 0.001), ["edf"]))
    asked = float(caught.value.expected.split()[2])
    assert len(list(run_policies(slow_instance(1e4, 1.01 * asked), ["edf"]))) == 1


@pytest.mark.parametrize(
    "hundredths",
    [pytest.param(n, marks=() if n in (0, 7, 13) else pytest.mark.full) for n in range(20)],
)
def test_a_due_date_just_met_is_met_by_any_clock(hundredths: int) -> None:
    """From 1970 on a clock resolves 2e-7 s: 10 epochs of 1.23 s end at their due date, not late."""
    now = 1.6e9 + hundredths / 100
    rates = {"A": [1.0, 2.0], "B": [100.0, 200.0]}
    nodes = [{"name": n, "gpu_type": n, "gpus": 2, "cost_rate": rates[n]} for n in rates]
    types = {n: {"memory_bytes": 8.0, "slowdown": {}} for n in rates}
    for late in (0.0, 1e-4):
        due, times = now + 12.3 - late, {"A": [2.0, 1.23], "B": [0.9, 0.8]}
        jobs = [job("a", now, due, 10, epoch_time=times)]
        given = instance(jobs, now=now, nodes=nodes, gpu_types=types)
        seat = sts_assignment(tables_of(given, SelectionOptions()))[0]
        assert given.nodes[seat.node].name == ("B" if late else "A")
