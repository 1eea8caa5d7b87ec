"""Claims that are judged cell by cell: where each part holds and where it fails.

A cell is a row with a part of the claim, a world (what the paper leaves open), a place in it (such
as a load), a value in percent, and whether the part holds there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from optsched.experiments.statistics import span

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    import pandas as pd

COLUMNS = ("part", "world", "at", "value", "holds")


def cells_of(rows: Iterable[tuple[Any, ...]]) -> pd.DataFrame:
    """A table of cells."""
    import pandas as pd

    return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"holds": bool})


def counts(cells: pd.DataFrame, noun: str) -> str:
    """In how many cells each part holds."""
    held = cells.groupby("part", sort=False)["holds"].agg(["sum", "count"])
    numbers = held.itertuples()
    return "; ".join(f"{part}: holds in {n} of {count} {noun}" for part, n, count in numbers)


def where(cells: pd.DataFrame) -> str:
    """Such as "holds in a: 1, 2 (3 to 7%), b: all (9%); fails in a: 3 (12%)"."""
    sizes = cells.groupby("world").size()
    sentences = []
    for word, chosen in (("holds", cells[cells["holds"]]), ("fails", cells[~cells["holds"]])):
        worlds = []
        for world, own in chosen.groupby("world", sort=False):
            at = "all" if len(own) == sizes[world] else ", ".join(own["at"])
            worlds.append(f"{world}: {at} ({ends(own['value'])})")
        sentences += [f"{word} in {', '.join(worlds)}"] if worlds else []
    return "; ".join(sentences)


def ends(values: Iterable[float]) -> str:
    """The smallest and the largest percentage; one of them where both round to the same."""
    low, _, high = span(list(values), "z.0f", " to ").partition(" to ")
    return f"{low}%" if low == high else f"{low} to {high}%"
