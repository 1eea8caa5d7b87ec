"""What a model's answer becomes: an outcome with the better of the solutions and a valid bound."""

from __future__ import annotations

from dataclasses import replace

from optsched.backends import Answer
from optsched.result import Outcome, Settings, Termination, TracePoint, is_proved
from optsched.selection.assignment import Assignment, expected_cost, solution_of
from optsched.selection.cost import Tables
from optsched.selection.solution import Certificate


def model_outcome(
    tables: Tables,
    answer: Answer,
    assignment: Assignment | None,
    unit: float,
    settings: Settings,
) -> Outcome:
    """The outcome of a model whose money is counted in `unit` dollars."""
    if answer.termination is Termination.INFEASIBLE:
        return infeasible_outcome(tables, answer)
    bound = None if answer.bound is None else max(answer.bound * unit, 0.0)
    shell = Outcome(
        None,
        Termination.TIME_LIMIT,
        bound=bound,
        bound_source=None if bound is None else answer.solver,
        build_time=answer.build_time,
        solve_time=answer.solve_time,
        solver=answer.solver,
        trace=_in_dollars(answer, unit),
    )
    if assignment is None:
        return shell
    return judged(tables, assignment, shell, settings)


def judged(
    tables: Tables,
    assignment: Assignment,
    shell: Outcome,
    settings: Settings,
    certificate: Certificate | None = None,
) -> Outcome:
    """Put an assignment into an outcome: "optimal" when its bound proves it at the gap asked."""
    value = expected_cost(tables, assignment)
    bound = None if shell.bound is None else min(shell.bound, value)
    proved = bound is not None and is_proved(value, bound, settings.gap)
    return replace(
        shell,
        solution=solution_of(tables, assignment, certificate),
        termination=Termination.OPTIMAL if proved else Termination.TIME_LIMIT,
        bound=bound,
        claimed=value,
    )


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


def _in_dollars(answer: Answer, unit: float) -> tuple[TracePoint, ...]:
    def scaled(value: float | None) -> float | None:
        return None if value is None else value * unit

    return tuple(TracePoint(p.time, scaled(p.incumbent), scaled(p.bound)) for p in answer.trace)
