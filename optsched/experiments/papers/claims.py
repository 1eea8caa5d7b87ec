"""Claims of a table or figure, tested in every setting that the paper leaves open.

A cell is one claim in one setting. A setting is a `world` (assumptions that the paper leaves open)
and a place `at` which the claim is measured in it, such as a load. A cell has the claim's quantity
as a `value`, a median or mean over draws, its range over them (`low`, `high`), and whether the
claim `holds` there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from optsched.experiments.papers.verdict import Part, Verdict

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("claim", "world", "at", "value", "low", "high", "holds")
HOLDS, FAILS = "✓", "✗"


@dataclass(frozen=True)
class Claim:
    """A part of a figure's claim.

    `text` says it in a few words; `paper` is the value that the paper gives, or how it shows it;
    `quantity` is what is measured, in `unit`, and `form` the format specification of its values.
    """

    text: str
    paper: str
    quantity: str
    unit: str = "%"
    form: str = "z.0f"

    def written(self, values: Sequence[float]) -> str:
        """Median and range of some values, such as "12% (3 to 20)"."""
        if not values:
            return "none"
        return self.with_range(median(values), min(values), max(values))

    def with_range(self, *numbers: float) -> str:
        middle, low, high = (f"{number:{self.form}}" for number in numbers)
        unit = self.unit if self.unit in ("", "%") else f" {self.unit}"
        return f"{middle}{unit}" if low == high else f"{middle}{unit} ({low} to {high})"


def cells_of(rows: Iterable[tuple[str, str, str, Sequence[float], bool]]) -> pd.DataFrame:
    """Cells from claim, world, place, the values of the draws, and whether the claim holds.

    The cell's value is the median of its draws.
    """
    import pandas as pd

    cells = [
        (claim, world, at, median(values), min(values), max(values), holds)
        for claim, world, at, values, holds in rows
    ]
    return pd.DataFrame(cells, columns=list(COLUMNS)).astype({"holds": bool})


def select(rows: pd.DataFrame, **values: object) -> pd.DataFrame:
    for column, value in values.items():
        rows = rows[rows[column] == value]
    return rows


def judge(
    claims: Sequence[Claim], cells: pd.DataFrame, place: str = "at", **verdict: Any
) -> Verdict:
    """Count in how many cells each claim holds; `place` is what the cells' `at` means."""
    parts = []
    for claim in claims:
        own = select(cells, claim=claim.text)
        ours = f"{claim.quantity} {claim.written(list(own['value']))}"
        parts.append(Part(claim.text, claim.paper, ours, int(own["holds"].sum()), len(own)))
    return Verdict(tuple(parts), table=table_of(claims, cells, place), **verdict)


def table_of(
    claims: Sequence[Claim], cells: pd.DataFrame, place: str
) -> tuple[tuple[str, ...], ...]:
    """A row a claim and world, a column a place: whether it holds, the value and its range."""
    places = list(dict.fromkeys(cells["at"]))
    rows = []
    for claim in claims:
        for world, own in select(cells, claim=claim.text).groupby("world", sort=False):
            texts = {
                cell["at"]: f"{HOLDS if cell['holds'] else FAILS} "
                + claim.with_range(cell["value"], cell["low"], cell["high"])
                for cell in own.to_dict("records")
            }
            rows.append((claim.text, str(world), *(texts.get(at, "") for at in places)))
    return (("claim", "setting", *(f"{place} {at}".strip() for at in places)), *rows)
