"""Types of the fields in instance files, and the one line that a bad field becomes.

The models are pydantic ones; numbers keep the type they have in the file (an integer stays an
integer), so that reading and writing round-trip exactly.
"""

from __future__ import annotations

import inspect
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    Self,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from optsched.declared import LARGEST as LARGEST
from optsched.declared import About as About
from optsched.declared import Between as Between
from optsched.declared import NonNegative as NonNegative
from optsched.declared import Options, expected_text
from optsched.display import Displayed
from optsched.errors import InputError, shown
from optsched.io.numerals import without_numpy

Model = TypeVar("Model", bound=BaseModel)
Class = TypeVar("Class", bound=type)

SMALLEST_POSITIVE = 1e-9
LONGEST_NAME = 200
FIELDS = "Attributes\n----------"


def described(made_of: Class) -> Class:
    """Append the fields' `About` texts to a class's docstring, as its section of attributes."""
    lines = [
        f"{name} : {_kind(hint)}\n    {about.says}{about.unit and f' Unit: {about.unit}.'}"
        for name, hint in get_type_hints(made_of, include_extras=True).items()
        for about in getattr(hint, "__metadata__", ())
        if isinstance(about, About)
    ]
    text = inspect.cleandoc(made_of.__doc__ or "").partition(f"\n\n{FIELDS}")[0]
    made_of.__doc__ = "\n".join([f"{text}\n\n{FIELDS}", *lines]) if lines else text
    return made_of


def _kind(hint: Any) -> str:
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _kind(inner[0])
    if origin in (Union, UnionType):
        return " or ".join(map(_kind, inner))
    if origin is Literal:
        return " or ".join(map(repr, inner))
    if origin is tuple:
        return f"tuple of {_kind(inner[0])}"
    if hint is type(None):
        return "None"
    return (origin or hint).__name__ if isinstance(origin or hint, type) else str(hint)


if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass as _Metaclass
else:
    _Metaclass = type(BaseModel)


class _MadeInPython(_Metaclass):
    """What a call of the class does more than reading a file: defaults, and one kind of error."""

    def __call__(self: Any, *arguments: Any, **values: Any) -> Any:
        for alias, name, value in (("schema", "schema_", None), ("version", "version", 1)):
            field = self.model_fields.get(name)
            if field is not None:
                values.setdefault(alias, value or get_args(field.annotation)[0])
        try:
            return super().__call__(*arguments, **values)
        except ValidationError:
            values = without_numpy(values)
        try:
            return super().__call__(*arguments, **values)
        except ValidationError as error:
            raise _input_error(error, values, self.__name__) from None


class FileModel(Displayed, BaseModel, metaclass=_MadeInPython):
    """Base of every class that mirrors a part of a file: frozen, strict, no unknown keys.

    Called from Python it needs no ``schema`` and no ``version``, and raises `InputError` with the
    place of the fault, as reading a file does.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, hide_input_in_errors=True
    )

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        described(cls)

    @model_validator(mode="before")
    @classmethod
    def _first_unknown_key(cls, data: Any) -> Any:
        """Stop at one unknown key: an error for each of a million would take a gigabyte."""
        if isinstance(data, dict) and len(data) > len(cls.model_fields):
            known = {field.alias or name for name, field in cls.model_fields.items()}
            unknown = next(key for key in data if key not in known)
            raise fault(unknown, _brief(data[unknown]), "no such key")
        return data


def fault(where: str, found: str, expected: str) -> PydanticCustomError:
    """A broken rule between several fields, to be raised by a model's validator."""
    return PydanticCustomError(
        "fault", "{expected}", {"where": where, "found": found, "expected": expected}
    )


def _check_name(value: Any) -> str:
    if not isinstance(value, str) or not value.isprintable() or len(value) > LONGEST_NAME:
        raise PydanticCustomError(
            "name",
            "{expected}",
            {"expected": f"a printable string of at most {LONGEST_NAME} characters"},
        )
    return value


def _check_version(value: Any) -> Any:
    if type(value) is not int:  # True and 1.0 equal 1
        raise PydanticCustomError("version", "{expected}", {"expected": "1"})
    return value


Version = Annotated[Literal[1], BeforeValidator(_check_version)]
Number = Annotated[float, Between(-LARGEST, LARGEST)]
Positive = Annotated[float, Between(SMALLEST_POSITIVE, LARGEST)]
Name = Annotated[
    str,
    PlainValidator(_check_name),
    WithJsonSchema({"type": "string", "maxLength": LONGEST_NAME}),
]


FORMAT = About("The format of the file.")
VERSION = About("The format's version.", "", 1)
PROVENANCE = About("Free words on where the data are from; no part of the hash.", "", {})
INSTANCE = About("The name of the instance that it solves.", "", "vgg19-16")
SHA256 = About("SHA-256 of the instance; may be left out.", "", "9f86d081884c7d65")
OPTIONS = About("The problem's options under which the value was found, by name.", "", {})


class InstanceFile(FileModel):
    """What every instance file has, and how it is read and written."""

    schema_: Annotated[str, FORMAT] = Field(alias="schema")
    version: Annotated[Version, VERSION]
    name: Annotated[Name, About("The instance's name, which solutions repeat.", "", "vgg19-16")]
    provenance: Annotated[dict[str, Any], BeforeValidator(without_numpy), PROVENANCE] = Field(
        default_factory=dict
    )

    @classmethod
    def from_dict(cls, document: Any, source: str = "instance") -> Self:
        """Make an instance of a parsed JSON document."""
        return parse(cls, document, source)

    def to_dict(self) -> dict[str, Any]:
        """The instance as the JSON object of its file."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)


class SolutionFile(FileModel):
    """What every solution file has, and how it is read and written."""

    options_type: ClassVar[type[Options] | None] = None
    """The problem's options, where the file's have to be such."""

    schema_: Annotated[str, FORMAT] = Field(alias="schema")
    version: Annotated[Version, VERSION]
    instance: Annotated[Name, INSTANCE]

    @classmethod
    def from_dict(cls, document: Any, source: str = "solution") -> Self:
        """Make a solution of a parsed JSON document; raises InputError."""
        _require_schema(cls, document, source)
        solution = parse(cls, document, source)
        try:
            if cls.options_type is not None:
                cls.options_type.from_dict(getattr(solution, "options", {}))
        except InputError as error:
            raise error.at(source, f"options.{error.where}") from None
        return solution

    def to_dict(self) -> dict[str, Any]:
        """The solution as the JSON object of its file."""
        return self.model_dump(mode="json", by_alias=True)


def _require_schema(model: type[FileModel], document: Any, source: str) -> None:
    """Say of a file of another kind that it is one, before what it lacks as one of this kind."""
    found = document.get("schema") if isinstance(document, dict) else None
    expected = get_args(model.model_fields["schema_"].annotation)
    if isinstance(found, str) and found not in expected:
        raise InputError(source, "schema", shown(found), " or ".join(map(repr, expected)))


def parse(model: type[Model], document: Any, source: str) -> Model:
    """Validate a document against a model; it may hold numpy's numbers and arrays."""
    try:
        return model.model_validate(document)
    except ValidationError:  # only then look for numpy: a file, however large, has none
        document = without_numpy(document)
    try:
        return model.model_validate(document)
    except ValidationError as error:
        raise _input_error(error, document, source) from None


def _input_error(error: ValidationError, document: Any, source: str) -> InputError:
    detail = error.errors(include_url=False, include_input=False)[0]
    context = detail.get("ctx", {})
    base = _path(detail["loc"])
    if detail["type"] == "fault":
        where = ".".join(p for p in (base, context["where"]) if p)
        return InputError(source, where, context["found"], context["expected"])
    expected = expected_text(detail)
    if detail["type"] == "missing":
        return InputError(source, base, "nothing", expected, "missing required field")
    return InputError(source, base, _found(detail["loc"], document), expected)


def _found(loc: tuple[int | str, ...], document: Any) -> str:
    value = document
    for part in loc:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return "something else"
    return _brief(value)


def _brief(value: Any) -> str:
    if isinstance(value, list | dict) and len(value) > 8:
        return f"{'an array' if isinstance(value, list) else 'an object'} of {len(value)} entries"
    return shown(value)


def _path(loc: tuple[int | str, ...]) -> str:
    text = ""
    for part in loc:
        text += f"[{part}]" if isinstance(part, int) else (f".{part}" if text else str(part))
    return text
