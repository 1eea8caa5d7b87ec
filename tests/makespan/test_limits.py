"""Horizons and limits: what no schedule can meet is infeasible, what is cut keeps its best.

Nothing here is timed: clocks are counted, or over from the beginning.
"""

import itertools
from functools import lru_cache

import numpy as np
import pytest
from makespan.small import crowded
from sampling import first

import optsched
from optsched import deadline as deadlines
from optsched.backends import sizes
from optsched.deadline import Deadline, OutOfTimeError
from optsched.errors import NotApplicableError
from optsched.makespan.bounds import column as column_bound
from optsched.makespan.bounds.best import best_bound, clear_cache
from optsched.makespan.bounds.durations import durations_of
from optsched.makespan.contention import evaluate
from optsched.makespan.exact.exact import StateSearch
from optsched.makespan.exact.starting_schedules import candidates, take_starting_schedules
from optsched.makespan.heuristics.nested import is_applicable
from optsched.makespan.incumbent import Incumbent
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.models import formulation, ilp, pools
from optsched.makespan.models.data import MakespanModelData
from optsched.problems import METHODS
from optsched.result import Settings, Termination
from optsched.verbs.judging import certificate_violations

SCHEDULING = [m.name for m in METHODS["makespan"].values() if m.kind != "bound"]
BOUNDS = [m.name for m in METHODS["makespan"].values() if m.kind == "bound"]
SLOW = ("ilp", "ilp-relaxed", "ilp-schedules")
"""With `-m full` where all methods are asked."""


def within(instance: MakespanInstance, horizon: int, **changes: object) -> MakespanInstance:
    return MakespanInstance.from_dict({**instance.to_dict(), "horizon": horizon, **changes})


@lru_cache
def impossible() -> list[MakespanInstance]:
    """Instances whose sizes are powers of two, so that nested has a schedule whatever the horizon.

    One slot less than the bound, or than what a single job takes.
    """
    made = []
    for seed in range(5):
        instance = crowded(seed, 8, 3)
        horizon = int(best_bound(instance).value) - 1
        if is_applicable(instance):
            made.append(within(instance, horizon))
    assert len(made) >= 2
    return made


@pytest.mark.parametrize(
    "method",
    [pytest.param(m, marks=pytest.mark.full if m in SLOW else ()) for m in (*SCHEDULING, *BOUNDS)],
)
@pytest.mark.parametrize("count", first(1, [2, 5]))
def test_an_impossible_horizon_is_infeasible_with_its_bound(method: str, count: int) -> None:
    proofs = set()
    for instance in impossible()[:count]:
        result = optsched.solve(instance, method)
        assert (result.termination, result.solution) == (Termination.INFEASIBLE, None)
        assert result.bound > instance.horizon
        assert f"{instance.horizon} slots" in result.details["message"]
        proofs.add(result.bound_source)
        if result.certificate is not None:
            assert certificate_violations(instance, result.certificate) == []
    combinatorial = {"area", "column bound", "contention bound", "longest job", "wide jobs"}
    assert proofs <= combinatorial | {"theta", "relaxation"}


@pytest.mark.usefixtures("short_searches")
def test_every_candidate_passes_the_horizon() -> None:
    """Nested's schedule takes longer than what spans: under a horizon between both it is none."""
    instance = crowded(0)
    least = {
        name: evaluate(instance, found.schedule).makespan
        for name, found in candidates(instance, Settings(), Deadline())
        if found.schedule is not None
    }
    assert least["nested"] > min(least.values())
    short = within(instance, int(least["nested"]) - 1)
    found = Incumbent(short, Settings())
    take_starting_schedules(found, Settings())
    assert found.value == min(least.values()) <= short.horizon
    result = optsched.solve(short, "ilp-schedules")
    assert result.check.feasible


def test_what_is_not_proved_is_not_called_infeasible() -> None:
    """Three jobs take eleven slots; the bound says ten."""
    instance = within(optsched.load("makespan/contended-3x3"), 10)
    for method in ("sjf-bco", "nested", "local-search", "ilp-schedules"):
        result = optsched.solve(instance, method, iterations=200)
        assert (result.termination, result.bound) == (Termination.NO_SOLUTION, 10)
    result = optsched.solve(instance, "exact")
    assert (result.termination, result.bound) == (Termination.INFEASIBLE, 11)


@pytest.mark.parametrize("method", SCHEDULING)
def test_without_any_time_there_is_still_a_schedule(method: str) -> None:
    clear_cache()
    result = optsched.solve("makespan/paper-160x20", method, time_limit=0.0)
    assert result.check.feasible
    assert result.bound is not None
    assert result.bound_source in ("area", "longest job")
    assert result.termination in (Termination.TIME_LIMIT, Termination.FEASIBLE)


class Ticks:
    """A clock that moves on by a second whenever it is looked at."""

    def __init__(self) -> None:
        self.ticks = itertools.count()

    def perf_counter(self) -> float:
        return float(next(self.ticks))


@pytest.mark.full
def test_the_column_bound_keeps_its_last_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = optsched.load("makespan/paper-160x20")
    durations = durations_of(instance)
    bounds = []
    for seconds in (9.0, None):
        monkeypatch.setattr(deadlines, "time", Ticks())
        monkeypatch.setattr(deadlines, "_seconds_stopped", 0.0)
        limit = Deadline(seconds, began=0.0)
        found = column_bound.column_bound(durations, 200.0, 1200.0, deadline=limit)
        assert certificate_violations(instance, found) == []
        bounds.append(found.bound(instance.slotted))
    assert bounds[0] < bounds[-1]
    assert bounds == sorted(bounds)


def test_a_state_search_stops_within_one_state() -> None:
    """Twenty jobs on four servers: the first state has more successors than could be listed."""
    instance = crowded(1, 20, 4, server_sizes=(8,), largest_job=2)
    search = StateSearch(instance, instance.horizon + 1, Deadline(0.0))
    search.run()
    assert search.bound <= np.ceil(durations_of(instance).minimum.sum())
    assert search.schedule is None
    assert len(search.seen) == 0


def test_building_stops_at_the_deadline_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    instance = optsched.load("makespan/contended-3x3")
    data = MakespanModelData(instance, durations_of(instance), 12, 9, True, Deadline(0.0))
    with pytest.raises(OutOfTimeError):
        formulation.build(data)
    assert caplog.records == []


def test_what_cannot_be_built_in_time_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    built = []
    for module in (ilp.formulation, pools):
        monkeypatch.setattr(module, "build", built.append)
    monkeypatch.setattr(sizes, "NONZEROS_PER_SECOND", 1)
    for method in ("ilp", "ilp-relaxed"):
        result = optsched.solve("makespan/contended-3x3", method, time_limit=0.5)
        assert result.termination is Termination.TIME_LIMIT
    assert built == []


@pytest.mark.usefixtures("short_searches")
def test_what_takes_too_much_memory_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "MAX_NONZEROS", 100)
    result = optsched.solve("makespan/contended-3x3", "ilp")
    assert result.termination is Termination.FEASIBLE
    assert "nonzeros" in result.details["stopped_at"]
    assert result.check.feasible


@pytest.mark.parametrize("method", ["ilp-relaxed", "theta"])
def test_bounds_without_a_model(method: str) -> None:
    """Where time allows no model its cheap bound stands; where memory allows none it is refused."""
    instance = optsched.load("makespan/large-1600x200")
    result = optsched.solve(instance, method, time_limit=1.0)
    assert (result.termination, result.solution) == (Termination.TIME_LIMIT, None)
    assert result.bound >= 358
    if method == "theta":
        with pytest.raises(NotApplicableError, match=r"nonzeros, expected at most 3000000"):
            optsched.solve(instance, method)
