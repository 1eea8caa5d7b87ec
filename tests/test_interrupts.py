"""What an interrupt does to a method, to a solver and to a command: what there is, is kept."""

import json
import logging
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from processes import started
from sampling import first
from scipy.sparse import csr_array

import optsched
from optsched import interrupts
from optsched.backends.arrays import MilpArrays, solve_arrays
from optsched.backends.models import solve_model
from optsched.deadline import Deadline, OutOfTimeError
from optsched.placement.exact import columns as home
from optsched.result import Outcome, Result, Settings, Termination

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals to a process: POSIX only")
INSTANCE = "placement/vgg19-16"
TOO_LONG = 300
"""Seconds after which a test says that nothing stopped the work."""


@pytest.fixture(autouse=True)
def default_handler() -> Iterator[None]:
    """Interrupts as on a terminal, whatever the tests were started from."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for timer in _timers:
        timer.cancel()  # of a test that failed before
    _timers.clear()
    signal.signal(signal.SIGINT, before)


_timers: list[threading.Timer] = []


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def interrupt_after(seconds: float) -> None:
    main = threading.main_thread().ident
    _timers.append(threading.Timer(seconds, signal.pthread_kill, (main, signal.SIGINT)))
    _timers[-1].start()


Solve = Callable[[Any], Result]


@pytest.fixture
def solve_by(monkeypatch: pytest.MonkeyPatch) -> Solve:
    """Solve by something else in the place of the method "columns"."""

    def solve(run: Any) -> Result:
        optsched.solve(INSTANCE, "columns")
        monkeypatch.setattr("optsched.placement.exact.columns.columns", run)
        return optsched.solve(INSTANCE, "columns")

    return solve


real = home.columns


def test_the_incumbent_is_kept(solve_by: Solve) -> None:
    def until_over(instance: Any, options: Any, settings: Settings) -> Outcome:
        found = real(instance, options, settings)
        interrupt()
        assert settings.deadline.is_over
        assert settings.deadline.left == 0
        assert settings.deadline.share(0.5).left == 0
        return Outcome(found.solution, Termination.TIME_LIMIT)

    result = solve_by(until_over)
    assert result.termination is Termination.INTERRUPTED
    assert result.check.feasible
    assert result.objective == optsched.solve(INSTANCE, "ilp").objective
    assert not Deadline().is_over
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def done(*arguments: Any) -> Outcome:
    found = real(*arguments)
    interrupt()
    return found


def test_what_is_proved_stays_proved(solve_by: Solve) -> None:
    assert solve_by(done).termination is Termination.OPTIMAL
    assert interrupts.received()
    rows = []
    with pytest.raises(KeyboardInterrupt):
        rows.append(optsched.compare([INSTANCE, INSTANCE], ["columns"]))
    assert not rows


@pytest.mark.parametrize("checks_deadline", [False, True])
def test_without_an_incumbent_it_raises(solve_by: Solve, checks_deadline: bool) -> None:
    def nothing(*_: Any) -> Outcome:
        interrupt()
        if not checks_deadline:
            time.sleep(TOO_LONG)
        return Outcome(None, Termination.TIME_LIMIT)

    with pytest.raises(KeyboardInterrupt):
        solve_by(nothing)


def test_work_that_never_looks_is_stopped(solve_by: Solve, capfd: pytest.CaptureFixture) -> None:
    import pyomo.environ as pyo

    def states_a_model(instance: Any, options: Any, settings: Settings) -> Outcome:
        found = real(instance, options, settings)
        model = pyo.ConcreteModel()

        def rule(*_: Any) -> Any:
            interrupt()
            time.sleep(TOO_LONG)

        try:
            model.never = pyo.Constraint(rule=rule)
        except OutOfTimeError:
            return Outcome(found.solution, Termination.TIME_LIMIT)
        raise AssertionError("the model was stated")

    result = solve_by(states_a_model)
    assert (result.termination, result.solution is None) == (Termination.INTERRUPTED, False)
    assert capfd.readouterr() == ("", "")
    assert logging.root.manager.disable == 0


def test_a_second_interrupt_is_one(solve_by: Solve) -> None:
    def twice(*_: Any) -> Outcome:
        interrupt()
        try:
            interrupt()
            time.sleep(TOO_LONG)
        except OutOfTimeError:
            raise AssertionError("the second was taken for ours") from None
        return Outcome(None, Termination.TIME_LIMIT)

    with pytest.raises(KeyboardInterrupt):
        solve_by(twice)


def test_a_callers_own_handler_stays(solve_by: Solve) -> None:
    calls = []
    signal.signal(signal.SIGINT, lambda *_: calls.append(1))
    assert solve_by(done).termination is Termination.OPTIMAL
    assert calls == [1]
    assert not interrupts.received()


def market_split(rows: int, columns: int) -> MilpArrays:
    """A programme whose incumbent comes at once and whose proof takes for ever."""
    rng = np.random.default_rng(1)
    weights = rng.integers(1, 100, size=(rows, columns)).astype(float)
    matrix = csr_array(np.hstack([weights, np.eye(rows), -np.eye(rows)]))
    half = np.floor(weights.sum(axis=1) / 2)
    return MilpArrays(
        cost=np.concatenate([np.zeros(columns), np.ones(2 * rows)]),
        matrix=matrix,
        row_lower=half,
        row_upper=half,
        lower=np.zeros(columns + 2 * rows),
        upper=np.concatenate([np.ones(columns), np.full(2 * rows, np.inf)]),
        integer=np.concatenate([np.ones(columns, bool), np.zeros(2 * rows, bool)]),
    )


@pytest.mark.parametrize("solver", first(2, ["arrays", "scip", "highs"]))
def test_a_solver_stops_with_its_incumbent(solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "PATIENCE", 60.0)  # slow solvers come to look late
    run: Any = solve_arrays if solver == "arrays" else solve_model
    settings = Settings(solver="highs" if solver == "arrays" else solver)
    small, hard = market_split(1, 2), market_split(6, 60)
    if solver != "arrays":
        small, hard = as_model(small), as_model(hard)
    run(small, settings)  # what it imports is loaded
    for seconds in (1.0, 10.0, 50.0):  # until its incumbent has come, also on a slow machine
        with interrupts.deferred() as kept:
            interrupt_after(seconds)
            answer = run(hard, settings)
        assert kept.received
        assert answer.termination is Termination.TIME_LIMIT
        if answer.has_solution:
            return
    raise AssertionError("no incumbent")


def as_model(arrays: MilpArrays) -> Any:
    import pyomo.environ as pyo

    model = pyo.ConcreteModel()
    count = len(arrays.cost)
    model.x = pyo.Var(
        range(count), domain=lambda _, j: pyo.Binary if arrays.integer[j] else pyo.NonNegativeReals
    )
    dense = arrays.matrix.toarray()
    model.rows = pyo.Constraint(
        range(len(dense)),
        rule=lambda m, i: sum(
            dense[i, j] * m.x[j] for j in range(count) if dense[i, j]
        ) == arrays.row_lower[i],
    )  # fmt: skip
    model.total = pyo.Objective(expr=sum(arrays.cost[j] * model.x[j] for j in range(count)))
    return model


PROGRAM = """
import signal, sys, time
from optsched.__main__ import main
{before}
sys.argv = ["optsched", *sys.argv[1:]]
main()
"""


def program(before: str, *argv: str, ignored: bool = False) -> subprocess.Popen[str]:
    """The program after a few lines of Python; a line "now" marks when to interrupt it."""
    handler = signal.SIG_IGN if ignored else signal.SIG_DFL
    how = {"stdout": subprocess.PIPE, "preexec_fn": lambda: signal.signal(signal.SIGINT, handler)}
    return started("-c", PROGRAM.format(before=before), *argv, **how)


def sent(child: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Code, output and errors of a child interrupted at its "now"."""
    with child:
        assert child.stderr.readline() == "now\n"
        child.send_signal(signal.SIGINT)
        out, error = child.communicate(timeout=TOO_LONG)
    return child.returncode, out, error


SAY = "print('now', file=sys.stderr, flush=True)"
IN_AN_IMPORT = f"""
import importlib.abc
class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "typer":
            {SAY}
            try:
                time.sleep({TOO_LONG})
            except BaseException:
                print("swallowed", file=sys.stderr)
sys.meta_path.insert(0, Finder())
"""
INCUMBENT_FIRST = f"""
import optsched.__main__
optsched.__main__.PATIENCE = 600
from optsched import methods
from optsched.placement.exact import columns as home
from optsched.result import Outcome, Termination
methods.warm_up("placement")
real = home.columns
def slow(instance, options, settings):
    found = real(instance, options, settings)
    {SAY}
    while not settings.deadline.is_over:
        time.sleep(0.01)
    return Outcome(found.solution, Termination.TIME_LIMIT)
home.columns = slow
"""
IGNORING = f"""
from optsched import methods
from optsched.placement.exact import columns as home
methods.warm_up("placement")
def ignoring(*arguments):
    {SAY}
    while True:
        try:
            time.sleep({TOO_LONG})
        except BaseException:
            pass
home.columns = ignoring
"""


@pytest.mark.parametrize("before", first(1, [IN_AN_IMPORT, IGNORING]), ids=["import", "ignoring"])
def test_the_program_ends_with_one_line(before: str) -> None:
    ended = sent(program(before, "solve", INSTANCE, "--method", "columns"))
    assert ended == (130, "", "optsched: interrupted\n")


@pytest.mark.parametrize("as_json", [False, pytest.param(True, marks=pytest.mark.full)])
def test_solve_prints_and_writes_its_incumbent(tmp_path: Path, as_json: bool) -> None:
    path = tmp_path / "solution.json"
    argv = ["solve", INSTANCE, "--method", "columns", "-o", str(path)]
    code, out, error = sent(program(INCUMBENT_FIRST, *argv, *["--json"] * as_json))
    assert (code, error) == (130, "optsched: interrupted\n")
    if as_json:
        assert json.loads(out)["termination"] == "interrupted"
    else:
        assert "status          interrupted" in out
    assert optsched.check(INSTANCE, path).feasible


def test_an_interrupt_ignored_from_outside_stays_ignored() -> None:
    once = INCUMBENT_FIRST.replace("while not settings.deadline.is_over", "for _ in range(20)")
    child = program(once, "solve", INSTANCE, "--method", "columns", ignored=True)
    code, out, error = sent(child)
    assert (code, error) == (0, "")
    assert "status          time-limit" in out
