"""The instances of a family: loaded from files, or made by a generator."""

from __future__ import annotations

import glob
import inspect
import os
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import UnionType
from typing import Any

from optsched.errors import InputError, shown
from optsched.experiments.plans.fields import suggestion
from optsched.experiments.plans.plan import Family, Plan
from optsched.library import BEST_KNOWN, find, load, shipped_folder, workload_folder
from optsched.online.instance import OnlineInstance
from optsched.problem import resolve
from optsched.problems import PROBLEMS

RESERVED = ("seed", "name")
"""Arguments of a generator that the family sets itself."""
MAKERS = {"RollingGenerator": "optsched.generators.rolling:rolling_settings"}
"""Functions that make a settings class from flat names, with defaults that depend on others."""


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
    arguments = _arguments(make, family.arguments, plan.source, place)
    for seed in range(family.first_seed, family.first_seed + family.count):
        try:
            made = make(**arguments, seed=seed)
        except InputError as error:
            raise _placed(error, plan.source, place) from None
        except (TypeError, ValueError, ArithmeticError, LookupError) as error:
            found = f"{type(error).__name__}: {error}"
            raise InputError(plan.source, place, found, "arguments it can use") from None
        yield made


def generators() -> list[str]:
    """Kinds of instances that can be generated: ``optsched.generators.KIND:generate_KIND``."""
    kinds = [name.replace("-", "_") for name in PROBLEMS]
    return [
        name
        for name, kind in zip(PROBLEMS, kinds, strict=True)
        if find_spec(f"optsched.generators.{kind}") is not None
    ]


def generator(kind: str, source: str, place: str) -> Callable[..., Any]:
    """The generator of a kind; raises InputError."""
    if kind not in generators():
        raise InputError(source, place, repr(kind), suggestion(kind, generators()))
    stem = kind.replace("-", "_")
    made: Callable[..., Any] = getattr(
        import_module(f"optsched.generators.{stem}"), f"generate_{stem}"
    )
    return made


def data_class(hint: Any) -> Any | None:
    """The data class behind a type hint such as ``Hardware | None``."""
    choices = typing.get_args(hint) if isinstance(hint, UnionType) else (hint,)
    return next((c for c in choices if isinstance(c, type) and is_dataclass(c)), None)


def maker(made_of: Any) -> Callable[..., Any]:
    """What makes a settings class of flat names: itself, or the function of `MAKERS`."""
    return resolve(MAKERS[made_of.__name__]) if made_of.__name__ in MAKERS else made_of


def _arguments(
    make: Callable[..., Any], given: Mapping[str, Any], source: str, place: str
) -> dict[str, Any]:
    """Arguments by name; fields of an argument that is a data class are named directly."""
    hints = typing.get_type_hints(make)
    names = [name for name in inspect.signature(make).parameters if name not in RESERVED]
    classes = {name: c for name in names if (c := data_class(hints.get(name))) is not None}
    owners = {key: owner for owner, c in classes.items() for key in _keys(c)}
    plain = [name for name in names if name not in classes]
    arguments: dict[str, Any] = {}
    parts: dict[str, dict[str, Any]] = {name: {} for name in classes if name in _required(make)}
    types = {**hints, **_field_types(list(classes.values()))}
    for key, value in given.items():
        usable = tuple(value) if isinstance(value, list) else value
        if key in types and not _fits(usable, types[key]):
            expected = str(getattr(types[key], "__name__", types[key]))
            raise InputError(source, f"{place}.{key}", shown(value), expected)
        if key in plain:
            arguments[key] = usable
        elif key in owners:
            parts.setdefault(owners[key], {})[key] = usable
        else:
            known = suggestion(key, [*plain, *owners])
            raise InputError(source, place, f"unknown key {key!r}", known)
    try:
        made = {owner: maker(classes[owner])(**part) for owner, part in parts.items()}
    except InputError as error:
        raise _placed(error, source, place) from None
    except (TypeError, ValueError) as error:
        raise InputError(source, place, str(error), "arguments it can use") from None
    return {**arguments, **made}


def _placed(error: InputError, source: str, place: str) -> InputError:
    """A generator's complaint about an argument or a command's option, at its key in the plan."""
    key = error.where.lstrip("-").replace("-", "_")
    return InputError(source, f"{place}.{key}".rstrip("."), error.found, error.expected)


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value has the type that is asked for, as far as TOML has types."""
    choices = typing.get_args(hint) if isinstance(hint, UnionType) else (hint,)
    return any(_is_a(value, kind) for kind in choices)


def _is_a(value: Any, kind: Any) -> bool:
    plain = {bool: (bool,), int: (int,), float: (int, float), str: (str,), type(None): ()}
    if typing.get_origin(kind) in (tuple, list, Sequence):
        return isinstance(value, tuple)
    return kind not in plain or type(value) in plain[kind]


def _required(make: Callable[..., Any]) -> list[str]:
    parameters = inspect.signature(make).parameters.values()
    return [p.name for p in parameters if p.default is inspect.Parameter.empty]


def _field_types(classes: list[Any]) -> dict[str, Any]:
    """Types of the classes' fields by name, those of inner data classes included."""
    types: dict[str, Any] = {}
    for made_of in classes:
        for name, hint in typing.get_type_hints(made_of).items():
            inner = data_class(hint)
            types |= {name: hint} if inner is None else _field_types([inner])
    return types


def _keys(made_of: Any) -> list[str]:
    """Names of a data class's fields; a field that is a data class itself gives its own."""
    hints = typing.get_type_hints(made_of)
    inner = {f.name: data_class(hints[f.name]) for f in fields(made_of)}
    return [key for name, c in inner.items() for key in ([name] if c is None else _keys(c))]


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
