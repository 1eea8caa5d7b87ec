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
    """The instance itself, of a file or a name too; raises InputError for another problem's.

    Parameters
    ----------
    given : AnInstance
        An instance, or what `optsched.load` takes.
    kind : type
        The class that is drawn.
    """
    instance = load(given) if isinstance(given, str | Path) else given
    if not isinstance(instance, kind):
        raise InputError("plot", "instance", shown(instance), f"a {kind.__name__}")
    return instance


def decided(given: object, kind: type[Kind]) -> Kind:
    """A solution, or the one in a result; raises InputError for another problem's.

    Parameters
    ----------
    given : object
        A solution or a result.
    kind : type
        The class that is drawn.
    """
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
    """What `optsched.explain` says of a solution.

    Parameters
    ----------
    instance : instance, str or Path
        What was solved.
    solution : Solution or Result or str or Path
        Its solution, a result or a file.
    kind : type
        The class of the problem's breakdown.
    options : mapping, optional
        The problem's own options.

    Returns
    -------
    Breakdown
        Of that class.

    Raises
    ------
    InputError
        For another problem's.
    """
    breakdown = explain(instance, solution, options=options)
    if not isinstance(breakdown, kind):
        raise InputError("plot", "instance", shown(instance), f"one explained by a {kind.__name__}")
    return breakdown
