"""How objects show themselves: a line at a prompt, a few in print, a table in a notebook."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from html import escape
from typing import Any

MOST_LINES = 15
LONGEST_LINE = 400


class Displayed:
    """Mixin of objects that can say in a few facts what they are; without facts nothing changes."""

    def facts(self) -> dict[str, str]:
        """Labels and short texts, in order; the first is the name."""
        return {}

    def __repr__(self) -> str:
        facts = self.facts()
        if not facts:
            return super().__repr__()
        named, *others = facts.items()
        told = ", ".join(f"{label} {text}" for label, text in others)
        line = f"<{type(self).__name__} {named[1]}: {told}>"
        return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 4]}...>"

    def __str__(self) -> str:
        facts = self.facts()
        if not facts:
            return super().__str__()
        width = max(len(label) for label in facts)
        lines = [f"{label:<{width}}  {text}" for label, text in facts.items()]
        return "\n".join(lines[:MOST_LINES])

    def _repr_html_(self) -> str | None:
        facts = self.facts()
        if not facts:
            return None
        rows = "".join(
            f'<tr><th style="text-align:left">{escape(label)}</th>'
            f'<td style="text-align:left">{escape(text)}</td></tr>'
            for label, text in facts.items()
        )
        return f"<table><caption>{escape(type(self).__name__)}</caption>{rows}</table>"


def counted(number: int, one: str, more: str | None = None) -> str:
    """A count with its noun: "1 instance", "2 instances"."""
    return f"{number} {one if number == 1 else more or one + 's'}"


def listed(values: Iterable[Any], most: int = 8) -> str:
    """The first values of many, separated by commas."""
    texts = [str(value) for value in itertools.islice(values, most + 1)]
    return ", ".join([*texts[:most], *(["..."] if len(texts) > most else [])])


def number(value: Any, unit: str = "") -> str:
    """A number in six digits, or a dash for what is not known."""
    if value is None:
        return "-"
    return f"{value:.6g}{' ' if unit else ''}{unit}"
