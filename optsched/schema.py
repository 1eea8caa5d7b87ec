"""Types of the fields in instance files, and the one line that a bad field becomes.

The models are pydantic ones; numbers keep the type they have in the file (an integer stays an
integer), so that reading and writing round-trip exactly.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, PlainValidator, ValidationError, WithJsonSchema
from pydantic_core import ErrorDetails, PydanticCustomError

from optsched.errors import InputError, shown

Model = TypeVar("Model", bound=BaseModel)

LARGEST = 1e18
SMALLEST_POSITIVE = 1e-9
LONGEST_NAME = 200


class FileModel(BaseModel):
    """Base of every class that mirrors a part of a file: frozen, strict, no unknown keys."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, hide_input_in_errors=True
    )


def fault(where: str, found: str, expected: str) -> PydanticCustomError:
    """A broken rule between several fields, to be raised by a model's validator."""
    return PydanticCustomError(
        "fault", "{expected}", {"where": where, "found": found, "expected": expected}
    )


def _number(low: float, high: float) -> Any:
    expected = f"a finite number in [{low:g}, {high:g}]"

    def check(value: Any) -> int | float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise PydanticCustomError("number", "{expected}", {"expected": expected})
        if not (low <= value <= high) or not math.isfinite(value):
            raise PydanticCustomError("number", "{expected}", {"expected": expected})
        return value

    schema = {"type": "number", "minimum": low, "maximum": high}
    return Annotated[float, PlainValidator(check), WithJsonSchema(schema)]


def integer(low: int, high: int) -> Any:
    """The type of an integer field in ``[low, high]``."""
    expected = f"an integer in [{low}, {high}]"

    def check(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise PydanticCustomError("integer", "{expected}", {"expected": expected})
        return value

    schema = {"type": "integer", "minimum": low, "maximum": high}
    return Annotated[int, PlainValidator(check), WithJsonSchema(schema)]


def _check_name(value: Any) -> str:
    if not isinstance(value, str) or not value.isprintable() or len(value) > LONGEST_NAME:
        raise PydanticCustomError(
            "name",
            "{expected}",
            {"expected": f"a printable string of at most {LONGEST_NAME} characters"},
        )
    return value


NonNegative = _number(0.0, LARGEST)
Positive = _number(SMALLEST_POSITIVE, LARGEST)
Name = Annotated[
    str,
    PlainValidator(_check_name),
    WithJsonSchema({"type": "string", "maxLength": LONGEST_NAME}),
]


def parse(model: type[Model], document: Any, source: str) -> Model:
    """Validate a parsed JSON document against a model.

    Raises
    ------
    InputError
        With the file, the JSON path of the first fault, what was found there and what was
        expected.
    """
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
    found = _found(detail["type"], detail["loc"], document)
    return InputError(source, base, found, _expected(detail))


_EXPECTED = {
    "missing": "this key",
    "extra_forbidden": "no such key",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "dict_type": "an object",
    "tuple_type": "an array",
    "list_type": "an array",
    "string_type": "a string",
}


def _expected(detail: ErrorDetails) -> str:
    context = detail.get("ctx", {})
    if detail["type"] == "literal_error":
        return str(context["expected"])
    return _EXPECTED.get(detail["type"]) or context.get("expected") or detail["msg"]


def _found(kind: str, loc: tuple[int | str, ...], document: Any) -> str:
    if kind == "missing":
        return "nothing"
    value = document
    for part in loc:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return "something else"
    if isinstance(value, list | dict) and len(value) > 8:
        return f"{'an array' if isinstance(value, list) else 'an object'} of {len(value)} entries"
    return shown(value)


def _path(loc: tuple[int | str, ...]) -> str:
    text = ""
    for part in loc:
        text += f"[{part}]" if isinstance(part, int) else (f".{part}" if text else str(part))
    return text
