"""Figs. 4, 5 and 6 of sts: total and energy cost over time, with and without shared GPUs.

The paper does not state the relative speeds of its GPUs, how far jobs speed up, the load, and
whether STS ends with the postprocessing of VI-C. A setting is a choice of these, and each claim is
tested in every setting at every load. Costs are means over draws before ratios (29) and percentage
cost reductions (PCR, 30) are taken, as in the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from statistics import mean
from typing import TYPE_CHECKING, Any

from optsched.experiments.papers.artefact import Artefact, Scale
from optsched.experiments.papers.claims import COLUMNS, Claim
from optsched.experiments.papers.claims import judge as judge_claims
from optsched.experiments.papers.pictures import maps
from optsched.experiments.papers.sts.workloads import outcomes, workload
from optsched.experiments.papers.verdict import Verdict
from optsched.experiments.plans.plan import Family
from optsched.generators.rolling import RollingGenerator, due_dates, generate_rolling
from optsched.generators.selection import GB
from optsched.rolling.instance import RollingInstance
from optsched.rolling.metrics import cost_reduction

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Costs = Mapping[str, Mapping[str, float]]
"""Means over draws in one setting at one load, by column and run."""

READINGS = {"sts": "STS", "sts-postprocessing": "STS with VI-C"}
AVERAGED = ("avg-edf", "avg-rg")
LOADS, QUICK_LOADS = (0.05, 0.25, 0.5, 1.0), (0.25, 1.0)
SEEDS, NODES, MANY_NODES = 3, 10, 100
QUICK_NODES = {NODES: 3, MANY_NODES: 6}
MAX_JOBS_A_NODE = 4.0
"""Jobs in the system: 400 on 100 nodes (VII-C)."""
GPUS = 8
"""GPUs of a node: the most in Table III."""
SPEEDUPS = (0.5, 0.7, 0.9)
"""Exponents x of the speed-up k^x on k GPUs."""
RESNET_RATIO, MEDIAN_RATIO, RATIO_RANGE = 6.7, 4.1, (0.7, 11.6)
"""V100 over K80 in Gavel's measured throughputs of 26 jobs on one GPU: the median of the nine
ResNet jobs, and the median and range of all."""
USUAL_RATIO = 6.0
"""A100 over K80 in the generator."""
RATIOS = (USUAL_RATIO, MEDIAN_RATIO, 3.0, 2.1)
TOLERANCE, ABOVE_ZERO = 5.0, 1e-9
"""Percentage points by which a value may miss the paper's; the least value above zero."""
SHARED, ON_MANY = " shared", " on many nodes"
"""Suffixes of runs."""
MEANS = ("total", "energy", "tardiness", "late", "jobs", "jobs_a_node")

SETTINGS: dict[str, dict[str, Any]] = {
    f"A100 {ratio:g} x K80, k^{x:g}": {"a100_speed": ratio / USUAL_RATIO, "speedup": x}
    for ratio in RATIOS
    for x in SPEEDUPS
}
"""Arguments of the generator, of Figs. 4 and 5."""
SHARING_SETTINGS = {f"k^{x:g}": {"speedup": x, "sharing": True} for x in SPEEDUPS}
"""Those of Fig. 6, whose clusters have A100s alone or none."""
MIDDLE, SHARING_MIDDLE = f"A100 {MEDIAN_RATIO:g} x K80, k^0.7", "k^0.7"
OTHERS: dict[str, dict[str, Any]] = {
    "4 GPUs a node": {"gpus_per_node": 4},
    "H 15 min": {"interval": 900.0},
    "H 4 h": {"interval": 14_400.0},
    "penalty 2": {"penalty": 2.0},
}
"""Further choices, made one at a time."""
SHARING_OTHERS: dict[str, dict[str, Any]] = {
    **OTHERS,
    "jobs of 3.5 GB": {"memory": 3.5},
    "jobs of 12 GB": {"memory": 12.0},
    "later due dates only if shared": {"sharing": False},
}
SETTINGS |= {f"{MIDDLE}, {name}": SETTINGS[MIDDLE] | OTHERS[name] for name in OTHERS}
SHARING_SETTINGS |= {
    f"{SHARING_MIDDLE}, {name}": SHARING_SETTINGS[SHARING_MIDDLE] | other
    for name, other in SHARING_OTHERS.items()
}


@dataclass(frozen=True)
class Runs:
    """Runs of policies in some settings; `suffix`: of their names."""

    policies: Sequence[str]
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: SETTINGS)
    suffix: str = ""
    sharing: str = "off"
    arguments: Mapping[str, Any] = field(default_factory=dict)
    nodes: int = NODES
    seeds: int = SEEDS


CLUSTERS = {" on K80 and M60": ["K80", "M60"], " on A100": ["A100"]}
RUNS = {
    4: [
        Runs((*READINGS, "edf", "rg", *AVERAGED)),
        Runs((*READINGS, "edf"), {MIDDLE: SETTINGS[MIDDLE]}, ON_MANY, nodes=MANY_NODES, seeds=1),
    ],
    5: [Runs((*READINGS, "edf", "dp", "avg-dp"))],
    6: [
        Runs(tuple(READINGS), SHARING_SETTINGS, suffix, sharing, {"gpu_types": types, **later})
        for suffix, types in CLUSTERS.items()
        for sharing, later in {"off": {}, "on": {"sharing": True}}.items()
    ],
}
"""By figure."""


def plan(figure: int, scale: Scale) -> list[Family]:
    """Policies on every draw; a family's name begins with its setting and load, "...|0.25|".

    The claims' worlds are a setting and a reading of STS, after a comma.
    """
    return [
        family
        for runs in RUNS[figure]
        for setting, arguments in runs.settings.items()
        if not scale.quick or setting in (MIDDLE, SHARING_MIDDLE)
        for load in (QUICK_LOADS if scale.quick else LOADS)
        for seed in range(1 if scale.quick else runs.seeds)
        for family in workload(
            f"{setting}|{load:g}|{runs.suffix}",
            {
                "nodes": QUICK_NODES[runs.nodes] if scale.quick else runs.nodes,
                "gpus_per_node": GPUS,
                "arrivals": "load",
                "load": load,
                **arguments,
                **runs.arguments,
            },
            seed,
            runs.policies,
            sharing=runs.sharing,
            generator=f"{__name__}:{generate_setting.__name__}",
        )
    ]


def generate_setting(
    settings: RollingGenerator, memory: float | None = None, *, seed: int = 0
) -> RollingInstance:
    """A workload whose due dates keep their place in (31) on A100s of another speed.

    `memory`: GB of every job.
    """
    usual = generate_rolling(replace(settings, a100_speed=1.0), seed=seed).to_dict()
    other = generate_rolling(settings, seed=seed).to_dict()
    for before, job in zip(usual["jobs"], other["jobs"], strict=True):
        old, new = (due_dates(version, settings.cluster.sharing) for version in (before, job))
        share = (before["due_date"] - before["submit_time"] - old[0]) / (old[1] - old[0])
        job["due_date"] = round(job["submit_time"] + new[0] + share * (new[1] - new[0]), 3)
        if memory is not None:
            job["memory_bytes"] = memory * GB
    return RollingInstance.from_dict(other, "generate rolling")


def rows_of(runs: pd.DataFrame, scale: Scale) -> pd.DataFrame:
    """One row per run, which is named by its policy, sharing and cluster."""
    rows = outcomes(runs)
    parts = rows["case"].str.split("|", expand=True)
    rows = rows.assign(
        setting=parts[0],
        load=parts[1],
        run=rows["policy"] + rows["sharing"].map({"off": "", "on": SHARED}) + parts[2],
        jobs_a_node=rows["most_jobs"] / rows["nodes"],
    )
    return rows[["setting", "load", "run", "nodes", "seed", "rho", *MEANS]]


def costs_of(rows: pd.DataFrame) -> Costs:
    means: dict[str, dict[str, float]] = rows.groupby("run")[list(MEANS)].mean().to_dict()
    return means


@dataclass(frozen=True, kw_only=True)
class Measure(Claim):
    """A claim with its value for a reading of STS, which must be within a range.

    `suffix`: of the runs of STS that it needs.
    """

    value: Callable[[Costs, str], float]
    least: float = ABOVE_ZERO
    most: float = inf
    suffix: str = ""


def cells(measures: Sequence[Measure], rows: pd.DataFrame) -> pd.DataFrame:
    """Every claim in the settings in which STS has no more jobs in the system than the paper's."""
    import pandas as pd

    found = []
    for (setting, load), group in rows.groupby(["setting", "load"], sort=False):
        draws = [costs_of(group), *(costs_of(draw) for _, draw in group.groupby("seed"))]
        for measure in measures:
            for policy, reading in READINGS.items():
                run = policy + measure.suffix
                if draws[0]["jobs_a_node"].get(run, inf) > MAX_JOBS_A_NODE:
                    continue
                values = [measure.value(costs, policy) for costs in draws if run in costs["total"]]
                holds = measure.least <= values[0] <= measure.most
                value_and_range = (values[0], min(values), max(values))
                found.append((measure.text, f"{setting}, {reading}", load, *value_and_range, holds))
    return pd.DataFrame(found, columns=list(COLUMNS)).astype({"holds": bool})


def reduction(
    column: str, *baselines: str, of: Callable[[list[float]], float] = min
) -> Callable[[Costs, str], float]:
    """PCR (30) of STS over the baselines: the least of them, or their mean."""

    def value(costs: Costs, sts: str) -> float:
        own = costs[column]
        return of([cost_reduction(own[sts], own[baseline]) for baseline in baselines])

    return value


def saved_by_sharing(suffix: str) -> Callable[[Costs, str], float]:
    """PCR (30) of shared GPUs over whole ones."""
    return lambda costs, sts: cost_reduction(
        costs["total"][sts + SHARED + suffix], costs["total"][sts + suffix]
    )


def late_share(costs: Costs, run: str) -> float:
    return 100 * costs["late"][run] / costs["jobs"][run]


def more_are_late(costs: Costs, sts: str) -> float:
    """Late jobs of the average variants, the least of the two, less those of STS."""
    return min(late_share(costs, name) for name in AVERAGED) - late_share(costs, sts)


def energy_excess(costs: Costs, sts: str) -> float:
    """STS's energy above that of the average variants, the least of the two."""
    return min(100 * (costs["energy"][sts] / costs["energy"][name] - 1) for name in AVERAGED)


def change_on_many(costs: Costs, sts: str) -> float:
    """How much more of EDF's cost STS has on many nodes than on few, percentage points."""
    total = costs["total"]
    on_many = total[sts + ON_MANY] / total["edf" + ON_MANY]
    return 100 * (on_many - total[sts] / total["edf"])


MEASURES: dict[int, tuple[Measure, ...]] = {
    4: (
        Measure(
            "STS costs about 40% less than the other four",
            "about 40%",
            "mean PCR",
            value=reduction("total", "edf", "rg", *AVERAGED, of=mean),
            least=40 - TOLERANCE,
        ),
        Measure(
            "STS costs 32 to 80% less than EDF and RG",
            "32% or more",
            "least PCR",
            value=reduction("total", "edf", "rg"),
            least=32 - TOLERANCE,
        ),
        Measure(
            "STS meets every due date",
            "no violation",
            "late jobs",
            value=late_share,
            least=0,
            most=0,
        ),
        Measure(
            "STS uses less energy than EDF and RG",
            "significantly lower",
            "least PCR of the energy",
            value=reduction("energy", "edf", "rg"),
            least=TOLERANCE,
        ),
        Measure(
            "avgEDF and avgRG use less energy than STS",
            "both lower",
            "STS's energy above the larger of theirs",
            value=energy_excess,
        ),
        Measure(
            "more jobs of avgEDF and avgRG are late",
            "frequently late",
            "the smaller of their late shares less STS's",
            "points",
            value=more_are_late,
        ),
        Measure(
            "STS's cost over EDF's is stable in the nodes",
            "very stable",
            f"change from {NODES} to {MANY_NODES} nodes",
            "points",
            value=change_on_many,
            least=-TOLERANCE,
            most=TOLERANCE,
            suffix=ON_MANY,
        ),
    ),
    5: (
        Measure(
            "STS's energy is 67% below DP's",
            "67%",
            "PCR of the energy",
            value=reduction("energy", "dp"),
            least=67 - TOLERANCE,
        ),
        Measure(
            "STS's energy is 32% below avgDP's",
            "32%",
            "PCR of the energy",
            value=reduction("energy", "avg-dp"),
            least=32 - TOLERANCE,
        ),
        Measure(
            "STS uses less energy than EDF, DP and avgDP",
            "the least",
            "least PCR of the energy",
            value=reduction("energy", "edf", "dp", "avg-dp"),
        ),
    ),
    6: tuple(
        Measure(
            f"sharing{suffix} saves about {paper}%",
            f"about {paper}%",
            "PCR of the total cost",
            value=saved_by_sharing(suffix),
            least=paper - TOLERANCE,
            suffix=suffix,
        )
        for suffix, paper in zip(CLUSTERS, (17, 29), strict=True)
    ),
}
"""The claims by figure."""


def why4(rows: pd.DataFrame, found: pd.DataFrame) -> str:
    return "TODO"


def judge(
    figure: int, why: Callable[[pd.DataFrame, pd.DataFrame], str], rows: pd.DataFrame, scale: Scale
) -> Verdict:
    """Count the settings and loads in which each claim holds."""
    found = cells(MEASURES[figure], rows)
    return judge_claims(MEASURES[figure], found, "rho", why=why(rows, found), fixed=FIXED)


def draw(figure: int, rows: pd.DataFrame) -> Figure:
    return maps(MEASURES[figure], cells(MEASURES[figure], rows), "rho")


FIXED = "TODO"


def _figure(
    number: int, claim: str, runtime: str, why: Callable[[pd.DataFrame, pd.DataFrame], str]
) -> Artefact:
    return Artefact(
        name=f"sts-fig{number}",
        reference=f"sts, Fig. {number}",
        claim=claim,
        runtime=runtime,
        plan=partial(plan, number),
        rows=rows_of,
        judge=partial(judge, number, why),
        draw=partial(draw, number),
        group_columns=("setting", "load", "run"),
        value_columns=("total", "energy", "tardiness", "late", "jobs"),
    )


ARTEFACTS = (
    _figure(
        4,
        "STS costs about 40% less than EDF, RG and their average variants, to 80%",
        "8 min on two cores; --quick 15 s",
        why4,
    ),
    _figure(
        5,
        "STS's energy is 67% below DP's and 32% below avgDP's",
        "8 min on two cores; --quick 15 s",
        why4,
    ),
    _figure(
        6,
        "sharing GPUs saves STS about 17%, 29% on A100",
        "8 min on two cores; --quick 15 s",
        why4,
    ),
)
