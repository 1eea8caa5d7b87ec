"""Explaining a solution's objective, whatever the problem."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from optsched import interrupts
from optsched.errors import InputError
from optsched.library import load
from optsched.methods import check, problem_for, solution_of, solve
from optsched.problem import resolve
from optsched.result import Result

if TYPE_CHECKING:
    from optsched.typing import AMethod, AnInstance, Breakdown, Solution


def explain(
    instance: AnInstance,
    solution: Solution | Result | str | Path | None = None,
    *,
    method: AMethod | None = None,
    options: Mapping[str, object] | None = None,
) -> Breakdown:
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
        solution = solve(instance, method, options=options)
        interrupts.heed()
        if solution.solution is None:
            found = f"no solution by {method}, which ended {solution.termination.value}"
            expected = "an instance it solves, or a solution's file"
            raise InputError(instance.name, "", found, expected)
    decided = solution_of(problem, solution)
    used = dict(decided.options if options is None else options)
    report = check(instance, decided, used)
    if report.objective is None and report.violations:
        raise InputError(source, "", str(report.violations[0]), "a feasible solution")
    chosen = resolve(problem.options).from_dict(used)
    breakdown: Breakdown = resolve(problem.explain)(instance, decided, chosen)
    return breakdown
