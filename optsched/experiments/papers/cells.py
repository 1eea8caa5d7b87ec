"""Rows of a table or figure, and claims evaluated on a grid of settings.

A cell of the grid is a row: a `part` of the claim, a `world` (assumptions that the paper leaves
open), the position `at` which it is measured in it (such as a load), a `value` in percent, and
whether the part `holds` there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from optsched.experiments.statistics import span

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    import pandas as pd

COLUMNS = ("part", "world", "at", "value", "holds")


def select(rows: pd.DataFrame, **values: object) -> pd.DataFrame:
    """Rows whose columns have the given values."""
    for column, value in values.items():
        rows = rows[rows[column] == value]
    return rows


def cases(rows: pd.DataFrame) -> list[str]:
    return list(dict.fromkeys(rows["case"]))


def cells_of(rows: Iterable[tuple[Any, ...]]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"holds": bool})


def counts(cells: pd.DataFrame, noun: str) -> str:
    """In how many cells each part holds."""
    by_part = cells.groupby("part", sort=False)["holds"].agg(["sum", "count"])
    numbers = by_part.itertuples()
    return "; ".join(f"{part}: holds in {n} of {count} {noun}" for part, n, count in numbers)


def describe_regions(cells: pd.DataFrame) -> str:
    """Such as "holds in a: 1, 2 (3 to 7%), b: all (9%); fails in a: 3 (12%)"."""
    sizes = cells.groupby("world").size()
    sentences = []
    for word, subset in (("holds", cells[cells["holds"]]), ("fails", cells[~cells["holds"]])):
        worlds = []
        for world, world_cells in subset.groupby("world", sort=False):
            at = "all" if len(world_cells) == sizes[world] else ", ".join(world_cells["at"])
            worlds.append(f"{world}: {at} ({percent_range(world_cells['value'])})")
        sentences += [f"{word} in {', '.join(worlds)}"] if worlds else []
    return "; ".join(sentences)


def percent_range(values: Iterable[float]) -> str:
    """The smallest and the largest percentage; one of them where both round to the same."""
    low, _, high = span(list(values), "z.0f", " to ").partition(" to ")
    return f"{low}%" if low == high else f"{low} to {high}%"
