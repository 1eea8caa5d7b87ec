"""Claims of Figs. 4-6 of sts, evaluated on a map of the scenarios that the paper may have had.

The paper states neither its load nor its speed-up exponent. A cell of the map is a load x exponent
x GPUs per node, on ten nodes, as the paper's smallest cluster. A claim is one number of a cell, of
means over seeds, for STS without and with the postprocessing of VI-C, which ends Algorithm 2. Cells
in which STS has more jobs in the system than VII-C reports are outside the paper's scenarios.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import mean
from typing import TYPE_CHECKING, Any

from optsched.experiments.papers.artefact import Scale
from optsched.experiments.papers.cells import describe_regions
from optsched.experiments.papers.sts.workloads import GPUS, MAX_JOBS_A_NODE, workload
from optsched.experiments.plans.plan import Family
from optsched.generators.rolling import RollingGenerator, due_dates, generate_rolling
from optsched.rolling.instance import RollingInstance
from optsched.rolling.metrics import cost_reduction

if TYPE_CHECKING:
    import pandas as pd

Means = Mapping[tuple[str, str], Mapping[str, float]]
"""Means over seeds of one case and cluster size: a value a column, by (sharing, policy)."""

LOADS = (0.05, 0.25, 0.5, 0.75, 1.0)
SPEEDUPS = (0.5, 0.6, 0.7, 0.8, 0.9)
NODE_GPUS = (4, GPUS)
NODES, SEEDS, SHARING_SEEDS = 10, 3, 2
QUICK_LOADS, QUICK_SPEEDUPS, QUICK_NODES = (0.25, 1.0), (0.5, 0.9), 3
GPU_TYPES = {"K80 and M60": ["K80", "M60"], "A100": ["A100"]}
"""GPU types of the clusters of Fig. 6."""
VARIATIONS: Mapping[str, Mapping[str, Any]] = {
    "A100 half as fast": {"a100_speed": 0.5},
    "A100 twice as fast": {"a100_speed": 2.0},
    "H 15 min": {"interval": 900.0},
    "H 4 h": {"interval": 14_400.0},
    "postponement penalty 2": {"penalty": 2.0},
}
"""Other settings that the paper leaves open, varied one at a time."""
OTHER_LOAD, OTHER_SPEEDUPS = 0.25, (0.5, 0.8)

VARIANTS = {"sts": "STS", "sts-postprocessing": "STS with VI-C"}
BASELINES = ("edf", "rg", "avg-edf", "avg-rg")
AVERAGED = BASELINES[2:]
TOLERANCE = 5.0
"""Tolerance in percentage points."""
HOLDS, FAILS, OUTSIDE = "holds", "fails", "outside"


@dataclass(frozen=True)
class Cell:
    """A cell: load rho, exponent x of the speed-up k^x, GPUs per node, and one further change."""

    load: float
    speedup: float
    gpus: int
    other: str = ""
    changes: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def name(self) -> str:
        name = f"rho {self.load:g}, k^{self.speedup:g}, {self.gpus} GPUs"
        return f"{name}, {self.other}" if self.other else name

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of the generator, without the number of nodes."""
        axes = {"load": self.load, "speedup": self.speedup, "gpus_per_node": self.gpus}
        return {"arrivals": "load", **axes, **self.changes}

    @property
    def generator(self) -> str:
        return f"{__name__}:generate_other_speed" if "a100_speed" in self.changes else "rolling"


def map_cells(scale: Scale) -> list[Cell]:
    """The cells of the map, then the variations."""
    loads, speedups = (QUICK_LOADS, QUICK_SPEEDUPS) if scale.quick else (LOADS, SPEEDUPS)
    sizes = (GPUS,) if scale.quick else NODE_GPUS
    variations = {} if scale.quick else VARIATIONS
    return [
        *(Cell(load, x, gpus) for gpus in sizes for x in speedups for load in loads),
        *(
            Cell(OTHER_LOAD, speedup, GPUS, name, changes)
            for name, changes in variations.items()
            for speedup in OTHER_SPEEDUPS
        ),
    ]


def plan_map(policies: Sequence[str], scale: Scale, *, sharing: bool = False) -> list[Family]:
    """Policies on every cell; for `sharing` with and without, by GPU types."""
    seeds = 1 if scale.quick else SHARING_SEEDS if sharing else SEEDS
    nodes = QUICK_NODES if scale.quick else NODES
    return [
        family
        for cell in map_cells(scale)
        for name, changes, shared in clusters_of(sharing=sharing)
        for seed in range(seeds)
        for family in workload(
            f"{cell.name}, {name}" if name else cell.name,
            {"nodes": nodes, **cell.arguments, **changes},
            seed,
            policies,
            sharing=shared,
            generator=cell.generator,
        )
    ]


def clusters_of(*, sharing: bool) -> list[tuple[str, dict[str, Any], str]]:
    """GPU types by name, arguments of the generator, and whether GPUs are shared."""
    if not sharing:
        return [("", {}, "off")]
    return [
        (name, {"sharing": True, "gpu_types": types}, shared)
        for name, types in GPU_TYPES.items()
        for shared in ("off", "on")
    ]


def generate_other_speed(settings: RollingGenerator, *, seed: int = 0) -> RollingInstance:
    """A workload on A100s of another speed, with due dates rescaled to its range (31).

    The generator leaves due dates alone, so that on slower A100s some could not be met.
    """
    usual = generate_rolling(replace(settings, a100_speed=1.0), seed=seed).to_dict()
    other = generate_rolling(settings, seed=seed).to_dict()
    for before, job in zip(usual["jobs"], other["jobs"], strict=True):
        old, new = (due_dates(version, settings.cluster.sharing) for version in (before, job))
        share = (before["due_date"] - before["submit_time"] - old[0]) / (old[1] - old[0])
        job["due_date"] = round(job["submit_time"] + new[0] + share * (new[1] - new[0]), 3)
    return RollingInstance.from_dict(other, "generate rolling")


def means_of(rows: pd.DataFrame) -> dict[tuple[str, int], Means]:
    """Means over seeds, by case and number of nodes."""
    columns = ["total", "energy", "late", "jobs", "most_jobs"]
    keys = ["case", "nodes", "sharing", "policy"]
    by_key: dict[Any, Any] = rows.groupby(keys, sort=False)[columns].mean().to_dict("index")
    means: dict[tuple[str, int], Any] = {}
    for (case, nodes, sharing, policy), values in by_key.items():
        means.setdefault((case, nodes), {})[sharing, policy] = values
    return means


def reduction(
    column: str, *baselines: str, of: Callable[[list[float]], float] = mean
) -> Callable[[Means, str], float]:
    """PCR (30) of a variant of STS over baselines, the mean of them or another function."""

    def value(means: Means, variant: str) -> float:
        sts = means["off", variant][column]
        return of([cost_reduction(sts, means["off", baseline][column]) for baseline in baselines])

    return value


def saved_by_sharing(means: Means, variant: str) -> float:
    """PCR (30) of shared GPUs over whole ones."""
    return cost_reduction(means["on", variant]["total"], means["off", variant]["total"])


def late_share(means: Means, variant: str) -> float:
    return 100 * means["off", variant]["late"] / means["off", variant]["jobs"]


def energy_excess(means: Means, variant: str) -> float:
    """Energy above the lesser of the average variants', percent."""
    sts = means["off", variant]["energy"]
    return min(100 * (sts / means["off", name]["energy"] - 1) for name in AVERAGED)


def at_least(paper: float) -> Callable[[float], bool]:
    """Whether a value reaches the paper's, within the tolerance."""
    return lambda value: value >= paper - TOLERANCE


@dataclass(frozen=True)
class Claim:
    """One claim of a figure: a quantity in percent, and its test.

    `gpu_types` names those of the cell's cluster; all of them if empty.
    """

    figure: int
    text: str
    paper: str
    value: Callable[[Means, str], float]
    holds: Callable[[float], bool]
    gpu_types: str = ""

    def case(self, cell: Cell) -> str:
        """The case of its rows."""
        return f"{cell.name}, {self.gpu_types}" if self.gpu_types else cell.name


CLAIMS = (
    Claim(
        4,
        "total cost below the rivals', mean of four",
        "about 40%",
        reduction("total", *BASELINES),
        at_least(40),
    ),
    Claim(
        4,
        "total cost below the rivals', least of four",
        "32% or more",
        reduction("total", *BASELINES, of=min),
        at_least(32),
    ),
    Claim(4, "jobs of STS that are late", "none", late_share, lambda value: value == 0),
    Claim(
        4,
        "energy above avgEDF's and avgRG's, the lesser",
        "above both",
        energy_excess,
        lambda value: value > 0,
    ),
    Claim(5, "energy below DP's", "67%", reduction("energy", "dp"), at_least(67)),
    Claim(5, "energy below avgDP's", "32%", reduction("energy", "avg-dp"), at_least(32)),
    *(
        Claim(
            6,
            f"total cost saved by sharing {types}",
            f"about {paper}%",
            saved_by_sharing,
            at_least(paper),
            types,
        )
        for types, paper in zip(GPU_TYPES, (17, 29), strict=True)
    ),
)
COLUMNS = (
    *("figure", "claim", "paper", "policy", "cell", "load", "speedup", "gpus", "other"),
    *("value", "most_jobs", "verdict"),
)
"""Columns of `judge_cells`; the value is in percent."""


def judge_cells(rows: pd.DataFrame, figures: Iterable[int] = (4, 5, 6)) -> pd.DataFrame:
    """One row per cell, claim and STS variant: the quantity, jobs in the system, the verdict."""
    import pandas as pd

    by_case = {case: means for (case, _), means in means_of(rows[on_map(rows)]).items()}
    max_jobs = MAX_JOBS_A_NODE * rows["nodes"][on_map(rows)].max()
    judged = []
    for cell in map_cells(Scale()):
        for claim in CLAIMS:
            means = by_case.get(claim.case(cell))
            if claim.figure not in figures or means is None:  # --quick has fewer cells
                continue
            for variant, label in VARIANTS.items():
                value, jobs = claim.value(means, variant), means["off", variant]["most_jobs"]
                verdict = OUTSIDE if jobs > max_jobs else HOLDS if claim.holds(value) else FAILS
                world = (cell.name, cell.load, cell.speedup, cell.gpus, cell.other)
                head = (claim.figure, claim.text, claim.paper, label)
                judged.append((*head, *world, value, jobs, verdict))
    return pd.DataFrame(judged, columns=list(COLUMNS))


def on_map(rows: pd.DataFrame) -> pd.Series:
    """Which rows are of the map's cells."""
    return rows["case"].str.startswith("rho ")


def inside(judged: pd.DataFrame) -> pd.DataFrame:
    """The map's cells that may be the paper's, in the columns of `cells.describe_regions`."""
    cells = judged[(judged["other"] == "") & (judged["verdict"] != OUTSIDE)]
    loads, exponents = cells["load"].map("{:g}".format), cells["speedup"].map("{:g}".format)
    world = cells["gpus"].astype(str) + " GPUs a node, k^" + exponents + " at rho"
    holds = cells["verdict"] == HOLDS
    return cells.assign(part=cells["claim"], world=world, at=loads, holds=holds)


def describe(cells: pd.DataFrame) -> list[str]:
    """One line per claim: where it holds and where it fails, by variant of STS."""
    return [
        f"*{claim} (paper: {claim_cells['paper'].iloc[0]})*: "
        + ". ".join(
            f"{policy} {describe_regions(variant_cells)}"
            for policy, variant_cells in claim_cells.groupby("policy", sort=False)
        )
        + "."
        for claim, claim_cells in cells.groupby("part", sort=False)
    ]
