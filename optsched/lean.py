"""Compiled functions that own no array, and so count no references.

A run's state is some fifty arrays in tuples. Counting references to all of them at every call took
half of a run's time; functions that only read and write arrays of their caller can do without. The
option that says so is a private one of numba's: where it is unknown, they count, and are slower.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def lean(function: Callable[..., Any]) -> Any:
    """Compile a function that makes no array and returns none; the result is kept on disk."""
    return _compiled(function, counts=False)


def owning(function: Callable[..., Any]) -> Any:
    """Compile a function that makes arrays though lean ones call it."""
    return _compiled(function, counts=True)


def _compiled(function: Callable[..., Any], counts: bool) -> Any:
    try:
        return njit(cache=True, _nrt=counts)(function)
    except (KeyError, TypeError):
        return njit(cache=True)(function)
