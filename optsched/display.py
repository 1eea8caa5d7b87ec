"""Text and HTML of results: a line at a prompt, a few lines in print, a table in a notebook."""

import itertools
from collections.abc import Iterable
from html import escape
from typing import Any, ClassVar

MAX_LINES = 15
MAX_ROWS = 20
MAX_LINE = 400


class Displayed:
    """Mixin that shows an object by its `facts`; without facts the default repr stays."""

    def facts(self) -> dict[str, str]:
        """Return labels and short texts, in order; the first is the name."""
        return {}

    def __repr__(self) -> str:
        facts = self.facts()
        if not facts:
            return super().__repr__()
        named, *others = facts.items()
        rest = ", ".join(f"{label} {text}" for label, text in others)
        line = f"<{type(self).__name__} {named[1]}: {rest}>"
        return line if len(line) <= MAX_LINE else f"{line[: MAX_LINE - 4]}...>"

    def __str__(self) -> str:
        facts = self.facts()
        if not facts:
            return super().__str__()
        width = max(len(label) for label in facts)
        lines = [f"{label:<{width}}  {text}" for label, text in facts.items()]
        return "\n".join(lines[:MAX_LINES])

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


class Explanation:
    """Mixin of explanations: a table and closing lines."""

    right: ClassVar[tuple[str, ...]] = ()
    """Headings of right-aligned columns."""
    max_rows: ClassVar[int] = MAX_ROWS
    """Rows that are shown; the others are counted."""

    def table(self) -> tuple[str, list[str], list[list[str]], str]:
        """Return the title, headings, rows and closing lines."""
        raise NotImplementedError

    def __repr__(self) -> str:
        title, _, _, closing = self.table()
        line = f"<{type(self).__name__} {title}; {closing.splitlines()[0]}>"
        return line if len(line) <= MAX_LINE else f"{line[: MAX_LINE - 4]}...>"

    def __str__(self) -> str:
        title, headings, rows, closing = self.table()
        shown = [headings, *rows[: self.max_rows]]
        widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
        lines = [
            "  ".join(
                cell.rjust(width) if heading in self.right else cell.ljust(width)
                for heading, cell, width in zip(headings, row, widths, strict=True)
            ).rstrip()
            for row in shown
        ]
        return "\n".join([title, *lines, *self._left_out(rows), closing])

    def _repr_html_(self) -> str:
        title, headings, rows, closing = self.table()
        lines = [
            "".join(
                f'<{tag} style="text-align:{"right" if heading in self.right else "left"}">'
                f"{escape(cell)}</{tag}>"
                for heading, cell in zip(headings, row, strict=True)
            )
            for tag, row in [("th", headings), *(("td", row) for row in rows[: self.max_rows])]
        ]
        table = "".join(f"<tr>{line}</tr>" for line in lines)
        below = "<br>".join(map(escape, [*self._left_out(rows), *closing.splitlines()]))
        return f"<table><caption>{escape(title)}</caption>{table}</table><p>{below}</p>"

    def _left_out(self, rows: list[list[str]]) -> list[str]:
        more = len(rows) - self.max_rows
        return [f"... and {counted(more, 'row')} more"] if more > 0 else []


def counted(number: int, one: str, more: str | None = None) -> str:
    """Return a count with its noun: "1 instance", "2 instances"."""
    return f"{number} {one if number == 1 else more or one + 's'}"


def listed(values: Iterable[Any], max_items: int = 8) -> str:
    """Return the first values of many, separated by commas."""
    texts = [str(value) for value in itertools.islice(values, max_items + 1)]
    return ", ".join([*texts[:max_items], *(["..."] if len(texts) > max_items else [])])


def number(value: Any, unit: str = "") -> str:
    """Return a number in six digits, or a dash for None."""
    if value is None:
        return "-"
    return f"{value:.6g}{' ' if unit else ''}{unit}"
