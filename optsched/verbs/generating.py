"""Generating instances by the problems' generators."""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from optsched.declared import Seed, choices_of, declared, require
from optsched.errors import InputError, shown, suggestion
from optsched.io.numerals import without_numpy
from optsched.problem import resolve
from optsched.problems import PROBLEMS

if TYPE_CHECKING:
    from optsched.typing import Instance

RESERVED = ("seed", "name", "return")
"""Annotations of a generator that are not set by name: a plan's family has its own seeds."""
SETTINGS_FACTORIES = {
    "RollingGenerator": "optsched.generators.rolling:rolling_settings",
    "SelectionSettings": "optsched.generators.selection:selection_settings",
}
"""Functions that make a settings class from flat names, with defaults that depend on each other."""


class Parameter(typing.NamedTuple):
    """An argument of a generator: its flat name, type, default and description."""

    name: str
    hint: Any
    default: Any
    text: str


def generate(problem: str, seed: int = 0, **arguments: object) -> Instance:
    """Generate an instance.

    Parameters
    ----------
    problem : str
        "placement", "makespan", "selection", "speed-profile", "rolling", "online" or "packing".
    seed : int
        Equal arguments and seeds give equal instances.
    arguments
        Those of the problem's generator, by flat names; docs/generators.md lists them. `name` is
        the instance's name.

    Returns
    -------
    PlacementInstance, MakespanInstance, ...
        An instance, as `optsched.load` gives it.

    Raises
    ------
    InputError
        If there is no such generator or argument, or a value is out of range.

    Examples
    --------
    >>> import optsched
    >>> optsched.generate("placement", model="VGG19", gpus=8, seed=3).job.replicas
    8
    """
    make = generator(problem, "generate", "problem")
    seed, arguments = without_numpy(seed), without_numpy(arguments)
    require("generate", "seed", seed, Seed)
    name = arguments.pop("name", None)
    if name is not None and not isinstance(name, str):
        raise InputError("generate", "name", shown(name), "a string")
    chosen = {**arguments_of(make, arguments, "generate", ""), "name": name}
    instance: Instance = generate_with(make, chosen, seed, "generate", "")
    return instance


def generate_with(
    make: Callable[..., Any], arguments: Mapping[str, Any], seed: int, source: str, place: str
) -> Any:
    """Return a generator's instance for a seed; errors are located at `place`."""
    try:
        return make(**arguments, seed=seed)
    except InputError as error:
        raise _relocated(error, source, place) from None
    except (TypeError, ValueError, ArithmeticError, LookupError) as error:
        found = f"{type(error).__name__}: {error}"
        raise InputError(source, place, found, "valid generator arguments") from None


def generators() -> list[str]:
    """Return the problems whose instances can be generated."""
    return [problem.name for problem in PROBLEMS.values() if problem.generate is not None]


def generator(kind: str, source: str, place: str) -> Callable[..., Any]:
    """Return the generator of a problem's instances; raises InputError."""
    if kind not in generators():
        raise InputError(source, place, shown(kind), suggestion(str(kind), generators()))
    make: Callable[..., Any] = resolve(PROBLEMS[kind].generate or "")
    return make


def parameters_of(make: Callable[..., Any]) -> Iterator[Parameter]:
    """Yield a generator's arguments, those that are data classes flattened."""
    texts, hints = _parameter_docs(make), typing.get_type_hints(make)
    for name, parameter in inspect.signature(make).parameters.items():
        inner = data_class(hints.get(name))
        if inner is not None:
            yield from attributes(inner, factory_of(inner)())
        elif name not in RESERVED:
            yield Parameter(name, hints.get(name), parameter.default, texts.get(name, ""))


def attributes(settings_class: Any, defaults: Any) -> Iterator[Parameter]:
    """Yield the fields of a settings class, and those of the classes in it.

    `defaults` is an instance, or the class itself where it has the defaults.
    """
    texts, hints = _parameter_docs(settings_class), typing.get_type_hints(settings_class)
    for field in fields(settings_class):
        inner, value = data_class(hints[field.name]), getattr(defaults, field.name, None)
        if inner is not None:
            yield from attributes(inner, inner if value is None else value)
        else:
            yield Parameter(field.name, hints[field.name], value, texts.get(field.name, ""))


def _parameter_docs(documented: Any) -> dict[str, str]:
    """Return the texts of a numpydoc list of parameters or attributes, by name."""
    texts: dict[str, str] = {}
    names: list[str] = []
    for line in inspect.cleandoc(documented.__doc__ or "").splitlines():
        name_line = re.match(r"^(\w+(?:, \w+)*) : \S", line)
        if name_line:
            names = name_line[1].split(", ")
            texts.update(dict.fromkeys(names, ""))
        elif names and line.startswith("    "):
            for name in names:
                texts[name] = f"{texts[name]} {line.strip()}".strip()
        else:
            names = []
    return texts


def data_class(hint: Any) -> Any | None:
    classes = (c for c in choices_of(hint) if isinstance(c, type) and is_dataclass(c))
    return next(classes, None)


def factory_of(settings_class: Any) -> Callable[..., Any]:
    name = settings_class.__name__
    return resolve(SETTINGS_FACTORIES[name]) if name in SETTINGS_FACTORIES else settings_class


def arguments_of(
    make: Callable[..., Any], given: Mapping[str, Any], source: str, place: str
) -> dict[str, Any]:
    """Return a generator's arguments from flat names; raises InputError."""
    hints = {name: hint for name, hint in declared(make).items() if name not in RESERVED}
    classes = {name: c for name, hint in hints.items() if (c := data_class(hint)) is not None}
    fields_of = {owner: _field_types(c) for owner, c in classes.items()}
    owners = {key: owner for owner, types in fields_of.items() for key in types}
    types = {key: hint for part in fields_of.values() for key, hint in part.items()} | hints
    parts: dict[str, dict[str, Any]] = {name: {} for name in classes if name in _required(make)}
    arguments: dict[str, Any] = {}
    for key, value in given.items():
        if key in classes or key not in types:
            known = suggestion(key, [*(n for n in hints if n not in classes), *owners])
            raise InputError(source, place, f"unknown key {key!r}", known)
        value = tuple(value) if isinstance(value, list) else value
        require(source, _within(place, key), value, types[key])
        into = parts.setdefault(owners[key], {}) if key in owners else arguments
        into[key] = value
    try:
        settings = {owner: factory_of(classes[owner])(**part) for owner, part in parts.items()}
    except InputError as error:
        raise _relocated(error, source, place) from None
    except (TypeError, ValueError) as error:
        raise InputError(source, place, str(error), "valid generator arguments") from None
    return {**arguments, **settings}


def _relocated(error: InputError, source: str, place: str) -> InputError:
    """Return an error at the key of a plan, which has underscores for an option's dashes."""
    key = error.where
    if key.startswith("--"):
        key = key[2:].replace("-", "_")
    return error.at(source, _within(place, key))


def _within(place: str, key: str) -> str:
    return ".".join(filter(None, (place, key)))


def _required(make: Callable[..., Any]) -> list[str]:
    parameters = inspect.signature(make).parameters.values()
    return [p.name for p in parameters if p.default is inspect.Parameter.empty]


def _field_types(settings_class: Any) -> dict[str, Any]:
    """Return the types of a class's fields by name, those of inner data classes included."""
    types: dict[str, Any] = {}
    for name, hint in declared(settings_class).items():
        inner = data_class(hint)
        types |= {name: hint} if inner is None else _field_types(inner)
    return types
