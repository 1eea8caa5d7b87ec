"""Solving an instance by a named method, and checking whatever comes back."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optsched import interrupts
from optsched.checking import CheckReport
from optsched.deadline import Deadline, OutOfTimeError
from optsched.errors import InputError, NotApplicableError, shown
from optsched.external import method_of
from optsched.files import read_document
from optsched.library import load
from optsched.problem import Problem, resolve
from optsched.problems import PROBLEMS
from optsched.progress import Listener, Progress, listener_of
from optsched.result import Outcome, Result, Settings, Termination
from optsched.verbs.judging import result_of

if TYPE_CHECKING:
    import pyomo.environ as pyo

    from optsched.typing import AMethod, AnInstance, Solution


def solve(
    instance: AnInstance,
    method: AMethod | None = None,
    *,
    options: Mapping[str, object] | None = None,
    time_limit: float | None = None,
    iterations: int | None = None,
    gap: float = 1e-6,
    threads: int = 1,
    seed: int = 0,
    solver: str = "highs",
    callback: Listener | None = None,
    verbose: bool = False,
    bound: bool = True,
) -> Result:
    """Solve an instance and check the answer.

    Parameters
    ----------
    instance : instance, str or Path
        An instance, or what `optsched.load` takes.
    method : str or callable, optional
        A name of `optsched.METHODS`; by default the problem's standard one: "exact", which picks
        an exact method by itself, or over time the paper's own policy. Or a method of your
        own: ``f(instance, options, settings)`` that returns a solution (or its dict), or an
        `optsched.result.Outcome` with a bound; or its place, ``"module:name"``.
    options : mapping, optional
        The problem's own options, such as ``{"all_reduce_bandwidth": "bottleneck"}``.
    time_limit : float, optional
        Seconds for heuristics, bounds, models and solvers together, from when the instance is
        loaded; a second more at most. Loops that are compiled meanwhile do not count.
    iterations : int, optional
        Cut for methods that count iterations.
    gap : float
        Relative gap at which a value counts as proved.
    threads : int
        Threads of the solver.
    seed : int
        Seed of every random choice.
    solver : str
        "highs", or "scip" with the extra of that name, or a MIP solver that Pyomo drives: "cbc"
        (an extra, or on PATH), "glpk", "gurobi", "cplex", "xpress".
    callback : callable, optional
        Called with an `optsched.progress.Event` (seconds, incumbent, bound) at the start, at the
        end, and in between where the method knows a better incumbent or bound. An exception of its
        own ends the run and is raised here.
    verbose : bool
        Whether such events are printed, a line each.
    bound : bool
        Whether the answer of a method without a bound gets the problem's quick one.

    Returns
    -------
    Result
        The objective is the checker's own; `Result.check` says whether the solution holds.
        After an interrupt (Ctrl-C) its termination is "interrupted", unless the method had
        proved its answer.

    Raises
    ------
    InputError
        For a file, a method or an option that cannot be used; `NotApplicableError` when the
        method refuses this instance by name.
    KeyboardInterrupt
        After an interrupt, when there is no solution yet.
    SolverError
        If the solver fails.
    MethodError
        If a method of your own raises, or returns no answer.

    Examples
    --------
    >>> import optsched
    >>> result = optsched.solve("placement/fig2", "heavy-edge")
    >>> result.check.feasible, str(result.termination)
    (True, 'feasible')
    >>> best = optsched.solve("placement/fig2")
    >>> str(best.termination), best.objective <= result.objective
    ('optimal', True)
    """
    if isinstance(instance, str | Path):
        instance = load(instance)
    settings = Settings(time_limit, iterations, gap, threads, seed, solver)
    if callback is not None and not callable(callback):
        raise InputError("settings", "callback", shown(callback), "a callable")
    problem = problem_for(instance)
    chosen = resolve(problem.options).from_dict(dict(options or {}))
    entry = method_of(problem, problem.standard if method is None else method)
    resolve(entry.run)  # what is missing is said before anything is loaded
    problem.require_support(entry, instance, chosen)
    progress = Progress(listener_of(callback, verbose))
    settings = replace(settings, deadline=Deadline(time_limit), progress=progress)
    progress.tell(None, None)
    outcome = _kept(lambda: entry(instance, chosen, settings))
    if bound:
        outcome = _with_bound(problem, instance, chosen, settings, outcome)
    result = result_of(problem, instance, entry, chosen, settings, outcome)
    progress.tell(result.objective, result.bound)
    return result


def check(
    instance: AnInstance,
    solution: Solution | Result | str | Path,
    options: Mapping[str, object] | None = None,
) -> CheckReport:
    """Check a solution with code that shares nothing with the methods.

    Parameters
    ----------
    instance, solution : object, str or Path
        Objects, or paths of their files; of a `Result` its solution.
    options : mapping, optional
        Options the objective is claimed under; by default those in the solution.

    Returns
    -------
    CheckReport
        `feasible`, the `objective` recomputed, and the `violations`, each with its rule, its
        place and its amount.

    Raises
    ------
    InputError
        If a file cannot be used. A broken rule is not an error: it is in the report.

    Examples
    --------
    >>> import optsched
    >>> optsched.check("placement/fig2", optsched.solve("placement/fig2")).violations
    ()
    """
    if isinstance(instance, str | Path):
        instance = load(instance)
    problem = problem_for(instance)
    solution = solution_of(problem, solution)
    if not isinstance(solution, resolve(problem.solution)):
        raise InputError("check", "solution", shown(solution), "a solution or its file")
    report: CheckReport = resolve(problem.check)(
        instance, solution, None if options is None else dict(options)
    )
    return report


def solution_of(problem: Problem, given: Any) -> Any:
    """The solution in a file or in a result; what is neither is itself. Raises InputError."""
    if isinstance(given, Result):
        if given.solution is None:
            found = f"none: {given.method} ended {given.termination.value}"
            raise InputError(given.instance, "solution", found, "a result with a solution")
        return given.solution
    return load_solution(problem, given) if isinstance(given, str | Path) else given


def load_solution(problem: Problem, path: str | Path) -> Any:
    """Load a solution file of a problem; raises InputError."""
    return resolve(problem.solution).from_dict(read_document(path), str(path))


def build_model(
    instance: AnInstance,
    method: str = "ilp",
    options: Mapping[str, object] | None = None,
    *,
    pruned: bool = False,
) -> pyo.ConcreteModel:
    """Build the Pyomo model of a method without solving it.

    The model holds for every feasible solution of the instance, so that constraints may be added
    to it. For a policy over time it is the model of the first decision.

    Parameters
    ----------
    instance : instance, str or Path
        An instance, or what `optsched.load` takes.
    method : str, optional
        A name of `optsched.METHODS` that states a model; the default is one of placement and of
        makespan.
    options : mapping, optional
        The problem's own options.
    pruned : bool, optional
        Build the smaller model that the package solves itself: columns, bounds and symmetric
        solutions are left out that no optimum better than a known solution needs. With a
        constraint of your own it may be infeasible although the instance is not.

    Returns
    -------
    pyomo.environ.ConcreteModel
        The model, not solved.

    Raises
    ------
    InputError
        If the problem has no such method; `NotApplicableError` if the method is not a model or
        refuses the instance.

    Examples
    --------
    >>> import optsched
    >>> model = optsched.build_model("placement/fig2", "ilp")
    >>> model.alpha.name, len(model.STAGES), len(model.SERVERS)
    ('alpha', 3, 3)
    """
    if isinstance(instance, str | Path):
        instance = load(instance)
    problem = problem_for(instance)
    entry = problem.method(method)
    if entry.build is None:
        raise NotApplicableError(method, "no Pyomo model", _with_models(problem))
    chosen = resolve(problem.options).from_dict(dict(options or {}))
    problem.require_support(entry, instance, chosen)
    return entry.model(instance, chosen, pruned=pruned)


@lru_cache
def warm_up(problem: str) -> float:
    """Load all of a problem's compiled code, once a process; seconds it took.

    The first time on a machine it is compiled (half a minute) and kept on disk. Nothing else needs
    it: `solve` compiles what it runs, once that is worth it.
    """
    from optsched.kernels import compiled_at_once

    began = time.perf_counter()
    run_all = PROBLEMS[problem].warm_up
    if run_all is not None:
        with compiled_at_once():
            resolve(run_all)()
    return time.perf_counter() - began


def problem_for(instance: Any) -> Problem:
    """The problem an instance belongs to."""
    schema = getattr(instance, "schema_", "")
    problem = PROBLEMS.get(str(schema).removeprefix("optsched/"))
    if problem is None:
        raise InputError("instance", "", shown(instance), "an instance made by optsched.load")
    return problem


def _with_models(problem: Problem) -> str:
    models = ", ".join(m.name for m in problem.methods if m.build)
    none = f"another problem: every method of {problem.name} is an algorithm, none states a model"
    return f"one of {models}" if models else none


def _kept(run: Callable[[], Outcome]) -> Outcome:
    """What a method returns; after an interrupt what it had by then."""
    with interrupts.deferred() as interrupt:
        try:
            outcome = run()
        except OutOfTimeError:
            if not interrupt.came:
                raise
            raise KeyboardInterrupt from None
    proved = (Termination.OPTIMAL, Termination.INFEASIBLE)
    if not interrupt.came or outcome.termination in proved:
        return outcome
    if outcome.solution is None:
        raise KeyboardInterrupt
    return replace(outcome, termination=Termination.INTERRUPTED)


def _with_bound(
    problem: Problem, instance: Any, options: Any, settings: Settings, outcome: Outcome
) -> Outcome:
    """Give an outcome without a bound the problem's quick one, in what is left of the time."""
    if outcome.bound is not None or outcome.termination is Termination.INFEASIBLE:
        return outcome
    if problem.bound is None:
        return outcome
    quick: tuple[Any, ...] = (settings.deadline,)
    if problem.over_time:
        quick = (settings, outcome.solution)
    value, source, *certificate = resolve(problem.bound)(instance, options, *quick)
    return replace(
        outcome,
        bound=value,
        bound_source=source,
        certificate=certificate[0] if certificate else None,
    )
