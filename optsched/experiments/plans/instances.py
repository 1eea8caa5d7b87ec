"""The instances of a family: loaded from files, or made by a generator."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from optsched.errors import InputError
from optsched.experiments.plans.plan import Family, Plan
from optsched.generating import arguments_of, generator, made_by
from optsched.library import BEST_KNOWN, find, load, shipped_folder, workload_folder
from optsched.online.instance import OnlineInstance


def instances_of(plan: Plan, family: Family) -> Iterator[Any]:
    """Yield the instances of a family, in an order that depends on nothing but the plan.

    Raises
    ------
    InputError
        If a name, a glob or an argument of the generator cannot be used.
    """
    if family.generator is None:
        for entry in family.instances:
            for path in _files(plan, family, entry):
                yield OnlineInstance.of_folder(path) if os.path.isdir(path) else load(path)
        return
    make = generator(family.generator, plan.source, f"families.{family.name}.generator")
    place = f"families.{family.name}.arguments"
    arguments = arguments_of(make, family.arguments, plan.source, place)
    for seed in range(family.first_seed, family.first_seed + family.count):
        yield made_by(make, arguments, seed, plan.source, place)


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
        raise InputError(plan.source, place, repr(entry), "a file, a glob or a shipped name") from (
            None
        )


def _inside(path: Path) -> list[Path]:
    if os.path.isdir(path) and workload_folder(path) is not None:
        return [path]
    if os.path.isdir(path):
        return sorted(p for p in path.glob("*.json") if p.name != BEST_KNOWN)
    return [path] if path.suffix == ".json" and path.name != BEST_KNOWN else []
