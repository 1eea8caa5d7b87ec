"""Units of work: one method on one instance under given options, seed and limits."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from optsched import __version__
from optsched.errors import InputError
from optsched.experiments.generating import instances_of
from optsched.experiments.plan import Family, Plan
from optsched.experiments.plan_fields import suggestion
from optsched.experiments.subjects import Subject, subject_of
from optsched.files import instance_sha256


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


def expand(plan: Plan) -> Iterator[PlannedInstance]:
    """Yield the plan's instances one by one, with their units.

    Raises
    ------
    InputError
        For a method, an option or an instance that does not exist.
    """
    for family in plan.families:
        for instance in instances_of(plan, family):
            yield _planned(plan, family, instance)


def canonical(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal values, equal text."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def _planned(plan: Plan, family: Family, instance: Any) -> PlannedInstance:
    subject = subject_of(instance)
    place = f"families.{family.name}"
    for name in family.methods:
        if name not in subject.methods:
            where = f"{place}.methods"
            raise InputError(plan.source, where, repr(name), suggestion(name, subject.methods))
    options = canonical(_options(plan, subject, family))
    settings = canonical(family.limits.settings())
    document = instance.to_dict()
    sha256 = instance_sha256(document)
    units = tuple(
        Unit(family.name, subject.name, instance.name, sha256, method, options, settings, seed)
        for method in family.methods or subject.defaults
        for seed in family.seeds
    )
    return PlannedInstance(sha256, instance.name, subject.name, canonical(document), units)


def _options(plan: Plan, subject: Subject, family: Family) -> dict[str, Any]:
    try:
        return subject.options(dict(family.options))
    except InputError as error:
        where = f"families.{family.name}.options"
        place = f"{where}.{error.where}" if error.where else where
        raise InputError(plan.source, place, error.found, error.expected) from None
