"""Units of work: one method on one instance under given options, seed and limits.

The instances of a plan are loaded from files, or made by a generator.
"""

import glob
import hashlib
import json
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from optsched import __version__
from optsched.errors import InputError, shown, suggestion
from optsched.experiments.plans.plan import MAX_UNITS, Family, Plan
from optsched.external import method_of, module_of, source_digest
from optsched.files import instance_sha256
from optsched.library import BEST_KNOWN, find, load, shipped_folder, workload_folder
from optsched.methods import problem_for
from optsched.online.instance import OnlineInstance
from optsched.problem import Problem, resolve
from optsched.problems import PROBLEMS
from optsched.verbs.generating import arguments_of, generate_with, generator

RECIPE = "recipe"


@dataclass(frozen=True)
class Unit:
    """One run of a sweep; equal keys mean equal results.

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
        parts = (self.sha256, self.method, self.options, self.settings, self.seed, self.version)
        return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()


def expand(plan: Plan, allow: Collection[str] = ()) -> Iterator[tuple[str, tuple[Unit, ...]]]:
    """Yield the plan's instances one by one, as canonical text, with their units."""
    count = 0
    for family in plan.families:
        for name, problem, sha256, document in _documents(plan, family, allow):
            units = tuple(_units(plan, family, problem, name, sha256, allow))
            count += len(units)
            if count > MAX_UNITS:
                raise InputError(plan.source, "families", "more units", f"at most {MAX_UNITS}")
            yield document, units


def _documents(
    plan: Plan, family: Family, allow: Collection[str]
) -> Iterator[tuple[str, Problem, str, str]]:
    """Yield name, problem, SHA-256 and canonical text of a family's instances or recipes."""
    if family.recipe_of is None:
        for instance in instances_of(plan, family):
            content = instance.to_dict()
            yield instance.name, problem_for(instance), instance_sha256(content), canonical(content)
        return
    for seed in _seeds(family):
        recipe = {"generator": family.generator, "arguments": dict(family.arguments), "seed": seed}
        document = canonical({RECIPE: recipe})
        require_allowed_recipe(document, allow, plan.source, f"families.{family.name}")
        sha256 = hashlib.sha256(document.encode()).hexdigest()
        yield f"{family.name}, seed {seed}", PROBLEMS[family.recipe_of], sha256, document


def require_allowed(method: str, allow: Collection[str], source: str, where: str) -> None:
    module = module_of(method)
    if module is not None and module not in allow:
        raise InputError(source, where, shown(method), f"--allow {module}, if you trust that code")


def require_allowed_recipe(document: str, allow: Collection[str], source: str, where: str) -> None:
    """Raise InputError if the instance's generator is in a module that is not allowed."""
    recipe = recipe_in(document)
    if recipe is not None:
        require_allowed(str(recipe.get("generator")), allow, source, where)


def canonical(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal values, equal text."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def _units(
    plan: Plan, family: Family, problem: Problem, name: str, sha256: str, allow: Collection[str]
) -> Iterator[Unit]:
    known = [method.name for method in problem.methods]
    location = f"families.{family.name}"
    for method in family.methods:
        require_allowed(method, allow, plan.source, f"{location}.methods")
        if module_of(method) is None and method not in known:
            expected = suggestion(method, known)
            raise InputError(plan.source, f"{location}.methods", repr(method), expected)
    try:
        options = canonical(problem.options_of(family.options))
    except InputError as error:
        place = ".".join(filter(None, (f"{location}.options", error.where)))
        raise error.at(plan.source, place) from None
    settings = canonical(family.limits.settings())
    for method in family.methods or problem.defaults:
        # A user's method: its results depend on more than the package's version.
        digest = source_digest(method_of(problem, method))
        version = "+".join(filter(None, (__version__, plan.code, digest)))
        for seed in family.seeds:
            identity = (family.name, problem.name, name, sha256)
            yield Unit(*identity, method, options, settings, seed, version)


def instances_of(plan: Plan, family: Family) -> Iterator[Any]:
    if family.generator is None:
        for entry in family.instances:
            for path in _files(plan, family, entry):
                yield OnlineInstance.of_folder(path) if os.path.isdir(path) else load(path)
        return
    location = f"families.{family.name}"
    generate = generator(family.generator, plan.source, f"{location}.generator")
    location += ".arguments"
    arguments = arguments_of(generate, family.arguments, plan.source, location)
    for seed in _seeds(family):
        yield generate_with(generate, arguments, seed, plan.source, location)


def recipe_in(document: str) -> dict[str, Any] | None:
    """Parse a stored recipe; None if the document is an instance."""
    if not document.startswith(f'{{"{RECIPE}":'):
        return None
    recipe: dict[str, Any] = json.loads(document)[RECIPE]
    return recipe


@lru_cache(maxsize=4)
def stored_instance(problem: str, sha256: str, document: str) -> Any:
    """Parse a stored instance, or make it by its recipe; raises InputError.

    Callers must call `require_allowed_recipe` first, since ``module:function`` is any code.
    """
    recipe = recipe_in(document)
    if recipe is None:
        return resolve(PROBLEMS[problem].instance).from_dict(json.loads(document), sha256[:12])
    name = recipe["generator"]
    generate = resolve(name) if module_of(name) else generator(name, RECIPE, "generator")
    arguments = arguments_of(generate, recipe["arguments"], RECIPE, "arguments")
    return generate_with(generate, arguments, recipe["seed"], RECIPE, "arguments")


def _seeds(family: Family) -> range:
    return range(family.first_seed, family.first_seed + family.count)


def _files(plan: Plan, family: Family, entry: str) -> list[Path]:
    """Files of one entry, in the plan's folder or else among the shipped instances."""
    for root in (Path(plan.source).resolve().parent, shipped_folder()):
        names = sorted(glob.glob(entry, root_dir=root, recursive=True))
        files = [path for name in names for path in _inside(root / name)]
        if files:
            return files
    try:
        return find(entry)
    except InputError:
        location = f"families.{family.name}.instances"
        expected = "a file, a glob or a shipped name"
        raise InputError(plan.source, location, shown(entry), expected) from None


def _inside(path: Path) -> list[Path]:
    """Instances of a path: a workload's folder, the files of another folder, or one file."""
    if os.path.isdir(path):
        is_workload = workload_folder(path) is not None
        return [path] if is_workload else [p for p in sorted(path.glob("*.json")) if _inside(p)]
    return [path] if path.suffix == ".json" and path.name != BEST_KNOWN else []
