"""Gap tables of a store on the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.markup import escape
from rich.table import Table

from optsched.cli.show import console
from optsched.experiments.report.table import REFERENCE, FamilyTable
from optsched.experiments.report.table_formats import HEADINGS, cells, title

NOTE = (
    "excess over the best proven bound; interval of its mean by bootstrap over instances; "
    f"time ratio: median of seconds / seconds of {REFERENCE}"
)


def show_tables(tables: Sequence[FamilyTable]) -> None:
    """Print a table and the paired counts for each family."""
    out = console()
    for table in tables:
        made = Table(title=escape(title(table)), title_justify="left")
        for number, heading in enumerate(HEADINGS):
            made.add_column(heading, justify="right" if number else "left", no_wrap=True)
        for line in table.lines:
            made.add_row(*(escape(cell) for cell in cells(line)))
        out.print(made)
        for pair in table.pairings:
            words = f"{pair.wins} wins, {pair.ties} ties, {pair.losses} losses"
            out.print(escape(f"{pair.first} against {pair.second}: {words}"))
        out.print()
    out.print(escape(NOTE))
