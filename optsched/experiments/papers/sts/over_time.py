"""Figs. 4, 5 and 6 of sts: total and energy cost over time, with and without shared GPUs.

The paper does not state the relative speeds of its GPUs, how far jobs speed up, the load, and
whether STS ends with the postprocessing of VI-C. A setting is a choice of these, and each claim is
tested in every setting at every load. Costs are means over draws before ratios (29) and percentage
cost reductions (PCR, 30) are taken, as in the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import mean
from typing import TYPE_CHECKING, Any

from optsched.experiments.papers.artefact import Artefact, Scale
from optsched.experiments.papers.claims import COLUMNS, Claim
from optsched.experiments.papers.claims import judge as judge_claims
from optsched.experiments.papers.pictures import maps
from optsched.experiments.papers.sts.workloads import outcomes, workload
from optsched.experiments.papers.verdict import Verdict
from optsched.experiments.plans.plan import Family
from optsched.generators.rolling import (
    RollingGenerator,
    due_dates,
    generate_rolling,
)
from optsched.generators.selection import GB
from optsched.rolling.instance import RollingInstance
from optsched.rolling.metrics import cost_reduction

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Costs = Mapping[str, Mapping[str, float]]
"""Means over draws in one setting at one load, by column and run."""

PLACE, LOADS, QUICK_LOADS = "rho", (0.05, 0.25, 0.5, 0.75, 1.0), (0.25, 1.0)
SEEDS, NODES, MANY_NODES = 3, 10, 100
QUICK_NODES, QUICK_MANY_NODES = 3, 6
MAX_JOBS_A_NODE = 4.0
"""Jobs in the system: 400 on 100 nodes (VII-C)."""
GPUS = 8
"""GPUs of a node: the most in Table III."""
SPEEDUPS, MIDDLE_SPEEDUP = (0.5, 0.7, 0.9), 0.7
"""Exponents x of the speed-up k^x on k GPUs."""
RESNET_RATIO, MEDIAN_RATIO, RATIO_RANGE = 6.7, 4.1, (0.7, 11.6)
"""V100 over K80 in Gavel's measured throughputs of 26 jobs on one GPU: the median of the nine
ResNet jobs, and the median and range of all."""
USUAL_RATIO = 6.0
"""A100 over K80 in the generator."""
RATIOS = (USUAL_RATIO, MEDIAN_RATIO, 3.0, 2.1)
READINGS = {"sts": "STS", "sts-postprocessing": "STS with VI-C"}
AVERAGED = ("avg-edf", "avg-rg")
CLUSTERS = {" on K80 and M60": ["K80", "M60"], " on A100": ["A100"]}
"""GPU types of Fig. 6's clusters, by the suffix of their runs."""
SHARED, ON_MANY = " shared", " on many nodes"
"""Suffixes of runs."""
MEANS = ("total", "energy", "tardiness", "late", "jobs", "jobs_a_node")
ON_MANY_POLICIES = (*READINGS, "edf")
OTHERS: dict[str, dict[str, Any]] = {
    "4 GPUs a node": {"gpus_per_node": 4},
    "H 15 min": {"interval": 900.0},
    "H 4 h": {"interval": 14_400.0},
    "postponement penalty 2": {"penalty": 2.0},
}
"""Further choices, made one at a time at the middle speeds."""
OTHERS_OF_SHARING: dict[str, dict[str, Any]] = {
    "jobs of 3.5 GB": {"memory": 3.5},
    "jobs of 12 GB": {"memory": 12.0},
    "later due dates only if shared": {"sharing": False},
}
TOLERANCE = 5.0
"""Percentage points by which a value may miss the paper's."""


@dataclass(frozen=True)
class Measure:
    """A claim, its value for a reading of STS, its test, and the suffix of STS's runs in it."""

    claim: Claim
    value: Callable[[Costs, str], float]
    holds: Callable[[float], bool]
    suffix: str = ""


def setting(figure: int, ratio: float, exponent: float) -> dict[str, dict[str, Any]]:
    """A setting and its arguments; no ratio matters in Fig. 6, whose A100s are alone."""
    arguments = {"gpus_per_node": GPUS, "speedup": exponent}
    if figure == 6:
        return {f"k^{exponent:g}": arguments}
    name = f"A100 {ratio:g} x K80, k^{exponent:g}"
    return {name: {**arguments, "a100_speed": ratio / USUAL_RATIO}}


def settings_of(figure: int, scale: Scale) -> dict[str, dict[str, Any]]:
    """The generator's arguments by setting, the middle one first."""
    settings = setting(figure, MEDIAN_RATIO, MIDDLE_SPEEDUP)
    ((middle, arguments),) = settings.items()
    if scale.quick:
        return settings | setting(figure, USUAL_RATIO, MIDDLE_SPEEDUP)
    for ratio in RATIOS:
        for exponent in SPEEDUPS:
            settings |= setting(figure, ratio, exponent)
    others = OTHERS | (OTHERS_OF_SHARING if figure == 6 else {})
    return settings | {f"{middle}, {other}": arguments | others[other] for other in others}


def clusters(figure: int, arguments: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Suffixes of runs with their sharing and arguments."""
    if figure != 6:
        yield "", "off", arguments
        return
    for suffix, types in CLUSTERS.items():
        unshared = {"sharing": True, **arguments, "gpu_types": types}
        yield suffix, "off", unshared
        yield suffix, "on", {**unshared, "sharing": True}


def plan(figure: int, policies: Sequence[str], scale: Scale) -> list[Family]:
    """Policies on every draw; a family's name begins with its setting and load, "...|0.25|".

    The claims' worlds are a setting and a reading of STS, after a comma.
    """
    loads, seeds = (QUICK_LOADS, 1) if scale.quick else (LOADS, SEEDS)
    nodes, many = (QUICK_NODES, QUICK_MANY_NODES) if scale.quick else (NODES, MANY_NODES)
    settings = settings_of(figure, scale)
    workloads = [
        (f"{name}|{load:g}|{suffix}", {"load": load, "nodes": nodes, **own}, seed, policies, shared)
        for name, arguments in settings.items()
        for load in loads
        for suffix, shared, own in clusters(figure, arguments)
        for seed in range(seeds)
    ]
    if figure == 4:
        middle, arguments = next(iter(settings.items()))
        workloads += [
            (
                f"{middle}|{load:g}|{ON_MANY}",
                {"load": load, "nodes": many, **arguments},
                0,
                ON_MANY_POLICIES,
                "off",
            )
            for load in loads
        ]
    return [
        family
        for case, arguments, seed, methods, sharing in workloads
        for family in workload(
            case,
            {"arrivals": "load", **arguments},
            seed,
            methods,
            sharing=sharing,
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
    """A row a run, named by its policy, sharing and cluster."""
    rows = outcomes(runs)
    parts = rows["case"].str.split("|", expand=True)
    shared = rows["sharing"].map({"off": "", "on": SHARED})
    rows = rows.assign(
        setting=parts[0],
        load=parts[1],
        run=rows["policy"] + shared + parts[2],
        jobs_a_node=rows["most_jobs"] / rows["nodes"],
    )
    return rows[["setting", "load", "run", "nodes", "seed", "rho", *MEANS]]


def costs_of(rows: pd.DataFrame) -> Costs:
    means: dict[str, dict[str, float]] = rows.groupby("run")[list(MEANS)].mean().to_dict()
    return means


def cells(measures: Sequence[Measure], rows: pd.DataFrame) -> pd.DataFrame:
    """Every claim in the settings in which STS has no more jobs in the system than the paper's."""
    import pandas as pd

    found = []
    for (setting, load), group in rows.groupby(["setting", "load"], sort=False):
        costs = costs_of(group)
        draws = [costs_of(draw) for _, draw in group.groupby("seed")]
        for measure in measures:
            for policy, reading in READINGS.items():
                jobs = costs["jobs_a_node"].get(policy + measure.suffix)
                if jobs is None or jobs > MAX_JOBS_A_NODE:
                    continue
                value = measure.value(costs, policy)
                values = [
                    measure.value(draw, policy)
                    for draw in draws
                    if policy + measure.suffix in draw["total"]
                ]
                spread = min(value, *values), max(value, *values)
                world = f"{setting}, {reading}"
                found.append(
                    (measure.claim.text, world, load, value, *spread, measure.holds(value))
                )
    return pd.DataFrame(found, columns=list(COLUMNS)).astype({"holds": bool})


def reduction(
    column: str, *baselines: str, of: Callable[[list[float]], float] = mean
) -> Callable[[Costs, str], float]:
    """PCR (30) of STS over the baselines: their mean, or their least."""

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


def energy_excess(costs: Costs, sts: str) -> float:
    """STS's energy above that of the average variants, the least of the two."""
    return min(100 * (costs["energy"][sts] / costs["energy"][name] - 1) for name in AVERAGED)


def more_are_late(costs: Costs, sts: str) -> float:
    """Late jobs of the average variants, the least of the two, less those of STS."""
    return min(late_share(costs, name) for name in AVERAGED) - late_share(costs, sts)


def change_on_many(costs: Costs, sts: str) -> float:
    """How much more of EDF's cost STS has on many nodes than on few, percentage points."""
    total = costs["total"]
    on_many = total[sts + ON_MANY] / total["edf" + ON_MANY]
    return 100 * (on_many - total[sts] / total["edf"])


def at_least(paper: float) -> Callable[[float], bool]:
    """Whether a value reaches the paper's, within the tolerance."""
    return lambda value: value >= paper - TOLERANCE


def is_positive(value: float) -> bool:
    return value > 0


MEASURES = {
    4: (
        Measure(
            Claim(
                "STS costs about 40% less than the others", "about 40%", "mean PCR over the four"
            ),
            reduction("total", "edf", "rg", *AVERAGED),
            at_least(40),
        ),
        Measure(
            Claim("STS costs 32 to 80% less than EDF and RG", "32% or more", "PCR, the least"),
            reduction("total", "edf", "rg", of=min),
            at_least(32),
        ),
        Measure(
            Claim("STS misses no due date", "none", "jobs of STS that are late", form="z.1f"),
            late_share,
            lambda value: value == 0,
        ),
        Measure(
            Claim(
                "STS uses less energy than EDF and RG",
                "significantly lower",
                "PCR of the energy, the least",
            ),
            reduction("energy", "edf", "rg", of=min),
            lambda value: value >= TOLERANCE,
        ),
        Measure(
            Claim(
                "avgEDF and avgRG use less energy",
                "both below STS",
                "STS's above theirs, the least",
            ),
            energy_excess,
            is_positive,
        ),
        Measure(
            Claim(
                "more jobs of avgEDF and avgRG are late",
                "frequently late",
                "their late jobs less STS's, the least",
                unit="points",
            ),
            more_are_late,
            is_positive,
        ),
        Measure(
            Claim(
                "STS's cost over EDF's is stable in the nodes",
                "very stable",
                f"its change from {NODES} to {MANY_NODES} nodes",
                unit="points",
            ),
            change_on_many,
            lambda value: abs(value) <= TOLERANCE,
            ON_MANY,
        ),
    ),
    5: (
        Measure(
            Claim("STS's energy is 67% below DP's", "67%", "PCR of the energy"),
            reduction("energy", "dp"),
            at_least(67),
        ),
        Measure(
            Claim("STS's energy is 32% below avgDP's", "32%", "PCR of the energy"),
            reduction("energy", "avg-dp"),
            at_least(32),
        ),
        Measure(
            Claim(
                "STS uses the least energy",
                "below EDF, DP and avgDP",
                "PCR of the energy, the least",
            ),
            reduction("energy", "edf", "dp", "avg-dp", of=min),
            is_positive,
        ),
    ),
    6: tuple(
        Measure(
            Claim(f"sharing{suffix} saves {paper}%", f"about {paper}%", "PCR of the total cost"),
            saved_by_sharing(suffix),
            at_least(paper),
            suffix,
        )
        for suffix, paper in zip(CLUSTERS, (17, 29), strict=True)
    ),
}
"""By figure."""


def fixed(figure: int) -> str:
    """What is the same in all settings, and why."""
    return "TODO"


def why4(rows: pd.DataFrame, cells: pd.DataFrame) -> str:
    return "TODO"


def judge(
    figure: int, why: Callable[[pd.DataFrame, pd.DataFrame], str], rows: pd.DataFrame, scale: Scale
) -> Verdict:
    """Count the settings and loads in which each claim holds."""
    measures = MEASURES[figure]
    found = cells(measures, rows)
    claims = [measure.claim for measure in measures]
    return judge_claims(claims, found, PLACE, why=why(rows, found), fixed=fixed(figure))


def draw(figure: int, rows: pd.DataFrame) -> Figure:
    measures = MEASURES[figure]
    return maps([measure.claim for measure in measures], cells(measures, rows), PLACE)


def _figure(
    number: int,
    claim: str,
    runtime: str,
    policies: Sequence[str],
    why: Callable[[pd.DataFrame, pd.DataFrame], str],
) -> Artefact:
    return Artefact(
        name=f"sts-fig{number}",
        reference=f"sts, Fig. {number}",
        claim=claim,
        runtime=runtime,
        plan=partial(plan, number, policies),
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
        "TODO on two cores; --quick TODO s",
        (*READINGS, "edf", "rg", *AVERAGED),
        why4,
    ),
    _figure(
        5,
        "STS's energy is 67% below DP's and 32% below avgDP's",
        "TODO on two cores; --quick TODO s",
        (*READINGS, "edf", "dp", "avg-dp"),
        why4,
    ),
    _figure(
        6,
        "sharing GPUs saves STS about 17%, 29% on A100",
        "TODO on two cores; --quick TODO s",
        tuple(READINGS),
        why4,
    ),
)
