"""Declared ranges: a field's annotation says which values it takes.

``Annotated[float, Between(0, 1)]`` is a number in a range and ``Literal`` a choice of words; "or
None" may follow, and a tuple takes such values. Options of problems, settings of runs, limits of
plans and arguments of generators are declared so, and pydantic validates them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, fields, replace
from functools import lru_cache, partial
from types import UnionType
from typing import Annotated, Any, ClassVar, Self, Union, get_args, get_origin
from typing import get_type_hints as hints_of

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic_core import CoreSchema, ErrorDetails, PydanticCustomError, core_schema

from optsched.errors import InputError, shown, suggestion
from optsched.io.numerals import is_numpy, real_of, whole_of, without_numpy

LARGEST = 1e18


@dataclass(frozen=True, eq=False)
class About:
    """Annotation of a file's field for its JSON Schema: description, unit and an example."""

    says: str
    unit: str = ""
    example: Any = None

    def __get_pydantic_json_schema__(self, core_schema: CoreSchema, handler: Any) -> dict[str, Any]:
        return {**handler(core_schema), **self.keywords}

    @property
    def keywords(self) -> dict[str, Any]:
        """Its keywords in a JSON Schema."""
        keywords = {"description": self.says, "unit": self.unit, "examples": [self.example]}
        return {key: value for key, value in keywords.items() if value not in ("", [None])}


@dataclass(frozen=True)
class Between:
    """Annotation of a number field: finite, in ``[low, high]``; of an integer field likewise.

    `above` and `below` exclude the ends themselves.
    """

    low: float
    high: float
    above: bool = False
    below: bool = False

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> CoreSchema:
        whole = source is int
        described = {"pydantic_js_functions": [partial(self._json_schema, whole)]}
        if whole:  # not by `_number`: a file may hold a million integers
            return core_schema.custom_error_schema(
                core_schema.int_schema(ge=int(self.low), le=int(self.high), strict=True),
                "number",
                custom_error_message="{expected}",
                custom_error_context={"expected": self.expected(whole)},
                metadata=described,
            )
        return core_schema.no_info_plain_validator_function(self._number, metadata=described)

    def expected(self, whole: bool) -> str:
        """Return the words of an error line."""
        if whole:
            return f"an integer in [{_power(self.low)}, {_power(self.high)}]"
        ends = "(" if self.above else "[", ")" if self.below else "]"
        return f"a finite number in {ends[0]}{self.low:g}, {self.high:g}{ends[1]}"

    def _number(self, value: Any) -> int | float:
        number: Any = without_numpy(value)
        if (
            not isinstance(number, int | float)
            or isinstance(number, bool)
            or not self.low <= number <= self.high  # NaN is not
            or (self.above and number == self.low)
            or (self.below and number == self.high)
        ):
            raise PydanticCustomError("number", "{expected}", {"expected": self.expected(False)})
        return number

    def _json_schema(self, whole: bool, *_: Any) -> dict[str, Any]:
        kind = "integer" if whole else "number"
        return {"type": kind, "minimum": self.low, "maximum": self.high}


def _power(value: float) -> str:
    """Return an integer's text, a large power of two as such: nobody counts 19 digits."""
    for text, power in (("", value), (" - 1", value + 1)):
        if power >= 2**40 and int(power).bit_count() == 1:
            return f"2^{int(power).bit_length() - 1}{text}"
    return str(value)


NonNegative = Annotated[float, Between(0.0, LARGEST)]
Seed = Annotated[int, Between(0, 2**63 - 1)]
Gap = Annotated[float, Between(0, 1, below=True)]
Threads = Annotated[int, Between(1, 1024)]
Iterations = Annotated[int, Between(0, 2**53)]


class Options:
    """Base of the problems' options: frozen data classes, each value as its field declares.

    The fields of a field that is itself an `Options` are named directly. A Python keyword has an
    underscore behind it in the class and none anywhere else.
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
        options: Self = _changed(_standard(made_of), values)
        return options

    def to_dict(self) -> dict[str, Any]:
        """The options as a JSON object."""
        options: dict[str, Any] = {}
        for field in _fields(type(self)):
            value = getattr(self, field.name)
            if isinstance(value, Options):
                options |= value.to_dict()
            elif field.name not in self.left_out or value != field.default:
                options[_plain(field.name)] = value
        return options


def require_declared(source: str, given: Any, place: Callable[[str], str] = str) -> None:
    """Refuse a data class one of whose values is not as its field declares; raises InputError.

    Values that are numpy's become Python's own.
    """
    made_of: Any = type(given)
    for name, hint in declared(made_of).items():
        value = getattr(given, name)
        if is_numpy(value):
            plain = without_numpy(value)
            value = tuple(plain) if isinstance(plain, list) else plain
            object.__setattr__(given, name, value)
        require(source, place(_plain(name)), value, hint)


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


def expected_of(hint: Any, value: Any) -> str | None:
    """Return what a field of this annotation takes; None if it takes the value."""
    adapter = _adapter(hint)
    value = without_numpy(value)
    try:
        if adapter is not None:
            adapter.validate_python(tuple(value) if isinstance(value, list) else value)
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)
        return " or ".join(dict.fromkeys(filter(None, map(_expected_by, details))))
    return None


@lru_cache
def _adapter(hint: Any) -> TypeAdapter[Any] | None:
    """Return what validates an annotation; None for classes, which check themselves."""
    if isinstance(hint, type) and hint not in (str, bool, int, float):
        return None
    return TypeAdapter(hint, config=ConfigDict(strict=True, arbitrary_types_allowed=True))


def _expected_by(detail: ErrorDetails) -> str:
    if detail["type"] == "none_required":
        return ""
    text = expected_text(detail)
    if detail["type"] == "literal_error":
        text = text.replace("'", "")
    return f"each {text}" if any(isinstance(part, int) for part in detail["loc"]) else text


_EXPECTED = {
    "missing": "this key",
    "extra_forbidden": "no such key",
    "unexpected_keyword_argument": "no such key",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "dataclass_type": "an object",
    "dict_type": "an object",
    "tuple_type": "an array",
    "list_type": "an array",
    "string_type": "a string",
    "bool_type": "true or false",
    "int_type": "an integer",
    "float_type": "a number",
}


def expected_text(detail: ErrorDetails) -> str:
    """Return what one error of pydantic's expected, in the words of an error line."""
    context = detail.get("ctx", {})
    if detail["type"] == "too_long":
        return f"at most {context['max_length']} entries"
    return _EXPECTED.get(detail["type"]) or str(context.get("expected") or detail["msg"])


def choices_of(hint: Any) -> tuple[Any, ...]:
    """Return the members of a union; of another annotation itself."""
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def flag(name: str) -> str:
    """Return a field's name as an option of the command line."""
    return f"--{name.replace('_', '-')}"


def read_as(hint: Any, value: Any) -> Any:
    """Return a number that a text states, and a float for an integer where floats are declared."""
    value = without_numpy(value)
    for choice in choices_of(hint):
        if get_origin(choice) is not Annotated:
            continue
        whole = get_args(choice)[0] is int
        if isinstance(value, str):
            read = whole_of(value) if whole else real_of(value)
            return value if read is None else read
        if not whole and type(value) is int and expected_of(choice, value) is None:
            return float(value)
    return value


@lru_cache
def declared(made_of: Any) -> dict[str, Any]:
    """Return the annotations of a data class's fields or a function's arguments, by name.

    Of what is ``Annotated`` only the ranges are kept.
    """
    hints = hints_of(made_of, include_extras=True)
    return {name: _range(h) for name, h in hints.items() if get_origin(h) is not ClassVar}


def _range(hint: Any) -> Any:
    if get_origin(hint) is not Annotated:
        return hint
    ranges = tuple(item for item in hint.__metadata__ if isinstance(item, Between))
    return Annotated[(hint.__origin__, *ranges)] if ranges else hint.__origin__


def _fields(made_of: Any) -> tuple[Field[Any], ...]:
    return fields(made_of)


def _plain(name: str) -> str:
    return name.removesuffix("_")


@lru_cache
def _standard(made_of: Any) -> Any:
    """Return the default options, checked once: they are frozen."""
    return made_of()


@lru_cache
def _names(made_of: Any) -> tuple[str, ...]:
    """Names of the options, those of inner options in their place."""
    names: list[str] = []
    for field in _fields(made_of):
        inner = declared(made_of)[field.name]
        names += _names(inner) if _is_options(inner) else [_plain(field.name)]
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
