"""Parameters of which the default run takes some, and `pytest -m full` the others."""

from collections.abc import Iterable
from typing import Any

import pytest


def one_in(step: int, values: Iterable[Any]) -> list[Any]:
    """Each step-th value by default, beginning with the first; tuples are several parameters."""
    return [_parameter(value, at % step > 0) for at, value in enumerate(values)]


def first(count: int, values: Iterable[Any]) -> list[Any]:
    return [_parameter(value, at >= count) for at, value in enumerate(values)]


def _parameter(value: Any, is_full: bool) -> Any:
    values = value if isinstance(value, tuple) else (value,)
    return pytest.param(*values, marks=pytest.mark.full if is_full else ())
