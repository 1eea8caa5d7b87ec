"""Figs. 4, 5 and 6 of sts: total and energy cost over time, with and without shared GPUs.

The paper's epochs, speeds and seeds are not published, so its digits cannot be reproduced. The
clusters are those of `workloads`: nodes of 8 GPUs, at most 400 jobs in the system at 100 nodes.
What else the paper leaves open is varied on the map of `claims`, and a claim holds where the map
says so. Costs are averaged over seeds before ratios (29) and percentage cost reductions (PCR, 30)
are taken, as in the paper. RG and avgRG are run several times on each workload and averaged, on the
largest clusters and on the map once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from statistics import mean
from typing import TYPE_CHECKING, Any

from optsched.experiments.papers.artefact import Artefact, Finding, Scale, Verdict
from optsched.experiments.papers.cells import cases, counts, select
from optsched.experiments.papers.pictures import curves
from optsched.experiments.papers.sts import claims
from optsched.experiments.papers.sts.workloads import (
    ARRIVALS,
    GPUS,
    MAX_JOBS_A_NODE,
    SPEEDUP,
    outcomes,
    workload,
)
from optsched.experiments.plans.plan import Family
from optsched.experiments.statistics import span

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

SIZES = {10: 5, 20: 2, 100: 1}
"""Seeds by number of nodes; the paper has three."""
SHARING_SIZES = {10: 5, 20: 3}
"""Seeds by number of nodes for Fig. 6, which has four times the clusters."""
REPEATS = {10: 3, 20: 2, 100: 1}
"""Runs of RG on a workload by number of nodes."""
QUICK_SIZES, QUICK_REPEATS = {4: 2}, {4: 2}
STS = tuple(claims.VARIANTS)
POLICIES = {4: (*STS, *claims.BASELINES), 5: (*STS, "edf", "dp", "avg-dp"), 6: STS}
"""By figure."""
MEASURED = ("sts", "edf", "rg")
"""The policies of VII-C."""
SHARING_FIGURE = 6
Quantities = Mapping[str, Callable[[claims.Means, str], float]]
"""PCR (30) of a variant of STS, by what it is compared with."""


def plan(figure: int, scale: Scale) -> list[Family]:
    """Policies by size and arrivals, the largest clusters first, then on the map's cells."""
    policies, sharing = POLICIES[figure], figure == SHARING_FIGURE
    sizes, repeats = (SHARING_SIZES if sharing else SIZES), REPEATS
    if scale.quick:
        sizes, repeats = QUICK_SIZES, QUICK_REPEATS
    families = [
        family
        for nodes, seeds in reversed(sizes.items())
        for name, changes, shared in claims.clusters_of(sharing=sharing)
        for arrivals, rate in ARRIVALS.items()
        for seed in range(seeds)
        for family in workload(
            f"{name}, {arrivals}" if name else arrivals,
            {"nodes": nodes, "gpus_per_node": GPUS, "speedup": SPEEDUP, **rate, **changes},
            seed,
            policies,
            sharing=shared,
            repeats=repeats[nodes],
        )
    ]
    return [*families, *claims.plan_map(policies, scale, sharing=sharing)]


def draw(column: str, compared: str, base: str, label: str, rows: pd.DataFrame) -> Figure:
    """Plot the ratio of a column to its value in the base case, by number of nodes."""
    rows = rows[~claims.on_map(rows)]
    keys = [k for k in ("case", "nodes", "seed", "sharing", "policy") if k != compared]
    bases = select(rows, **{compared: base})[[*keys, column]].rename(columns={column: "base"})
    shown = rows[rows[compared] != base].merge(bases, on=keys, how="left")
    shown = shown.assign(ratio=shown[column] / shown["base"])
    return curves(shown, "nodes", {"ratio": label}, line="policy", panel="case", xscale="log")


def reductions(quantities: Quantities, rows: pd.DataFrame) -> dict[str, dict[str, list[float]]]:
    """One value per cluster size, by variant of STS and what it is compared on."""
    means = claims.means_of(rows)
    return {
        variant: {
            f"{case}, {compared}" if compared else case: [
                value(group, variant) for (name, _), group in means.items() if name == case
            ]
            for case in cases(rows)
            for compared, value in quantities.items()
        }
        for variant in claims.VARIANTS
    }


def why_fig4(rows: pd.DataFrame) -> str:
    """Where jobs are late, and how often the average variants use less energy."""
    ours = rows[~claims.on_map(rows)]
    late = "; ".join(
        f"{case} "
        + ", ".join(
            f"{100 * group['late'].sum() / group['jobs'].sum():.1f}%"
            for group in (select(ours, case=case, policy=p) for p in claims.VARIANTS)
        )
        for case in cases(ours)
    )
    energy = {p: select(rows, policy=p)["energy"].to_numpy() for p in ("sts", *claims.AVERAGED)}
    sts = energy.pop("sts")
    lower = " and ".join(
        f"{(other < sts).sum()} of {len(sts)} runs ({p})" for p, other in energy.items()
    )
    return (
        f"On the figure's own clusters, late jobs of STS and with VI-C: {late}. "
        "While GPUs are "
        "idle, STS starts slow and speeds up only if a job lives on, and saves: the more, the "
        "worse jobs speed up. As the cluster fills, the time that was to be made up for later "
        "is lost: due dates pass, and by (27) and Algorithm 3 the jobs that are late the most "
        "come first, each on its fastest configuration, k GPUs for k^x times the speed, so "
        "that the cluster does less work an hour while others become late. RG chooses by the "
        "same rule but keeps the best of its passes by expected cost, and EDF leaves running "
        "jobs alone; against EDF, which starts nothing faster once it runs, the saving is "
        "tardiness. The avg- methods' energy is below STS's, as the paper says, in "
        f"{lower}; they pay for it with late jobs."
    )


def why_fig5(rows: pd.DataFrame) -> str:
    """How DP chooses configurations; one GPU in place of K saves at most 1 - K^(x - 1)."""
    return (
        "DP is the paper's: a dynamic programme by (28), exact over the pooled GPUs of each "
        "type, says who runs, and in order of arrival each takes the fastest configuration "
        "available (the sentence after (28)). So configurations do not depend on how long a "
        "job is thought to last, and avgDP hardly differs from DP: the paper's 67% and 32% "
        "cannot both come of that rule. With linear prices STS can save at most 1 - K^(x - 1) "
        "of a type's energy by one GPU in place of K: 24% at K = 4 and x = 0.8, "
        "34% at 8 and 0.8, 65% at 8 and 0.5."
    )


def why_fig6(rows: pd.DataFrame) -> str:
    """How many runs have late jobs; sharing saves energy in the others."""
    late = {sharing: group["late"] > 0 for sharing, group in rows.groupby("sharing")}
    return (
        f"Of these runs and the map's {late['off'].sum()} of {len(late['off'])} have late jobs "
        f"without sharing, and {late['on'].sum()} with it. "
        "In all others what it saves is energy, of jobs that have time to be slowed down: STS "
        "gives a fraction only where the job still meets its due date (31)."
    )


def judge(
    figure: int,
    paper: str,
    quantities: Quantities,
    why: Callable[[pd.DataFrame], str],
    rows: pd.DataFrame,
    scale: Scale,
) -> Verdict:
    """A figure's verdict: its claims on the map, the numbers of its own clusters."""
    cells, ours = claims.inside(claims.judge_cells(rows, [figure])), rows[~claims.on_map(rows)]
    by_variant = reductions(quantities, ours)
    numbers = (
        f"{claims.VARIANTS[variant]}: "
        + ", ".join(f"{words} {mean(x):.0f}%" for words, x in pcr.items())
        for variant, pcr in by_variant.items()
    )
    values = [x for pcr in by_variant.values() for by_size in pcr.values() for x in by_size]
    seeds_at: dict[Any, int] = ours.groupby("nodes")["seed"].nunique().to_dict()
    loads = select(ours, policy="sts").groupby("case", sort=False)[["rho", "utilisation"]].mean()
    load_texts = (f"{case} {rho:.2f} ({used:.2f})" for case, rho, used in loads.itertuples())
    largest = select(ours, nodes=max(seeds_at))
    most_jobs = largest[largest["policy"].isin(MEASURED)]["most_jobs"].max()
    seeds = claims.SHARING_SEEDS if figure == SHARING_FIGURE else claims.SEEDS
    map_setting = f"{claims.NODES} nodes, seeds a cell: {seeds}"
    return Verdict(
        finding=Finding.of(cells["holds"]),
        paper=paper,
        ours=f"on the map {counts(cells, 'cells')}. PCR of {'. '.join(numbers)}",
        spread=f"{span(values, '.0f', ' to ')}%, a value a size",
        setting=(
            f"our generator; {'-'.join(map(str, seeds_at))} nodes x {GPUS} GPUs, k^{SPEEDUP:g}, "
            f"seeds: {', '.join(f'{count} at {n}' for n, count in seeds_at.items())}; "
            f"rho (plan): {', '.join(load_texts)}; at most {most_jobs:.0f} jobs in the system at "
            f"{max(seeds_at)} nodes (the paper's: {MAX_JOBS_A_NODE:g} a node); "
            f"map: {map_setting}"
        ),
        paragraph=(
            f"On the map ({map_setting}; worlds in which STS has more than "
            f"{MAX_JOBS_A_NODE:g} jobs a node in the system are not the paper's and are left out; "
            "[drawn](sts-map.png)):\n\n"
            + "\n".join(f"- {line}" for line in claims.describe(cells))
            + f"\n\n{why(rows)}"
        ),
    )


def _figure(
    number: int,
    claim: str,
    runtime: str,
    paper: str,
    quantities: Quantities,
    why: Callable[[pd.DataFrame], str],
    draw: Callable[[pd.DataFrame], Figure],
) -> Artefact:
    return Artefact(
        name=f"sts-fig{number}",
        reference=f"sts, Fig. {number}",
        claim=claim,
        runtime=runtime,
        plan=partial(plan, number),
        rows=outcomes,
        judge=partial(judge, number, paper, quantities, why),
        draw=draw,
        group_columns=("case", "nodes", "policy", "sharing"),
        value_columns=("rho", "total", "energy", "tardiness", "late", "jobs"),
    )


ARTEFACTS = (
    _figure(
        4,
        "STS costs about 40% less than EDF, RG and their average variants, to 80%",
        "5 min on two cores; --quick 15 s",
        "PCR about 40% on average, to 80%; no due date missed",
        {name: claims.reduction("total", name) for name in claims.BASELINES},
        why_fig4,
        partial(draw, "total", "policy", "edf", "total cost over EDF's"),
    ),
    _figure(
        5,
        "STS's energy is 67% below DP's and 32% below avgDP's",
        "4 min on two cores; --quick 10 s",
        "PCR of the energy 67% over DP, 32% over avgDP",
        {name: claims.reduction("energy", name) for name in ("dp", "avg-dp")},
        why_fig5,
        partial(draw, "energy", "policy", "edf", "energy cost over EDF's"),
    ),
    _figure(
        6,
        "sharing GPUs saves STS about 17%, 29% on A100",
        "3 min on two cores; --quick 10 s",
        "PCR about 17% (K80 and M60), PCR about 29% (A100)",
        {"": claims.saved_by_sharing},
        why_fig6,
        partial(draw, "total", "sharing", "off", "total cost with shared GPUs over without"),
    ),
)
