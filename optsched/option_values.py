"""What every problem's options refuse; each is a plain value by name, from Python or a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from optsched.errors import InputError, shown
from optsched.numerals import real_of


def require_known(names: Iterable[str], known: Sequence[str]) -> None:
    """Refuse an option that there is not; raises InputError."""
    for name in names:
        if name not in known:
            expected = known[0] if len(known) == 1 else f"one of {', '.join(known)}"
            raise InputError("options", shown(name), "an unknown option", expected)


def require_choice(name: str, value: Any, allowed: Sequence[str]) -> None:
    """Refuse a value that is none of those allowed; raises InputError."""
    if value not in allowed:
        raise InputError("options", name, shown(value), " or ".join(allowed))


def require_number(name: str, value: Any, least: float, most: float) -> None:
    """Refuse what is no number from `least` to `most`; raises InputError."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not least <= value <= most:
        raise InputError("options", name, shown(value), f"a number in [{least:g}, {most:g}]")


def number_of(value: Any) -> Any:
    """The number that a text says; whatever else stays as it is."""
    read = real_of(value) if isinstance(value, str) else None
    return value if read is None else read
