"""Compiled functions run by Python itself as long as that is cheaper than compiling them.

Compiling takes seconds, and a small instance needs a few thousand steps. So a function that has not
been compiled on this machine is first run as Python, with its steps (rounds of its loops) counted.
Once there are `STEPS` of them, in one call or in several, its arguments are put back as they were,
and it is compiled. Both ways give the same bits, on which a function relies that neither adds up
an array by `sum`, nor takes powers, nor calls numpy for a transcendental function of a number.
What is read from arrays of narrow integers is widened, as compiled code computes with 64 bits.
"""

from __future__ import annotations
import __future__

import ast
import copy
import linecache
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
from numba.core.registry import CPUDispatcher

STEPS = 400_000
"""What compiling costs, about, in rounds of a loop in Python."""
BYTES = 1024
"""Of arguments that are copied in the time of a step."""
MOST_BYTES = 2**26
"""Of arguments that are worth a copy; with larger ones a loop is long."""
NARROW = (np.int8, np.int16, np.int32, np.uint8, np.uint16, np.uint32)
"""Integers that numpy computes with in their own few bits, compiled code in 64."""


class TooLongError(Exception):
    """Python has made all the steps that it was to make."""


def twin_for(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """The function as Python runs it with such arguments; None where it has no source."""
    return twin(function, any(array.dtype.type in NARROW for array in _arrays(args)))


@cache
def twin(function: Callable[..., Any], widens: bool) -> Any:
    """The function as Python runs it, with its loops' rounds counted; None where it has no source.

    What it calls is the same in kind.
    """
    file = function.__code__.co_filename
    linecache.lazycache(file, function.__globals__)
    node = _definitions(file).get(function.__code__.co_firstlineno)
    if node is None:
        return None
    widens = widens or _makes_narrow(file)
    counted = _Counted().visit(copy.deepcopy(node))
    if widens:
        counted = _Widened().visit(counted)
    counted.decorator_list = []
    module = ast.fix_missing_locations(ast.Module([counted], []))
    flags = __future__.annotations.compiler_flag
    names = {**function.__globals__, "_tick": _tick, "_wide": _wide}
    # what is run is the function's own source, which has been imported
    exec(compile(module, file, "exec", flags, dont_inherit=True), names)
    for name in function.__code__.co_names:
        called = names.get(name)
        if isinstance(called, CPUDispatcher) and called.py_func is not function:
            names[name] = twin(called.py_func, widens) or called
    return names[function.__name__]


def interpreted(run: Callable[..., Any], args: tuple[Any, ...], steps: int) -> tuple[Any, int]:
    """What a twin returns, and the steps left of so many."""
    global _left, _runs
    _runs += 1
    before = [(array, array.copy()) for array in _arrays(args) if array.flags.writeable]
    drawn = [(g, g.bit_generator.state) for g in args if isinstance(g, np.random.Generator)]
    _left = steps - sum(array.nbytes for array, _ in before) // BYTES
    try:
        with np.errstate(over="ignore", invalid="ignore", divide="raise"):
            value = run(*args)
    except TooLongError:
        for array, content in before:
            array[...] = content
        for generator, state in drawn:
            generator.bit_generator.state = state
        raise
    return _plain(value), _left


def is_small(args: tuple[Any, ...], steps: int) -> bool:
    """Whether the arrays among the arguments are small enough to be put back, within the steps."""
    copied = sum(array.nbytes for array in _arrays(args))
    return copied <= min(MOST_BYTES, BYTES * steps)


def _arrays(value: Any) -> Iterator[Any]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple):
        for each in value:
            yield from _arrays(each)


def _plain(value: Any) -> Any:
    """Python's own numbers for numpy's, as compiled code returns them."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple):
        plain = map(_plain, value)
        return type(value)(*plain) if hasattr(value, "_fields") else tuple(plain)
    return value


def runs() -> int:
    """How many calls this process has left to Python so far: their seconds are Python's."""
    return _runs


_left = _runs = 0


def _tick() -> None:
    global _left
    _left -= 1
    if _left < 0:
        raise TooLongError


class _Counted(ast.NodeTransformer):
    """Counts the rounds of every loop."""

    def visit_For(self, node: ast.For) -> ast.For:
        return self._counted(node)

    def visit_While(self, node: ast.While) -> ast.While:
        return self._counted(node)

    def _counted(self, node: Any) -> Any:
        self.generic_visit(node)
        call = ast.Expr(ast.Call(ast.Name("_tick", ast.Load()), [], []))
        node.body.insert(0, ast.copy_location(call, node))
        return node


def _wide(value: Any) -> Any:
    """A number of 64 bits for one of a narrow array's, as compiled code reads it."""
    return np.int64(value) if type(value) in NARROW else value


class _Widened(ast.NodeTransformer):
    """Widens what is read from arrays, by index or in a loop."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            return node
        return ast.copy_location(ast.Call(ast.Name("_wide", ast.Load()), [node], []), node)

    def visit_For(self, node: ast.For) -> ast.For:
        self.generic_visit(node)
        names = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
        for name in names:
            if isinstance(name, ast.Name):
                read = ast.Call(ast.Name("_wide", ast.Load()), [ast.Name(name.id, ast.Load())], [])
                widened = ast.Assign([ast.Name(name.id, ast.Store())], read)
                node.body.insert(0, ast.copy_location(widened, node))
        return node


@cache
def _makes_narrow(file: str) -> bool:
    text = "".join(linecache.getlines(file))
    return any(kind.__name__ in text for kind in NARROW)


@cache
def _definitions(file: str) -> dict[int, ast.FunctionDef]:
    """The functions of a file by their first lines; none without a source."""
    return {
        min([node.lineno, *(part.lineno for part in node.decorator_list)]): node
        for node in ast.parse("".join(linecache.getlines(file))).body
        if isinstance(node, ast.FunctionDef)
    }
