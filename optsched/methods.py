"""Solving an instance with a method, checking solutions, building and exporting models."""

from __future__ import annotations

import tempfile
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
from optsched.io.writing import write_bytes
from optsched.library import load
from optsched.modelling import ModelOrigin, is_model, solution_of
from optsched.problem import Method, Problem, resolve
from optsched.problems import PROBLEMS
from optsched.progress import Listener, Progress, listener_of
from optsched.result import Outcome, Result, Settings, Termination
from optsched.verbs.judging import result_of

if TYPE_CHECKING:
    import pyomo.environ as pyo

    from optsched.typing import InstanceLike, MethodLike, SolutionLike

EXPORT_FORMATS = ("mps", "lp", "nl")


def solve(
    instance: InstanceLike,
    method: MethodLike | None = None,
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
    start: SolutionLike | None = None,
) -> Result:
    """Solve an instance and check the answer.

    Parameters
    ----------
    instance : instance, str or Path
        An instance, or what `optsched.load` takes.
    method : str or callable, optional
        A name of `optsched.METHODS`; by default the problem's standard one: "exact", which picks
        an exact method by itself; for online and rolling instances the paper's own policy. Or a
        custom method, ``f(instance, options, settings)``, that returns a solution (or its dict) or
        an `optsched.result.Outcome` with a bound; or its import path, ``"module:name"``.
    options : mapping, optional
        The problem's own options, such as ``{"all_reduce_bandwidth": "bottleneck"}``.
    time_limit : float, optional
        Seconds for heuristics, bounds, models and solvers together, from when the instance is
        loaded; may be exceeded by up to one second. Compile time is not counted.
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
        end, and whenever the method improves its incumbent or bound. An exception of its own ends
        the run and is raised here.
    verbose : bool
        Whether such events are printed, a line each.
    bound : bool
        Whether to compute a quick bound if the method returns none, or as part of a heuristic.
    start : solution, Result, model, str or Path, optional
        A feasible solution. The method uses it as its first incumbent where it is better than its
        own heuristics'. Placement's ``ilp`` passes that incumbent to SCIP and others as MIP start;
        with HiGHS, and in other models, it is what a run must improve on.

    Returns
    -------
    Result
        The objective is the checker's own; `Result.check` says whether the solution holds.
        After an interrupt (Ctrl-C) its termination is "interrupted", unless the method had
        proved its answer.

    Raises
    ------
    InputError
        For a file, a method or an option that cannot be used, or a start that violates a rule,
        which is named; `NotApplicableError` when the method refuses this instance, or a start.
    KeyboardInterrupt
        After an interrupt, when there is no solution yet.
    SolverError
        If the solver fails.
    MethodError
        If a custom method raises, or returns an invalid object.

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
    instance, problem = instance_and_problem(instance)
    settings = Settings(time_limit, iterations, gap, threads, seed, solver, bound)
    if callback is not None and not callable(callback):
        raise InputError("settings", "callback", shown(callback), "a callable")
    chosen = resolve(problem.options).from_dict(dict(options or {}))
    entry = method_of(problem, problem.standard if method is None else method)
    resolve(entry.run)  # fail early if an optional dependency is missing
    problem.require_support(entry, instance, chosen)
    progress = Progress(listener_of(callback, verbose))
    settings = replace(settings, deadline=Deadline(time_limit), progress=progress)
    if start is not None:
        settings = replace(settings, start=_feasible_start(problem, entry, instance, start, chosen))
    progress.notify(None, None)
    outcome = _run_interruptible(lambda: entry(instance, chosen, settings))
    if bound:
        outcome = _with_bound(problem, instance, chosen, settings, outcome)
    result = result_of(problem, instance, entry, chosen, settings, outcome)
    progress.notify(result.objective, result.bound)
    return result


def check(
    instance: InstanceLike,
    solution: SolutionLike,
    options: Mapping[str, object] | None = None,
) -> CheckReport:
    """Check a solution with code that shares nothing with the methods.

    Parameters
    ----------
    instance, solution : object, str or Path
        Objects, or paths of their files; a `Result` or a solved model stands for its solution.
    options : mapping, optional
        Options of the objective; by default those in the solution.

    Returns
    -------
    CheckReport
        `feasible`, the `objective` recomputed, and the `violations`, each with its rule, its
        place and its amount.

    Raises
    ------
    InputError
        If a file cannot be used. A violated rule is no error: it is in the report.

    Examples
    --------
    >>> import optsched
    >>> optsched.check("placement/fig2", optsched.solve("placement/fig2")).violations
    ()
    """
    instance, problem = instance_and_problem(instance)
    solution = decisions_of(problem, solution)
    if not isinstance(solution, resolve(problem.solution)):
        raise InputError("check", "solution", shown(solution), "a solution or its file")
    report: CheckReport = resolve(problem.check)(
        instance, solution, None if options is None else dict(options)
    )
    return report


def decisions_of(problem: Problem, given: Any) -> Any:
    """Return the solution in a file, a result or a model; other objects are returned unchanged."""
    if is_model(given):
        return solution_of(given)
    if isinstance(given, Result):
        if given.solution is None:
            found = f"none: {given.method} ended {given.termination.value}"
            raise InputError(given.instance, "solution", found, "a result with a solution")
        return given.solution
    return load_solution(problem, given) if isinstance(given, str | Path) else given


def load_solution(problem: Problem, path: str | Path) -> Any:
    return resolve(problem.solution).from_dict(read_document(path), str(path))


def build_model(
    instance: InstanceLike,
    method: str = "ilp",
    options: Mapping[str, object] | None = None,
    *,
    pruned: bool = False,
) -> pyo.ConcreteModel:
    """Build the Pyomo model of a method without solving it.

    The model holds for every feasible solution of the instance, so that constraints may be added
    to it and the objective replaced. Solve it by any solver of Pyomo's; then `optsched.solution_of`
    returns its solution. ``print(optsched.explain(model))`` lists its sets, variables and
    constraints, and units: a placement's ``alpha`` counts multiples of the time shown there, its
    ``seconds`` is in seconds. For a policy over time it is the model of the first decision.

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
        Build the smaller model that the package solves itself. It omits columns and symmetric
        solutions that cannot improve on a known solution; with a constraint of your own it may be
        infeasible although the instance is not.

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

    Anti-affinity: stages 0 and 1 never share a server, where ``present[s, m]`` is 1.

    >>> import pyomo.environ as pyo
    >>> model.apart = pyo.Constraint(
    ...     model.SERVERS, rule=lambda m, server: m.present[0, server] + m.present[1, server] <= 1
    ... )
    >>> str(pyo.SolverFactory("appsi_highs").solve(model).solver.termination_condition)
    'optimal'
    >>> optsched.check("placement/fig2", model).feasible
    True
    """
    instance, problem = instance_and_problem(instance)
    entry = problem.method(method)
    if entry.build is None:
        models = ", ".join(m.name for m in problem.methods if m.build)
        none = f"another problem: no method of {problem.name} has a Pyomo model"
        raise NotApplicableError(method, "no Pyomo model", f"one of {models}" if models else none)
    chosen = resolve(problem.options).from_dict(dict(options or {}))
    problem.require_support(entry, instance, chosen)
    model = entry.model(instance, chosen, pruned=pruned)
    if not hasattr(model, "origin"):
        read = getattr(model, "reader", None)
        model.origin = ModelOrigin(problem, method, instance, chosen, read)
    return model


def export(
    instance: InstanceLike,
    method: str,
    file_format: str,
    path: str | Path,
    *,
    options: Mapping[str, object] | None = None,
    pruned: bool = False,
) -> str:
    """Write a method's model as MPS, LP or NL; return the description of its objective."""
    if file_format not in EXPORT_FORMATS:
        raise InputError("export", "--format", shown(file_format), " or ".join(EXPORT_FORMATS))
    import pyomo.environ as pyo

    model = build_model(instance, method, options, pruned=pruned)
    labels = {"symbolic_solver_labels": file_format != "nl"}
    try:
        with tempfile.TemporaryDirectory(prefix="optsched-export-") as folder:
            file = Path(folder) / f"model.{file_format}"
            model.write(str(file), io_options=labels)
            write_bytes(path, file.read_bytes())
    except OSError as error:
        raise InputError(str(path), "", error.strerror or str(error), "a writable file") from None
    (objective,) = model.component_data_objects(pyo.Objective, active=True)
    return str(objective.parent_component().doc)


@lru_cache
def warm_up(problem: str) -> float:
    """Load or compile all kernels of a problem, once per process; return the seconds it took.

    Nothing needs it: `solve` compiles what it runs, once that is worth it.
    """
    from optsched.kernels import always_compile

    began = time.perf_counter()
    run_all = PROBLEMS[problem].warm_up
    if run_all is not None:
        with always_compile():
            resolve(run_all)()
    return time.perf_counter() - began


def instance_and_problem(instance: Any) -> tuple[Any, Problem]:
    """Return an instance, loaded if it is a file or a name, and its problem."""
    if isinstance(instance, str | Path | Mapping):
        instance = load(instance)
    return instance, problem_for(instance)


def problem_for(instance: Any) -> Problem:
    schema = getattr(instance, "schema_", "")
    problem = PROBLEMS.get(str(schema).removeprefix("optsched/"))
    if problem is None:
        raise InputError("instance", "", shown(instance), "an instance made by optsched.load")
    return problem


def _feasible_start(
    problem: Problem, method: Method, instance: Any, start: Any, options: Any
) -> Any:
    """Return a start as a solution; raises InputError if it violates a rule."""
    if not method.takes_start:
        takers = ", ".join(each.name for each in problem.methods if each.takes_start)
        raise NotApplicableError(method.name, "a start", f"one of {takers}" if takers else "none")
    solution = decisions_of(problem, start)
    check(instance, solution, options.to_dict()).require_feasible("start")
    return solution


def _run_interruptible(run: Callable[[], Outcome]) -> Outcome:
    """Run a method; after an interrupt return its incumbent."""
    with interrupts.deferred() as interrupt:
        try:
            outcome = run()
        except OutOfTimeError:
            if not interrupt.received:
                raise
            raise KeyboardInterrupt from None
    proved = (Termination.OPTIMAL, Termination.INFEASIBLE)
    if not interrupt.received or outcome.termination in proved:
        return outcome
    if outcome.solution is None:
        raise KeyboardInterrupt
    return replace(outcome, termination=Termination.INTERRUPTED)


def _with_bound(
    problem: Problem, instance: Any, options: Any, settings: Settings, outcome: Outcome
) -> Outcome:
    """Add a quick bound to an outcome without one, within the remaining time."""
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
