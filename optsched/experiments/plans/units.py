"""Units of work: one method on one instance under given options, seed and limits."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from optsched import __version__
from optsched.errors import InputError, shown, suggestion
from optsched.experiments.plans.instances import instances_of
from optsched.experiments.plans.plan import Family, Plan
from optsched.external import method_of, module_of, source_digest
from optsched.files import instance_sha256
from optsched.methods import problem_for
from optsched.problem import Problem


@dataclass(frozen=True)
class Unit:
    """The unit of work, and of resuming: equal units have equal keys and equal results.

    Attributes
    ----------
    family, problem, instance : str
        Where it belongs; not part of the key beyond the instance's hash.
    sha256, method, options, settings, seed, version
        What the result depends on; options and settings are canonical JSON.
    """

    family: str
    problem: str
    instance: str
    sha256: str
    method: str
    options: str
    settings: str
    seed: int
    version: str = __version__

    @property
    def key(self) -> str:
        """SHA-256 of what the result depends on."""
        parts = (
            *(self.sha256, self.method, self.options, self.settings),
            *(str(self.seed), self.version),
        )
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


@dataclass(frozen=True)
class PlannedInstance:
    """An instance of a plan, as canonical text, and its units."""

    sha256: str
    name: str
    problem: str
    document: str
    units: tuple[Unit, ...]


def expand(plan: Plan, allow: Collection[str] = ()) -> Iterator[PlannedInstance]:
    """Yield the plan's instances one by one, with their units.

    Parameters
    ----------
    allow : collection of str
        Modules that the plan's methods may be imported from: importing one runs it, and plans may
        come from strangers.

    Raises
    ------
    InputError
        For a method, an option or an instance that does not exist, or a module not allowed.
    """
    for family in plan.families:
        for instance in instances_of(plan, family):
            yield _planned(plan, family, instance, allow)


def require_allowed(method: str, allow: Collection[str], source: str, where: str) -> None:
    """Raise InputError if a method's name asks for a module that the caller does not allow."""
    module = module_of(method)
    if module is not None and module not in allow:
        raise InputError(source, where, shown(method), f"--allow {module}, if you trust that code")


def canonical(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal values, equal text."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def _planned(plan: Plan, family: Family, instance: Any, allow: Collection[str]) -> PlannedInstance:
    problem = problem_for(instance)
    names = [method.name for method in problem.methods]
    where = f"families.{family.name}.methods"
    for name in family.methods:
        require_allowed(name, allow, plan.source, where)
        if module_of(name) is None and name not in names:
            raise InputError(plan.source, where, repr(name), suggestion(name, names))
    versions = {name: _version(problem, name) for name in family.methods or problem.defaults}
    options = canonical(_options(plan, problem, family))
    settings = canonical(family.limits.settings())
    document = instance.to_dict()
    sha256 = instance_sha256(document)
    whose = (problem.name, instance.name, sha256)
    units = tuple(
        Unit(
            family.name,
            *whose,
            method=method,
            options=options,
            settings=settings,
            seed=seed,
            version=of,
        )
        for method, of in versions.items()
        for seed in family.seeds
    )
    return PlannedInstance(sha256, instance.name, problem.name, canonical(document), units)


def _version(problem: Problem, method: str) -> str:
    """The package's version, and behind it the digest of a method from outside."""
    digest = source_digest(method_of(problem, method))
    return __version__ if digest is None else f"{__version__}+{digest}"


def _options(plan: Plan, problem: Problem, family: Family) -> dict[str, Any]:
    try:
        return problem.options_of(family.options)
    except InputError as error:
        where = f"families.{family.name}.options"
        place = f"{where}.{error.where}" if error.where else where
        raise InputError(plan.source, place, error.found, error.expected) from None
