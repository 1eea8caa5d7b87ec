"""The map of Figs. 4-6 of sts: every claim of theirs on every world that the paper may have had.

The paper states neither its load nor its speed-up exponent; each cell is a world of load x exponent
x GPUs a node, on ten nodes, as its smallest cluster. A claim is one number of a cell, of means over
seeds, for STS as it stands and with VI-C's postprocessing, which Algorithm 2 ends with. A cell is
outside the paper's world if STS had more jobs in the system there than VII-C reports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import mean
from typing import TYPE_CHECKING, Any

from optsched.experiments.papers.artefact import Scale
from optsched.experiments.papers.cells import where
from optsched.experiments.papers.sts.workloads import GPUS, MAX_JOBS_A_NODE, workload
from optsched.experiments.plans.plan import Family
from optsched.generators.rolling import RollingGenerator, due_dates, generate_rolling
from optsched.rolling.instance import RollingInstance
from optsched.rolling.metrics import cost_reduction

if TYPE_CHECKING:
    import pandas as pd

    Means = Mapping[tuple[str, str, str], Mapping[str, float]]
    """Means of a cell's columns, by case, sharing and policy."""
    Value = Callable[[Means, str, str], float]

LOADS = (0.05, 0.25, 0.5, 0.75, 1.0)
SPEEDUPS = (0.5, 0.6, 0.7, 0.8, 0.9)
NODE_GPUS = (4, GPUS)
NODES, SEEDS, SHARING_SEEDS = 10, 3, 2
QUICK_LOADS, QUICK_SPEEDUPS, QUICK_NODES = (0.25, 1.0), (0.5, 0.9), 3
FAMILIES = (("K80 and M60", ("K80", "M60")), ("A100", ("A100",)))
OTHERS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("A100 half as fast", {"a100_speed": 0.5}),
    ("A100 twice as fast", {"a100_speed": 2.0}),
    ("H 15 min", {"interval": 900.0}),
    ("H 4 h", {"interval": 14_400.0}),
    ("postponement penalty 2", {"penalty": 2.0}),
)
"""What the paper leaves open beside the map's axes, one at a time."""
OTHER_LOAD, OTHER_SPEEDUPS = 0.25, (0.5, 0.8)

VARIANTS = {"sts": "STS", "sts-postprocessing": "STS with VI-C"}
RIVALS = ("edf", "rg", "avg-edf", "avg-rg")
NEAR = 5.0
"""Points of percent by which a mean may fall short of the paper's and still agree."""
HOLDS, FAILS, OUTSIDE = "holds", "fails", "outside"


@dataclass(frozen=True)
class Cell:
    """A world: rho, the exponent x of the speed-up k^x, GPUs a node, and one other change."""

    load: float
    speedup: float
    gpus: int
    other: str = ""
    changes: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def name(self) -> str:
        """The case of its rows."""
        words = f"rho {self.load:g}, k^{self.speedup:g}, {self.gpus} GPUs"
        return f"{words}, {self.other}" if self.other else words


def map_cells(scale: Scale) -> list[Cell]:
    """The cells of the map, then those that change one thing more."""
    loads, speedups = (QUICK_LOADS, QUICK_SPEEDUPS) if scale.quick else (LOADS, SPEEDUPS)
    sizes = (GPUS,) if scale.quick else NODE_GPUS
    return [
        *(Cell(load, x, gpus) for gpus in sizes for x in speedups for load in loads),
        *(
            Cell(OTHER_LOAD, speedup, GPUS, words, changes)
            for words, changes in (() if scale.quick else OTHERS)
            for speedup in OTHER_SPEEDUPS
        ),
    ]


def plan_policies(policies: Sequence[str], scale: Scale) -> list[Family]:
    """Policies on every cell."""
    seeds = range(1 if scale.quick else SEEDS)
    return [
        family
        for cell in map_cells(scale)
        for seed in seeds
        for family in _families(cell.name, cell, seed, policies, scale)
    ]


def plan_sharing(policies: Sequence[str], scale: Scale) -> list[Family]:
    """Policies with and without shared GPUs on every cell, by family of GPU types."""
    return [
        family
        for cell in map_cells(scale)
        for name, types in FAMILIES
        for sharing in ("off", "on")
        for seed in range(1 if scale.quick else SHARING_SEEDS)
        for family in _families(
            f"{cell.name}, {name}", cell, seed, policies, scale, sharing=sharing, gpu_types=types
        )
    ]


def _families(
    case: str,
    cell: Cell,
    seed: int,
    policies: Sequence[str],
    scale: Scale,
    *,
    sharing: str = "off",
    gpu_types: Sequence[str] = (),
) -> list[Family]:
    arguments = {
        "nodes": QUICK_NODES if scale.quick else NODES,
        "arrivals": "load",
        "load": cell.load,
        "speedup": cell.speedup,
        "gpus_per_node": cell.gpus,
        **cell.changes,
        **({"sharing": True, "gpu_types": list(gpu_types)} if gpu_types else {}),
    }
    own = "a100_speed" in cell.changes
    generator = f"{__name__}:generate_other_speed" if own else "rolling"
    return list(workload(case, arguments, seed, policies, sharing=sharing, generator=generator))


def generate_other_speed(settings: RollingGenerator, *, seed: int = 0) -> RollingInstance:
    """A workload on A100s of another speed, each due date at its place in that speed's (31).

    The generator leaves due dates alone, so that on slower A100s some could not be met.
    """
    usual = generate_rolling(replace(settings, a100_speed=1.0), seed=seed).to_dict()
    other = generate_rolling(settings, seed=seed).to_dict()
    for before, job in zip(usual["jobs"], other["jobs"], strict=True):
        old, new = (due_dates(each, settings.cluster.sharing) for each in (before, job))
        share = (before["due_date"] - before["submit_time"] - old[0]) / (old[1] - old[0])
        job["due_date"] = round(job["submit_time"] + new[0] + share * (new[1] - new[0]), 3)
    return RollingInstance.from_dict(other, "generate rolling")


@dataclass(frozen=True)
class Claim:
    """A claim of a figure about one world: a quantity in percent, and whether it agrees.

    `family` names the GPU types of the cell's cluster; all of them if empty.
    """

    figure: int
    words: str
    paper: str
    value: Value
    holds: Callable[[float], bool]
    family: str = ""

    def case(self, cell: Cell) -> str:
        """The case of its rows."""
        return f"{cell.name}, {self.family}" if self.family else cell.name


def _reduction(column: str, rivals: Sequence[str], of: Callable[[list[float]], float]) -> Value:
    def value(means: Means, case: str, variant: str) -> float:
        own = means[case, "off", variant][column]
        return of([cost_reduction(own, means[case, "off", rival][column]) for rival in rivals])

    return value


def _late(means: Means, case: str, variant: str) -> float:
    own = means[case, "off", variant]
    return 100 * own["late"] / own["jobs"]


def _energy_above(means: Means, case: str, variant: str) -> float:
    own = means[case, "off", variant]["energy"]
    return min(100 * (own / means[case, "off", p]["energy"] - 1) for p in ("avg-edf", "avg-rg"))


def _sharing(means: Means, case: str, variant: str) -> float:
    return cost_reduction(*(means[case, s, variant]["total"] for s in ("on", "off")))


def _about(paper: float) -> Callable[[float], bool]:
    return lambda value: value >= paper - NEAR


CLAIMS = (
    Claim(
        4,
        "total cost below the rivals', mean of four",
        "about 40%",
        _reduction("total", RIVALS, mean),
        _about(40),
    ),
    Claim(
        4,
        "total cost below the rivals', least of four",
        "32% or more",
        _reduction("total", RIVALS, min),
        _about(32),
    ),
    Claim(4, "jobs of STS that are late", "none", _late, lambda value: value == 0),
    Claim(
        4,
        "energy above avgEDF's and avgRG's, the lesser",
        "above both",
        _energy_above,
        lambda value: value > 0,
    ),
    Claim(5, "energy below DP's", "67%", _reduction("energy", ["dp"], min), _about(67)),
    Claim(5, "energy below avgDP's", "32%", _reduction("energy", ["avg-dp"], min), _about(32)),
    *(
        Claim(
            6,
            f"total cost saved by sharing {family}",
            f"about {paper}%",
            _sharing,
            _about(paper),
            family,
        )
        for family, paper in (("K80 and M60", 17), ("A100", 29))
    ),
)
COLUMNS = ("figure", "claim", "paper", "policy", "cell", "load", "speedup", "gpus", "other")
"""Columns of `judge_cells`, which adds value (percent), most_jobs and verdict."""


def judge_cells(rows: pd.DataFrame, figures: Iterable[int] = (4, 5, 6)) -> pd.DataFrame:
    """A row a cell, claim and variant of STS: the quantity, jobs in the system, the verdict."""
    import pandas as pd

    on_map = rows[on_cells(rows)]
    columns = ["total", "energy", "late", "jobs", "most_jobs"]
    groups = on_map.groupby(["case", "sharing", "policy"])
    means: Any = groups[columns].mean().to_dict("index")
    max_jobs, known = MAX_JOBS_A_NODE * on_map["nodes"].max(), {case for case, _, _ in means}
    judged = []
    for cell in map_cells(Scale()):
        for claim in (claim for claim in CLAIMS if claim.figure in figures):
            if claim.case(cell) not in known:  # --quick has fewer cells
                continue
            for variant, words in VARIANTS.items():
                value = claim.value(means, claim.case(cell), variant)
                jobs = means[claim.case(cell), "off", variant]["most_jobs"]
                verdict = OUTSIDE if jobs > max_jobs else HOLDS if claim.holds(value) else FAILS
                world = (cell.name, cell.load, cell.speedup, cell.gpus, cell.other)
                head = (claim.figure, claim.words, claim.paper, words)
                judged.append((*head, *world, value, jobs, verdict))
    return pd.DataFrame(judged, columns=[*COLUMNS, "value", "most_jobs", "verdict"])


def on_cells(rows: pd.DataFrame) -> pd.Series:
    """Which rows are of the map's cells."""
    return rows["case"].str.startswith("rho ")


def inside(judged: pd.DataFrame) -> pd.DataFrame:
    """The map's cells that may be the paper's, in the columns of `cells.where`."""
    own = judged[(judged["other"] == "") & (judged["verdict"] != OUTSIDE)]
    loads, exponents = own["load"].map("{:g}".format), own["speedup"].map("{:g}".format)
    world = own["gpus"].astype(str) + " GPUs a node, k^" + exponents + " at rho"
    return own.assign(part=own["claim"], world=world, at=loads, holds=own["verdict"] == HOLDS)


def describe(cells: pd.DataFrame) -> list[str]:
    """A line a claim: where it holds and where it fails, by variant of STS."""
    return [
        f"*{claim} (paper: {own['paper'].iloc[0]})*: "
        + ". ".join(f"{policy} {where(each)}" for policy, each in own.groupby("policy", sort=False))
        + "."
        for claim, own in cells.groupby("part", sort=False)
    ]
