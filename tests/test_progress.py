"""Progress events: what a callback receives while a method runs."""

import json
import os
import signal
from typing import Any

import pytest
from commands import stderr_of
from sampling import first, one_in

import optsched
from optsched.cli import _code
from optsched.errors import MethodError
from optsched.placement.heuristics.repartition import starting_placement
from optsched.placement.solution import PlacementSolution
from optsched.progress import Event, Progress
from optsched.result import Termination

RUNS = [
    *(("placement/t5-11b-16", m) for m in ("ilp", "ilp-vertex", "columns", "exact", "min-cut")),
    ("makespan/contended-3x3", "ilp"),
    ("makespan/contended-4x3", "exact"),
    ("makespan/mixed-24x8", "local-search"),
    ("makespan/mixed-24x8", "nested"),
    ("selection/5x10", "patterns"),
    ("selection/5x10", "columns"),
    ("selection/3x6", "milp"),
    ("selection/5x10", "sts"),
    ("speed-profile/one-atom", "hull"),
    ("rolling/three-by-hand", "edf"),
    ("online/small-400x40", "spjf"),
    ("packing/two-nodes", "exact"),
]


def events_of(name: str, method: Any, **settings: Any) -> tuple[list[Event], Any]:
    events: list[Event] = []
    return events, optsched.solve(name, method, callback=events.append, **settings)


@pytest.mark.parametrize(("name", "method"), one_in(2, RUNS))
def test_events_are_valid(name: str, method: str) -> None:
    """No incumbent below the optimum, no bound above it, each no worse than the one before."""
    events, result = events_of(name, method, iterations=2000, time_limit=60.0)
    assert (events[0].incumbent, events[0].bound) == (None, None)
    assert (events[-1].incumbent, events[-1].bound) == (result.objective, result.bound)
    assert [e.seconds for e in events] == sorted(e.seconds for e in events)
    between = events[1:-1]
    incumbents = [e.incumbent for e in between if e.incumbent is not None]
    bounds = [e.bound for e in between if e.bound is not None]
    assert incumbents == sorted(incumbents, reverse=True)
    assert bounds == sorted(bounds)
    over_time = name.startswith(("rolling", "online"))
    optimum = result.objective if over_time else optsched.solve(name).objective
    slack = 1e-6 * optimum
    assert all(value >= optimum - slack for value in incumbents)
    assert all(value <= optimum + slack for value in bounds)


REPORTING = [
    ("placement/t5-11b-16", "ilp"),
    ("makespan/mixed-24x8", "local-search"),
    ("makespan/mixed-24x8", "nested"),
    ("selection/10x40", "columns"),
    ("selection/10x40", "patterns"),
]


@pytest.mark.parametrize(("name", "method"), first(4, REPORTING))
def test_methods_report_incumbents_and_bounds(name: str, method: str) -> None:
    events, _ = events_of(name, method, iterations=2000)
    assert len(events) > 2
    assert any(e.incumbent is not None and e.bound is not None for e in events[1:-1])


def test_a_callback_changes_nothing() -> None:
    _, result = events_of("selection/5x10", "patterns")
    alone = optsched.solve("selection/5x10", "patterns")
    assert result.solution == alone.solution
    assert result.bound == alone.bound
    assert [p.bound for p in result.trace][-1] == [p.bound for p in alone.trace][-1]


VERBOSE = [("selection/5x10", "patterns"), ("makespan/fig2", "sjf-bco")]


@pytest.mark.parametrize(("name", "method"), VERBOSE)
def test_verbose_prints_events(name: str, method: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Also what comes while the solver works, which writes nothing itself."""
    events, result = events_of(name, method, verbose=True)
    printed = capfd.readouterr().out.splitlines()
    assert printed == [str(event) for event in events]
    assert f"{result.objective:.6g}" in printed[-1]
    assert "excess" in printed[-1]


def test_the_command_prints_events_on_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    """While standard output has the JSON alone, also where a solver prints by itself."""
    events, result = events_of("selection/5x10", "patterns")
    command = "solve selection/5x10 --method patterns --json"
    assert _code([*command.split(), "--verbose"]) == 0
    out, err = capfd.readouterr()
    assert json.loads(out)["objective"] == result.objective
    printed = [line.partition(" s  ")[2] for line in err.splitlines()]
    expected = [str(event).partition(" s  ")[2] for event in events]
    assert len(printed) > 2
    assert (printed[0], printed[-1]) == (expected[0], expected[-1])
    assert stderr_of(command) == ""
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("method", "at"), [("patterns", 0), ("columns", 2), ("sts", 1)])
def test_an_exception_of_the_listeners_ends_the_run(method: str, at: int) -> None:
    calls = []

    def listener(event: Event) -> None:
        calls.append(event)
        if len(calls) > at:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        optsched.solve("selection/5x10", method, callback=listener)
    assert len(calls) == at + 1
    assert optsched.solve("selection/5x10", "patterns").proved


def test_an_interrupt_in_a_callback_keeps_the_incumbent() -> None:
    events: list[Event] = []

    def listener(event: Event) -> None:
        events.append(event)
        if event.incumbent is not None and len(events) == 3:
            os.kill(os.getpid(), signal.SIGINT)

    name = "makespan/paper-160x20-strong"
    result = optsched.solve(name, "nested", callback=listener, iterations=10**9)
    assert result.termination is Termination.INTERRUPTED
    assert result.check.feasible
    assert events[-1].incumbent == result.objective


def test_a_custom_method_may_report() -> None:
    def mine(instance: Any, options: Any, settings: Any) -> Any:
        settings.progress.report(incumbent=9.0)
        settings.progress.report(incumbent=10.0)  # no better: no event
        settings.progress.report(bound=0.01)
        counts = starting_placement(instance, options).counts
        return PlacementSolution.of(instance.name, counts.tolist())

    events, _ = events_of("placement/fig2", mine)
    assert [(e.incumbent, e.bound) for e in events[1:-1]] == [(9.0, None), (9.0, 0.01)]

    received: list[Event] = []

    def failing(event: Event) -> None:
        if received:
            raise ValueError("no")
        received.append(event)

    with pytest.raises(MethodError, match="no"):
        optsched.solve("placement/fig2", mine, callback=failing)


def test_a_bound_above_the_incumbent_is_the_incumbent() -> None:
    """A search for better that ends without one proves the incumbent, not more."""
    events: list[Event] = []
    progress = Progress(events.append)
    progress.report(5.0, 3.0)
    progress.report(None, 7.0)
    progress.report(None, 4.0)
    assert [(e.incumbent, e.bound) for e in events] == [(5.0, 3.0), (5.0, 5.0)]
    assert "excess 66.67%" in str(events[0])
