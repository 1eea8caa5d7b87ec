"""What a problem and a method of it are. Nothing heavy is imported until it is used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Literal

from optsched.errors import InputError

Kind = Literal["heuristic", "exact", "model", "bound"]


@dataclass(frozen=True)
class Method:
    """One way to solve a problem.

    Attributes
    ----------
    name : str
        The name of the command line.
    kind : str
        "heuristic", "exact", "model" (another objective, or a rival formulation), "bound".
    summary : str
        One line.
    run : str or callable
        ``module:function`` of ``(instance, options, settings) -> Outcome``, or the function.
    build : str or None
        ``module:function`` of ``(instance, options) -> pyomo.ConcreteModel``.
    modules : tuple of str
        Of optional dependencies, what it cannot run without.
    """

    name: str
    kind: Kind
    summary: str
    run: str | Callable[..., Any]
    build: str | None = None
    modules: tuple[str, ...] = ()


@dataclass(frozen=True)
class Problem:
    """One problem: where its data, checker and methods live, and how its objective is shown.

    Attributes
    ----------
    instance, solution, options : str
        ``module:class``, each with a ``from_dict``.
    check, bound, explain, warm_up : str
        ``module:function``; the last loads compiled code before anything is timed.
    certify : str or None
        ``module:function`` of ``(instance, certificate) -> list of violations``: the checker's
        verification of a bound's certificate, for problems whose bounds carry one.
    objective, unit, shown_per_unit : str, str, float
        The objective's name, and the unit of tables, of which one objective's unit has so many.
    defaults : tuple of str
        Methods of `compare` unless others are named.
    """

    name: str
    instance: str
    solution: str
    options: str
    check: str
    bound: str
    explain: str
    warm_up: str
    objective: str
    unit: str
    shown_per_unit: float
    defaults: tuple[str, ...]
    methods: tuple[Method, ...]
    certify: str | None = None

    def method(self, name: str) -> Method:
        """The method of that name; raises InputError."""
        for method in self.methods:
            if method.name == name:
                return method
        known = ", ".join(m.name for m in self.methods)
        raise InputError(self.name, "method", repr(name), f"one of {known}")

    def with_method(self, method: Method) -> Problem:
        """The problem with a method more; one of a name it has stays as it is."""
        if any(each.name == method.name for each in self.methods):
            return self
        return replace(self, methods=(*self.methods, method))


@dataclass(frozen=True)
class Course:
    """What runs in the course of time: not solved but run, and checked by its records.

    Attributes
    ----------
    instance, solution, check, objective, unit, shown_per_unit
        As of a `Problem`; the solution is the run's file, the check its audit.
    """

    name: str
    instance: str
    solution: str
    check: str
    objective: str
    unit: str
    shown_per_unit: float = 1.0


def resolve(reference: str | Callable[..., Any]) -> Any:
    """Import what ``module:name`` names; a callable is itself."""
    if not isinstance(reference, str):
        return reference
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)
