"""What Figs. 4-6 of sts claim of a world, and whether it holds there: a row a cell and claim.

Each claim is one number of a cell, of means over its seeds, for STS as it stands and with VI-C's
postprocessing, which Algorithm 2 ends with. A cell is outside the paper's world if STS had more
jobs in the system there than VII-C reports of any simulation: what fails there fails nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import TYPE_CHECKING

from optsched.experiments.papers.artefact import Scale
from optsched.experiments.papers.sts.map_cells import (
    FAMILIES,
    LOADS,
    SPEEDUPS,
    Cell,
    map_cells,
    other_cells,
)
from optsched.experiments.papers.sts.world import MOST_A_NODE
from optsched.experiments.statistics import span
from optsched.rolling.metrics import cost_reduction

if TYPE_CHECKING:
    import pandas as pd

    Means = Mapping[tuple[str, str, str], Mapping[str, float]]
    """Of a case, sharing and policy: the means of a cell's columns."""
    Value = Callable[[Means, str, str], float]

VARIANTS = {"sts": "STS", "sts-postprocessing": "STS with VI-C"}
RIVALS = ("edf", "rg", "avg-edf", "avg-rg")
AVERAGES = ("avg-edf", "avg-rg")
LEAST_PCR, MEAN_PCR = 32.0, 40.0
"""Percent: the paper's smallest mean reduction of the total cost, and about its mean one."""
DP_PCR, AVG_DP_PCR = 67.0, 32.0
SHARING_PCR = {"K80 and M60": 17.0, "A100": 29.0}
NEAR = 5.0
"""Points of percent by which a mean may fall short of the paper's and still agree."""
HOLDS, FAILS, OUTSIDE = "holds", "fails", "outside"


@dataclass(frozen=True)
class Claim:
    """A claim of a figure about one world.

    Attributes
    ----------
    figure : int
    words : str
        Its quantity, percent, as an axis would have it.
    paper : str
        What the paper says.
    value : callable
        The quantity, of a cell's means, its case and a variant of STS.
    holds : callable
        Whether a value is what the paper says.
    family : str
        GPU types of the cell's cluster; all of them if empty.
    """

    figure: int
    words: str
    paper: str
    value: Value
    holds: Callable[[float], bool]
    family: str = ""

    def case(self, cell: Cell) -> str:
        """Of the rows it is read off."""
        return f"{cell.name}, {self.family}" if self.family else cell.name


def _reduction(column: str, rivals: Sequence[str], of: Callable[[list[float]], float]) -> Value:
    def value(means: Means, case: str, variant: str) -> float:
        own = means[case, "off", variant][column]
        return of([cost_reduction(own, means[case, "off", each][column]) for each in rivals])

    return value


def _late(means: Means, case: str, variant: str) -> float:
    own = means[case, "off", variant]
    return 100 * own["late"] / own["jobs"]


def _dearer(means: Means, case: str, variant: str) -> float:
    own = means[case, "off", variant]["energy"]
    return min(100 * (own / means[case, "off", each]["energy"] - 1) for each in AVERAGES)


def _sharing(means: Means, case: str, variant: str) -> float:
    return cost_reduction(*(means[case, s, variant]["total"] for s in ("on", "off")))


def _at_least(paper: float) -> Callable[[float], bool]:
    return lambda value: value >= paper - NEAR


CLAIMS = (
    Claim(
        4,
        "total cost below the rivals', mean of four (%)",
        "about 40%",
        _reduction("total", RIVALS, mean),
        _at_least(MEAN_PCR),
    ),
    Claim(
        4,
        "total cost below the rivals', least of four (%)",
        "32% or more",
        _reduction("total", RIVALS, min),
        _at_least(LEAST_PCR),
    ),
    Claim(4, "jobs of STS that are late (%)", "none", _late, lambda value: value == 0),
    Claim(
        4,
        "energy above avgEDF's and avgRG's, the lesser (%)",
        "above both",
        _dearer,
        lambda value: value > 0,
    ),
    Claim(5, "energy below DP's (%)", "67%", _reduction("energy", ["dp"], min), _at_least(DP_PCR)),
    Claim(
        5,
        "energy below avgDP's (%)",
        "32%",
        _reduction("energy", ["avg-dp"], min),
        _at_least(AVG_DP_PCR),
    ),
    *(
        Claim(
            6,
            f"total cost saved by sharing {family} (%)",
            f"about {SHARING_PCR[family]:.0f}%",
            _sharing,
            _at_least(SHARING_PCR[family]),
            family,
        )
        for family, _ in FAMILIES
    ),
)
COLUMNS = ("figure", "claim", "paper", "policy", "cell", "load", "speedup", "gpus", "other")
"""Of `judged`, which adds value, most_jobs and verdict."""


def judged(rows: pd.DataFrame, figures: Iterable[int] = (4, 5, 6)) -> pd.DataFrame:
    """A row a cell, claim and variant of STS: the quantity, jobs in the system, the verdict."""
    import pandas as pd

    on_map = rows[on_cells(rows)]
    means, nodes = means_of(on_map), on_map["nodes"].max()
    known = {case for case, _, _ in means}
    found = []
    for cell in (*map_cells(Scale()), *other_cells(Scale())):
        for claim in (each for each in CLAIMS if each.figure in figures):
            if claim.case(cell) not in known:  # --quick has fewer cells
                continue
            for variant in VARIANTS:
                value = claim.value(means, claim.case(cell), variant)
                jobs = means[claim.case(cell), "off", variant]["most_jobs"]
                within = jobs <= MOST_A_NODE * nodes
                said = OUTSIDE if not within else HOLDS if claim.holds(value) else FAILS
                where = (cell.name, cell.load, cell.speedup, cell.gpus, cell.other)
                head = (claim.figure, claim.words, claim.paper, VARIANTS[variant])
                found.append((*head, *where, value, jobs, said))
    return pd.DataFrame(found, columns=[*COLUMNS, "value", "most_jobs", "verdict"])


def means_of(rows: pd.DataFrame) -> Means:
    """Means over seeds by case, sharing and policy."""
    columns = ["total", "energy", "late", "jobs", "most_jobs"]
    keys = ["case", "sharing", "policy"]
    lines = rows.groupby(keys)[columns].mean().reset_index().to_dict("records")
    return {
        (line["case"], line["sharing"], line["policy"]): {name: line[name] for name in columns}
        for line in lines
    }


def on_cells(rows: pd.DataFrame) -> pd.Series:
    """Which rows are of the map's cells."""
    return rows["case"].str.startswith("rho ")


def said_of(found: pd.DataFrame) -> str:
    """Where a claim holds and where it fails, in words; nothing of what is outside."""
    inside = found[(found["other"] == "") & (found["verdict"] != OUTSIDE)]
    held, failed = (inside[inside["verdict"] == each] for each in (HOLDS, FAILS))
    values = f"{span(list(inside['value']), 'z.0f', ' to ')}%"
    if not len(held):
        return f"fails in all {len(inside)} cells, at {values}"
    if not len(failed):
        return f"holds in all {len(inside)} cells, at {values}"
    return (
        f"holds where {places(held)} ({len(held)} of {len(inside)} cells); fails where "
        f"{places(failed)} (all: {values})"
    )


def places(found: pd.DataFrame) -> str:
    """Cells in words: loads by exponent, exponents of equal loads together."""
    said = []
    for gpus, here in found.groupby("gpus"):
        by_loads: dict[tuple[float, ...], list[float]] = {}
        for speedup, line in here.groupby("speedup"):
            by_loads.setdefault(tuple(sorted(line["load"])), []).append(float(str(speedup)))
        parts = [
            f"k^{_stretch(speedups, SPEEDUPS)} at rho {_stretch(loads, LOADS)}"
            for loads, speedups in by_loads.items()
        ]
        said.append(f"{gpus} GPUs a node, {' and '.join(parts)}")
    return "; ".join(said)


def _stretch(values: Sequence[float], grid: Sequence[float]) -> str:
    """Values of a grid, more than two neighbours by their ends."""
    at = sorted(grid.index(value) for value in values)
    if len(at) > 2 and at[-1] - at[0] == len(at) - 1:
        return f"{grid[at[0]]:g} to {grid[at[-1]]:g}"
    return ", ".join(f"{grid[i]:g}" for i in at)
