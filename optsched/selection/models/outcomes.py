"""Outcomes of models' answers: the better of the solutions, with a valid bound."""

from __future__ import annotations

from dataclasses import replace

from optsched.backends import Answer
from optsched.result import ARITHMETIC, Outcome, Settings, Termination, ended, is_proved
from optsched.selection.assignment import Assignment, expected_cost, solution_of
from optsched.selection.cost import Tables
from optsched.selection.solution import Certificate


def model_outcome(
    tables: Tables,
    answer: Answer,
    found: tuple[Assignment | None, Assignment | None],
    unit: float,
    settings: Settings,
) -> Outcome:
    """The outcome of a model whose money is counted in `unit` dollars."""
    if answer.termination is Termination.INFEASIBLE and found[0] is None:
        return infeasible_outcome(tables, answer)
    bound, source = tardiness_bound(tables), TARDINESS
    if answer.bound is not None and answer.bound * unit > bound:
        bound, source = answer.bound * unit, answer.solver
    shell = Outcome(
        None,
        Termination.TIME_LIMIT,
        bound=bound,
        bound_source=source,
        build_time=answer.build_time,
        solve_time=answer.solve_time,
        solver=answer.solver,
        trace=answer.trace_in(unit),
    )
    assignments = [each for each in found if each is not None]
    if not assignments:
        return shell
    assignment = min(assignments, key=lambda each: expected_cost(tables, each))
    limited = answer.termination is Termination.TIME_LIMIT
    rounding = ARITHMETIC * unit
    return judged(tables, assignment, shell, settings, rounding=rounding, limited=limited)


def judged(
    tables: Tables,
    assignment: Assignment,
    shell: Outcome,
    settings: Settings,
    certificate: Certificate | None = None,
    rounding: float = 0.0,
    limited: bool | None = None,
) -> Outcome:
    """Put an assignment into an outcome: "optimal" when its bound proves it at the gap asked."""
    value = expected_cost(tables, assignment)
    bound = None if shell.bound is None else min(shell.bound, value)
    limited = settings.deadline.is_over if limited is None else limited
    proved = bound is not None and (
        is_proved(value, bound, settings.gap) or value - bound <= max(rounding, tables.rounding)
    )
    return replace(
        shell,
        solution=solution_of(tables, assignment, certificate),
        termination=ended(proved, limited),
        bound=bound,
        claimed=value,
    )


TARDINESS = "least tardiness of each job"


def tardiness_bound(tables: Tables) -> float:
    """Each job postponed or at its least expected tardiness, energy left out."""
    return float(tables.least.sum())


def infeasible_outcome(tables: Tables, answer: Answer | None = None) -> Outcome:
    """No selection opens exactly as many nodes as (16) is printed to ask for."""
    message = (
        f"no selection opens exactly min(|J|, |N|) = {tables.most_open} nodes, as (16) is printed"
    )
    return Outcome(
        None,
        Termination.INFEASIBLE,
        build_time=0.0 if answer is None else answer.build_time,
        solve_time=0.0 if answer is None else answer.solve_time,
        solver=None if answer is None else answer.solver,
        details={"message": message},
    )
