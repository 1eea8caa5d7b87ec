"""Numbers written as text, in files and on the command line: ASCII decimals and nothing else.

Python's own `int` and `float` also take underscores, other scripts' digits, spaces, "nan" and
"infinity"; here "1_0" is no number.
"""

from __future__ import annotations

import math
import re

LONGEST_NUMERAL = 400
"""Characters of a number: as many as a float written out without an exponent may need."""

_REAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_WHOLE = re.compile(r"[+-]?[0-9]+", re.ASCII)


def real_of(text: str | None) -> float | None:
    """A finite number; None for anything else."""
    if text is None or len(text) > LONGEST_NUMERAL or not _REAL.fullmatch(text):
        return None
    value = float(text)
    return value if math.isfinite(value) else None


def whole_of(text: str | None) -> int | None:
    """A whole number without point or exponent; None for anything else."""
    if text is None or len(text) > LONGEST_NUMERAL or not _WHOLE.fullmatch(text):
        return None
    return int(text)
