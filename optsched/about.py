"""What a field of a file is, said where it is declared: schemas and docstrings repeat it."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

if TYPE_CHECKING:
    from pydantic_core.core_schema import CoreSchema

Class = TypeVar("Class", bound=type)
FIELDS = "Attributes\n----------"


@dataclass(frozen=True, eq=False)
class About:
    """Annotation of a file's field: what it is, its unit, and a value that it may have.

    Schemas and docstrings (`described`) show it; what a field takes stays as is.
    """

    says: str
    unit: str = ""
    example: Any = None

    def __get_pydantic_json_schema__(self, core_schema: CoreSchema, handler: Any) -> dict[str, Any]:
        made: dict[str, Any] = {**handler(core_schema), **self.said}
        return made

    @property
    def said(self) -> dict[str, Any]:
        """Its keywords in a JSON Schema."""
        said = {"description": self.says, "unit": self.unit, "examples": [self.example]}
        return {key: value for key, value in said.items() if value not in ("", [None])}


def described(made_of: Class) -> Class:
    """Give a class's docstring the section of its fields, as their `About` says them."""
    hints = get_type_hints(made_of, include_extras=True)
    told = {
        name: (hint, about)
        for name, hint in hints.items()
        for about in getattr(hint, "__metadata__", ())
        if isinstance(about, About)
    }
    lines = [
        f"{name} : {_kind(hint)}\n    {about.says}{about.unit and f' Unit: {about.unit}.'}"
        for name, (hint, about) in told.items()
    ]
    said = inspect.cleandoc(made_of.__doc__ or "").partition(f"\n\n{FIELDS}")[0]
    made_of.__doc__ = "\n".join([f"{said}\n\n{FIELDS}", *lines]) if lines else said
    return made_of


def _kind(hint: Any) -> str:
    """A field's type in a word or a few."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _kind(inner[0])
    if origin in (Union, UnionType):
        return " or ".join(_kind(each) for each in inner)
    if origin is Literal:
        return " or ".join(map(repr, inner))
    if origin is tuple:
        return f"tuple of {_kind(inner[0])}"
    if hint is type(None):
        return "None"
    return (origin or hint).__name__ if isinstance(origin or hint, type) else str(hint)
