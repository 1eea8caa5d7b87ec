"""Figures 6 to 8 of a-srpt: its simulations on 250 servers, by jobs, single-GPU jobs and network.

A forest is fitted to the first 80% of a case's jobs and the rest is scheduled, from an empty
cluster: the paper fits to 80% of its trace and schedules consecutive jobs, 5% to 20% of it, which
we read as taken from the 20% held out. Groups not met get 0, as in the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Any

from optsched.experiments.papers.a_srpt.runs import (
    BASELINES,
    PERFECT,
    best_reduction,
    cases,
    outcomes,
    reduction,
    workload,
)
from optsched.experiments.papers.a_srpt.workloads import (
    LARGE_SEEDS,
    LOAD,
    TRAINED,
    fitting,
    jobs_of,
    seeds,
    servers_of,
    setting,
)
from optsched.experiments.papers.artefact import Artefact, Finding, Scale, Verdict
from optsched.experiments.papers.cells import cells_of, where
from optsched.experiments.papers.pictures import curves
from optsched.experiments.plans.plan import Family
from optsched.experiments.statistics import percent
from optsched.online.policies.by_name import PAPER

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

WORLDS = {"a-srpt": "the forest's predictions", PERFECT: "every length known"}
"""The paper's predictions, 60% exact, lie between these."""
TREND = 0.05
"""A reduction that changes by less from the first case to the last is called no trend."""
TOLERANCE = 0.05
"""How far below the least share claimed a reduction may be and still reach it."""
OPEN = (
    "The paper's forest predicts 60% of its jobs exactly: what that gives lies between these "
    "predictions and every length known. "
    "What the paper leaves open is varied in a-srpt-map ([figure](a-srpt-map.png)): the load, "
    "how many jobs are unseen and how wrong predictions are, the baselines' offers, tau and "
    "the network card. Total completion time also holds the submission times, which no "
    "policy changes: the longer the trace, the smaller every percentage. The paper says both "
    "flow and completion time; whether a-srpt is below a baseline is the same by either."
)


@dataclass(frozen=True)
class Claim:
    """Reductions of total completion time from `low` on, and how they change over the cases."""

    paper: str
    low: float
    rising: bool | None = None


def judge(claim: Claim, rows: pd.DataFrame, scale: Scale) -> Verdict:
    """Whether a-srpt is below every baseline in every run, by at least so much, and the trend.

    It fails if in no case the median run is below every baseline by the least share claimed, by
    flow, and not with every length known either: the paper does not state the origin of its
    completion times, and its predictions, 60% exact, lie between ours and the truth.
    """
    among = cases(rows)
    best = {case: best_reduction(rows, case, "a-srpt", "completion") for case in among}
    every = [value for at_seed in best.values() for value in at_seed]
    first, last = median(best[among[0]]), median(best[among[-1]])
    medians = {column: _medians(rows, column) for column in ("completion", "mean_flow")}
    parts = {"below every baseline in every run": min(every) > 0}
    for words, column in (("total completion time", "completion"), ("flow time", "mean_flow")):
        reached = min(medians[column]) >= claim.low - TOLERANCE
        parts[f"by at least {claim.low:.0%} of the {words}"] = reached
    if claim.rising is not None:
        parts["the trend"] = (last - first if claim.rising else first - last) >= TREND
    finding, worlds = Finding.of(parts.values()), _worlds(rows)
    if finding is Finding.FAILS and worlds["value"].max() >= 100 * claim.low:
        finding = Finding.PARTLY
    ranges = {name: f"{min(each):.0%} to {max(each):.0%}" for name, each in medians.items()}
    ours = (
        f"below every baseline in {sum(value > 0 for value in every)} of {len(every)} runs; "
        f"medians against single baselines {ranges['completion']}, by flow {ranges['mean_flow']}"
    )
    within, unseen = (rows[name].median() for name in ("within_tenth", "unseen"))
    held = (f"{part} {'holds' if holds else 'does not hold'}" for part, holds in parts.items())
    paragraph = (
        f"On {scale.source} jobs, {within:.0%} of jobs predicted within 10%, {unseen:.0%} of "
        f"groups not met before, {ours}. Part by part: {'; '.join(held)}. Against the best "
        f"baseline of each seed the median goes from {first:.0%} ({among[0]}) to {last:.0%} "
        f"({among[-1]}). A-SRPT loses by flow to {_lost(rows)}. Being below every baseline by "
        f"flow, in the median of the seeds, {where(worlds)}. {OPEN}"
    )
    return Verdict(
        finding,
        claim.paper,
        ours,
        f"best baseline of a seed {percent(every)}",
        f"{setting(_paper_size(scale), 'a forest on the 80% before')}, "
        f"{rows['seed'].nunique()} seeds",
        "" if finding is Finding.HOLDS else paragraph,
    )


def _medians(rows: pd.DataFrame, column: str) -> list[float]:
    """Median reductions of a-srpt, by case and baseline."""
    return [
        median(reduction(rows, case, "a-srpt", rival, column))
        for case in cases(rows)
        for rival in BASELINES
    ]


def _worlds(rows: pd.DataFrame) -> pd.DataFrame:
    """Whether the median flow is below every baseline's, by predictions and case."""
    return cells_of(
        ("", words, case, 100 * value, value > 0)
        for label, words in WORLDS.items()
        for case in cases(rows)
        for value in [median(best_reduction(rows, case, label, "mean_flow"))]
    )


def _lost(rows: pd.DataFrame) -> str:
    """Baselines ahead of a-srpt by flow, and in how many runs."""
    ahead = []
    for rival in BASELINES:
        below = [v for c in cases(rows) for v in reduction(rows, c, "a-srpt", rival, "mean_flow")]
        count = sum(value < 0 for value in below)
        ahead += [f"{rival} in {count} of {len(below)} runs"] if count else []
    return ", ".join(ahead) or "none"


def _paper_size(scale: Scale) -> Scale:
    """The paper's sizes; a trace may be shorter."""
    return scale if scale.quick or scale.trace else replace(scale, full=True)


def _twentieth(scale: Scale) -> int:
    """5% of the trace: the paper's 37,500 jobs."""
    if scale.trace is not None and not scale.full:
        return fitting(scale, 8 * servers_of(scale)) // 20
    return 37_500 if scale.full else 500


def _plan(
    cases_of: Callable[[Scale], Mapping[str, Mapping[str, Any]]], method: str, scale: Scale
) -> list[Family]:
    """Every policy, by case."""
    scale = _paper_size(scale)
    own = {"load": LOAD, "servers": servers_of(scale)}
    return [
        workload(case, {**own, **arguments}, seed, scale, method)
        for seed in seeds(scale, LARGE_SEEDS)
        for case, arguments in cases_of(scale).items()
    ]


def cases_6(scale: Scale) -> dict[str, dict[str, Any]]:
    """Numbers of jobs: the paper's, of a trace of another size its shares, 5 to 20%."""
    counts = (TRAINED * part * _twentieth(scale) for part in (1, 2, 3, 4))
    return {f"{n // TRAINED} jobs": {"jobs": jobs_of("a-srpt-fig6", n, scale)} for n in counts}


def cases_7(scale: Scale) -> dict[str, dict[str, Any]]:
    """Shares of single-GPU jobs; a trace's groups are set to one GPU or more to meet each."""
    jobs = jobs_of("a-srpt-fig7", TRAINED * 2 * _twentieth(scale), scale)
    return {
        f"{share:.0%} single-GPU jobs": {"jobs": jobs, "single_gpu_share": share}
        for share in (0.8, 0.6, 0.4, 0.2, 0.0)
    }


def cases_8(scale: Scale) -> dict[str, dict[str, Any]]:
    """Jobs of more GPUs than one, the same for every network card."""
    jobs = jobs_of("a-srpt-fig8", TRAINED * 2 * _twentieth(scale), scale)
    return {"cards": {"jobs": jobs, "single_gpu_share": 0.0}}


def draw(axis: str, rows: pd.DataFrame) -> Figure:
    """Total completion time and mean flow time of the paper's policies, by case."""
    place = rows["case"].str.extract(r"^([0-9.]+)", expand=False).astype(float)
    shown = rows.assign(**{axis: place})[rows["label"].isin(PAPER)]
    labels = {
        "completion": "total completion time, seconds",
        "mean_flow": "mean flow time, seconds",
    }
    return curves(shown, axis, labels, line="label", yscale="log")


def _figure(
    number: int, summary: str, claim: Claim, axis: str, plan: Callable[[Scale], list[Family]]
) -> Artefact:
    return Artefact(
        name=f"a-srpt-fig{number}",
        where=f"a-srpt, Fig. {number}",
        claim=summary,
        runtime=f"{RUNTIMES[number]}; --quick 10 s",
        plan=plan,
        rows=outcomes,
        judge=partial(judge, claim),
        draw=partial(draw, axis),
        by=("case", "label"),
        values=("mean_flow", "completion", "makespan"),
        scales=True,
    )


RUNTIMES = {6: "2 min", 7: "2 min 30 s", 8: "1 min"}
ARTEFACTS = (
    _figure(
        6,
        "37,500-150,000 jobs: total completion time 31-91% below every baseline",
        Claim("31-91% below every baseline, whatever the number", 0.31),
        "number of jobs",
        partial(_plan, cases_6, "paper"),
    ),
    _figure(
        7,
        "80-0% single-GPU jobs: 16-57% below the baselines, more with fewer of them",
        Claim("16-57% below the baselines, the more so the fewer single-GPU jobs", 0.16, True),
        "share of single-GPU jobs (%)",
        partial(_plan, cases_7, "paper"),
    ),
    _figure(
        8,
        "NICs of 50-1 Gbit/s: 12% below the best baseline at 50, up to 92% at 1",
        Claim("12% below the best baseline at 50 Gbit/s, up to 92% at 1 Gbit/s", 0.12, False),
        "network card of a server (Gbit/s)",
        partial(_plan, cases_8, "across_cards"),
    ),
)
