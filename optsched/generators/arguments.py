"""Validation of generator arguments; numpy scalars are converted to Python numbers."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any, ParamSpec, TypeVar

from optsched.declared import require_arguments
from optsched.io.numerals import without_numpy

Arguments = ParamSpec("Arguments")
Generated = TypeVar("Generated")


def checked(
    source: str,
) -> Callable[[Callable[Arguments, Generated]], Callable[Arguments, Generated]]:
    """Decorate a generator to validate arguments against annotated ranges; errors name `source`."""

    def decorate(make: Callable[Arguments, Generated]) -> Callable[Arguments, Generated]:
        signature = inspect.signature(make)

        @functools.wraps(make)
        def checked_generator(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Generated:
            bound = signature.bind(*args, **kwargs)
            for name, value in bound.arguments.items():
                bound.arguments[name] = _plain(value)
            require_arguments(source, make, bound.arguments)
            return make(*bound.args, **bound.kwargs)

        return checked_generator

    return decorate


def _plain(value: Any) -> Any:
    """Replace numpy's numbers, in data classes too."""
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: _plain(getattr(value, f.name)) for f in fields(value)})
    return without_numpy(value)
