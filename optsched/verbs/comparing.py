"""The gap table: results of methods on instances, with the best proven bound of each instance."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from optsched import interrupts
from optsched.checking import bound_violation
from optsched.declared import require
from optsched.errors import (
    InputError,
    MethodWarning,
    MissingExtraError,
    NotApplicableError,
    OptschedError,
    require_extras,
)
from optsched.external import method_of
from optsched.library import find, load
from optsched.library.best_records import known_bound
from optsched.methods import problem_for, solve
from optsched.modelling import is_model
from optsched.problem import Method, resolve
from optsched.result import (
    NOT_COMPARABLE,
    RELAXES,
    Outcome,
    Result,
    Settings,
    Termination,
    clipped_bound,
)
from optsched.verbs.judging import result_of

if TYPE_CHECKING:
    import pandas as pd

    from optsched.typing import Instances, MethodLike

DEFAULT_TIME_LIMIT = 10.0
TRACEBACK = "traceback"
"""Key of an error row's details."""
COLUMNS = ["instance", "method", "objective", "bound", "excess", "status", "seconds", "checked"]


def compare(
    instances: Instances,
    methods: Sequence[MethodLike] | None = None,
    *,
    time_limit: float | None = DEFAULT_TIME_LIMIT,
    options: Mapping[str, object] | None = None,
    iterations: int | None = None,
    gap: float = 1e-6,
    threads: int = 1,
    seed: int = 0,
    solver: str = "highs",
    full: bool = False,
    on_error: Literal["warn", "raise"] = "warn",
) -> pd.DataFrame:
    """Run methods on instances and tabulate how far each is from optimal.

    Parameters
    ----------
    instances : instance, mapping, str, Path, or an iterable of them
        Instances, files, folders, or shipped names such as "placement"; also a generator or a
        pandas Series.
    methods : sequence of str, callable or model, optional
        By default the problem's heuristics and "exact"; custom methods as in `optsched.solve`. A
        solved model of `optsched.build_model` stands for its solution and is named ``model`` and
        the model's name.
    time_limit : float, optional
        Seconds for each method on each instance.
    options, iterations, gap, threads, seed, solver
        As in `optsched.solve`.
    full : bool
        Whether columns are all keys of ``solve --json`` without the solution.
    on_error : {"warn", "raise"}
        What to do when a method fails: warn and go on, or raise its exception.

    Returns
    -------
    pandas.DataFrame
        A row for each instance and method: instance, method, objective, bound, excess, status,
        seconds, checked. ``bound`` is the best one any method proved for the instance, ``excess``
        is objective / bound - 1, ``checked`` whether the checker accepted the solution (None where
        there is none); ``attrs["problem"]`` names the problems. Methods that relax a rule (such as
        preemptive policies) have no excess if other rows do not relax it: they are listed in
        ``attrs["not comparable"]``. By ``"instance: method"``, ``attrs["messages"]`` says why a row
        has the status "error", and ``attrs["tracebacks"]`` has the traceback where a method failed.

    Raises
    ------
    InputError
        For invalid instances or methods. A method that fails on an instance gets a row with the
        status "error" and a `MethodWarning`. A method of `methods` that does not apply to an
        instance gets such a row without a warning; a default method that does not is left out. With
        `on_error` "raise" both raise their exception.

    Examples
    --------
    >>> import optsched
    >>> table = optsched.compare("placement/fig2", ["heavy-edge", "exact"])
    >>> table["method"].tolist(), table["checked"].tolist()
    (['heavy-edge', 'exact'], [True, True])
    """
    import pandas as pd

    groups = compare_each(
        instances,
        methods,
        time_limit=time_limit,
        options=options,
        iterations=iterations,
        gap=gap,
        threads=threads,
        seed=seed,
        solver=solver,
        on_error=on_error,
    )
    done = [result for group in groups for result in group]
    frame = pd.DataFrame([_row(result) for result in done], columns=COLUMNS)
    if full:
        frame = pd.DataFrame([result.to_dict(with_solution=False) for result in done])
    for attribute, key in (("messages", "message"), ("tracebacks", TRACEBACK)):
        rows = (r for r in done if r.termination is Termination.ERROR and key in r.details)
        frame.attrs[attribute] = {f"{r.instance}: {r.method}": r.details[key] for r in rows}
    frame.attrs["problem"] = ", ".join(dict.fromkeys(result.problem for result in done))
    named = (r.method for r in done if NOT_COMPARABLE in r.details)
    frame.attrs["not comparable"] = ", ".join(dict.fromkeys(named))
    return frame


def _row(result: Result) -> tuple[Any, ...]:
    return (
        result.instance,
        result.method,
        result.objective,
        result.bound,
        result.excess,
        result.status,
        result.build_time + result.solve_time,
        None if result.check is None else result.check.feasible,
    )


def compare_each(
    instances: Instances,
    methods: Sequence[MethodLike] | None = None,
    *,
    on_error: str = "warn",
    **settings: Any,
) -> Iterator[list[Result]]:
    """Yield one instance's results at a time; default methods that do not apply are skipped."""
    require("compare", "on_error", on_error, Literal["warn", "raise"])
    if isinstance(methods, str) or callable(methods) or is_model(methods):
        methods = [methods]
    loaded = list(_loaded(instances))
    methods_by_instance = []
    for instance in loaded:
        problem = problem_for(instance)
        applied = [method_of(problem, method) for method in methods or problem.defaults]
        require_extras(module for method in applied for module in method.modules)
        methods_by_instance.append(applied)
    for instance, applied in zip(loaded, methods_by_instance, strict=True):
        done: list[Result] = []
        try:
            for method in applied:
                stops = on_error == "raise"
                result = _solve_or_error_row(instance, method, settings, stops, bool(methods))
                if methods or "refused" not in result.details:
                    done.append(result)
                interrupts.raise_if_received()
        except KeyboardInterrupt:
            yield _with_best_bound(done)
            raise
        yield _with_best_bound(done)


def _loaded(instances: Any) -> Iterator[Any]:
    if isinstance(instances, str | Path):
        yield from map(load, find(instances))
    elif isinstance(instances, Mapping):
        yield load(instances)
    elif isinstance(instances, Iterable) and not hasattr(instances, "schema_"):
        for entry in instances:
            yield from _loaded(entry)
    else:
        yield instances


def _solve_or_error_row(
    instance: Any, method: Method, settings: Mapping[str, Any], stops: bool, is_named: bool
) -> Result:
    try:
        return solve(instance, method, **settings)
    except NotApplicableError as error:
        if stops and is_named:
            raise
        return _error_row(instance, method, settings, {"message": str(error), "refused": True})
    except (InputError, MissingExtraError):  # errors of the whole call, not of one method
        raise
    except Exception as error:
        if stops:
            raise
        known = isinstance(error, OptschedError)
        message = str(error) if known else f"{type(error).__name__}: {error}"
        warnings.warn(
            f"{method.name} failed on {instance.name} with {message}; its row has the status "
            "'error', and the table's attrs['tracebacks'] its traceback",
            MethodWarning,
            stacklevel=2,
        )
        details = {"message": message, TRACEBACK: traceback.format_exc()}
        return _error_row(instance, method, settings, details)


def _error_row(
    instance: Any, method: Method, settings: Mapping[str, Any], details: Mapping[str, Any]
) -> Result:
    problem = problem_for(instance)
    options = resolve(problem.options).from_dict(dict(settings.get("options") or {}))
    outcome = Outcome(None, Termination.ERROR, details=details)
    chosen = Settings(seed=settings.get("seed", 0))
    return result_of(problem, instance, method, options, chosen, outcome)


def _with_best_bound(results: list[Result]) -> list[Result]:
    """Give each row its instance's best bound; a bound above a checked objective is an error."""
    feasible = [r for r in results if r.check is not None and r.check.feasible and not r.relaxed]
    attained = [r for r in feasible if r.objective is not None]
    if attained:
        incumbent = min(attained, key=lambda r: r.objective or 0.0)
        results = [_refuted(r, incumbent) for r in results]
    relaxations = {r.details.get(RELAXES) for r in results if r.objective is not None}
    if len(relaxations) > 1:
        results = [_not_comparable(r) if r.relaxed else r for r in results]
    results = [_with_known_bound(r) for r in results]
    proven = [r for r in results if r.bound is not None and r.termination is not Termination.ERROR]
    best = max(proven, key=lambda r: r.bound or 0.0, default=None)
    return [r if r.relaxed or best is None else _with_bound_of(r, best) for r in results]


def _with_bound_of(result: Result, best: Result) -> Result:
    bound = clipped_bound(best.bound, result.objective)
    source, certificate = best.bound_source, best.certificate
    return replace(result, bound=bound, bound_source=source, certificate=certificate)


def _not_comparable(result: Result) -> Result:
    """Mark a row that relaxes a rule which other rows of its instance follow."""
    reason = f"relaxes a rule: {result.details[RELAXES]}"
    return replace(result, details={**result.details, NOT_COMPARABLE: reason})


def _with_known_bound(result: Result) -> Result:
    """Return the row with the library's bound on its instance, where that is the better one."""
    key = (result.problem, result.instance, result.instance_sha256, result.options, result.seed)
    known = known_bound(*key)
    if known is None or result.relaxed or result.termination is Termination.ERROR:
        return result
    value, source = known
    if result.bound is not None and value <= result.bound:
        return result
    bound = clipped_bound(value, result.objective)
    return replace(result, bound=bound, bound_source=source, certificate=None)


def _refuted(result: Result, incumbent: Result) -> Result:
    """Return an error in place of a row whose bound exceeds a feasible objective."""
    objective, check = incumbent.objective, incumbent.check
    if result.bound is None or objective is None or check is None:
        return result
    if bound_violation(result.bound, objective, check.rounding) is None:
        return result
    message = f"refuted bound: {result.bound:g} exceeds the objective {objective:g}"
    return replace(
        result,
        termination=Termination.ERROR,
        bound=None,
        bound_source=None,
        only_bound=False,
        certificate=None,
        details={**result.details, "message": f"{message} of {incumbent.method}"},
    )
