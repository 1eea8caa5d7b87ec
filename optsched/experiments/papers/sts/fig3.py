"""Fig. 3 of sts: submitted jobs over time under its three inter-arrival distributions.

A cluster of 1,000 nodes gets 10,000 jobs, as in the paper's sample. The text gives what can be
tested: a mean gap of 50,000 s / nodes ("exponential"), and a "high" rate four times the "low" one.
"""

from __future__ import annotations

from statistics import mean
from typing import TYPE_CHECKING, Any

import numpy as np

from optsched.experiments.papers.artefact import Artefact, Finding, Scale, Verdict, seeded
from optsched.experiments.papers.pictures import curves
from optsched.experiments.plans.plan import Family
from optsched.experiments.statistics import span
from optsched.result import Outcome, Termination

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

NODES, JOBS = 1000, 10_000
ARRIVALS = ("exponential", "poisson-low", "poisson-high")
SEEDS, QUICK_SEEDS = 10, 3
STEPS = 100
"""Points of a curve: one after each hundredth of the jobs."""
GAP, TIMES = 50_000 / NODES, 4.0
NEAR = 0.05
PARAGRAPH = "A seed is more than 5% away from the gap or the ratio that the text states."


def plan(scale: Scale) -> list[Family]:
    """The workloads; nothing is scheduled."""
    method = f"{__name__}:submissions"
    return [
        seeded(arrivals, "rolling", {"nodes": NODES, "arrivals": arrivals}, seed, [method])
        for arrivals in ARRIVALS
        for seed in range(QUICK_SEEDS if scale.quick else SEEDS)
    ]


def submissions(instance: Any, options: object, settings: object) -> Outcome:
    """The time by which each hundredth of the jobs is submitted, in seconds."""
    times = np.sort([job.submit_time for job in instance.jobs])
    curve = times[np.arange(1, STEPS + 1) * (JOBS // STEPS) - 1].tolist()
    return Outcome(None, Termination.FEASIBLE, details={"times": curve})


def rows_of(runs: pd.DataFrame, scale: Scale) -> pd.DataFrame:
    """A row a point of a curve."""
    import pandas as pd

    return pd.DataFrame(
        [
            (run["family"], run["seed"], (step + 1) * (JOBS // STEPS), time)
            for run in runs.to_dict("records")
            for step, time in enumerate(run["details"]["times"])
        ],
        columns=["arrivals", "seed", "jobs", "time"],
    )


def judge(rows: pd.DataFrame, scale: Scale) -> Verdict:
    """The mean gap and the ratio of the rates that the text states."""
    gaps = _gaps(rows, "exponential")
    pairs = zip(_gaps(rows, "poisson-low"), _gaps(rows, "poisson-high"), strict=True)
    ratios = [low / high for low, high in pairs]
    near = (abs(g / GAP - 1) <= NEAR for g in gaps), (abs(r / TIMES - 1) <= NEAR for r in ratios)
    holds = [all(each) for each in near]
    return Verdict(
        finding=Finding.of(holds),
        paper=f"a plot; its text: a mean gap of {GAP:.0f} s, and a high rate {TIMES:.0f} x the low",
        ours=f"mean gap {mean(gaps):.1f} s; high over low {mean(ratios):.2f}",
        spread=f"{span(gaps, '.1f')} s; {span(ratios)}",
        setting=f"our generator, {NODES} nodes, {JOBS} jobs, {len(gaps)} seeds",
        paragraph="" if all(holds) else PARAGRAPH,
    )


def draw(rows: pd.DataFrame) -> Figure:
    """Time of submission by number of jobs."""
    hours = rows.assign(hours=rows["time"] / 3600)
    return curves(hours, "jobs", {"hours": "hours until submitted"}, line="arrivals")


def _gaps(rows: pd.DataFrame, arrivals: str) -> list[float]:
    """Mean seconds between submissions, a value a seed."""
    last = rows[(rows["arrivals"] == arrivals) & (rows["jobs"] == JOBS)]
    return [float(time) / JOBS for time in last["time"]]


ARTEFACT = Artefact(
    name="sts-fig3",
    where="sts, Fig. 3",
    claim="jobs arrive 50,000 s / nodes apart, or as Poisson arrivals, high at four times low",
    runtime="2 min; --quick 30 s",
    plan=plan,
    rows=rows_of,
    judge=judge,
    draw=draw,
    by=("arrivals",),
    values=("time",),
)
