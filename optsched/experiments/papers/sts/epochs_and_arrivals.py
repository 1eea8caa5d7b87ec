"""Figs. 2 and 3 of sts: epochs of four networks, and submissions over time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from optsched.experiments.papers.artefact import Artefact, Scale, seeded
from optsched.experiments.papers.claims import Claim, cells_of, judge, select
from optsched.experiments.papers.pictures import curves
from optsched.experiments.papers.verdict import Verdict
from optsched.experiments.plans.plan import Family
from optsched.generators.selection import MAX_EPOCHS, RUNS, SHAPES, sample_epochs
from optsched.result import Outcome, Termination

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

SEEDS = {2: 20, 3: 10}
"""By figure number."""
BIN = 10
MIDDLE = (1 + MAX_EPOCHS) / 2
SHAPE_TESTS: dict[str, tuple[str, Callable[[pd.Series], bool]]] = {
    "AlexNet": (
        "ends at the maximum",
        lambda epochs: epochs.median() > MIDDLE and (epochs == MAX_EPOCHS).mean() > 0.2,
    ),
    "ResNet": ("ends early", lambda epochs: epochs.median() < MIDDLE),
    "VGG16": ("ends early", lambda epochs: epochs.median() < MIDDLE),
    "MobileNetV2": ("is centred", lambda epochs: abs(epochs.median() - MIDDLE) < MAX_EPOCHS / 10),
}
WHY_2 = (
    "The paper's 885 runs are not published, so its bars cannot be compared. What is counted is "
    "whether our stand-ins, from which instances are generated, have the shapes that the paper "
    "describes in words. They were chosen to have them, so this is no evidence for the figure."
)
FIXED_2 = (
    f"{RUNS} synthetic runs of each network, {SEEDS[2]} draws. At the maximum: the median is in "
    "the upper half, and more than a fifth of the runs end there. Early: the median is in the "
    "lower half. Centred: it is within a tenth of the maximum from the middle."
)


def rows_of_2(runs: pd.DataFrame, scale: Scale) -> pd.DataFrame:
    import pandas as pd

    rows = [
        (shape.network, seed, epochs)
        for shape in SHAPES
        for seed in scale.seeds(SEEDS[2])
        for epochs in sample_epochs(shape, RUNS, np.random.default_rng(seed)).tolist()
    ]
    return pd.DataFrame(rows, columns=["network", "seed", "epochs"])


def judge_2(rows: pd.DataFrame, scale: Scale) -> Verdict:
    """Whether every draw of the synthetic distributions has the described shape (VII-A2)."""
    claims, tests = [], []
    for network, (shape, is_shape) in SHAPE_TESTS.items():
        draws = [epochs for _, epochs in select(rows, network=network).groupby("seed")["epochs"]]
        means, holds = [epochs.mean() for epochs in draws], all(map(is_shape, draws))
        claims.append(Claim(f"{network} {shape}", "a plot", "mean epochs", unit=""))
        tests.append((claims[-1].text, network, "draws", means, holds))
    cells = cells_of(tests)
    return judge(claims, cells, "", why=WHY_2, fixed=FIXED_2, is_testable=False)


def draw_2(rows: pd.DataFrame) -> Figure:
    """Jobs of each network by number of epochs, rounded up to tens."""
    rows = rows.assign(tens=BIN * np.ceil(rows["epochs"] / BIN))
    jobs = rows.groupby(["network", "seed", "tens"], sort=False).size().reset_index(name="jobs")
    return curves(jobs, "tens", {"jobs": "jobs"}, line="network", xlabel="epochs to the end")


FIG2 = Artefact(
    name="sts-fig2",
    reference="sts, Fig. 2",
    claim="jobs end late (AlexNet), early (ResNet, VGG16) or in the middle (MobileNetV2)",
    runtime="3 s; --quick 2 s",
    rows=rows_of_2,
    judge=judge_2,
    draw=draw_2,
    group_columns=("network",),
    value_columns=("epochs",),
)


NODES, JOBS = 1000, 10_000
ARRIVALS = ("exponential", "poisson-low", "poisson-high")
CURVE_POINTS = 100
"""One after each hundredth of the jobs."""
TOLERANCE = 0.05
GAP = Claim("jobs arrive 50,000 s / nodes apart", "50 s on 1,000 nodes", "mean gap", "s", ".1f")
RATIO = Claim("the high rate is four times the low", "4 times", "low gap over high", "", ".2f")
WHY_3 = (
    "The generator draws arrivals by the paper's text, so this tests the generator: every draw "
    f"must be within {TOLERANCE:.0%} of the text's numbers. The Poisson rates themselves depend on "
    "times that the paper does not state, and are not compared."
)
FIXED_3 = f"{NODES:,} nodes and {JOBS:,} jobs as in the figure, {SEEDS[3]} draws."


def plan_3(scale: Scale) -> list[Family]:
    """The workloads; nothing is scheduled."""
    method = f"{__name__}:submissions"
    return [
        seeded(arrivals, "rolling", {"nodes": NODES, "arrivals": arrivals}, seed, [method])
        for arrivals in ARRIVALS
        for seed in scale.seeds(SEEDS[3])
    ]


def submissions(instance: Any, options: object, settings: object) -> Outcome:
    """The time by which each hundredth of the jobs is submitted, in seconds."""
    times = np.sort([job.submit_time for job in instance.jobs])
    curve = times[np.arange(1, CURVE_POINTS + 1) * (JOBS // CURVE_POINTS) - 1].tolist()
    return Outcome(None, Termination.FEASIBLE, details={"times": curve})


def rows_of_3(runs: pd.DataFrame, scale: Scale) -> pd.DataFrame:
    jobs: Any = [list(range(JOBS // CURVE_POINTS, JOBS + 1, JOBS // CURVE_POINTS))] * len(runs)
    times = [details["times"] for details in runs["details"]]
    rows = runs.assign(arrivals=runs["family"], jobs=jobs, time=times)
    rows = rows[["arrivals", "seed", "jobs", "time"]].explode(["jobs", "time"], ignore_index=True)
    return rows.astype({"jobs": int, "time": float})


def judge_3(rows: pd.DataFrame, scale: Scale) -> Verdict:
    """The mean gap and the ratio of the rates that the text states, in every draw."""
    last = select(rows, jobs=JOBS)
    gaps, low, high = (select(last, arrivals=name)["time"].to_numpy() / JOBS for name in ARRIVALS)
    tests = [
        (claim.text, "every draw", str(NODES), list(x), max(abs(x / paper - 1)) <= TOLERANCE)
        for claim, x, paper in ((GAP, gaps, 50_000 / NODES), (RATIO, low / high, 4))
    ]
    return judge([GAP, RATIO], cells_of(tests), "nodes:", why=WHY_3, fixed=FIXED_3)


def draw_3(rows: pd.DataFrame) -> Figure:
    hours = rows.assign(hours=rows["time"] / 3600)
    return curves(hours, "jobs", {"hours": "hours until submitted"}, line="arrivals")


FIG3 = Artefact(
    name="sts-fig3",
    reference="sts, Fig. 3",
    claim="jobs arrive 50,000 s / nodes apart, or as Poisson arrivals, high at four times low",
    runtime="2 min; --quick 30 s",
    plan=plan_3,
    rows=rows_of_3,
    judge=judge_3,
    draw=draw_3,
    group_columns=("arrivals",),
    value_columns=("time",),
)
