"""Explaining a solution's objective, whatever the problem."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from optsched import interrupts
from optsched.errors import InputError
from optsched.library import load
from optsched.methods import check, problem_for, solution_of, solve
from optsched.problem import resolve


def explain(
    instance: Any,
    solution: Any = None,
    *,
    method: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Any:
    """Break a solution's objective down.

    Parameters
    ----------
    instance : instance, str or Path
        An instance, or what `optsched.load` takes.
    solution : solution, str or Path, optional
        A feasible solution, its file or a result; by default `method` makes one.
    options : mapping, optional
        Readings of the cost; by default the solution's own.

    Returns
    -------
    Breakdown
        The problem's own: for placement, `optsched.placement.explain.Breakdown`.

    Raises
    ------
    InputError
        If a file cannot be used, the solution breaks a rule, or the method finds none.
    """
    if isinstance(instance, str | Path):
        instance = load(instance)
    problem = problem_for(instance)
    if problem.explain is None:
        raise InputError("explain", "problem", problem.name, "one with an explanation of its own")
    source = str(solution) if isinstance(solution, str | Path) else "solution"
    if solution is None:
        result = solve(instance, method, options=options)
        interrupts.heed()
        solution = result.solution
        if solution is None:
            found = f"no solution by {method}, which ended {result.termination.value}"
            raise InputError(
                instance.name, "", found, "an instance it solves, or a solution's file"
            )
    else:
        solution = solution_of(problem, solution)
    used = dict(solution.options if options is None else options)
    report = check(instance, solution, used)
    if report.objective is None and report.violations:
        raise InputError(source, "", str(report.violations[0]), "a feasible solution")
    return resolve(problem.explain)(instance, solution, resolve(problem.options).from_dict(used))
