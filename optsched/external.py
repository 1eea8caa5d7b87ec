"""Methods and problems from outside the package: callables, ``module:name``, entry points.

They take part like the package's own: what they return is checked by the problem's checker, and a
bound of theirs is their word until a checked objective refutes it. Importing a module runs it, so
who names one must trust it; a sweep's plan may name one only where the caller allows its module.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from optsched.errors import InputError, MethodError, OptschedError, shown
from optsched.problem import Method, Problem, resolve
from optsched.result import Outcome, Termination

ENTRY_POINTS = "optsched.methods"
"""Group of entry points: each a `Problem`, or a mapping of a problem's name to its `Method` s."""


def method_of(problem: Problem, method: str | Callable[..., Any] | Method) -> Method:
    """The method that a caller means.

    Parameters
    ----------
    method : str, callable or Method
        A name of the problem's methods; ``module:name`` of a callable, looked for in the current
        folder too; or a callable of ``(instance, options, settings)`` that returns a solution, its
        dict, or an `Outcome` with a bound. Over time also a policy: an object with
        ``schedule(view)``, or its class, of which each run makes one.

    Raises
    ------
    InputError
        If there is no such method, or what it names is no callable.
    """
    if isinstance(method, str) and ":" not in method:
        method = problem.method(method)
    if isinstance(method, Method):
        if str(method.run).startswith("optsched.") or hasattr(method.run, "__wrapped__"):
            return method
        return replace(method, run=_adapted(problem, method.name, method.run))
    name = method if isinstance(method, str) else _name_of(method)
    run = _imported(method) if isinstance(method, str) else method
    if problem.own is not None and hasattr(run, "schedule"):
        name = name if ":" in name else f"own:{name}"
        summary = _first_line(run, "a policy of the caller's")
        made = resolve(problem.own)(name, run)
        return Method(name, "policy", summary, _adapted(problem, name, made))
    if not callable(run):
        expected = "a method's name, module:name, or a callable of (instance, options, settings)"
        raise InputError(problem.name, "method", shown(method), expected)
    summary = _first_line(run, "a method of the caller's")
    return Method(name, "heuristic", summary, _adapted(problem, name, run))


def module_of(method: str) -> str | None:
    """The module that a method's name asks to import; None for a plain name."""
    return method.partition(":")[0] if ":" in method else None


def source_digest(method: Method) -> str | None:
    """SHA-256 (12 digits) of the file a method from outside is written in, else None.

    Rows of a sweep carry it beside the package's version, so that an edited method runs again.
    """
    if not callable(method.run):
        return None
    function = resolve(getattr(method.run, "__wrapped__", method.run))
    module = sys.modules.get(getattr(function, "__module__", "") or "")
    file = getattr(module, "__file__", None)
    if file is None:
        return None
    try:
        return hashlib.sha256(Path(file).read_bytes()).hexdigest()[:12]
    except OSError:
        return None


def installed() -> Iterator[Problem | tuple[str, Method]]:
    """What installed packages add: whole problems, and methods with the name of their problem.

    An entry point that cannot be loaded, or is neither, is left out with one line on stderr.
    """
    for entry in metadata.entry_points(group=ENTRY_POINTS):
        try:
            yield from _parts(entry.load())
        except Exception as error:
            kind = type(error).__name__
            text = f"optsched: entry point {entry.name} is left out: {kind}: {error}"
            print(" ".join(text.split()), file=sys.stderr)


def _parts(value: Any) -> list[Problem | tuple[str, Method]]:
    if isinstance(value, Problem):
        return [value]
    if not isinstance(value, Mapping):
        raise TypeError("expected a Problem, or a mapping of problems' names to Methods")
    found: list[Problem | tuple[str, Method]] = []
    for problem, methods in value.items():
        for method in [methods] if isinstance(methods, Method) else methods:
            if not isinstance(method, Method):
                raise TypeError(f"expected a Method of {problem}, found {shown(method)}")
            found.append((str(problem), method))
    return found


def _first_line(thing: object, otherwise: str) -> str:
    return (getattr(thing, "__doc__", None) or otherwise).strip().splitlines()[0]


def _name_of(function: object) -> str:
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    module = getattr(function, "__module__", None)
    return name if module in (None, "__main__") else f"{module}:{name}"


@lru_cache
def _imported(reference: str) -> Any:
    module, _, name = reference.partition(":")
    folder = os.getcwd()
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return getattr(import_module(module), name)
    except ImportError as error:
        raise InputError("method", reference, shown(str(error)), "a module to import") from None
    except AttributeError:
        raise InputError("method", reference, f"no {shown(name)}", f"a name of {module}") from None
    except OptschedError:
        raise
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
        raise InputError("method", reference, shown(found, 160), "a module to import") from None


def _adapted(problem: Problem, name: str, run: str | Callable[..., Any]) -> Callable[..., Outcome]:
    """A callable that returns an outcome, and raises only what the package raises on purpose."""

    def adapted(instance: Any, options: Any, settings: Any) -> Outcome:
        try:
            found = resolve(run)(instance, options, settings)
        except (OptschedError, MemoryError):
            raise
        except Exception as error:
            raise MethodError(name, f"raised {type(error).__name__}: {error}") from error
        return _outcome(problem, name, found, settings)

    adapted.__wrapped__ = run  # type: ignore[attr-defined]
    return adapted


def _outcome(problem: Problem, name: str, found: Any, settings: Any) -> Outcome:
    """What a callable returned, as an outcome of solutions of the problem."""
    outcome = found if isinstance(found, Outcome) else Outcome(found, Termination.FEASIBLE)
    kind, solution = resolve(problem.solution), outcome.solution
    if isinstance(solution, Mapping):
        solution = kind.from_dict(dict(solution), name)
    if solution is not None and not isinstance(solution, kind):
        raise MethodError(name, f"returned {shown(solution)}, expected a {kind.__name__}")
    if solution is None and outcome.bound is None:
        raise MethodError(name, "returned neither a solution nor a bound")
    source = outcome.bound_source or (name if outcome.bound is not None else None)
    return Outcome(**{**vars(outcome), "solution": solution, "bound_source": source})
