"""Declarations of problems and methods; implementations are imported lazily.

Problems "over time" (rolling, online) have policies for methods: they decide while a run goes on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from optsched.errors import InputError, NotApplicableError, suggestion

if TYPE_CHECKING:
    import pyomo.environ as pyo

_import_lock = threading.RLock()
"""Held while methods are imported: numba's modules import one another, and threads that import
different ones of them at the same time would wait for each other (Python then raises)."""

Kind = Literal["heuristic", "policy", "exact", "model", "bound"]


@dataclass(frozen=True)
class Method:
    """One way to solve a problem.

    Attributes
    ----------
    name : str
        The name of the command line.
    kind : str
        "heuristic", "policy" (of a problem over time), "exact", "model" (another objective, or a
        rival formulation), "bound" (gives a bound and no solution).
    summary : str
        One line.
    run : str or callable
        ``module:function`` of ``(instance, options, settings) -> Outcome``, or the function.
    build : str or None
        ``module:function`` of ``(instance, options, *, pruned) -> pyomo.ConcreteModel``. The
        model's attribute `reader`, a function of the solved model, returns its solution; a model
        of a bound has none.
    by_name : bool
        Whether `run` and `build` take the method's name first, as one function of many policies.
    modules : tuple of str
        Modules of optional dependencies that it needs.
    supports : collection of str or None
        Names of the problem's `features` that it can handle; None for all of them. Others are
        refused before the method is called.
    takes_start : bool
        Whether it uses the `start` of its settings.
    """

    name: str
    kind: Kind
    summary: str
    run: str | Callable[..., Any]
    build: str | None = None
    modules: tuple[str, ...] = ()
    by_name: bool = False
    supports: Collection[str] | None = None
    takes_start: bool = False

    def __call__(self, instance: Any, options: Any, settings: Any) -> Any:
        """Run the method; its `optsched.result.Outcome`."""
        return resolve(self.run)(*self._names, instance, options, settings)

    def model(self, instance: Any, options: Any, *, pruned: bool = False) -> pyo.ConcreteModel:
        """Return its Pyomo model, not solved; `pruned` is that of `optsched.build_model`."""
        assert self.build is not None
        return resolve(self.build)(*self._names, instance, options, pruned=pruned)

    @property
    def _names(self) -> tuple[str, ...]:
        return (self.name,) if self.by_name else ()


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One problem: where its data, checker and methods live, and how its objective is shown.

    Attributes
    ----------
    instance, solution, options : str
        ``module:class``, each with a ``from_dict`` and a ``to_dict``.
    check : str
        ``module:function`` of ``(instance, solution, options) -> CheckReport``.
    explain : str or None
        ``module:function`` of ``(instance, solution, options)``: where the objective comes from.
    conflict : str or None
        ``module:function`` of ``(instance, options, thorough)``: the `optsched.conflict.Conflict`
        of an infeasible instance. None where every instance has a solution.
    naming : str or None
        ``module:function`` of ``(instance)``: names of the indices of its models' sets.
    warm_up : str or None
        ``module:function`` that loads compiled code before anything is timed.
    bound : str or None
        ``module:function`` of ``(instance, options, deadline)``, a quick bound for methods that
        have none: its value and source, and perhaps a certificate. For problems over time, whose
        bounds depend on the seed, of ``(instance, options, settings, solution or None)``.
    features : str or None
        ``module:function`` of ``(instance, options)``: features that some methods do not support,
        as a mapping of their names to texts (found, expected) of the error message.
    objective, unit, shown_per_unit : str, str, float
        The objective's name, the unit of tables, and its number per unit of the objective.
    defaults : tuple of str
        Methods of `compare` unless others are named.
    standard : str
        The method of `solve` unless another is named.
    policy_adapter : str or None
        ``module:function`` that makes a method of a custom policy object.
    generate : str or None
        ``module:function`` of ``(..., seed, name) -> instance``; its other arguments are plain
        values, or data classes whose fields are named directly.
    pictures : mapping
        By name ``module:function`` of ``(instance, solution, ax=ax) -> Axes``; the first is drawn
        unless another is named. Where several solutions are given, a list takes their place.
    measures : str or None
        ``module:function`` of ``(instance, solution, options) -> dict``: additional measures of a
        result, each None if there is no feasible solution.
    parts : tuple of (str, str)
        Measures that gap tables show instead of the excess, with their headings, if one term
        dominates the objective.
    over_time : bool
        Whether methods are policies; a bound then holds for one seed of an instance only.
    """

    name: str
    instance: str
    solution: str
    options: str
    check: str
    objective: str
    unit: str
    defaults: tuple[str, ...]
    methods: tuple[Method, ...]
    explain: str | None = None
    conflict: str | None = None
    naming: str | None = None
    warm_up: str | None = None
    bound: str | None = None
    features: str | None = None
    standard: str = "exact"
    policy_adapter: str | None = None
    generate: str | None = None
    pictures: Mapping[str, str] = field(default_factory=dict, hash=False)
    measures: str | None = None
    parts: tuple[tuple[str, str], ...] = ()
    over_time: bool = False
    shown_per_unit: float = 1.0

    @property
    def bounds(self) -> tuple[str, ...]:
        """Names of the methods that give a bound and no solution."""
        return tuple(method.name for method in self.methods if method.kind == "bound")

    def options_of(self, values: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return all options as plain data; raises InputError."""
        options: dict[str, Any] = resolve(self.options).from_dict(dict(values or {})).to_dict()
        return options

    def method(self, name: str) -> Method:
        for method in self.methods:
            if method.name == name:
                return method
        known = suggestion(name, (m.name for m in self.methods))
        raise InputError(self.name, "method", repr(name), known)

    def require_support(self, method: Method, instance: Any, options: Any) -> None:
        """Raise NotApplicableError if the method does not support a feature of the instance."""
        if method.supports is None or self.features is None:
            return
        for feature, (found, expected) in resolve(self.features)(instance, options).items():
            if feature not in method.supports:
                raise NotApplicableError(method.name, found, expected)

    def with_method(self, method: Method) -> Problem:
        """Return the problem with one method more; a method of the same name stays."""
        if any(known.name == method.name for known in self.methods):
            return self
        return replace(self, methods=(*self.methods, method))


def standard_parts(home: str, prefix: str) -> dict[str, Any]:
    """Return the import paths of the parts common to all built-in problems."""
    return {
        "instance": f"optsched.{home}.instance:{prefix}Instance",
        "solution": f"optsched.{home}.solution:{prefix}Solution",
        "options": f"optsched.{home}.options:{prefix}Options",
        "check": f"optsched.{home}.check:check",
        "explain": f"optsched.{home}.explain:explain",
        "warm_up": f"optsched.{home}.warm_up:warm_up",
        "generate": f"optsched.generators.{home}:generate_{home}",
    }


def resolve(reference: str | Callable[..., Any]) -> Any:
    """Import the object named ``module:name``; return a callable as it is."""
    if not isinstance(reference, str):
        return reference
    module, _, name = reference.partition(":")
    with _import_lock:
        return getattr(import_module(module), name)
