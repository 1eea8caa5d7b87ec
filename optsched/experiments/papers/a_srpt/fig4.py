"""Figure 4 of a-srpt: how wrong predictors are that are fitted to 80% of the jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optsched.experiments.papers.a_srpt.runs import FOREST, workload
from optsched.experiments.papers.a_srpt.workloads import jobs_of, require_groups, servers_of
from optsched.experiments.papers.artefact import Artefact, Scale
from optsched.experiments.papers.claims import Claim, cells_of, select
from optsched.experiments.papers.claims import judge as judge_claims
from optsched.experiments.papers.pictures import curves
from optsched.experiments.papers.verdict import Verdict
from optsched.experiments.plans.plan import Family

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

SEEDS = 10
PAPER_JOBS, JOBS, QUICK_JOBS = 758_223, 10_000, 4_000
PREDICTORS = ("forest", "group-mean", "group-median", "log-forest", "constant")
NEEDS_TRACE = (
    "This claim rests on how often (user, group) pairs recur in the PAI trace and on how alike "
    "their jobs are. That trace is not at hand, and synthetic groups recur as their generator's "
    "settings say. So nothing measured on them says whether the claim holds; `--trace FILE` tests "
    "it. The numbers here are of synthetic jobs."
)
CLAIM = Claim("the forest predicts about 60% of the jobs correctly", "60%", "jobs")
READINGS = {"exact": "equal to the true number", "within_tenth": "within 10% of it"}
TOLERANCE = 10
"""Tolerance in percentage points."""
RATIO = "predicted / true iterations"


def plan(scale: Scale) -> list[Family]:
    """Each predictor on the same jobs."""
    require_groups("a-srpt-fig4", scale)
    count = PAPER_JOBS if scale.full else QUICK_JOBS if scale.quick else JOBS
    arguments = {"jobs": jobs_of("a-srpt-fig4", count, scale), "servers": servers_of(scale)}
    return [
        workload(name, arguments, seed, scale, "accuracy", predictor=name)
        for seed in scale.seeds(SEEDS)
        for name in PREDICTORS
    ]


def rows_of(runs: pd.DataFrame, scale: Scale) -> pd.DataFrame:
    """One row per seed, prediction and share of the jobs: the quantile of predicted over true."""
    import pandas as pd

    records = runs.to_dict("records")
    return pd.DataFrame(
        [(run["seed"], *row) for run in records for row in run["details"]["rows"]],
        columns=["seed", "prediction", *READINGS, "share", RATIO],
    )


def cells(rows: pd.DataFrame) -> pd.DataFrame:
    """The forest's share of correct predictions, by what counts as correct."""
    forest = select(rows, prediction=FOREST).drop_duplicates("seed")
    return cells_of(
        (CLAIM.text, words, "", list(shares), abs(shares.median() - 60) <= TOLERANCE)
        for column, words in READINGS.items()
        for shares in [100 * forest[column]]
    )


def judge(rows: pd.DataFrame, scale: Scale) -> Verdict:
    return judge_claims(
        [CLAIM],
        cells(rows),
        "the forest",
        why="" if scale.trace else NEEDS_TRACE,
        fixed=f"{rows['seed'].nunique()} seeds; {scale.source} jobs, of which the last fifth is "
        "predicted. Groups not met before get 0, as in the paper.",
        is_testable=scale.trace is not None,
    )


def draw(rows: pd.DataFrame) -> Figure:
    """The upper quantiles of predicted over true iterations."""
    label = f"{RATIO}, quantile"
    return curves(rows, "share", {RATIO: label}, line="prediction", xlabel="share of the jobs")


ARTEFACT = Artefact(
    name="a-srpt-fig4",
    reference="a-srpt, Fig. 4",
    claim="about 60% of jobs are predicted exactly by the forest on (user, group)",
    runtime="30 s; --quick 5 s",
    plan=plan,
    rows=rows_of,
    judge=judge,
    draw=draw,
    group_columns=("prediction", "share"),
    value_columns=(*READINGS, RATIO),
    is_scalable=True,
)
