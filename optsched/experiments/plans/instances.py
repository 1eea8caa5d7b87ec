"""The instances of a family: loaded from files, or made by a generator."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from optsched.errors import InputError, shown
from optsched.experiments.plans.plan import Family, Plan
from optsched.external import module_of
from optsched.library import BEST_KNOWN, find, load, shipped_folder, workload_folder
from optsched.online.instance import OnlineInstance
from optsched.problem import resolve
from optsched.verbs.generating import arguments_of, generator, made_by

RECIPE = "recipe"


def instances_of(plan: Plan, family: Family) -> Iterator[Any]:
    """Yield the instances of a family, in an order that depends on nothing but the plan."""
    if family.generator is None:
        for entry in family.instances:
            for path in _files(plan, family, entry):
                yield OnlineInstance.of_folder(path) if os.path.isdir(path) else load(path)
        return
    place = f"families.{family.name}"
    make = generator(family.generator, plan.source, f"{place}.generator")
    arguments = arguments_of(make, family.arguments, plan.source, f"{place}.arguments")
    for seed in _seeds(family):
        yield made_by(make, arguments, seed, plan.source, f"{place}.arguments")


def recipes_of(family: Family) -> Iterator[dict[str, Any]]:
    """How to make each instance of a family, for `instance_of_recipe`."""
    for seed in _seeds(family):
        how = {"generator": family.generator, "arguments": dict(family.arguments), "seed": seed}
        yield {RECIPE: how}


def recipe_in(document: str) -> dict[str, Any] | None:
    """The recipe that a store keeps in an instance's place; None if it keeps the instance."""
    if not document.startswith(f'{{"{RECIPE}":'):
        return None
    found: dict[str, Any] = json.loads(document)
    return found


def instance_of_recipe(recipe: Mapping[str, Any]) -> Any:
    """Make the instance that one of `recipes_of` describes; raises InputError.

    Its generator may be ``module:function``: `units.require_allowed_recipe` comes first.
    """
    how = recipe[RECIPE]
    kind = how["generator"]
    own = module_of(kind) is not None
    make = resolve(kind) if own else generator(kind, RECIPE, "generator")
    arguments = arguments_of(make, how["arguments"], RECIPE, "arguments")
    return made_by(make, arguments, how["seed"], RECIPE, "arguments")


def _seeds(family: Family) -> range:
    return range(family.first_seed, family.first_seed + family.count)


def _files(plan: Plan, family: Family, entry: str) -> list[Path]:
    """Files of one entry: what the plan's folder holds comes first, then the shipped ones."""
    for root in (plan.folder, shipped_folder()):
        found = [root / name for name in sorted(glob.glob(entry, root_dir=root, recursive=True))]
        files = [path for each in found for path in _inside(each)]
        if files:
            return files
    try:
        return find(entry)
    except InputError:
        place = f"families.{family.name}.instances"
        expected = "a file, a glob or a shipped name"
        raise InputError(plan.source, place, shown(entry), expected) from None


def _inside(path: Path) -> list[Path]:
    if os.path.isdir(path) and workload_folder(path) is not None:
        return [path]
    if os.path.isdir(path):
        return sorted(p for p in path.glob("*.json") if p.name != BEST_KNOWN)
    return [path] if path.suffix == ".json" and path.name != BEST_KNOWN else []
