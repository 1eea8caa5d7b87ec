"""Field types of instance files, and validation errors as messages of one line.

Models are pydantic models. Numbers keep the type they have in the file (an integer stays an
integer), so that reading and writing round-trip exactly.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isnan
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    Self,
    TypeVar,
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
Made = TypeVar("Made")

SMALLEST_POSITIVE = 1e-9
LONGEST_NAME = 200
MODULE = re.compile(r"[a-z_.]+[.](?=\w)")
UNION_MEMBER = re.compile(r"(custom-error|tuple)\[.*\]$|ServerRange$")
"""What pydantic adds to a place in a field of several types."""
FIELDS = "Attributes\n----------"


if TYPE_CHECKING:
    import pandas as pd
    from pydantic._internal._model_construction import ModelMetaclass as _Metaclass
else:
    _Metaclass = type(BaseModel)


@dataclass(frozen=True)
class Items:
    """A tuple of at most so many items, a list in files, whose first bad item ends the reading."""

    limit: int

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return handler(source) | {"strict": False, "max_length": self.limit, "fail_fast": True}


def described(cls: Class) -> Class:
    """Append the fields' `About` texts to a class's docstring, as its section of attributes."""
    kinds = get_type_hints(cls)
    lines = [
        f"{name} : {re.sub(MODULE, '', inspect.formatannotation(kinds[name]))}\n"
        f"    {about.description}{about.unit and f' Unit: {about.unit}.'}"
        for name, hint in get_type_hints(cls, include_extras=True).items()
        for about in getattr(hint, "__metadata__", ())
        if isinstance(about, About)
    ]
    text = inspect.cleandoc(cls.__doc__ or "").partition(f"\n\n{FIELDS}")[0]
    cls.__doc__ = "\n".join([f"{text}\n\n{FIELDS}", *lines]) if lines else text
    return cls


class _ConstructorDefaults(_Metaclass):
    """Metaclass: calls from Python fill in schema and version, and raise InputError."""

    def __call__(self: Any, *arguments: Any, **values: Any) -> Any:
        if arguments:
            raise InputError(self.__name__, "", shown(arguments[0]), "fields by name")
        for alias, name, default in (("schema", "schema_", None), ("version", "version", 1)):
            field = self.model_fields.get(name)
            if field is not None:
                values.setdefault(alias, default or get_args(field.annotation)[0])
        construct = super().__call__
        return _validated(lambda given: construct(**given), values, self.__name__)


class FileModel(Displayed, BaseModel, metaclass=_ConstructorDefaults):
    """Base of every class that mirrors a part of a file: frozen, strict, no unknown keys.

    Called from Python it needs no ``schema`` and no ``version``, and raises `InputError` with the
    place of the fault, as reading a file does.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, hide_input_in_errors=True
    )

    record_types: ClassVar[dict[str, type[FileModel]]] = {}
    """The class of records of each field that is a list of them."""

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        described(cls)
        hints = {name: field.annotation for name, field in cls.model_fields.items()}
        lists = {n: get_args(hint)[0] for n, hint in hints.items() if get_origin(hint) is tuple}
        cls.record_types = {
            name: kind
            for name, kind in lists.items()
            if isinstance(kind, type) and issubclass(kind, FileModel)
        }

    @model_validator(mode="before")
    @classmethod
    def _first_unknown_key(cls, data: Any) -> Any:
        """Stop at one unknown key, and read tables that are given for lists of records.

        An error for each of a million unknown keys would take a gigabyte.
        """
        if not isinstance(data, dict):
            return data
        if len(data) > len(cls.model_fields):
            known = {field.alias or name for name, field in cls.model_fields.items()}
            unknown = next(key for key in data if key not in known)
            raise fault(str(unknown), _brief(data[unknown]), "no such key")
        tables = [key for key in cls.record_types if not isinstance(data.get(key), list | tuple)]
        return {**data, **{key: _records(key, data[key]) for key in tables if key in data}}

    def with_(self, **fields: Any) -> Self:
        """Return a variant with other values of some fields, validated as a whole.

        Parameters
        ----------
        **fields
            Values by field. A mapping for a nested record changes only the fields that it names; a
            list of records may also be a data frame or a mapping of columns. The name stays unless
            it is given.

        Raises
        ------
        InputError
            If the variant is invalid; the place in it is named.

        Examples
        --------
        >>> import optsched
        >>> given = optsched.load("placement/fig2")
        >>> given.with_(name="slow", cluster={"inter_bandwidth": 1e9}).cluster.inter_bandwidth
        1000000000.0
        """
        changed = {name: getattr(self, name) for name in self.model_fields_set}
        for name, value in fields.items():
            nested = changed.get(name)
            if isinstance(nested, FileModel) and isinstance(value, Mapping):
                value = nested.with_(**value)
            changed[name] = value
        aliases = {name: field.alias for name, field in type(self).model_fields.items()}
        by_alias = {aliases.get(name) or name: value for name, value in changed.items()}
        variant: Self = type(self)(**by_alias)
        return variant


def _records(key: str, table: Any) -> Any:
    """The records of a data frame or of a mapping of columns; missing cells are left out."""
    columns = isinstance(table, Mapping) and [*table.values()]
    if columns and all(isinstance(x, list | tuple) or hasattr(x, "__array__") for x in columns):
        lengths = {name: len(column) for name, column in table.items()}
        if len(set(lengths.values())) > 1:
            raise fault(key, f"columns of {shown(lengths)} cells", "columns of one length")
        rows = [dict(zip(table, cells, strict=True)) for cells in zip(*columns, strict=True)]
    elif hasattr(table, "columns"):
        rows = table.to_dict("records")
    else:
        return table
    return [{name: cell for name, cell in row.items() if not _is_missing(cell)} for row in rows]


def _is_missing(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and isnan(cell)) or repr(cell) == "<NA>"


def fault(where: str, found: str, expected: str) -> PydanticCustomError:
    """Return the error of a rule between several fields, for a model's validator to raise."""
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
PROVENANCE = About("Free-form origin of the data; excluded from the hash.", "", {})
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

    def _require_new_names(self, *fields: str) -> None:
        """Raise the error of the first record whose name another one before it has."""
        for field in fields:
            seen: set[str] = set()
            for index, record in enumerate(getattr(self, field)):
                if record.name in seen:
                    raise fault(f"{field}[{index}].name", repr(record.name)[:80], "a new name")
                seen.add(record.name)

    @classmethod
    def from_dict(cls, document: Any, source: str = "instance") -> Self:
        """Make an instance of a parsed JSON document."""
        return parse(cls, document, source)

    def to_dict(self) -> dict[str, Any]:
        """The instance as the JSON object of its file."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)

    def to_frame(self, records: str | None = None) -> pd.DataFrame:
        """Return a list of records as a data frame, a column for each field, in the file's units.

        Parameters
        ----------
        records : str, optional
            "stages" of a placement, "jobs" or "nodes" of others; by default the jobs, or stages.

        Raises
        ------
        InputError
            If the instance has no such list.

        Examples
        --------
        >>> import optsched
        >>> given = optsched.load("makespan/fig2")
        >>> frame = given.to_frame().assign(gradient_bytes=1e8)
        >>> given.with_(jobs=frame).jobs[0].gradient_bytes
        100000000.0
        """
        import pandas as pd

        owners = [self, *(getattr(self, name) for name in type(self).model_fields)]
        owners = [each for each in owners if isinstance(each, FileModel)]
        lists = {name: each for each in owners for name in each.record_types}
        name = records or ("jobs" if "jobs" in lists else next(iter(lists), ""))
        if name not in lists:
            raise InputError(self.name, "records", shown(name), " or ".join(lists) or "no list")
        fields = list(lists[name].record_types[name].model_fields)
        rows = [vars(record) for record in getattr(lists[name], name)]
        return pd.DataFrame(rows, columns=fields)


class SolutionFile(FileModel):
    """What every solution file has, and how it is read and written."""

    options_type: ClassVar[type[Options] | None] = None
    """Options class that validates the file's options, if any."""

    schema_: Annotated[str, FORMAT] = Field(alias="schema")
    version: Annotated[Version, VERSION]
    instance: Annotated[Name, INSTANCE]

    @classmethod
    def from_dict(cls, document: Any, source: str = "solution") -> Self:
        """Make a solution of a parsed JSON document; raises InputError."""
        require_schema(cls, document, source)
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


def require_schema(model: type[FileModel], document: Any, source: str) -> None:
    """Report a wrong file type before missing fields."""
    found = document.get("schema") if isinstance(document, dict) else None
    expected = get_args(model.model_fields["schema_"].annotation)
    if isinstance(found, str) and found not in expected:
        raise InputError(source, "schema", shown(found), " or ".join(map(repr, expected)))


def parse(model: type[Model], document: Any, source: str) -> Model:
    """Validate a document against a model; it may hold numpy's numbers and arrays."""
    return _validated(model.model_validate, document, source)


def _validated(validate: Callable[[Any], Made], document: Any, source: str) -> Made:
    """Validate a document, without numpy's types only if it fails: a file has none."""
    try:
        return validate(document)
    except ValidationError:
        document = without_numpy(document)
    try:
        return validate(document)
    except ValidationError as error:
        raise _input_error(error, document, source) from None


def _input_error(error: ValidationError, document: Any, source: str) -> InputError:
    details = error.errors(include_url=False, include_input=False)
    for each in details:
        each["loc"] = tuple(part for part in each["loc"] if not UNION_MEMBER.match(str(part)))
    # of a field that may be a number or a list, what is wrong inside the list
    place = details[0]["loc"]
    inside = [each for each in details if each["loc"][: len(place)] == place]
    detail = max(inside, key=lambda each: len(each["loc"]))
    context = detail.get("ctx", {})
    base = _path(detail["loc"])
    if detail["type"] == "fault":
        where = ".".join(p for p in (base, context["where"]) if p)
        return InputError(source, where, context["found"], context["expected"])
    expected = expected_text(detail)
    if detail["type"] == "missing":
        record = detail["loc"][:-1]
        unknown = (e["loc"][-1] for e in details if e["type"] == "extra_forbidden")
        beside = [shown(key) for key in unknown if (*record, key) in {e["loc"] for e in details}]
        message = "missing required field" + (f"; {beside[0]} is no field of it" if beside else "")
        return InputError(source, base, "nothing", expected, message)
    return InputError(source, base, _found(detail["loc"], document), expected)


def _found(loc: tuple[int | str, ...], document: Any) -> str:
    value = document
    for part in loc:
        try:
            is_table = isinstance(part, int) and not isinstance(value, list | tuple)
            value = (_records("", value) if is_table else value)[part]
        except (KeyError, IndexError, TypeError):
            return "(unavailable)"
    return _brief(value)


def _brief(value: Any) -> str:
    if hasattr(value, "columns"):
        return f"a table of {', '.join(map(str, value.columns))}"
    if isinstance(value, list | dict) and len(value) > 8:
        return f"{'an array' if isinstance(value, list) else 'an object'} of {len(value)} entries"
    return shown(value)


def _path(loc: tuple[int | str, ...]) -> str:
    text = ""
    for part in loc:
        text += f"[{part}]" if isinstance(part, int) else (f".{part}" if text else str(part))
    return text
