"""Methods and problems from outside the package: callables, ``module:name``, entry points.

The problem's checker checks what they return; their bounds are trusted until a checked objective
refutes them. Importing a module runs it: name only modules that you trust. A plan may name one only
if the caller of the sweep allows its module.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from importlib import import_module, metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optsched.errors import InputError, MethodError, NotApplicableError, OptschedError, shown
from optsched.io.numerals import without_numpy
from optsched.modelling import is_model, origin_of, solution_of
from optsched.problem import Method, Problem, resolve
from optsched.result import Outcome, Termination

if TYPE_CHECKING:
    from optsched.typing import MethodLike

ENTRY_POINTS = "optsched.methods"
"""Group of entry points: each a `Problem`, or a mapping of a problem's name to `Method` objects."""

UNSOLVED = (Termination.NO_SOLUTION, Termination.INFEASIBLE, Termination.TIME_LIMIT)
"""Terminations without a solution."""


def method_of(problem: Problem, method: MethodLike) -> Method:
    """Return the method of a name, an import path ``module:name``, a callable, policy or model."""
    if isinstance(method, str) and ":" not in method:
        method = problem.method(method)
    if isinstance(method, Method):
        if str(method.run).startswith("optsched.") or hasattr(method.run, "__wrapped__"):
            return method
        return replace(method, run=_adapted(problem, method.name, method.run))
    if is_model(method):
        return _method_of_model(problem, method)
    name = method if isinstance(method, str) else _name_of(method)
    run: Any = imported(method) if isinstance(method, str) else method
    if _is_policy(problem, run):
        name, summary = _record_name(name), _summary(run, "a custom policy")
        return Method(name, "policy", summary, _adapted(problem, name, run))
    if not callable(run):
        expected = "a method's name, module:name, or a callable of (instance, options, settings)"
        raise InputError(problem.name, "method", shown(method), expected)
    summary = _summary(run, "a custom method")
    return Method(name, "heuristic", summary, _adapted(problem, name, run))


def _method_of_model(problem: Problem, model: Any) -> Method:
    """Return the method whose solution of a model's instance is the solution in the model."""
    name, origin = f"model {model.name}", origin_of(model)

    def read(instance: Any, options: Any, settings: Any) -> Outcome:
        if (instance, options) != (origin.instance, origin.options):
            found = f"{instance.name} and its options"
            raise NotApplicableError(name, found, f"those of the model, of {origin.instance.name}")
        return Outcome(solution_of(model), Termination.FEASIBLE)

    return Method(name, "heuristic", "the solution in a Pyomo model", _adapted(problem, name, read))


def scheduler_of(policy: Any) -> tuple[str, Any]:
    """Return the name and the object of a policy: an object, a class, or an import path."""
    name = policy if isinstance(policy, str) else _name_of(policy)
    scheduler = imported(policy) if isinstance(policy, str) else policy
    if not hasattr(scheduler, "schedule"):
        expected = "a policy's name, module:name, or an object with schedule(view)"
        raise InputError("decide", "policy", shown(policy), expected)
    return _record_name(name), scheduler() if isinstance(scheduler, type) else scheduler


def module_of(method: str) -> str | None:
    """Return the module in ``module:name``; None for a plain name."""
    return method.partition(":")[0] if ":" in method else None


def source_digest(method: Method) -> str | None:
    """Return the SHA-256 (12 digits) of a custom method's file, for a sweep's rows; else None."""
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


def with_installed(ours: Iterable[Problem]) -> dict[str, Problem]:
    """Return problems by name: those given, and those of installed packages.

    A package may add methods to another's problem. A name that exists already is ignored; an entry
    point that cannot be loaded, or adds to an unknown problem, is ignored with a line on stderr.
    """
    problems = {problem.name: problem for problem in ours}
    added: list[tuple[str, str, Method]] = []
    for entry in metadata.entry_points(group=ENTRY_POINTS):
        try:
            value = entry.load()
            if isinstance(value, Problem):
                problems.setdefault(value.name, value)
            else:
                added += [(entry.name, *pair) for pair in _methods_in(value)]
        except Exception as error:
            _ignore(entry.name, f"{type(error).__name__}: {error}")
    for name, problem, method in added:
        if problem in problems:
            problems[problem] = problems[problem].with_method(method)
        else:
            _ignore(name, f"no problem {shown(problem)} for method {method.name}")
    return problems


def _methods_in(value: Any) -> Iterator[tuple[str, Method]]:
    if not isinstance(value, Mapping):
        raise TypeError("expected a Problem, or a mapping of problems' names to Methods")
    for problem, methods in value.items():
        for method in [methods] if isinstance(methods, Method) else methods:
            if not isinstance(method, Method):
                raise TypeError(f"expected a Method of {problem}, found {shown(method)}")
            yield str(problem), method


def _ignore(entry: str, why: str) -> None:
    print(" ".join(f"optsched: entry point {entry} is ignored: {why}".split()), file=sys.stderr)


def _summary(documented: object, default: str) -> str:
    return (getattr(documented, "__doc__", None) or default).strip().splitlines()[0]


def _name_of(function: object) -> str:
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    module = getattr(function, "__module__", None)
    return name if module in (None, "__main__") else f"{module}:{name}"


@lru_cache
def imported(reference: str, source: str = "method") -> Any:
    """Import ``module:name`` from the current folder or the environment; raises InputError."""
    module, _, name = reference.partition(":")
    folder = os.getcwd()
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return getattr(import_module(module), name)
    except ImportError as error:
        raise InputError(source, reference, shown(str(error)), "a module to import") from None
    except AttributeError:
        raise InputError(source, reference, f"no {shown(name)}", f"a name of {module}") from None
    except OptschedError:
        raise
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
        raise InputError(source, reference, shown(found, 160), "a module to import") from None


def _adapted(problem: Problem, name: str, run: str | Callable[..., Any]) -> Callable[..., Outcome]:
    """Return a callable that returns an `Outcome` and raises no other than the package's errors."""

    def adapted(instance: Any, options: Any, settings: Any) -> Outcome:
        try:
            function = resolve(run)
            if _is_policy(problem, function):
                function = resolve(problem.policy_adapter or "")(_record_name(name), function)
            returned = function(instance, options, settings)
        except (OptschedError, MemoryError):
            raise
        except Exception as error:
            raise MethodError(name, f"raised {type(error).__name__}: {error}") from error
        return _outcome(problem, name, returned)

    adapted.__wrapped__ = run  # type: ignore[attr-defined]
    return adapted


def _is_policy(problem: Problem, function: Any) -> bool:
    return problem.policy_adapter is not None and hasattr(function, "schedule")


def _record_name(name: str) -> str:
    """Return a policy's name in the records of its runs; the colon marks it as a caller's."""
    return name if ":" in name else f"own:{name}"


def _outcome(problem: Problem, name: str, returned: Any) -> Outcome:
    outcome = returned
    if not isinstance(returned, Outcome):
        outcome = Outcome(returned, Termination.FEASIBLE)
    kind, solution = resolve(problem.solution), outcome.solution
    if isinstance(solution, Mapping):
        solution = kind.from_dict(dict(solution), name)
    if solution is not None and not isinstance(solution, kind):
        raise MethodError(name, f"returned {shown(solution)}, expected a {kind.__name__}")
    has_answer = outcome.bound is not None or outcome.details or outcome.termination in UNSOLVED
    if solution is None and not has_answer:
        raise MethodError(name, "returned neither a solution nor a bound")
    source = outcome.bound_source or (name if outcome.bound is not None else None)
    fields = {field: without_numpy(value) for field, value in vars(outcome).items()}
    return Outcome(**{**fields, "solution": solution, "bound_source": source})
