"""Sweep plans: TOML files that name instances, methods, seeds and limits.

A plan is a list of families. A family is a set of instances (shipped names, files, globs, or a
generator with its arguments), the methods to run on them, their seeds, and the options of the
problem. Names that do not exist are refused, with the nearest one that does.
"""

from __future__ import annotations

import hashlib
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from optsched.declared import About, Between, Gap, Iterations, NonNegative, Seed, Threads, declared
from optsched.errors import InputError, shown
from optsched.experiments.plans.fields import (
    Reader,
    as_declared,
    as_name,
    as_names,
    as_seeds,
    as_values,
)
from optsched.io.reading import read_text
from optsched.library import shipped_folder
from optsched.schema import described

LARGEST_PLAN = 2**20
MOST_UNITS = 1_000_000
"""Of a plan, and so of instances and of seeds."""
Count = Annotated[int, Between(1, MOST_UNITS)]


@described
@dataclass(frozen=True)
class Limits:
    """What a method may use on one instance."""

    iterations: Annotated[
        Iterations | None,
        About(
            "Cut for methods that count iterations: such results can be repeated exactly.",
            "iterations",
            200,
        ),
    ] = None
    time_limit: Annotated[
        NonNegative | None,
        About("What a method is asked to keep to; what it cuts says so.", "seconds", 10.0),
    ] = None
    gap: Annotated[Gap, About("The relative gap to which optimality is proved.", "ratio", 1e-6)] = (
        1e-6
    )
    threads: Annotated[Threads, About("Threads of a solver.", "threads", 1)] = 1
    solver: Annotated[str, About("The solver of Pyomo models and of bare arrays.", "", "highs")] = (
        "highs"
    )
    bound: Annotated[
        bool,
        About(
            "Whether answers without a bound get the problem's quick one, which may take longer "
            "than a heuristic.",
            "",
            True,
        ),
    ] = True
    unit_time: Annotated[
        Annotated[float, Between(0, 1e9, above=True)] | None,
        About("After which a worker is ended, whatever the method is doing.", "seconds", 60.0),
    ] = None
    unit_memory: Annotated[
        Annotated[int, Between(2**20, 2**50)] | None,
        About(
            "What a worker may take beyond the loaded package, where the platform can say so.",
            "bytes",
            4294967296,
        ),
    ] = None

    def settings(self) -> dict[str, Any]:
        """The part that a method sees, and that can change its answer."""
        names = ("iterations", "time_limit", "gap", "threads", "solver")
        settings = {name: getattr(self, name) for name in names}
        return settings if self.bound else {**settings, "bound": False}


@dataclass(frozen=True)
class Family:
    """Instances that belong together, and what is run on them.

    Attributes
    ----------
    name : str
        The name of its table.
    instances : tuple of str
        Shipped names, files, folders or globs; relative to the plan's folder.
    generator : str or None
        Else, the kind of a generator, with its `arguments`, `count` and `first_seed`. A plan made
        in Python may name a function of its own, ``module:function``, if `recipe_of` is given.
    recipe_of : str or None
        The problem of instances that the store keeps by generator, arguments and seed, and not in
        full: they may be large. Only plans made in Python have it.
    methods : tuple of str
        By default those of `optsched compare`.
    seeds : tuple of int
        Each method runs once a seed.
    options : mapping
        The problem's options.
    limits : Limits
        The plan's, with the family's own on top.
    """

    name: str
    instances: tuple[str, ...] = ()
    generator: str | None = None
    recipe_of: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    count: int = 1
    first_seed: int = 0
    methods: tuple[str, ...] = ()
    seeds: tuple[int, ...] = (0,)
    options: Mapping[str, Any] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True)
class Plan:
    """A sweep: its families, and the text they were read from.

    Attributes
    ----------
    code : str
        What results depend on beside the package's version, such as a digest of its source; rows
        of another code are not taken.
    """

    name: str
    families: tuple[Family, ...]
    text: str
    source: str
    description: str = ""
    code: str = ""

    @property
    def sha256(self) -> str:
        """SHA-256 of the plan's text."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def folder(self) -> Path:
        """Where relative paths start."""
        return Path(self.source).resolve().parent


def read_plan(reference: str | Path) -> Plan:
    """Read a plan.

    Parameters
    ----------
    reference : str or Path
        A TOML file, or the name of a shipped plan such as "plans/placement".

    Returns
    -------
    Plan
        Families of instances, methods, seeds and limits.

    Raises
    ------
    InputError
        One line: file, place in it, found, expected.

    Examples
    --------
    >>> [family.name for family in read_plan("plans/small").families][:2]
    ['placement', 'makespan']
    """
    path = _find(str(reference))
    source = str(path)
    text = read_text(path, LARGEST_PLAN)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(source, "", f"no TOML ({error})", "TOML") from None
    except RecursionError:
        raise InputError(source, "", "arrays nested too deep", "a plan") from None
    except ValueError:  # an integer of thousands of digits, a date that is none
        raise InputError(source, "", "an integer or a date that cannot be", "a plan") from None
    return _plan(document, text, source)


def _find(reference: str) -> Path:
    path = Path(reference)
    shipped = shipped_folder() / "plans" / f"{path.stem}.toml"
    is_name = [part for part in path.parts[:-1] if part not in ("instances", "plans")] == []
    if not os.path.isfile(path) and is_name and len(path.parts) > 1 and os.path.isfile(shipped):
        return shipped
    return path


def _plan(document: dict[str, Any], text: str, source: str) -> Plan:
    reader = Reader(source, document)
    name = reader.take("name", as_name, Path(source).stem)
    description = reader.take("description", as_name, "")
    limits = _limits(reader, Limits())
    entries = reader.tables("families")
    reader.finish()
    families = tuple(_family(entry, limits) for entry in entries)
    repeated = [f.name for f in families if [g.name for g in families].count(f.name) > 1]
    if repeated:
        raise InputError(source, "families", f"{shown(repeated[0])} twice", "names that differ")
    units = sum(f.count * len(f.seeds) * max(1, len(f.methods)) for f in families)
    if units > MOST_UNITS:
        raise InputError(source, "families", f"{units} units", f"at most {MOST_UNITS}")
    return Plan(name, families, text, source, description)


def _family(reader: Reader, limits: Limits) -> Family:
    family = Family(
        name=reader.take("name", as_name),
        instances=reader.take("instances", as_names, ()),
        generator=reader.take("generator", as_name, None),
        arguments=reader.take("arguments", as_values, {}),
        count=reader.take("count", as_declared(Count), 1),
        first_seed=reader.take("first_seed", as_declared(Seed), 0),
        methods=reader.take("methods", as_names, ()),
        seeds=reader.take("seeds", as_seeds, (0,)),
        options=reader.take("options", as_values, {}),
    )
    if bool(family.instances) == (family.generator is not None):
        found = "both" if family.instances else "neither"
        raise reader.fault("", found, "either instances or a generator")
    family = replace(family, limits=_limits(reader, limits))
    reader.finish()
    return family


def _limits(reader: Reader, outer: Limits) -> Limits:
    inner = reader.table("limits")
    if inner is None:
        return outer
    read = {
        name: inner.take(name, as_declared(hint), getattr(outer, name))
        for name, hint in declared(Limits).items()
    }
    inner.finish()
    return Limits(**read)
