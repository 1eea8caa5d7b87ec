"""Ranges said once: a field's annotation says what it takes, and whoever reads it asks that.

``Annotated[float, Between(0, 1)]`` is a number in a range, ``Literal`` the words there are; "or
None" may follow, and a tuple says it of each of its values. Problems' options, the settings of a
run, the limits of a plan and what a generator is given have such annotations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, fields, replace
from functools import lru_cache, partial
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    Self,
    Union,
    get_args,
    get_origin,
)
from typing import get_type_hints as hints_of

from optsched.about import About
from optsched.errors import InputError, shown, suggestion
from optsched.io.numerals import is_numpy, real_of, whole_of, without_numpy

if TYPE_CHECKING:
    from pydantic_core.core_schema import CoreSchema

LARGEST = 1e18
_REAL = (int, float)


@dataclass(frozen=True)
class Between:
    """Annotation of a number field: finite, in ``[low, high]``; of an integer field likewise.

    `above` and `below` take the ends themselves out.
    """

    low: float
    high: float
    above: bool = False
    below: bool = False

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> CoreSchema:
        from pydantic_core import core_schema

        whole = source is int
        described = {"pydantic_js_functions": [partial(_number_schema, self, whole)]}
        if whole and not (self.above or self.below):
            return core_schema.custom_error_schema(
                core_schema.int_schema(ge=int(self.low), le=int(self.high), strict=True),
                "number",
                custom_error_message="{expected}",
                custom_error_context={"expected": self.expected(whole)},
                metadata=described,
            )
        return core_schema.no_info_plain_validator_function(
            partial(_check_number, self, whole), metadata=described
        )

    def takes(self, value: Any, whole: bool) -> bool:
        """Whether a value is such a number, Python's own or numpy's."""
        if type(value) not in _REAL:
            value = without_numpy(value)
        if not isinstance(value, int if whole else _REAL) or isinstance(value, bool):
            return False
        if not self.low <= value <= self.high:  # NaN is not
            return False
        return not ((self.above and value == self.low) or (self.below and value == self.high))

    def expected(self, whole: bool) -> str:
        """What an error line says."""
        if whole:
            return f"an integer in [{_power(self.low)}, {_power(self.high)}]"
        ends = "(" if self.above else "[", ")" if self.below else "]"
        return f"a finite number in {ends[0]}{self.low:g}, {self.high:g}{ends[1]}"


def _power(value: float) -> str:
    """An integer, a large power of two as such: nobody counts 19 digits."""
    for text, power in (("", value), (" - 1", value + 1)):
        if power >= 2**40 and int(power).bit_count() == 1:
            return f"2^{int(power).bit_length() - 1}{text}"
    return str(value)


def _check_number(between: Between, whole: bool, value: Any) -> int | float:
    if not between.takes(value, whole):
        from pydantic_core import PydanticCustomError

        raise PydanticCustomError("number", "{expected}", {"expected": between.expected(whole)})
    number: int | float = without_numpy(value)
    return number


def _number_schema(between: Between, whole: bool, *_: Any) -> dict[str, Any]:
    kind = "integer" if whole else "number"
    return {"type": kind, "minimum": between.low, "maximum": between.high}


NonNegative = Annotated[float, Between(0.0, LARGEST)]
Seed = Annotated[int, Between(0, 2**63 - 1)]
Gap = Annotated[float, Between(0, 1, below=True)]
Threads = Annotated[int, Between(1, 1024)]
Iterations = Annotated[int, Between(0, 2**53)]


class Options:
    """What a problem's options are: frozen data classes, each value refused or as declared.

    A field that is itself an `Options` lends its names; a name that Python keeps for itself has an
    underscore behind it here and none anywhere else.
    """

    left_out: ClassVar[tuple[str, ...]] = ()
    """Fields that `to_dict` leaves out where they are the default: they change nothing."""

    def __post_init__(self) -> None:
        require_declared("options", self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Make options of names and values; text is read as numbers where a number belongs."""
        made_of: Any = cls
        known = _names(made_of)
        for name in values:
            if name not in known:
                expected = suggestion(name, known)
                raise InputError("options", shown(name), "an unknown option", expected)
        made: Self = _changed(_standard(made_of), values)
        return made

    def to_dict(self) -> dict[str, Any]:
        """The options as a JSON object."""
        found: dict[str, Any] = {}
        for each in _fields(type(self)):
            value = getattr(self, each.name)
            if isinstance(value, Options):
                found |= value.to_dict()
            elif each.name not in self.left_out or value != each.default:
                found[_plain(each.name)] = value
        return found


def require_declared(source: str, given: Any, place: Callable[[str], str] = str) -> None:
    """Refuse a data class one of whose values is not as its field declares; raises InputError.

    Values that are numpy's become Python's own.
    """
    made_of: Any = type(given)
    for name, refusal in _refusals(made_of).items():
        value = getattr(given, name)
        if is_numpy(value):
            plain = without_numpy(value)
            value = tuple(plain) if isinstance(plain, list) else plain
            object.__setattr__(given, name, value)
        expected = refusal(value)
        if expected is not None:
            raise InputError(source, place(_plain(name)), shown(value), expected)


def require(source: str, where: str, value: Any, hint: Any) -> None:
    """Refuse a value that a field of this annotation does not take; raises InputError."""
    expected = expected_of(hint, value)
    if expected is not None:
        raise InputError(source, where, shown(value), expected)


def require_arguments(source: str, function: Any, given: Mapping[str, Any]) -> None:
    """Refuse an argument that is not as the function's signature declares; raises InputError."""
    for name, hint in declared(function).items():
        if name in given:
            require(source, name, given[name], hint)


def choices_of(hint: Any) -> tuple[Any, ...]:
    """What stands on either side of ``X | None``; of another annotation itself."""
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def flag(name: str) -> str:
    """A field's name as the command line has it."""
    return f"--{name.replace('_', '-')}"


def expected_of(hint: Any, value: Any) -> str | None:
    """What a field of this annotation takes, where it does not take the value."""
    return _refusal(hint)(without_numpy(value))


Refusal = Callable[[Any], str | None]
"""What a field takes, where it does not take the value; None of one that it takes."""


@lru_cache
def _standard(made_of: Any) -> Any:
    """Options that nobody has set, checked once: they are frozen."""
    return made_of()


@lru_cache
def _refusals(made_of: Any) -> dict[str, Refusal]:
    """By field of a data class: annotations are read once, values often."""
    return {name: _refusal(hint) for name, hint in declared(made_of).items()}


def _refusal(hint: Any) -> Refusal:
    """An annotation as what refuses values."""
    if len(choices_of(hint)) > 1:
        nothing_first = sorted(choices_of(hint), key=lambda each: each is not NoneType)
        return partial(_refused_by_all, tuple(map(_refusal, nothing_first)))
    if get_origin(hint) is tuple:
        return partial(_refused_in, _refusal(get_args(hint)[0]))
    if get_origin(hint) is Literal:
        return partial(_refused_word, get_args(hint))
    if hint is NoneType:
        return lambda value: None if value is None else ""
    between = _between(hint)
    if between is not None:
        return partial(_refused_number, between, get_args(hint)[0] is int)
    if hint in (str, bool):
        return partial(_refused_kind, hint, "a text" if hint is str else "true or false")
    return lambda value: None


def _refused_by_all(choices: tuple[Refusal, ...], value: Any) -> str | None:
    refused = []
    for choice in choices:
        expected = choice(value)
        if expected is None:
            return None
        refused.append(expected)
    return " or ".join(filter(None, refused))


def _refused_in(each: Refusal, value: Any) -> str | None:
    if not isinstance(value, tuple | list):
        return None
    return next((f"each {expected}" for expected in map(each, value) if expected), None)


def _refused_word(choices: tuple[str, ...], value: Any) -> str | None:
    return None if value in choices else " or ".join(choices)


def _refused_number(between: Between, whole: bool, value: Any) -> str | None:
    return None if between.takes(value, whole) else between.expected(whole)


def _refused_kind(kind: type, expected: str, value: Any) -> str | None:
    return None if isinstance(value, kind) else expected


def read_as(hint: Any, value: Any) -> Any:
    """A text that says a number as that number, and a whole number as the float that is asked."""
    value = without_numpy(value)
    for each in choices_of(hint):
        if _between(each) is None:
            continue
        whole = get_args(each)[0] is int
        if isinstance(value, str):
            read = whole_of(value) if whole else real_of(value)
            return value if read is None else read
        if not whole and type(value) is int and expected_of(each, value) is None:
            return float(value)
    return value


@lru_cache
def declared(made_of: Any) -> dict[str, Any]:
    """Annotations of a data class's fields, or of a function's arguments, by name; no `About`."""
    return {
        name: _without_words(hint)
        for name, hint in hints_of(made_of, include_extras=True).items()
        if get_origin(hint) is not ClassVar
    }


def _without_words(hint: Any) -> Any:
    kept = tuple(each for each in getattr(hint, "__metadata__", ()) if not isinstance(each, About))
    if get_origin(hint) is not Annotated or len(kept) == len(hint.__metadata__):
        return hint
    return Annotated[(hint.__origin__, *kept)] if kept else hint.__origin__


def _between(hint: Any) -> Between | None:
    found = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    return next((each for each in found if isinstance(each, Between)), None)


def _fields(made_of: Any) -> tuple[Field[Any], ...]:
    return fields(made_of)


def _plain(name: str) -> str:
    return name.removesuffix("_")


@lru_cache
def _names(made_of: Any) -> tuple[str, ...]:
    """Names of the options, those of inner options in their place."""
    names: list[str] = []
    for each in _fields(made_of):
        inner = declared(made_of)[each.name]
        names += _names(inner) if _is_options(inner) else [_plain(each.name)]
    return tuple(names)


def _is_options(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Options)


def _changed(options: Any, values: Mapping[str, Any]) -> Any:
    """Options with some of the values, each of its field's type."""
    if not values:
        return options
    changes: dict[str, Any] = {}
    made_of: Any = type(options)
    for name, hint in declared(made_of).items():
        if _is_options(hint):
            changes[name] = _changed(getattr(options, name), values)
        elif _plain(name) in values:
            changes[name] = read_as(hint, values[_plain(name)])
    return replace(options, **changes)
