"""Validation of values by field annotations.

``Annotated[float, Between(0, 1)]`` is a number in a range and ``Literal`` a choice of words; "or
None" may follow, and a tuple takes such values. Options of problems, settings of runs, limits of
plans and arguments of generators are declared so, and pydantic validates them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from types import UnionType
from typing import Annotated, Any, ClassVar, Self, Union, get_args, get_origin, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic_core import CoreSchema, ErrorDetails, PydanticCustomError, core_schema

from optsched.errors import InputError, shown, suggestion
from optsched.io.numerals import is_numpy, parse_integer, parse_real, without_numpy

LARGEST = 1e18


@dataclass(frozen=True, eq=False)
class About:
    """Annotation of a file's field for its JSON Schema: description, unit and an example."""

    description: str
    unit: str = ""
    example: Any = None

    def __get_pydantic_json_schema__(self, core_schema: CoreSchema, handler: Any) -> dict[str, Any]:
        return {**handler(core_schema), **self.keywords}

    @property
    def keywords(self) -> dict[str, Any]:
        keywords = {"description": self.description, "unit": self.unit, "examples": [self.example]}
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
        if source is int:  # native validation, because files may hold a million integers
            return core_schema.custom_error_schema(
                core_schema.int_schema(ge=int(self.low), le=int(self.high), strict=True),
                "number",
                custom_error_message="{expected}",
                custom_error_context={
                    "expected": f"an integer in [{_power(self.low)}, {_power(self.high)}]"
                },
            )
        return core_schema.no_info_plain_validator_function(
            self._number,
            json_schema_input_schema=core_schema.float_schema(ge=self.low, le=self.high),
        )

    def _number(self, value: Any) -> int | float:
        """Return a number of the type it has: 5 is not 5.0 in a file that is written again."""
        number: Any = without_numpy(value)
        if (
            not isinstance(number, int | float)
            or isinstance(number, bool)
            or not self.low <= number <= self.high  # NaN is not
            or (self.above and number == self.low)
            or (self.below and number == self.high)
        ):
            ends = "(" if self.above else "[", ")" if self.below else "]"
            expected = f"a finite number in {ends[0]}{self.low:g}, {self.high:g}{ends[1]}"
            raise PydanticCustomError("number", "{expected}", {"expected": expected})
        return number


def _power(value: float) -> str:
    """Format an integer; large powers of two as 2^n."""
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

    Nested options are flattened. Names that are Python keywords end in an underscore in the class
    only (``lambda_``).
    """

    omitted_defaults: ClassVar[tuple[str, ...]] = ()
    """Fields that `to_dict` omits at their default value."""

    def __post_init__(self) -> None:
        require_declared("options", self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Make options of names and values; strings are converted for numeric fields."""
        known = cls._names()
        for name in values:
            if name not in known:
                expected = suggestion(name, known)
                raise InputError("options", shown(name), "an unknown option", expected)
        return cls()._with_values(values)

    def to_dict(self) -> dict[str, Any]:
        options: dict[str, Any] = {}
        options_class: Any = type(self)
        for field in fields(options_class):
            value = getattr(self, field.name)
            if isinstance(value, Options):
                options |= value.to_dict()
            elif field.name not in self.omitted_defaults or value != field.default:
                options[_plain(field.name)] = value
        return options

    @classmethod
    def _names(cls) -> list[str]:
        options_class: Any = cls
        names: list[str] = []
        for name, hint in declared(options_class).items():
            names += hint._names() if _is_options(hint) else [_plain(name)]
        return names

    def _with_values(self, values: Mapping[str, Any]) -> Self:
        instance: Any = self
        changes: dict[str, Any] = {}
        for name, hint in declared(instance.__class__).items():
            if _is_options(hint):
                changes[name] = getattr(self, name)._with_values(values)
            elif _plain(name) in values:
                changes[name] = read_as(hint, values[_plain(name)])
        changed: Self = replace(instance, **changes)
        return changed


def require_declared(source: str, settings: Any, label: Callable[[str], str] = str) -> None:
    """Raise InputError where a field does not match its annotation; convert numpy's values."""
    for name, hint in declared(settings.__class__).items():
        value = getattr(settings, name)
        if is_numpy(value):
            plain = without_numpy(value)
            value = tuple(plain) if isinstance(plain, list) else plain
            object.__setattr__(settings, name, value)
        require(source, label(_plain(name)), value, hint)


def require(source: str, where: str, value: Any, hint: Any) -> None:
    """Raise InputError if a value does not match an annotation."""
    expected = expected_of(hint, value)
    if expected is not None:
        raise InputError(source, where, shown(value), expected)


def require_arguments(source: str, function: Any, arguments: Mapping[str, Any]) -> None:
    """Raise InputError if an argument does not match the function's signature."""
    for name, hint in declared(function).items():
        if name in arguments:
            require(source, name, arguments[name], hint)


def expected_of(hint: Any, value: Any) -> str | None:
    """Return a description of an annotation's valid values; None if the value is valid."""
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
    """Return the validator of an annotation; None for classes, which validate themselves."""
    if isinstance(hint, type) and hint not in (str, bool, int, float):
        return None
    return TypeAdapter(hint, config=ConfigDict(strict=True, arbitrary_types_allowed=True))


def _expected_by(detail: ErrorDetails) -> str:
    if detail["type"] == "none_required":
        return ""
    text = expected_text(detail)
    if detail["type"] == "literal_error":
        text = text.replace("'", "")
    if detail["type"] == "missing":
        return f"at least {int(detail['loc'][-1]) + 1} values"  # of a tuple: there is no other key
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
    """Return what a pydantic error expected, as in our error messages."""
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
    """Convert strings to numbers and integers to floats as an annotation declares."""
    value = without_numpy(value)
    for choice in choices_of(hint):
        if get_origin(choice) is not Annotated:
            continue
        whole = get_args(choice)[0] is int
        if isinstance(value, str):
            read = parse_integer(value) if whole else parse_real(value)
            return value if read is None else read
        if not whole and type(value) is int and expected_of(choice, value) is None:
            return float(value)
    return value


@lru_cache
def declared(annotated: Any) -> dict[str, Any]:
    """Return the annotations of a data class's fields or a function's arguments, by name."""
    hints = get_type_hints(annotated, include_extras=True)
    return {name: hint for name, hint in hints.items() if get_origin(hint) is not ClassVar}


def _plain(name: str) -> str:
    return name.removesuffix("_")


def _is_options(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Options)
