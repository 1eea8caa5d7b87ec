"""Alter the checkers and the costs, one operator or constant at a time: do the tests notice?

    python benchmarks/mutate_checkers.py                      every checker, audit and cost
    python benchmarks/mutate_checkers.py placement            those whose path contains the word
    python benchmarks/mutate_checkers.py --list               what would be altered

Prints each alteration that survives, with its place; exit code 1 if one does that is not in
`EQUIVALENT`, where each has the reason why it changes no value. A child process is forked for each
(so: Linux and macOS), its functions' code is replaced in place, and the tests named beside the file
run until the first failure. What takes ten times as long as without the alteration, and ten seconds
more, counts as noticed. Nothing on disk changes.
"""

import argparse
import ast
import contextlib
import copy
import importlib
import os
import signal
import sys
import time
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 10

CHECKS = "tests/test_checking.py"
TARGETS: dict[str, tuple[str, ...]] = {
    "optsched/checking.py": (CHECKS,),
    "optsched/placement/check.py": (
        "tests/placement/test_check.py",
        "tests/placement/test_parallelism.py",
    ),
    "optsched/placement/cost.py": (
        "tests/placement/test_cost.py",
        "tests/placement/test_parallelism.py",
    ),
    "optsched/library/verify/placement.py": ("tests/placement/test_certificate_values.py",),
    "optsched/makespan/check.py": ("tests/makespan/test_check_values.py",),
    "optsched/library/verify/makespan.py": (
        "tests/makespan/test_certificate_values.py",
        "tests/makespan/test_check_values.py",
    ),
    "optsched/speed_profile/check.py": ("tests/speed_profile/test_check_values.py",),
    "optsched/selection/check.py": ("tests/selection/test_selection_values.py",),
    "optsched/library/verify/selection.py": (
        "tests/selection/test_certificate_values.py",
        "tests/selection/test_selection_check.py",
    ),
    "optsched/selection/cost.py": ("tests/selection/test_selection_values.py",),
    "optsched/rolling/audit.py": ("tests/rolling/test_audit_values.py",),
    "optsched/online/audit.py": ("tests/online/test_audit_values.py",),
    "optsched/online/audit_rules/limits.py": (
        "tests/online/test_audit_values.py",
        "tests/online/test_limits.py",
    ),
    "optsched/online/audit_rules/cluster_state.py": (
        "tests/online/test_audit_queue_values.py",
        "tests/online/test_limits.py",
    ),
    "optsched/online/audit_rules/queue.py": ("tests/online/test_audit_queue_values.py",),
    "optsched/online/audit_rules/placement.py": (
        "tests/online/test_audit_queue_values.py",
        "tests/online/test_audit.py::test_alpha_on_any_offer_is_that_of_heavy_edge",
    ),
}
"""The files, and the tests that have to notice."""

EQUIVALENT: dict[str, dict[tuple[str, str], str]] = {
    "optsched/makespan/check.py": {
        ("iterations_per_slot", "0  ->  1"): (
            "the default is for one server, where contention is not looked at"
        ),
        ("_Progress", "0.0  ->  1.0"): "a run takes its first speed where it starts",
        (
            "_peak_usage",
            "0.0  ->  1.0",
        ): "a peak above 0 has the time of its own start",
    },
    "optsched/speed_profile/check.py": {
        ("integral", "right > left  ->  right >= left"): "a span of no length adds nothing",
        ("at", "w <= span[1]  ->  w < span[1]"): "two spans have the same value where they meet",
        ("_energy", "abs(piece.to)  ->  float(piece.to)"): (
            "a piece that ends below 0 is a violation, whatever its rounding"
        ),
    },
    "optsched/online/audit.py": {
        ("_match", "1  ->  2"): "any row below 0 stands for a job that is not known",
    },
    "optsched/selection/cost.py": {
        ("tables_of", "0.0  ->  1.0"): "stands in for an infinity that the outer choice puts back",
    },
    "optsched/rolling/audit.py": {
        ("_node_usage", "0.0  ->  1.0"): "nothing is in use before the first time",
    },
    "optsched/online/audit_rules/queue.py": {
        ("virtual_order", "0.0  ->  1.0"): "the clock is read only once a job has been submitted",
    },
    "optsched/online/audit_rules/placement.py": {
        ("_heaviest_end", "u > v  ->  u >= v"): "no replica has an edge to itself",
        ("module", "1.0  ->  2.0"): "any number below 0 is less than every weight",
    },
}
"""By file, (function, alteration): why no value changes."""

OTHER_OPERATORS: dict[type, tuple[type, ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div,),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult,),
    ast.Mod: (ast.Mult,),
    ast.Pow: (ast.Mult,),
    ast.And: (ast.Or,),
    ast.Or: (ast.And,),
    ast.BitOr: (ast.BitAnd,),
    ast.BitAnd: (ast.BitOr,),
}
OTHER_CALLS = {"min": "max", "max": "min", "any": "all", "all": "any", "abs": "float"}
ROUNDED = ("toleran", "spare", "allowed", "arithmetic", "improvement")
"""Words in the names of tolerances."""
BOUNDARY = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


@dataclass(frozen=True)
class Alteration:
    """One change of one file: the altered module, and where it was altered."""

    file: str
    function: str
    line: int
    change: str
    module: ast.Module

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.function}: {self.change}"


def alterations(file: str) -> Iterator[Alteration]:
    """Every alteration of a file, one at a time, in the order of its lines."""
    tree = ast.parse((ROOT / file).read_text())
    for path, function in _places(tree):
        for change in _changes(_at(tree, path)):
            altered = copy.deepcopy(tree)
            node = _at(altered, path)
            before = ast.unparse(node)
            change(node)
            after = ast.unparse(node)
            ast.fix_missing_locations(altered)
            yield Alteration(file, function, node.lineno, f"{before}  ->  {after}", altered)


Path_ = tuple[tuple[str, int | None], ...]


def _places(tree: ast.Module) -> Iterator[tuple[Path_, str]]:
    """Where something can be altered: no annotation, no docstring, no text."""

    def walk(node: ast.AST, path: Path_, function: str) -> Iterator[tuple[Path_, str]]:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            function = node.name
        if any(True for _ in _changes(node)):
            yield path, function
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "type_params"):
                continue
            if isinstance(node, ast.keyword) and node.arg == "strict":
                continue  # zip's own assertion
            if isinstance(value, ast.AST):
                yield from walk(value, (*path, (name, None)), function)
            elif isinstance(value, list):
                for at, each in enumerate(value):
                    if isinstance(each, ast.AST):
                        yield from walk(each, (*path, (name, at)), function)

    yield from walk(tree, (), "module")


def _at(tree: ast.AST, path: Path_) -> Any:
    node: Any = tree
    for name, at in path:
        node = getattr(node, name) if at is None else getattr(node, name)[at]
    return node


def _changes(node: ast.AST) -> Iterator[Callable[[Any], None]]:
    """What can be done to a node, each as a function of (a copy of) it."""
    if isinstance(node, ast.Compare):
        for at, operator in enumerate(node.ops):
            for other in OTHER_OPERATORS.get(type(operator), ()):
                if isinstance(operator, BOUNDARY) and _touches(operator, other, node):
                    continue
                yield lambda n, at=at, other=other: n.ops.__setitem__(at, other())
    elif isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp):
        for other in OTHER_OPERATORS.get(type(node.op), ()):
            yield lambda n, other=other: setattr(n, "op", other())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        swapped = ast.UAdd if isinstance(node.op, ast.USub) else None
        if swapped is not None:
            yield lambda n: setattr(n, "op", swapped())
        else:
            yield lambda n: setattr(n, "operand", ast.UnaryOp(ast.Not(), n.operand))
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
        value = node.value
        other = not value if isinstance(value, bool) else _other_number(value)
        yield lambda n, other=other: setattr(n, "value", other)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        name = OTHER_CALLS.get(node.func.id)
        if name is not None:
            yield lambda n, name=name: setattr(n.func, "id", name)


def _other_number(value: int | float) -> int | float:
    if isinstance(value, int):
        return value + 1
    return value * 2 if value else 1.0


def _touches(operator: ast.cmpop, other: type, node: ast.Compare) -> bool:
    """Whether only the point where a rounded value equals a tolerance would change sides."""
    inclusive = {(ast.Lt, ast.LtE), (ast.LtE, ast.Lt), (ast.Gt, ast.GtE), (ast.GtE, ast.Gt)}
    if (type(operator), other) not in inclusive:
        return False
    return any(word in ast.unparse(node).lower() for word in ROUNDED)


def apply(alteration: Alteration) -> None:
    """Replace the code of the loaded module's functions, and its numbers, in place."""
    name = alteration.file.removesuffix(".py").replace("/", ".")
    module = importlib.import_module(name)
    fresh: dict[str, Any] = {"__name__": name, "__file__": str(ROOT / alteration.file)}
    exec(compile(alteration.module, alteration.file, "exec"), fresh)
    for key, value in fresh.items():
        old = module.__dict__.get(key)
        if isinstance(value, types.FunctionType) and isinstance(old, types.FunctionType):
            _replace(old, value)
        elif isinstance(value, type) and isinstance(old, type):
            _replace_methods(old, value)
        elif isinstance(value, bool | int | float) and old != value:
            _rebind(key, old, value)


def _replace(old: types.FunctionType, new: types.FunctionType) -> None:
    wrapped = getattr(old, "__wrapped__", None)
    if isinstance(wrapped, types.FunctionType):
        new = new.__wrapped__  # type: ignore[attr-defined]
        old = wrapped
    old.__code__, old.__defaults__ = new.__code__, new.__defaults__
    old.__kwdefaults__ = new.__kwdefaults__


def _replace_methods(old: type, new: type) -> None:
    for name, value in vars(new).items():
        current = vars(old).get(name)
        if isinstance(value, property) and isinstance(current, property):
            value, current = value.fget, current.fget
        if isinstance(value, cached_property) and isinstance(current, cached_property):
            value, current = value.func, current.func
        functions = isinstance(value, types.FunctionType), isinstance(current, types.FunctionType)
        if all(functions) and value.__code__.co_freevars == current.__code__.co_freevars:
            _replace(current, value)


def _rebind(key: str, old: Any, value: Any) -> None:
    """A constant, also where others imported it by name."""
    for module in list(sys.modules.values()):
        ours = str(getattr(module, "__name__", "")).startswith("optsched")
        if ours and module.__dict__.get(key) is old:
            setattr(module, key, value)


def passes(
    tests: tuple[str, ...], alteration: Alteration | None = None, seconds: float = 600.0
) -> bool:
    """Whether the tests pass in a child process, in time, with the alteration applied."""
    child = os.fork()
    if child == 0:
        _in_child(tests, alteration)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def _in_child(tests: tuple[str, ...], alteration: Alteration | None) -> None:
    code = 1
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        if alteration is not None:
            apply(alteration)
        code = _run(tests)
    except BaseException:
        code = 1
    finally:
        os._exit(code)


def _run(tests: tuple[str, ...]) -> int:
    import pytest

    return int(pytest.main(["-x", "-q", "-n", "0", "-p", "no:hypothesispytest", *tests]))


def main() -> int:
    """Alter, run, print what survives."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("words", nargs="*", help="parts of paths; by default every file")
    parser.add_argument("--list", action="store_true", help="print what would be altered")
    chosen = parser.parse_args()
    os.chdir(ROOT)
    sys.path[0] = str(ROOT)  # not benchmarks/, whose modules have the names of folders of tests
    files = [f for f in TARGETS if not chosen.words or any(w in f for w in chosen.words)]
    surviving = 0
    for file in files:
        if chosen.list:
            for alteration in alterations(file):
                print(alteration)
            continue
        surviving += _survey(file)
    return 1 if surviving else 0


def _survey(file: str) -> int:
    """Alter one file in every way; the number of survivors without a reason."""
    tests, began = TARGETS[file], time.monotonic()
    with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing):
        code = _run(tests)
    alone = time.monotonic()
    if code or not passes(tests):
        print(f"{file}: its tests fail without any alteration: {' '.join(tests)}")
        return 1
    seconds = PATIENCE * (1 + time.monotonic() - alone)
    count = unexplained = explained = 0
    for alteration in alterations(file):
        count += 1
        if not passes(tests, alteration, seconds):
            continue
        reason = EQUIVALENT.get(file, {}).get((alteration.function, alteration.change))
        if reason is None:
            unexplained += 1
            print(f"survives: {alteration}", flush=True)
        else:
            explained += 1
    print(
        f"{file}: {count} alterations, {count - unexplained - explained} noticed, "
        f"{explained} change no value, {unexplained} survive ({time.monotonic() - began:.0f} s)",
        flush=True,
    )
    return unexplained


if __name__ == "__main__":
    sys.exit(main())
