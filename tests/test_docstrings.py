"""Docstrings: a stranger can call what is public, and every example runs."""

import ast
import doctest
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.utils import get_params_from_function

import optsched
from optsched import cli

PACKAGE = Path(optsched.__file__).parent
FILES = sorted(p for p in PACKAGE.rglob("*.py") if not p.name.startswith("_"))
INSIDE = ("cli", "papers")
"""Folders whose functions are not called from outside."""
NO_EXAMPLE = {
    "optsched.placement.cost.time_matrix",
    "optsched.experiments.reproduce",  # takes minutes
}
SECTION = re.compile(r"\n(\w[\w ]*)\n-{3,}\n")


def functions() -> Iterator[tuple[str, ast.FunctionDef]]:
    """Functions and methods without an underscore that are called from outside."""
    for path in FILES:
        place = str(path.relative_to(PACKAGE))
        if not any(part in INSIDE for part in place.split("/")):
            yield from _in(ast.parse(path.read_text(encoding="utf-8")), place)


def _in(tree: ast.Module | ast.ClassDef, place: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from _in(node, f"{place}:{node.name}")
        elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield f"{place}:{node.name}", node


def arguments(node: ast.FunctionDef) -> list[str]:
    given = node.args
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    named += [each for each in (given.vararg, given.kwarg) if each]
    return [each.arg for each in named if each.arg not in ("self", "cls")]


def described(doc: str) -> list[str]:
    """The names under a docstring's Parameters."""
    section = re.search(r"\nParameters\n-+\n(.*?)(?=\n\n\w[\w ]*\n-{3,}\n|\Z)", f"{doc}\n", re.S)
    if section is None:
        return []
    heads = [line for line in section[1].splitlines() if line and not line.startswith(" ")]
    return [name.strip("* ") for head in heads for name in head.partition(" : ")[0].split(",")]


@pytest.mark.parametrize("name", sorted(name for name in optsched.__all__ if name.islower()))
def test_the_front_door_is_described_in_full(name: str) -> None:
    function = getattr(optsched, name)
    sections = SECTION.findall(inspect.getdoc(function) or "")
    assert sections == ["Parameters", "Returns", "Raises", "Examples"], name


def test_what_the_reference_shows_is_described_in_full() -> None:
    pages = "".join(
        page.read_text(encoding="utf-8")
        for page in (Path(__file__).parents[1] / "docs" / "reference").glob("*.md")
    )
    shown = re.findall(r"\.\. autofunction:: (\S+)", pages)
    assert len(shown) > 60
    for place in shown:
        module, _, name = place.rpartition(".")
        function = getattr(import_module(module), name)
        doc, taken = inspect.getdoc(function) or "", inspect.signature(function)
        assert described(doc) == [*taken.parameters], place
        gives = taken.return_annotation not in ("None", None)
        assert ("Returns" in SECTION.findall(doc)) == gives, place
        drawn = name.startswith("plot_")  # the gallery has the code and what it draws
        assert (">>> " in doc) == (place not in NO_EXAMPLE) or drawn, place


def test_every_argument_of_a_command_has_its_help() -> None:
    commands, lacking = [(typer.main.get_command(cli.app), "optsched")], []
    while commands:
        command, name = commands.pop()
        commands += [
            (sub, f"{name} {key}") for key, sub in getattr(command, "commands", {}).items()
        ]
        declared = {} if command.callback is None else get_params_from_function(command.callback)
        for parameter in command.params:
            # the oldest typer loses an argument's help on the way to today's click
            own = getattr(declared.get(parameter.name), "default", None)
            helped = getattr(parameter, "help", None) or getattr(own, "help", None)
            if not (helped or parameter.name == "help"):
                lacking.append(f"{name}: {parameter.name}")
    assert lacking == []


def test_what_is_described_is_what_a_function_takes() -> None:
    wrong = {}
    for place, node in functions():
        names = described(ast.get_docstring(node) or "")
        if names and sorted(names) != sorted(arguments(node)):
            wrong[place] = names
    assert wrong == {}


def test_every_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    finder, ran = doctest.DocTestFinder(exclude_empty=True), 0
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    for path in FILES:
        if ">>> " not in path.read_text(encoding="utf-8"):
            continue
        module = import_module(
            ".".join(("optsched", *path.relative_to(PACKAGE).with_suffix("").parts))
        )
        for test in finder.find(module, globs=dict(vars(module))):
            assert "+SKIP" not in (test.docstring or ""), test.name
            output: list[Any] = []
            failed, tried = runner.run(test, out=output.append)
            assert not failed, "".join(output)
            ran += bool(tried)
    assert ran >= 12
