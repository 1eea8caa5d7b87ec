"""Numbers as text, in files and on the command line, and numbers of numpy.

Numbers as text are ASCII decimals: Python's own `int` and `float` also take underscores, other
scripts' digits, spaces, "nan" and "infinity"; here "1_0" is no number.
"""

import math
import re
from typing import Any

MAX_NUMERAL = 400
"""Characters of a number, enough for any float without an exponent."""

_REAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_WHOLE = re.compile(r"[+-]?[0-9]+", re.ASCII)


def parse_real(text: str | None) -> float | None:
    """Return a finite number, or None for any other text."""
    if text is None or len(text) > MAX_NUMERAL or not _REAL.fullmatch(text):
        return None
    value = float(text)
    return value if math.isfinite(value) else None


def parse_integer(text: str | None) -> int | None:
    """Return an integer without point or exponent, or None for any other text."""
    if text is None or len(text) > MAX_NUMERAL or not _WHOLE.fullmatch(text):
        return None
    return int(text)


def is_numpy(value: Any) -> bool:
    """Whether a value is a number, text or array of numpy, which need not be imported for it."""
    return type(value).__module__ == "numpy" and hasattr(value, "tolist")


def python_of_numpy(value: Any) -> Any:
    """Return a numpy value as Python's own; a default for `json.dumps`."""
    if is_numpy(value):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is not JSON serializable")


def without_numpy(value: Any) -> Any:
    """Return a document whose numpy numbers and arrays are Python's numbers and lists."""
    if isinstance(value, dict):
        return {key: without_numpy(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(without_numpy, value)) if type(value) in (list, tuple) else value
    return value.tolist() if is_numpy(value) else value
