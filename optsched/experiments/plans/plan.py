"""Sweep plans: TOML files that name instances, methods, seeds and limits.

A plan is a list of families. A family is a set of instances (shipped names, files, globs, or a
generator with its arguments), the methods to run on them, their seeds, and the options of the
problem. Unknown names raise InputError with the closest known name.
"""

from __future__ import annotations

import hashlib
import math
import os
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, TypeAdapter, WithJsonSchema, model_validator
from pydantic.json_schema import SkipJsonSchema

from optsched.declared import (
    About,
    Between,
    Gap,
    Iterations,
    NonNegative,
    Seed,
    Threads,
    expected_of,
)
from optsched.errors import InputError, shown, suggestion
from optsched.io.reading import read_text
from optsched.library import shipped_folder
from optsched.schema import FileModel, fault, parse

MAX_PLAN_BYTES = 2**20
MAX_UNITS = 1_000_000
"""Largest number of units of a plan, and so of instances and of seeds."""


def _line(value: Any) -> str:
    if not isinstance(value, str) or not value.isprintable() or len(value) > 500:
        raise fault("", shown(value), "a single line of text")
    return value


def _names(value: Any) -> tuple[str, ...]:
    texts = list(value) if isinstance(value, list | tuple) else [value]
    if not all(isinstance(v, str) and v and v.isprintable() for v in texts):
        raise fault("", shown(value), "a list of names")
    if len(set(texts)) < len(texts):
        raise fault("", shown(value), "distinct names")
    return tuple(texts)


def _seeds(value: Any) -> tuple[int, ...]:
    if type(value) is int and 1 <= value <= MAX_UNITS:
        return tuple(range(value))
    good = isinstance(value, list | tuple) and all(expected_of(Seed, v) is None for v in value)
    if not good or not value or len(set(value)) < len(value):
        raise fault("", shown(value), "a list of distinct seeds >= 0, or the number of seeds")
    return tuple(value)


def _values(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not _usable(dict(value)):
        expected = "a table of texts, booleans, finite numbers, and lists and tables of them"
        raise fault("", shown(value), expected)
    return dict(value)


def _usable(value: Any) -> bool:
    """Whether the value can be stored as JSON: TOML also has dates, and integers of any length."""
    if isinstance(value, dict | list):
        return all(map(_usable, value.values() if isinstance(value, dict) else value))
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, str) or (isinstance(value, int) and abs(value) < 2**63)


_LINE: dict[str, Any] = {"type": "string", "maxLength": 500}
_LINES = {"type": "array", "items": _LINE, "minItems": 1, "uniqueItems": True}
_SEED = TypeAdapter(Seed).json_schema()
_SEED_LIST = {"type": "array", "items": _SEED, "minItems": 1, "uniqueItems": True}
Count = Annotated[int, Between(1, MAX_UNITS)]
_COUNT = TypeAdapter(Count).json_schema()
Line = Annotated[str, BeforeValidator(_line), WithJsonSchema(_LINE)]
Names = Annotated[
    tuple[str, ...], BeforeValidator(_names), WithJsonSchema({"anyOf": [_LINE, _LINES]})
]
Seeds = Annotated[
    tuple[int, ...], BeforeValidator(_seeds), WithJsonSchema({"anyOf": [_COUNT, _SEED_LIST]})
]
Values = Annotated[dict[str, Any], BeforeValidator(_values), WithJsonSchema({"type": "object"})]


class _Table(FileModel):
    """A table of a plan: unknown keys raise an error with the closest known key."""

    @model_validator(mode="before")
    @classmethod
    def _first_unknown_key(cls, data: Any) -> Any:
        known = [name for name in cls.model_fields if name != "recipe_of"]
        for key in data if isinstance(data, dict) else ():
            if key not in cls.model_fields:
                raise fault("", f"unknown key {shown(key)}", suggestion(key, known))
        return data


class Limits(_Table):
    """Limits of one run of a method."""

    iterations: Annotated[
        Iterations | None,
        About(
            "Limit of methods that count iterations; results are exactly reproducible.",
            "iterations",
            200,
        ),
    ] = None
    time_limit: Annotated[
        NonNegative | None,
        About("Passed to the method; its status reports whether it was reached.", "seconds", 10.0),
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
            "Whether results without a bound get the problem's quick one, which may take longer "
            "than a heuristic.",
            "",
            True,
        ),
    ] = True
    unit_time: Annotated[
        Annotated[float, Between(0, 1e9, above=True)] | None,
        About("Wall-clock limit after which the worker process is killed.", "seconds", 60.0),
    ] = None
    unit_memory: Annotated[
        Annotated[int, Between(2**20, 2**50)] | None,
        About(
            "Memory that a worker may take beyond the loaded package (Linux only).",
            "bytes",
            4294967296,
        ),
    ] = None

    def settings(self) -> dict[str, Any]:
        """The part that a method sees, and that can change its answer."""
        settings = self.model_dump(include={"iterations", "threads", "solver"})
        limit = None if self.time_limit is None else float(self.time_limit)
        settings |= {"time_limit": limit, "gap": float(self.gap)}
        return settings if self.bound else {**settings, "bound": False}


class Family(_Table):
    """Instances that belong together, and what is run on them."""

    name: Annotated[Line, About("The name of its table.", "", "placement")]
    instances: Annotated[
        Names,
        About(
            "Shipped names, files, folders or globs, relative to the plan's folder.",
            "",
            ["placement/vgg19-16"],
        ),
    ] = ()
    generator: Annotated[
        Line | None,
        About(
            "Instead of instances, a kind of `optsched generate`. A plan made in Python may name "
            "a function of its own, `module:function`, if `recipe_of` is given.",
            "",
            "placement",
        ),
    ] = None
    recipe_of: Annotated[
        SkipJsonSchema[str | None],
        About(
            "The problem of instances that the store keeps by generator, arguments and seed, and "
            "not in full: they may be large. Only plans made in Python have it."
        ),
    ] = None
    arguments: Annotated[
        Values,
        About("What the generator is given, by name.", "", {"model": "GPT-13B", "gpus": 32}),
    ] = Field(default_factory=dict)
    count: Annotated[Count, About("Instances that the generator makes.", "instances", 20)] = 1
    first_seed: Annotated[Seed, About("The seed of the first; the others follow.", "", 0)] = 0
    methods: Annotated[
        Names,
        About(
            "What is run; by default the methods of `optsched compare`.",
            "",
            ["heavy-edge", "exact"],
        ),
    ] = ()
    seeds: Annotated[Seeds, About("Seeds of each method: a list, or their number.", "", 5)] = (0,)
    options: Annotated[
        Values,
        About("The problem's options, by name.", "", {"all_reduce_bandwidth": "bottleneck"}),
    ] = Field(default_factory=dict)
    limits: Annotated[Limits, About("Overrides of the plan's limits.")] = Limits()

    @model_validator(mode="after")
    def _one_source(self) -> Family:
        if bool(self.instances) == (self.generator is not None):
            found = "both" if self.instances else "neither"
            raise fault("", found, "either instances or a generator")
        return self


class _PlanFile(_Table):
    """A sweep: families of instances, and what is run on them."""

    name: Annotated[Line | None, About("The plan's name; by default the file's.", "", "small")] = (
        None
    )
    description: Annotated[Line, About("What it is for.", "", "Heuristics and bounds")] = ""
    limits: Annotated[Limits, About("What a method may use on one instance.")] = Limits()
    families: Annotated[
        tuple[Family, ...],
        Field(min_length=1, strict=False),
        About("Instances that belong together, with their methods."),
    ]


@dataclass(frozen=True)
class Plan:
    """A sweep: its families, and the text they were read from.

    Attributes
    ----------
    code : str
        Extra version tag, such as a digest of the source; rows of another tag are not reused.
    """

    name: str
    families: tuple[Family, ...]
    text: str
    source: str
    description: str = ""
    code: str = ""

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


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
    text = read_text(path, MAX_PLAN_BYTES)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(source, "", f"not valid TOML ({error})", "TOML") from None
    except RecursionError:
        raise InputError(source, "", "arrays nested too deep", "a plan") from None
    except ValueError:  # an integer of thousands of digits, a date that is none
        raise InputError(source, "", "an invalid integer or date", "a plan") from None
    file = parse(_PlanFile, document, source)
    families = []
    for family in file.families:
        limits = file.limits.model_copy(update=family.limits.model_dump(exclude_unset=True))
        families.append(family.model_copy(update={"limits": limits}))
    name, count = Counter(family.name for family in families).most_common(1)[0]
    if count > 1:
        raise InputError(source, "families", f"{shown(name)} twice", "distinct names")
    units = sum(f.count * len(f.seeds) * max(1, len(f.methods)) for f in families)
    if units > MAX_UNITS:
        raise InputError(source, "families", f"{units} units", f"at most {MAX_UNITS}")
    return Plan(file.name or Path(source).stem, tuple(families), text, source, file.description)


def _find(reference: str) -> Path:
    path = Path(reference)
    shipped = shipped_folder() / "plans" / f"{path.stem}.toml"
    is_name = all(part in ("instances", "plans") for part in path.parts[:-1])
    if not os.path.isfile(path) and is_name and len(path.parts) > 1 and os.path.isfile(shipped):
        return shipped
    return path


def plan_schema() -> dict[str, Any]:
    """The JSON Schema of a plan's TOML; names of instances and methods are left to `sweep`."""
    schema = _PlanFile.model_json_schema()
    schema["title"] = "Plan"
    schema["$defs"]["Family"]["oneOf"] = [{"required": ["instances"]}, {"required": ["generator"]}]
    return schema
