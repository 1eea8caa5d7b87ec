"""What a picture is given: instances of its own problem, and what explains them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from optsched.errors import InputError, shown
from optsched.library import load
from optsched.result import Result
from optsched.verbs.explaining import explain

if TYPE_CHECKING:
    from optsched.typing import AnInstance, Solution

Kind = TypeVar("Kind")


def instance_of(given: AnInstance, kind: type[Kind]) -> Kind:
    """The instance itself, of a file or a name too; raises InputError for another problem's."""
    instance = load(given) if isinstance(given, str | Path) else given
    if not isinstance(instance, kind):
        raise InputError("plot", "instance", shown(instance), f"a {kind.__name__}")
    return instance


def decided(given: object, kind: type[Kind]) -> Kind:
    """A solution, or the one in a result; raises InputError for another problem's."""
    solution = given.solution if isinstance(given, Result) else given
    if not isinstance(solution, kind):
        raise InputError("plot", "solution", shown(solution), "one of this problem's")
    return solution


def breakdown_of(
    instance: AnInstance,
    solution: Solution | Result | str | Path,
    kind: type[Kind],
    options: Mapping[str, object] | None = None,
) -> Kind:
    """What `optsched.explain` says of a solution."""
    breakdown = explain(instance, solution, options=options)
    if not isinstance(breakdown, kind):
        raise InputError("plot", "instance", shown(instance), f"one explained by a {kind.__name__}")
    return breakdown
