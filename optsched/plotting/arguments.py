"""Arguments of the pictures: instances and solutions of the picture's own problem."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from optsched.errors import InputError, shown
from optsched.library import load
from optsched.result import Result
from optsched.verbs.explaining import explain

if TYPE_CHECKING:
    from optsched.typing import AnInstance, Solution

    Decided: TypeAlias = Solution | Result | str | Path
    """A solution, the result that has it, or its file."""

Kind = TypeVar("Kind")


def instance_of(given: AnInstance, kind: type[Kind]) -> Kind:
    """Load an instance if it is a file or a name; raises InputError for another problem's."""
    instance = load(given) if isinstance(given, str | Path) else given
    if not isinstance(instance, kind):
        raise InputError("plot", "instance", shown(instance), f"a {kind.__name__}")
    return instance


def solution_in(given: object, kind: type[Kind]) -> Kind:
    """A solution, or the one in a result; raises InputError for another problem's."""
    solution = given.solution if isinstance(given, Result) else given
    if not isinstance(solution, kind):
        raise InputError("plot", "solution", shown(solution), "one of this problem's")
    return solution


def breakdown_of(
    instance: AnInstance,
    solution: Decided,
    kind: type[Kind],
    options: Mapping[str, object] | None = None,
) -> Kind:
    """The breakdown of a solution by `optsched.explain`."""
    breakdown = explain(instance, solution, options=options)
    if not isinstance(breakdown, kind):
        raise InputError("plot", "instance", shown(instance), f"one explained by a {kind.__name__}")
    return breakdown
