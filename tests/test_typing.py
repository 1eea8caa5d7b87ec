"""The public functions say what they take and give: a type checker has something to check."""

import importlib
import typing
from collections.abc import Iterator
from typing import Any

import pytest

import optsched
import optsched.typing as types
from optsched.problem import resolve
from optsched.problems import PROBLEMS

FUNCTIONS = [name for name in optsched.__all__ if name.islower()]
CHECKED_ONLY = {
    "pd": "pandas",
    "pyo": "pyomo.environ",
}
"""Modules that are imported for type checkers only, under their names."""


def hints(name: str) -> dict[str, Any]:
    """A public function's annotations, with what only type checkers import."""
    names = {**vars(types), "Axes": importlib.import_module("matplotlib.axes").Axes}
    names |= {short: importlib.import_module(module) for short, module in CHECKED_ONLY.items()}
    return typing.get_type_hints(getattr(optsched, name), localns=names)


def inside(hint: Any) -> Iterator[Any]:
    """A type and all that it is made of."""
    yield hint
    parts = typing.get_args(hint)
    for part in parts:
        yield from inside(part) if not isinstance(part, list) else part


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_public_function_takes_or_gives_anything(name: str) -> None:
    found = hints(name)
    assert "return" in found
    for place, hint in found.items():
        assert Any not in set(map(_hashable, inside(hint))), place


def _hashable(hint: Any) -> Any:
    return hint if getattr(hint, "__hash__", None) else repr(hint)


def test_an_instance_is_one_of_six_classes() -> None:
    classes = {resolve(problem.instance) for problem in PROBLEMS.values()}
    assert set(typing.get_args(types.Instance)) == classes
    assert hints("load")["return"] == hints("generate")["return"] == types.Instance


def test_a_solution_and_an_explanation_are_of_six_classes() -> None:
    solutions = {resolve(problem.solution) for problem in PROBLEMS.values()}
    assert set(typing.get_args(types.Solution)) == solutions
    explained = {
        typing.get_type_hints(resolve(problem.explain))["return"] for problem in PROBLEMS.values()
    }
    assert set(typing.get_args(types.Breakdown)) == explained
    assert hints("explain")["return"] == types.Explained
    assert set(typing.get_args(types.Explained)) == {*explained, types.Conflict, types.ModelSummary}
