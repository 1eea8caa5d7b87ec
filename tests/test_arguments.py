"""Functions take few arguments: arrays travel in named tuples, settings in data classes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import optsched

PACKAGE = Path(optsched.__file__).parent
MOST = 8
FRONT_DOORS = {
    "verbs/comparing.py": {"compare"},
    "experiments/papers/artefacts.py": {"reproduce"},
    "methods.py": {"solve"},
    "generators/makespan.py": {"generate_makespan"},
    "generators/online.py": {"generate_online"},
    "generators/placement.py": {"instance_from_profile"},
    "online/data/workload.py": {"of"},
}
"""What a user calls by keyword, every argument with its own default; commands are the same."""


def sources() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        yield name, ast.parse(path.read_text(encoding="utf-8"))


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    each = function.args
    names = [one.arg for one in (*each.posonlyargs, *each.args, *each.kwonlyargs)]
    return names[1:] if names[:1] in (["self"], ["cls"]) else names


def test_no_function_takes_more_than_eight_arguments() -> None:
    long = {
        (name, node.name)
        for name, tree in sources()
        if not name.startswith("cli/")
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and len(parameters(node)) > MOST
    }
    assert long == {(name, door) for name, doors in FRONT_DOORS.items() for door in doors}


def test_no_compiled_loop_is_called_with_more_than_eight_arguments() -> None:
    """Also where the callee is made elsewhere: what stands beside a loop counts too."""
    for name, tree in sources():
        if name.endswith("_kernel.py"):
            records = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
            for node in ast.walk(tree):
                if isinstance(node, ast.Call) and ast.unparse(node.func) not in records:
                    assert len(node.args) + len(node.keywords) <= MOST, f"{name}:{node.lineno}"
