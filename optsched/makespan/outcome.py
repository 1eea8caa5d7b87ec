"""The outcome every method returns for the schedule it found."""

from __future__ import annotations

from typing import Any

from optsched.makespan.contention import Evaluation, Schedule, evaluate, solution_of
from optsched.makespan.instance import MakespanInstance
from optsched.result import Outcome, Termination


def outcome_of(
    instance: MakespanInstance,
    schedule: Schedule | None,
    termination: Termination = Termination.FEASIBLE,
    details: dict[str, Any] | None = None,
    **known: Any,
) -> Outcome:
    """The outcome of a schedule; without one, or with one that ends too late, of none.

    Parameters
    ----------
    details, known
        Further details and fields of `optsched.result.Outcome`.
    """
    evaluation = None if schedule is None else evaluate(instance, schedule)
    if evaluation is None or not evaluation.makespan <= instance.horizon:
        return _nothing(instance, evaluation, termination, details or {}, known)
    return Outcome(
        solution_of(evaluation),
        termination,
        claimed=evaluation.makespan,
        details={"mean_completion_time": evaluation.mean_completion_time, **(details or {})},
        **known,
    )


def _nothing(
    instance: MakespanInstance,
    evaluation: Evaluation | None,
    termination: Termination,
    details: dict[str, Any],
    known: dict[str, Any],
) -> Outcome:
    found = "" if evaluation is None else f"; the best found takes {evaluation.makespan:g}"
    message = f"no schedule found within the horizon of {instance.horizon} slots{found}"
    if termination in (Termination.FEASIBLE, Termination.OPTIMAL):
        termination = Termination.TIME_LIMIT
    return Outcome(None, termination, details={"message": message, **details}, **known)
