"""Figs. 2 and 3 of sts: epochs of four networks, and submissions over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from optsched.experiments.papers.artefact import Artefact, Scale, seeded
from optsched.experiments.papers.claims import Claim, cells_of, judge, select
from optsched.experiments.papers.pictures import curves, panels
from optsched.experiments.papers.verdict import Verdict
from optsched.experiments.plans.plan import Family
from optsched.generators.selection import MAX_EPOCHS, RUNS, SHAPES, sample_epochs
from optsched.plotting.axes import COLOURS
from optsched.result import Outcome, Termination

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from pandas.api.typing import SeriesGroupBy

SEEDS = {2: 20, 3: 10}
"""By figure number."""
BIN = 10
DESCRIPTIONS = {
    "AlexNet": "end at the maximum",
    "ResNet": "end early",
    "VGG16": "end early",
    "MobileNetV2": "are centred",
}
CLAIMS_2 = [
    Claim(f"{network} jobs {description}", "a plot", "mean epochs", unit="")
    for network, description in DESCRIPTIONS.items()
]
WHY_2 = (
    "The paper's 885 runs are not published, so neither its bars nor its means can be compared. "
    "What is counted here is whether our stand-ins, from which instances are generated, have the "
    "shapes that the paper describes in words. They were chosen to have them, so this is no "
    "evidence for the figure."
)
FIXED_2 = (
    f"{RUNS} synthetic runs of each network, {SEEDS[2]} draws. Heavy at the maximum: the median is "
    "in the upper half, and more than a fifth of the runs end there. Early: the median is in the "
    "lower half. Centred: the median is within a tenth of the maximum from the middle."
)


def rows_of_2(runs: pd.DataFrame, scale: Scale) -> pd.DataFrame:
    """Jobs by network, seed and number of epochs; nothing is run."""
    import pandas as pd

    epochs = {
        (shape.network, seed): sample_epochs(shape, RUNS, np.random.default_rng(seed))
        for shape in SHAPES
        for seed in scale.seeds(SEEDS[2])
    }
    rows = [
        (*key, length, count)
        for key, sample in epochs.items()
        for length, count in zip(*map(list, np.unique(sample, return_counts=True)), strict=True)
    ]
    return pd.DataFrame(rows, columns=["network", "seed", "epochs", "jobs"])


def samples(rows: pd.DataFrame) -> SeriesGroupBy:
    """Epochs of every job, by network and seed."""
    jobs = rows.loc[rows.index.repeat(rows["jobs"])]
    return jobs.groupby(["network", "seed"], sort=False)["epochs"]


def is_as_described(network: str, epochs: pd.Series) -> bool:
    """Test the description in VII-A2: heavy at the maximum, centred, or early."""
    middle = (1 + MAX_EPOCHS) / 2
    if network == "AlexNet":
        return bool(epochs.median() > middle and (epochs == MAX_EPOCHS).mean() > 0.2)
    if network == "MobileNetV2":
        return bool(abs(epochs.median() - middle) < MAX_EPOCHS / 10)
    return bool(epochs.median() < middle)


def judge_2(rows: pd.DataFrame, scale: Scale) -> Verdict:
    """Whether every draw of the synthetic distributions has the described shape."""
    tests = []
    for claim, network in zip(CLAIMS_2, DESCRIPTIONS, strict=True):
        draws = [epochs for (name, _), epochs in samples(rows) if name == network]
        holds = all(is_as_described(network, epochs) for epochs in draws)
        tests.append((claim.text, network, "", [epochs.mean() for epochs in draws], holds))
    return judge(
        CLAIMS_2, cells_of(tests), "stand-ins", why=WHY_2, fixed=FIXED_2, is_testable=False
    )


def draw_2(rows: pd.DataFrame) -> Figure:
    """One panel per network: jobs by number of epochs, the mean over seeds and its range."""
    figure, axes = panels(3.0 * len(SHAPES), 2.8, len(SHAPES), sharey=True)
    edges = np.arange(0, MAX_EPOCHS + 1, BIN)
    for ax, shape, colour in zip(axes, SHAPES, COLOURS, strict=False):
        counts = np.array(
            [
                np.histogram(epochs, edges + 0.5)[0]
                for (network, _), epochs in samples(rows)
                if network == shape.network
            ]
        )
        mean = counts.mean(axis=0)
        error_bars = [mean - counts.min(axis=0), counts.max(axis=0) - mean]
        ax.bar(edges[:-1] + BIN / 2, mean, width=0.9 * BIN, color=colour, yerr=error_bars)
        ax.set(title=shape.network, xlabel="epochs to the end")
    axes[0].set_ylabel("jobs")
    return figure


FIG2 = Artefact(
    name="sts-fig2",
    reference="sts, Fig. 2",
    claim="jobs end late (AlexNet), early (ResNet, VGG16) or in the middle (MobileNetV2)",
    runtime="3 s; --quick 2 s",
    rows=rows_of_2,
    judge=judge_2,
    draw=draw_2,
    group_columns=("network",),
    value_columns=("epochs", "jobs"),
)


NODES, JOBS = 1000, 10_000
ARRIVALS = ("exponential", "poisson-low", "poisson-high")
CURVE_POINTS = 100
"""One after each hundredth of the jobs."""
MEAN_GAP, RATE_RATIO = 50_000 / NODES, 4.0
"""The paper's."""
TOLERANCE = 0.05
CLAIMS_3 = [
    Claim("jobs arrive 50,000 s / nodes apart", "50 s on 1,000 nodes", "mean gap", "s", ".1f"),
    Claim("the high rate is four times the low", "4 times", "low gap over high", "", ".2f"),
]
WHY_3 = (
    "The generator draws arrivals by the paper's text, so this tests the generator. Both hold if "
    f"every draw is within {TOLERANCE:.0%} of the text's number. The figure's absolute Poisson "
    "rates depend on times that the paper does not state, and are not compared."
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
    """One row per point of a curve."""
    times = runs["details"].map(lambda details: details["times"])
    rows = runs.assign(arrivals=runs["family"], time=times)[["arrivals", "seed", "time"]]
    rows = rows.explode("time", ignore_index=True).astype({"time": float})
    points = range(JOBS // CURVE_POINTS, JOBS + 1, JOBS // CURVE_POINTS)
    rows.insert(2, "jobs", [*points] * len(runs))
    return rows


def judge_3(rows: pd.DataFrame, scale: Scale) -> Verdict:
    """The mean gap and the ratio of the rates that the text states, in every draw."""
    last = select(rows, jobs=JOBS)
    gaps, low, high = (select(last, arrivals=name)["time"].to_numpy() / JOBS for name in ARRIVALS)
    tests = [
        (claim.text, "every draw", str(NODES), values, (abs(values / paper - 1) <= TOLERANCE).all())
        for claim, values, paper in zip(
            CLAIMS_3, (gaps, low / high), (MEAN_GAP, RATE_RATIO), strict=True
        )
    ]
    return judge(CLAIMS_3, cells_of(tests), "nodes:", why=WHY_3, fixed=FIXED_3)


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
