"""The optimum of every interval, rolled forward, against STS.

The single-interval optimum is no bound for the rolling problem, since (19) freezes the
configuration while STS plans to speed up. Decisions are cut at 5 s each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from optsched.experiments.papers.artefact import Artefact, Scale
from optsched.experiments.papers.claims import Claim, cells_of, select
from optsched.experiments.papers.claims import judge as judge_claims
from optsched.experiments.papers.pictures import strips
from optsched.experiments.papers.sts.workloads import outcomes, workload
from optsched.experiments.papers.verdict import Verdict
from optsched.experiments.plans.plan import Family

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

POLICIES = ("sts", "patterns", "price", "price-patterns")
LOADS = (("light", 0.2), ("medium", 0.6), ("saturated", 1.0))
NODES, JOBS, QUICK_JOBS = 3, 30, 12
SEEDS, QUICK_SEEDS = range(2000, 2010), range(2000, 2003)
CLAIM = Claim(
    "each interval's optimum, rolled forward, costs more than STS in most runs",
    "our claim, not the paper's",
    "total cost over STS's",
    unit="",
    form=".2f",
)
WHY = (
    "An optimal decision for (P1) assumes that a job keeps its current configuration to the "
    "end (19), so it starts jobs faster than necessary while GPUs are idle; STS plans to "
    "speed up later. While GPUs are short, the two postpone different jobs, and either may "
    "be cheaper: (P1) considers the jobs present, not later arrivals."
)


def plan(scale: Scale) -> list[Family]:
    """Policies by load and seed, each with its bound."""
    jobs = QUICK_JOBS if scale.quick else JOBS
    return [
        family
        for name, load in LOADS
        for seed in (QUICK_SEEDS if scale.quick else SEEDS)
        for family in workload(
            name,
            {"nodes": NODES, "jobs": jobs, "arrivals": "load", "load": load},
            seed,
            POLICIES,
            bound=50,
        )
    ]


def judge(rows: pd.DataFrame, scale: Scale) -> Verdict:
    """Whether the optimum of each interval is dearer than STS in more than half of the runs."""
    cells = cells_of(
        (CLAIM.text, "patterns", name, values, 2 * sum(x > 1 for x in values) > len(values))
        for name, by_policy in _by_load(rows).items()
        for values in [by_policy["patterns"]]
    )
    fixed = (
        f"{NODES} nodes x 4 GPUs, {rows['jobs'].max()} jobs, {rows['seed'].nunique()} seeds; "
        "requested loads 0.2, 0.6 and 1.0; each decision of `patterns` ends after 5 s."
    )
    return judge_claims([CLAIM], cells, "load:", why=WHY, fixed=fixed)


def draw(rows: pd.DataFrame) -> Figure:
    """Total costs over STS's, a panel a load."""
    return strips(_by_load(rows), "total cost over STS's")


def _by_load(rows: pd.DataFrame) -> dict[str, dict[str, list[float]]]:
    """Ratios to STS's total cost by load and policy."""
    return {name: {p: ratios(rows, name, p) for p in POLICIES[1:]} for name, _ in LOADS}


def ratios(rows: pd.DataFrame, case: str, policy: str) -> list[float]:
    """A policy's total cost over STS's on the same workload, seed by seed."""
    own, base = (select(rows, case=case, policy=p)["total"].to_numpy() for p in (policy, "sts"))
    return [float(ratio) for ratio in own / base]


ARTEFACT = Artefact(
    name="optimum-over-time",
    reference="Each interval's optimum over time",
    claim="every interval's optimum, rolled forward, against STS and price",
    runtime="70 s on two cores; --quick 20 s",
    plan=plan,
    rows=outcomes,
    judge=judge,
    draw=draw,
    group_columns=("case", "policy"),
    value_columns=("offered_load", "total", "energy", "tardiness", "late", "bound"),
)
