"""Figs. 4, 5 and 6 of sts: total and energy cost over time, with and without shared GPUs.

The paper does not state the relative speeds of its GPUs, how far jobs speed up, the load, and
whether STS ends with the postprocessing of VI-C. A setting is a choice of these, and each claim is
tested in every setting at every load. Costs are means over draws before ratios (29) and percentage
cost reductions (PCR, 30) are taken, as in the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from statistics import mean
from typing import TYPE_CHECKING, Any

from optsched.experiments.papers.artefact import Artefact, Scale
from optsched.experiments.papers.claims import COLUMNS, Claim, select
from optsched.experiments.papers.claims import judge as judge_claims
from optsched.experiments.papers.pictures import maps
from optsched.experiments.papers.sts.workloads import PASSES, outcomes, workload
from optsched.experiments.papers.verdict import Verdict
from optsched.experiments.plans.plan import Family
from optsched.generators.rolling import (
    RollingGenerator,
    due_dates,
    generate_rolling,
    rolling_settings,
)
from optsched.generators.selection import GB
from optsched.rolling.instance import RollingInstance
from optsched.rolling.metrics import cost_reduction

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Costs = Mapping[str, Mapping[str, float]]
"""Means over draws in one setting at one load, by column and run."""

READINGS = {"sts": "STS", "sts-postprocessing": "STS with VI-C"}
TWO, AVERAGED, OF_FIG5 = ("edf", "rg"), ("avg-edf", "avg-rg"), ("edf", "dp", "avg-dp")
FOUR = (*TWO, *AVERAGED)
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
MARGIN = 5.0
"""Percentage points by which a value may miss the paper's."""
CLUSTERS = {" on K80 and M60": ["K80", "M60"], " on A100": ["A100"]}
"""GPU types of Fig. 6's clusters, by the suffix of their runs."""
SHARED, ON_MANY = " shared", " on many nodes"
"""Suffixes of runs."""

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
    """Runs of policies in some settings; `suffix` ends the names of the runs."""

    policies: Sequence[str]
    settings: Mapping[str, Mapping[str, Any]]
    suffix: str = ""
    sharing: str = "off"
    arguments: Mapping[str, Any] = field(default_factory=dict)
    nodes: int = NODES
    seeds: int = SEEDS


def plan(parts: Sequence[Runs], scale: Scale) -> list[Family]:
    """Policies on every draw; a family's name begins with its setting and load, "...|0.25|"."""
    return [
        family
        for runs in parts
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
    """Generate jobs of `memory` GB; at another A100 speed, due dates keep their place in (31)."""
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
    return rows.drop(columns=["case", "policy", "sharing", "bound"])


@dataclass(frozen=True, kw_only=True)
class Measure(Claim):
    """A claim that holds if its value for a reading of STS is above `least`, and at most `most`.

    `suffix` selects the STS runs whose jobs in the system decide if a setting counts.
    """

    value: Callable[[Costs, str], float]
    least: float = -inf
    most: float = inf
    suffix: str = ""


def pcr(
    text: str,
    paper: str,
    column: str,
    baselines: Sequence[str],
    least: float,
    of: Callable[[Iterable[float]], float] = min,
    most: float = inf,
) -> Measure:
    """A claim on PCRs (30) of STS over some baselines: their least, largest or mean."""

    def value(costs: Costs, sts: str) -> float:
        own = costs[column]
        return of(cost_reduction(own[sts], own[baseline]) for baseline in baselines)

    name = f"{of.__name__} PCR" if len(baselines) > 1 else "PCR"
    return Measure(text, paper, f"{name} of the {column} cost", value=value, least=least, most=most)


def late_share(costs: Costs, run: str) -> float:
    return 100 * costs["late"][run] / costs["jobs"][run]


def more_are_late(costs: Costs, sts: str) -> float:
    """Late jobs of the average variants, the least of the two, less those of STS."""
    return min(late_share(costs, name) for name in AVERAGED) - late_share(costs, sts)


def change_on_many(costs: Costs, sts: str) -> float:
    """Change of STS's cost over EDF's from few nodes to many, in percentage points."""
    total = costs["total"]
    on_many = total[sts + ON_MANY] / total["edf" + ON_MANY]
    return 100 * (on_many - total[sts] / total["edf"])


def saved_by_sharing(suffix: str, costs: Costs, sts: str) -> float:
    """PCR (30) of shared GPUs over whole ones."""
    return cost_reduction(costs["total"][sts + SHARED + suffix], costs["total"][sts + suffix])


def cells(measures: Sequence[Measure], rows: pd.DataFrame) -> pd.DataFrame:
    """Every claim in the settings in which STS has no more jobs in the system than the paper's."""
    import pandas as pd

    found = []
    for (setting, load), group in rows.groupby(["setting", "load"], sort=False):
        draws = [group, *(draw for _, draw in group.groupby("seed"))]
        means: list[Any] = [d.groupby("run").mean(numeric_only=True).to_dict() for d in draws]
        for measure in measures:
            for policy, reading in READINGS.items():
                run = policy + measure.suffix
                if means[0]["jobs_a_node"].get(run, inf) > MAX_JOBS_A_NODE:
                    continue
                values = [measure.value(costs, policy) for costs in means if run in costs["total"]]
                holds = measure.least < values[0] <= measure.most
                value_and_range = (values[0], min(values), max(values))
                found.append((measure.text, f"{setting}, {reading}", load, *value_and_range, holds))
    return pd.DataFrame(found, columns=list(COLUMNS)).astype({"holds": bool})


MEASURES = {
    4: (
        pcr(
            "STS costs about 40% less than the others",
            "about 40%",
            "total",
            FOUR,
            40 - MARGIN,
            mean,
        ),
        pcr("STS costs 32 to 80% less than EDF and RG", "32% or more", "total", TWO, 32 - MARGIN),
        Measure("STS meets all due dates", "no violation", "late jobs", value=late_share, most=0),
        pcr("STS uses less energy than EDF and RG", "significantly lower", "energy", TWO, MARGIN),
        pcr("avgEDF and avgRG use less energy", "both lower", "energy", AVERAGED, -inf, max, 0),
        Measure(
            "more jobs of avgEDF and avgRG are late",
            "frequently late",
            "the smaller of their late shares less STS's",
            "points",
            value=more_are_late,
            least=0,
        ),
        Measure(
            "STS's cost over EDF's is stable in the nodes",
            "very stable",
            f"change from {NODES} to {MANY_NODES} nodes",
            "points",
            value=change_on_many,
            least=-MARGIN,
            most=MARGIN,
            suffix=ON_MANY,
        ),
    ),
    5: (
        pcr("STS's energy is 67% below DP's", "67%", "energy", ("dp",), 67 - MARGIN),
        pcr("STS's energy is 32% below avgDP's", "32%", "energy", ("avg-dp",), 32 - MARGIN),
        pcr("STS uses the least energy", "below EDF, DP, avgDP", "energy", OF_FIG5, 0),
    ),
    6: tuple(
        Measure(
            f"sharing{suffix} saves about {paper}%",
            f"about {paper}%",
            "PCR of the total cost",
            value=partial(saved_by_sharing, suffix),
            least=paper - MARGIN,
            suffix=suffix,
        )
        for suffix, paper in zip(CLUSTERS, (17, 29), strict=True)
    ),
}
"""The claims by figure."""


FIXED = (
    f"{NODES} nodes (for the last claim of Fig. 4 also {MANY_NODES}) of {GPUS} GPUs, the most in "
    f"Table III, and ten jobs a node, as in the paper; {SEEDS} draws, whose costs are averaged. "
    "The paper's arrivals are Poisson processes whose rates depend on times that it does not "
    f"state; the load replaces them. Left out is where STS has more than {MAX_JOBS_A_NODE:g} jobs "
    "a node in the system (VII-C: 400 on 100 nodes). H is 1 h where no other is named. The penalty "
    "on postponed jobs is 10; it only enters RG's choice of its best pass. RG runs once a draw, "
    f"with {PASSES} passes. Epochs are the stand-ins of Fig. 2. A value may miss the paper's by "
    f"{MARGIN:g} points. "
)
ON_SPEEDS = (
    "An M60 is 1.6 times a K80, as their prices are close. No public table has both A100s and "
    f"K80s: in Gavel's throughputs of one GPU, a V100 is {RESNET_RATIO:g} times a K80 for ResNets, "
    f"and {MEDIAN_RATIO:g} in the median of 26 jobs ({RATIO_RANGE[0]:g} to {RATIO_RANGE[1]:g})."
)
ON_CLUSTERS = "A cluster has A100s alone or none, so no ratio of speeds matters."


def on_types() -> str:
    """Count the jobs for which the A100 is both the fastest and the cheapest type."""
    counts = []
    for ratio in RATIOS:
        instance = generate_rolling(rolling_settings(NODES, a100_speed=ratio / USUAL_RATIO))
        rates = {node.gpu_type: node.cost_rate[0] for node in instance.nodes}
        both = 0
        for job in instance.jobs:
            times = {gpu_type: times[0] for gpu_type, times in job.epoch_time.items()}
            costs = {gpu_type: rates[gpu_type] * time for gpu_type, time in times.items()}
            both += min(times, key=times.__getitem__) == "A100" == min(costs, key=costs.__getitem__)
        counts.append(f"{both} of {len(instance.jobs)} jobs at {ratio:g} times a K80")
    return (
        "Where the A100 is both the fastest and the cheapest type, a policy chooses only the "
        f"number of GPUs: {', '.join(counts)} (one draw)."
    )


def why4(rows: pd.DataFrame, found: pd.DataFrame) -> str:
    """How many jobs are late, and how RG compares with EDF."""
    counts = rows[rows["run"].isin(READINGS)].groupby("load", sort=False)[["late", "jobs"]].sum()
    late = (100 * counts["late"] / counts["jobs"]).items()
    totals = rows.pivot(index=["setting", "load", "nodes", "seed"], columns="run", values="total")
    rg_saves = (totals["rg"] < totals["edf"])[totals["rg"].notna()]
    edf = select(rows, setting=MIDDLE, load="0.25").groupby("run")[["late", "jobs"]].mean()
    few, many = (100 * edf["late"][run] / edf["jobs"][run] for run in ("edf", "edf" + ON_MANY))
    return (
        f"Late jobs of STS: {', '.join(f'{share:.1f}% at load {load}' for load, share in late)}. "
        "While GPUs are idle, STS starts a job slowly and speeds it up only if it runs long. "
        "This saves more energy the worse jobs speed up; with VI-C, idle GPUs speed jobs up at "
        "once. As the cluster fills, the time that was to be made up for later is lost. Due dates "
        "pass, and "
        "by (27) and Algorithm 3 late jobs come first, each on its fastest configuration, so that "
        "the cluster does less work an hour and more jobs become late. RG also takes the cheapest "
        "configuration that is in time, and keeps the best of its passes: it costs less than EDF "
        f"in {rg_saves.sum()} of {len(rg_saves)} draws, which leaves STS little to save over it. "
        f"On {MANY_NODES} nodes fewer jobs wait at the same load: at 0.25, {many:.0f}% of EDF's "
        f"are late, of {few:.0f}% on {NODES} nodes, which leaves less to save.\n\n{on_types()}"
    )


def why5(rows: pd.DataFrame, found: pd.DataFrame) -> str:
    """How DP chooses configurations, and the most that one GPU in place of K saves."""
    energy = rows.pivot(index=["setting", "load", "seed"], columns="run", values="energy")
    difference = (100 * (energy["avg-dp"] / energy["dp"] - 1)).abs().max()
    most = ", ".join(f"{100 * (1 - GPUS ** (x - 1)):.0f}% at x = {x:g}" for x in SPEEDUPS)
    return (
        "In DP, a dynamic programme by (28) says who runs, and each job takes the fastest "
        "configuration available (the sentence after (28)). So configurations do not depend on how "
        f"long a job is thought to last: avgDP's energy is within {difference:.1f}% of DP's in "
        "every run, and the paper's 67% and 32% cannot both come of that rule. With linear prices "
        "(Table III), one GPU in place of K saves at most 1 - K^(x - 1) of a type's energy: with "
        f"{GPUS} GPUs {most}. More has to come from cheaper types.\n\n{on_types()}"
    )


def why6(rows: pd.DataFrame, found: pd.DataFrame) -> str:
    """How many runs have late jobs; sharing saves energy in the others."""
    shared = rows["run"].str.contains(SHARED)
    late = [(rows[which]["late"] > 0).sum() for which in (~shared, shared)]
    return (
        f"Of {shared.sum()} runs, {late[0]} have late jobs without sharing, and {late[1]} with it. "
        "In the others, what sharing saves is energy, of jobs that have time to be slowed "
        "down: STS gives a job a fraction of a GPU only where its memory fits (Table IV) and it "
        "still meets its due date (31)."
    )


def judge(
    figure: int, why: Callable[[pd.DataFrame, pd.DataFrame], str], rows: pd.DataFrame, scale: Scale
) -> Verdict:
    """Count the settings and loads in which each claim holds."""
    found = cells(MEASURES[figure], rows)
    fixed = FIXED + (ON_CLUSTERS if figure == 6 else ON_SPEEDS)
    return judge_claims(MEASURES[figure], found, "load", why=why(rows, found), fixed=fixed)


def draw(figure: int, rows: pd.DataFrame) -> Figure:
    return maps(MEASURES[figure], cells(MEASURES[figure], rows), "load")


ARTEFACTS = tuple(
    Artefact(
        name=f"sts-fig{number}",
        reference=f"sts, Fig. {number}",
        claim=claim,
        runtime=runtime,
        plan=partial(plan, runs),
        rows=rows_of,
        judge=partial(judge, number, why),
        draw=partial(draw, number),
        group_columns=("setting", "load", "run"),
        value_columns=("total", "energy", "tardiness", "late", "jobs"),
    )
    for number, claim, runtime, why, runs in (
        (
            4,
            "STS costs about 40% less than EDF, RG and their average variants, to 80%",
            "8 min on two cores; --quick 15 s",
            why4,
            [
                Runs((*READINGS, *FOUR), SETTINGS),
                Runs(
                    (*READINGS, "edf"),
                    {MIDDLE: SETTINGS[MIDDLE]},
                    ON_MANY,
                    nodes=MANY_NODES,
                    seeds=1,
                ),
            ],
        ),
        (
            5,
            "STS's energy is 67% below DP's and 32% below avgDP's",
            "6 min on two cores; --quick 15 s",
            why5,
            [Runs((*READINGS, *OF_FIG5), SETTINGS)],
        ),
        (
            6,
            "sharing GPUs saves STS about 17%, 29% on A100",
            "7 min on two cores; --quick 15 s",
            why6,
            [
                Runs(
                    tuple(READINGS),
                    SHARING_SETTINGS,
                    suffix,
                    sharing,
                    {"gpu_types": types, **later},
                )
                for suffix, types in CLUSTERS.items()
                for sharing, later in {"off": {}, "on": {"sharing": True}}.items()
            ],
        ),
    )
)
