"""Units of work: one method on one instance under given options, seed and limits."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from optsched import __version__
from optsched.errors import InputError, shown, suggestion
from optsched.experiments.plans.instances import RECIPE, instances_of, recipe_in, recipes_of
from optsched.experiments.plans.plan import Family, Plan
from optsched.external import method_of, module_of, source_digest
from optsched.files import instance_sha256
from optsched.methods import problem_for
from optsched.problem import Problem
from optsched.problems import PROBLEMS


@dataclass(frozen=True)
class Unit:
    """The unit of work, and of resuming: equal units have equal keys and equal results.

    The result depends on the fields from `sha256` on; options and settings are canonical JSON.
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
    """Yield the plan's instances one by one, with their units."""
    for family in plan.families:
        if family.recipe_of is None:
            for instance in instances_of(plan, family):
                given = instance.to_dict()
                kept = instance_sha256(given), instance.name, canonical(given)
                yield _planned(plan, family, problem_for(instance), kept, allow)
            continue
        for recipe in recipes_of(family):
            document = canonical(recipe)
            require_allowed_recipe(document, allow, plan.source, f"families.{family.name}")
            sha256 = hashlib.sha256(document.encode()).hexdigest()
            kept = sha256, f"{family.name}, seed {recipe[RECIPE]['seed']}", document
            yield _planned(plan, family, PROBLEMS[family.recipe_of], kept, allow)


def require_allowed(method: str, allow: Collection[str], source: str, where: str) -> None:
    """Raise InputError if a method's name asks for a module that the caller does not allow."""
    module = module_of(method)
    if module is not None and module not in allow:
        raise InputError(source, where, shown(method), f"--allow {module}, if you trust that code")


def require_allowed_recipe(document: str, allow: Collection[str], source: str, where: str) -> None:
    """Raise InputError if an instance is made by a module that the caller does not allow."""
    recipe = recipe_in(document)
    if recipe is not None:
        require_allowed(str(recipe[RECIPE].get("generator")), allow, source, where)


def canonical(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal values, equal text."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def _planned(
    plan: Plan, family: Family, problem: Problem, kept: tuple[str, str, str], allow: Collection[str]
) -> PlannedInstance:
    sha256, name, document = kept
    names = [method.name for method in problem.methods]
    where = f"families.{family.name}.methods"
    for method in family.methods:
        require_allowed(method, allow, plan.source, where)
        if module_of(method) is None and method not in names:
            raise InputError(plan.source, where, repr(method), suggestion(method, names))
    options = canonical(_options(plan, problem, family))
    settings = canonical(family.limits.settings())
    units = tuple(
        Unit(
            family.name,
            *(problem.name, name, sha256),
            method=method,
            options=options,
            settings=settings,
            seed=seed,
            version="+".join(filter(None, (__version__, plan.code, _digest(problem, method)))),
        )
        for method in family.methods or problem.defaults
        for seed in family.seeds
    )
    return PlannedInstance(sha256, name, problem.name, document, units)


def _digest(problem: Problem, method: str) -> str | None:
    """Of a method from outside: its answers depend on more than the package's version."""
    return source_digest(method_of(problem, method))


def _options(plan: Plan, problem: Problem, family: Family) -> dict[str, Any]:
    try:
        return problem.options_of(family.options)
    except InputError as error:
        where = f"families.{family.name}.options"
        place = f"{where}.{error.where}" if error.where else where
        raise error.at(plan.source, place) from None
