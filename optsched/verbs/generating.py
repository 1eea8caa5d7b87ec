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

RESERVED = ("seed", "name")
"""Arguments of a generator that a plan's family sets itself."""
MAKERS = {
    "RollingGenerator": "optsched.generators.rolling:rolling_settings",
    "SelectionSettings": "optsched.generators.selection:selection_settings",
}
"""Functions that make a settings class from flat names, with defaults that depend on others."""


class Parameter(typing.NamedTuple):
    """An argument of a generator by its flat name: its type, its default and what it is."""

    name: str
    hint: Any
    default: Any
    text: str


def generate(problem: str, seed: int = 0, **arguments: object) -> Instance:
    """Generate an instance.

    Parameters
    ----------
    problem : str
        "placement", "makespan", "selection", "speed-profile", "rolling" or "online".
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
        raise InputError("generate", "name", shown(name), "a text")
    chosen = {**arguments_of(make, arguments, "generate", ""), "name": name}
    instance: Instance = made_by(make, chosen, seed, "generate", "")
    return instance


def made_by(
    make: Callable[..., Any], arguments: Mapping[str, Any], seed: int, source: str, place: str
) -> Any:
    """Return a generator's instance for a seed; an error names the place of the fault."""
    try:
        return make(**arguments, seed=seed)
    except InputError as error:
        raise _placed(error, source, place) from None
    except (TypeError, ValueError, ArithmeticError, LookupError) as error:
        found = f"{type(error).__name__}: {error}"
        raise InputError(source, place, found, "arguments it can use") from None


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
    """Yield a generator's arguments: its own and the fields of those that are data classes."""
    texts, hints = _described(make), typing.get_type_hints(make)
    for name, parameter in inspect.signature(make).parameters.items():
        inner = data_class(hints.get(name))
        if inner is not None:
            yield from _attributes(inner, maker(inner)())
        elif name not in RESERVED:
            yield Parameter(name, hints.get(name), parameter.default, texts.get(name, ""))


def _attributes(made_of: Any, values: Any) -> Iterator[Parameter]:
    """Yield the fields of a settings class, and those of the classes in it."""
    texts, hints = _described(made_of), typing.get_type_hints(made_of)
    for field in fields(made_of):
        inner, value = data_class(hints[field.name]), getattr(values, field.name)
        if inner is not None:
            yield from _attributes(inner, value)
        else:
            yield Parameter(field.name, hints[field.name], value, texts.get(field.name, ""))


def _described(thing: Any) -> dict[str, str]:
    """Return the texts of a numpydoc list of parameters or attributes, by name."""
    found: dict[str, str] = {}
    names: list[str] = []
    for line in inspect.cleandoc(thing.__doc__ or "").splitlines():
        head = re.match(r"^(\w+(?:, \w+)*) : \S", line)
        if head:
            names = head[1].split(", ")
            found.update(dict.fromkeys(names, ""))
        elif names and line.startswith("    "):
            for name in names:
                found[name] = f"{found[name]} {line.strip()}".strip()
        else:
            names = []
    return found


def data_class(hint: Any) -> Any | None:
    """Return the data class in a type hint such as ``Hardware | None``; None without one."""
    classes = (c for c in choices_of(hint) if isinstance(c, type) and is_dataclass(c))
    return next(classes, None)


def maker(made_of: Any) -> Callable[..., Any]:
    """Return what makes a settings class of flat names: the class, or its function in `MAKERS`."""
    return resolve(MAKERS[made_of.__name__]) if made_of.__name__ in MAKERS else made_of


def arguments_of(
    make: Callable[..., Any], given: Mapping[str, Any], source: str, place: str
) -> dict[str, Any]:
    """Return a generator's arguments from flat names; raises InputError."""
    hints = declared(make)
    names = [name for name in inspect.signature(make).parameters if name not in RESERVED]
    classes = {name: c for name in names if (c := data_class(hints.get(name))) is not None}
    owners = {key: owner for owner, c in classes.items() for key in _field_types([c])}
    plain = [name for name in names if name not in classes]
    arguments: dict[str, Any] = {}
    parts: dict[str, dict[str, Any]] = {name: {} for name in classes if name in _required(make)}
    types = {**hints, **_field_types(list(classes.values()))}
    for key, value in given.items():
        usable = tuple(value) if isinstance(value, list) else value
        if key in types:
            require(source, _within(place, key), usable, types[key])
        if key in plain:
            arguments[key] = usable
        elif key in owners:
            parts.setdefault(owners[key], {})[key] = usable
        else:
            known = suggestion(key, [*plain, *owners])
            raise InputError(source, place, f"unknown key {key!r}", known)
    try:
        parts_made = {owner: maker(classes[owner])(**part) for owner, part in parts.items()}
    except InputError as error:
        raise _placed(error, source, place) from None
    except (TypeError, ValueError) as error:
        raise InputError(source, place, str(error), "arguments it can use") from None
    return {**arguments, **parts_made}


def _placed(error: InputError, source: str, place: str) -> InputError:
    """Return the error at the key of a plan, whose name an option has with dashes."""
    key = error.where.lstrip("-").replace("-", "_")
    return error.at(source, _within(place, key))


def _within(place: str, key: str) -> str:
    return ".".join(filter(None, (place, key)))


def _required(make: Callable[..., Any]) -> list[str]:
    parameters = inspect.signature(make).parameters.values()
    return [p.name for p in parameters if p.default is inspect.Parameter.empty]


def _field_types(classes: list[Any]) -> dict[str, Any]:
    """Return the types of the classes' fields by name, inner data classes included."""
    types: dict[str, Any] = {}
    for made_of in classes:
        for name, hint in declared(made_of).items():
            inner = data_class(hint)
            types |= {name: hint} if inner is None else _field_types([inner])
    return types
