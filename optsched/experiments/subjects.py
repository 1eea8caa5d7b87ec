"""What a sweep can run: the problems of one decision, and policies over time.

A subject turns plain data into instances and options, and runs a method by name. All give the same
`Result`, so that rows, tables and reports do not ask what they hold.
"""

from __future__ import annotations

from typing import Any, Protocol

from optsched import methods
from optsched.errors import InputError, shown
from optsched.experiments.online_subject import OnlineSubject
from optsched.experiments.rolling_subject import RollingSubject
from optsched.external import method_of, source_digest
from optsched.problem import Problem, resolve
from optsched.problems import PROBLEMS
from optsched.result import Result


class Subject(Protocol):
    """What a plan's family is about.

    Attributes
    ----------
    name : str
        As in the instances' schema, and the kind of its generator.
    defaults : tuple of str
        What a family runs that names no methods.
    bounds : tuple of str
        Those of the methods that give a bound and no solution.
    unit, shown_per_unit : str, float
        The objective's unit in tables, of which one of its own unit has so many.
    bound_by_seed : bool
        Whether a bound holds for one seed of an instance only.
    """

    name: str
    defaults: tuple[str, ...]
    bounds: tuple[str, ...]
    unit: str
    shown_per_unit: float
    bound_by_seed: bool

    @property
    def methods(self) -> tuple[str, ...]:
        """What it can run, in the order of tables."""

    def options(self, values: dict[str, Any]) -> dict[str, Any]:
        """Options in full; raises InputError."""

    def instance(self, document: dict[str, Any], source: str) -> Any:
        """An instance of a parsed document; raises InputError."""

    def solve(self, instance: Any, method: str, **settings: Any) -> Result:
        """Run a method; arguments as of `optsched.solve`."""

    def digest(self, method: str) -> str | None:
        """Of a method from outside, the digest of its code; raises InputError if it is none."""

    def warm_up(self) -> None:
        """Load compiled code before anything is timed."""


class ProblemSubject:
    """A problem of one decision."""

    bound_by_seed = False

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self.name = problem.name
        self.defaults = problem.defaults
        self.bounds = tuple(method.name for method in problem.methods if method.kind == "bound")
        self.unit, self.shown_per_unit = problem.unit, problem.shown_per_unit

    @property
    def methods(self) -> tuple[str, ...]:
        """What it can run, in the order of tables."""
        return tuple(method.name for method in self._problem.methods)

    def options(self, values: dict[str, Any]) -> dict[str, Any]:
        """Options in full; raises InputError."""
        made: dict[str, Any] = resolve(self._problem.options).from_dict(values).to_dict()
        return made

    def instance(self, document: dict[str, Any], source: str) -> Any:
        """An instance of a parsed document; raises InputError."""
        return resolve(self._problem.instance).from_dict(document, source)

    def solve(self, instance: Any, method: str, **settings: Any) -> Result:
        """`optsched.solve`."""
        return methods.solve(instance, method, **settings)

    def digest(self, method: str) -> str | None:
        """Of a method from outside, the digest of its code; raises InputError if it is none."""
        return source_digest(method_of(self._problem, method))

    def warm_up(self) -> None:
        """Load compiled code before anything is timed."""
        methods.warm_up(self.name)


_ALL: tuple[Subject, ...] = (
    *(ProblemSubject(problem) for problem in PROBLEMS.values()),
    RollingSubject(),
    OnlineSubject(),
)
SUBJECTS: dict[str, Subject] = {subject.name: subject for subject in _ALL}


def subject_of(instance: Any) -> Subject:
    """The subject an instance belongs to; raises InputError."""
    name = str(getattr(instance, "schema_", "")).removeprefix("optsched/")
    if name not in SUBJECTS:
        raise InputError("instance", "", shown(instance), "an instance that a sweep can run")
    return SUBJECTS[name]


def solve(instance: Any, method: str, **settings: Any) -> Result:
    """Run a method on an instance of any subject."""
    return subject_of(instance).solve(instance, method, **settings)
