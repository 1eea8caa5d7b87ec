"""Everything that `optsched` raises on purpose.

Bad input is an exception; how a solver ended is a status (`optsched.result.Termination`).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from importlib import import_module

MAX_PLACE = 200
"""Characters of a JSON path that an error line shows: keys may be as long as their file."""


class OptschedError(Exception):
    """Base class of every error the package raises on purpose."""


class InputError(OptschedError):
    """A file, an option or an argument that cannot be used.

    Its text is one line, ``source: where: found X, expected Y`` or ``source: where: message``.

    Parameters
    ----------
    source : str
        The file or the call that carries the fault.
    where : str
        The place in it: a JSON path, a line, an option's name; may be empty.
    found, expected : str
        What stands there and what should.
    message : str, optional
        The sentence to print in place of ``found X, expected Y``.
    """

    def __init__(
        self, source: str, where: str, found: str, expected: str, message: str = ""
    ) -> None:
        where = where if len(where) <= MAX_PLACE else f"{where[: MAX_PLACE - 3]}..."
        self.source = source
        self.where = where
        self.found = found
        self.expected = expected
        self.message = message or f"found {found}, expected {expected}"
        place = f"{source}: {where}" if where else source
        super().__init__(one_line(f"{place}: {self.message}"))

    def at(self, source: str, where: str) -> InputError:
        """Return the same fault at another place."""
        return InputError(source, where, self.found, self.expected, self.message)


class NotApplicableError(InputError):
    """The method does not support this instance or option."""

    def __init__(self, method: str, found: str, expected: str) -> None:
        super().__init__(f"method {method}", "", found, expected)


class MissingExtraError(OptschedError):
    """An optional dependency that is not installed; names the extra that brings it."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed: pip install 'optsched[{extra}]'")


EXTRAS = {
    "distributed": ("distributed", "cluster"),
    "matplotlib": ("matplotlib", "plot"),
    "pulp.solverdir": ("pulp below version 4", "cbc"),
    "pyarrow": ("pyarrow", "online"),
    "pyscipopt": ("pyscipopt", "scip"),
    "torch": ("torch", "torch"),
}
"""By module: its package, and the extra with it."""


def require_extras(modules: Iterable[str]) -> None:
    """Raise MissingExtraError if one of some modules of `EXTRAS` is not installed."""
    for module in modules:
        try:
            import_module(module)
        except ImportError:
            raise MissingExtraError(*EXTRAS[module]) from None


class SolverError(OptschedError):
    """A solver that failed, or returned a solution that fails the check."""


class MethodError(OptschedError):
    """A custom method that raised, or returned an invalid object."""

    def __init__(self, method: str, what: str) -> None:
        super().__init__(one_line(f"method {method} {what}"))


class MethodWarning(UserWarning):
    """A method failed on an instance; its row of a table has the status "error"."""


def shown(value: object, width: int = 60) -> str:
    """Return a value's repr, cut to `width` characters."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer too long to print, a nest too deep
        text = type(value).__name__
    return one_line(text if len(text) <= width else text[: width - 3] + "...")


def one_line(text: str) -> str:
    """Return a text without line breaks and control characters."""
    return "".join(c if c.isprintable() else " " for c in text)


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return the known name nearest to another, or all of them, for an error line."""
    names = list(known)
    near = difflib.get_close_matches(name, names, n=1)
    return f"{near[0]!r}" if near else f"one of {', '.join(names)}"
