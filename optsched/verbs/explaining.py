"""Explaining a solution's objective, or why there is no solution, for every problem."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from optsched import interrupts
from optsched.conflict import Conflict
from optsched.display import number
from optsched.errors import InputError, NotApplicableError
from optsched.methods import (
    build_model,
    check,
    decisions_of,
    instance_and_problem,
    solve,
)
from optsched.modelling import is_model, summary_of
from optsched.problem import Problem, resolve
from optsched.problems import PROBLEMS
from optsched.result import Result, Settings, Termination

if TYPE_CHECKING:
    import pyomo.environ as pyo

    from optsched.typing import Explained, InstanceLike, MethodLike, SolutionLike

SECONDS_FOR_ROWS = 30.0
"""Time limit of the search for conflicting rows of a model."""


def explain(
    instance: InstanceLike | pyo.ConcreteModel,
    solution: SolutionLike | None = None,
    *,
    method: MethodLike | None = None,
    options: Mapping[str, object] | None = None,
) -> Explained:
    """Explain a solution's objective, why the instance is infeasible, or what a model consists of.

    Parameters
    ----------
    instance : instance, str, Path or Pyomo model
        An instance, or what `optsched.load` takes. A model alone is summarised.
    solution : solution, str or Path, optional
        A feasible solution, its file, a result or a solved model; by default computed by `method`.
    method : str or callable, optional
        The method that computes the solution, as in `optsched.solve`.
    options : mapping, optional
        Options of the cost; by default the solution's own.

    Returns
    -------
    Breakdown, Conflict or ModelSummary
        Of the problem: for placement, `optsched.placement.explain.Breakdown`. If the instance is
        proved infeasible, an `optsched.conflict.Conflict`; if the method has a linear model, with
        the rows of the model that conflict. Of a model alone, an `optsched.modelling.ModelSummary`:
        its sets, variables and constraints with counts, equations and units.

    Raises
    ------
    InputError
        If a file cannot be used, the solution is infeasible (a wrong claimed objective is
        allowed), or the method finds none.

    Examples
    --------
    >>> import optsched
    >>> result = optsched.solve("placement/fig2", "heavy-edge")
    >>> breakdown = optsched.explain("placement/fig2", result)
    >>> breakdown.iteration_time == result.objective
    True
    """
    if is_model(instance):
        return summary_of(instance)
    given, problem = instance_and_problem(instance)
    if problem.explain is None:
        raise InputError("explain", "problem", problem.name, "a problem that supports explain")
    source = str(solution) if isinstance(solution, str | Path) else "solution"
    if solution is None:
        solution = solve(given, method, options=options)
        interrupts.raise_if_received()
    if isinstance(solution, Result):
        why = conflict_of(solution, thorough=True)
        if why is not None:
            return why
        if solution.solution is None:
            expected = "an instance it solves, or a solution's file"
            raise InputError(given.name, "", _no_solution_line(solution), expected)
    decisions = decisions_of(problem, solution)
    values = dict(decisions.options if options is None else options)
    report = check(given, decisions, values)
    report.require_feasible(source)
    chosen = resolve(problem.options).from_dict(values)
    if report.objective is None:  # a solution that states infeasibility, confirmed by the checker
        conflict: Conflict = resolve(problem.conflict or "")(given, chosen, True)
        return conflict
    breakdown: Explained = resolve(problem.explain)(given, decisions, chosen)
    return breakdown


def conflict_of(result: Result, *, thorough: bool = False) -> Conflict | None:
    """Return why an infeasible result has no solution; None for any other result."""
    problem = PROBLEMS.get(result.problem)
    if (
        result.termination is not Termination.INFEASIBLE
        or problem is None
        or result.instance_data is None
    ):
        return None
    options = resolve(problem.options).from_dict(dict(result.options))
    conflict: Conflict | None = None
    if problem.conflict is not None:
        conflict = resolve(problem.conflict)(result.instance_data, options, thorough)
    heuristic = any(m.name == result.method and m.kind == "heuristic" for m in problem.methods)
    if conflict is None and heuristic:
        return None  # a heuristic without a solution proves nothing
    if conflict is None:
        message = str(result.details.get("message", f"{result.method} proves that there is none"))
        conflict = Conflict(result.instance, message, None, problem.unit, "", (), "sufficient")
    return _with_rows(conflict, problem, result) if thorough else conflict


def no_solution_reason(result: Result) -> str | None:
    """Return a line on a result without a solution: the conflict, or method, time and bound."""
    conflict = conflict_of(result)
    if conflict is not None:
        return conflict.line
    if result.solution is not None or result.only_bound:
        return None
    return _no_solution_line(result)


def _no_solution_line(result: Result) -> str:
    seconds = number(round(result.build_time + result.solve_time, 3), "s")
    line = f"no solution by {result.method} (status {result.status} after {seconds})"
    message = result.details.get("message")
    bound = "no bound" if result.bound is None else f"bound {number(result.bound)}"
    source = f" ({result.bound_source})" if result.bound_source else ""
    return f"{line}{f': {message}' if message else ''}; {bound}{source}"


def _with_rows(conflict: Conflict, problem: Problem, result: Result) -> Conflict:
    """Add the rows of the method's model that cannot hold together."""
    from optsched.backends.irreducible import irreducible_rows

    methods = {method.name: method for method in problem.methods}
    method = methods.get(result.method)
    if (
        problem.naming is None
        or method is None
        or method.build is None
        or result.instance_data is None
    ):
        return conflict
    try:
        model = build_model(result.instance_data, method.name, result.options)
    except NotApplicableError:  # too large to build
        return conflict
    settings = Settings(time_limit=SECONDS_FOR_ROWS)
    name_index = resolve(problem.naming)(result.instance_data)
    rows, proof = irreducible_rows(model, name_index, settings)
    return conflict.with_rows(rows, proof)
