"""Arguments of the pictures: instances and solutions of the picture's own problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from optsched.errors import InputError, shown
from optsched.library import load
from optsched.methods import decisions_of, problem_for
from optsched.result import Result
from optsched.verbs.explaining import explain

if TYPE_CHECKING:
    from optsched.typing import InstanceLike, SolutionLike

Kind = TypeVar("Kind")


def instance_of(given: InstanceLike, kind: type[Kind]) -> Kind:
    """Load an instance if it is a file or a name; raises InputError for another problem's."""
    instance = load(given) if isinstance(given, str | Path) else given
    if not isinstance(instance, kind):
        raise InputError("plot", "instance", shown(instance), f"a {kind.__name__}")
    return instance


def solution_in(given: object, kind: type[Kind]) -> Kind:
    """A solution, or the one in a result; raises InputError for another problem's."""
    solution = given.solution if isinstance(given, Result) else given
    if not isinstance(solution, kind):
        raise InputError("plot", "solution", shown(solution), "a solution of this problem")
    return solution


def loaded_solution(instance: InstanceLike, given: SolutionLike, kind: type[Kind]) -> Kind:
    """A solution, the one in a result, or the one in a file."""
    return solution_in(decisions_of(problem_for(instance), given), kind)


def runs_in(given: object) -> list[object]:
    """The records, solutions or results in one run or a sequence of runs."""
    runs = given if isinstance(given, Sequence) else [given]
    return [getattr(run, "records", run) for run in runs]


def breakdown_of(
    instance: InstanceLike,
    solution: SolutionLike,
    kind: type[Kind],
    options: Mapping[str, object] | None = None,
) -> Kind:
    breakdown = explain(instance, solution, options=options)
    if not isinstance(breakdown, kind):
        raise InputError("plot", "instance", shown(instance), "an instance of this problem")
    return breakdown
