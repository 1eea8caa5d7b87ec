"""Explaining a solution's objective, or why there is no solution, for every problem."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optsched import interrupts
from optsched.conflict import Conflict
from optsched.display import number
from optsched.errors import InputError, NotApplicableError
from optsched.library import load
from optsched.methods import build_model, check, problem_for, solution_of, solve
from optsched.problem import Problem, resolve
from optsched.problems import PROBLEMS
from optsched.result import Result, Settings, Termination

if TYPE_CHECKING:
    from optsched.typing import AMethod, AnInstance, Explained, Solution

SECONDS_FOR_ROWS = 30.0
"""Time limit of the search for conflicting rows of a model."""


def explain(
    instance: AnInstance,
    solution: Solution | Result | str | Path | None = None,
    *,
    method: AMethod | None = None,
    options: Mapping[str, object] | None = None,
) -> Explained:
    """Break a solution's objective down; where there is no solution, say why not.

    Parameters
    ----------
    instance : instance, str or Path
        An instance, or what `optsched.load` takes.
    solution : solution, str or Path, optional
        A feasible solution, its file or a result; by default `method` makes one.
    method : str or callable, optional
        What makes the solution where none is given; as in `optsched.solve`.
    options : mapping, optional
        Readings of the cost; by default the solution's own.

    Returns
    -------
    Breakdown or Conflict
        The problem's own: for placement, `optsched.placement.explain.Breakdown`. If the instance is
        proved infeasible, an `optsched.conflict.Conflict`; if the method has a linear model, with
        the rows of the model that conflict.

    Raises
    ------
    InputError
        If a file cannot be used, the solution breaks a rule (a wrong claim of its objective is
        none), or the method finds none.

    Examples
    --------
    >>> import optsched
    >>> result = optsched.solve("placement/fig2", "heavy-edge")
    >>> breakdown = optsched.explain("placement/fig2", result)
    >>> breakdown.iteration_time == result.objective
    True
    """
    if isinstance(instance, str | Path):
        instance = load(instance)
    problem = problem_for(instance)
    if problem.explain is None:
        raise InputError("explain", "problem", problem.name, "one with an explanation of its own")
    source = str(solution) if isinstance(solution, str | Path) else "solution"
    if solution is None:
        solution = solve(instance, method, options=options)
        interrupts.heed()
    if isinstance(solution, Result):
        conflict = conflict_of(solution, thorough=True)
        if conflict is not None:
            return conflict
        if solution.solution is None:
            expected = "an instance it solves, or a solution's file"
            raise InputError(instance.name, "", _nothing(solution), expected)
    decided = solution_of(problem, solution)
    used = dict(decided.options if options is None else options)
    report = check(instance, decided, used)
    broken = [v for v in report.violations if not v.rule.startswith("claimed")]
    if broken:
        raise InputError(source, "", str(broken[0]), "a feasible solution")
    chosen = resolve(problem.options).from_dict(used)
    if report.objective is None:  # it says that there is none, and the checker agrees
        claimed: Conflict = resolve(problem.conflict or "")(instance, chosen, True)
        return claimed
    breakdown: Explained = resolve(problem.explain)(instance, decided, chosen)
    return breakdown


def conflict_of(result: Result, *, thorough: bool = False) -> Conflict | None:
    """Return why an infeasible result has no solution; None for any other result."""
    problem = PROBLEMS.get(result.problem)
    if result.termination is not Termination.INFEASIBLE or problem is None or result.given is None:
        return None
    options = resolve(problem.options).from_dict(dict(result.options))
    found: Conflict | None = None
    if problem.conflict is not None:
        found = resolve(problem.conflict)(result.given, options, thorough)
    heuristic = any(m.name == result.method and m.kind == "heuristic" for m in problem.methods)
    if found is None and heuristic:
        return None  # a heuristic without a solution proves nothing
    if found is None:
        message = str(result.details.get("message", f"{result.method} proves that there is none"))
        found = Conflict(result.instance, message, None, problem.unit, "", (), "sufficient")
    return _with_rows(found, problem, result) if thorough else found


def why_none(result: Result) -> str | None:
    """Return a line on a result without a solution: the conflict, or method, time and bound."""
    conflict = conflict_of(result)
    if conflict is not None:
        return conflict.line
    if result.solution is not None or result.only_bound:
        return None
    return _nothing(result)


def _nothing(result: Result) -> str:
    """Return the method, its time, its message and its bound, for a run without a solution."""
    seconds = number(round(result.build_time + result.solve_time, 3), "s")
    ended = f"no solution by {result.method}, which ended {result.status} after {seconds}"
    message = result.details.get("message")
    bound = "no bound" if result.bound is None else f"bound {number(result.bound)}"
    source = f" ({result.bound_source})" if result.bound_source else ""
    return f"{ended}{f': {message}' if message else ''}; {bound}{source}"


def _with_rows(conflict: Conflict, problem: Problem, result: Result) -> Conflict:
    """Add the rows of the method's model that cannot hold together."""
    from optsched.backends.irreducible import irreducible_rows

    named: Any = problem.naming
    methods = {method.name: method for method in problem.methods}
    method = methods.get(result.method)
    if named is None or method is None or method.build is None or result.given is None:
        return conflict
    try:
        model = build_model(result.given, method.name, result.options)
    except NotApplicableError:  # too large to be stated
        return conflict
    settings = Settings(time_limit=SECONDS_FOR_ROWS)
    rows, proof = irreducible_rows(model, resolve(named)(result.given), settings)
    return conflict.with_rows(rows, proof)
