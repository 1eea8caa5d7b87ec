"""Figs. 2 and 3 of sts: epochs of four networks, and submissions over time.

Fig. 2: the paper's 885 runs are not published, so its bars cannot be compared; its text describes
them: AlexNet heavy at the maximum, ResNet and VGG16 early, MobileNetV2 centred. The
synthetic distributions that instances are generated from are tested against that description.

Fig. 3: a cluster of 1,000 nodes gets 10,000 jobs, as in the paper's sample. The text gives what can
be tested: a mean gap of 50,000 s / nodes ("exponential"), and a "high" rate four times the "low".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from optsched.experiments.papers.artefact import Artefact, Finding, Scale, Verdict, seeded
from optsched.experiments.papers.pictures import curves, panels
from optsched.experiments.plans.plan import Family
from optsched.experiments.statistics import span
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
WHY_2 = (
    "What can be tested is the paper's description in words, and every seed of our stand-ins "
    "agrees with it. That says that instances are drawn from distributions of the described "
    "shapes; it is no evidence for the figure, whose 885 runs are not published, so that neither "
    "its bars nor its means can be compared."
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
    """Whether the synthetic distributions have the described shapes."""
    holds = [is_as_described(network, epochs) for (network, _), epochs in samples(rows)]
    means = samples(rows).mean().groupby("network", sort=False)
    return Verdict(
        finding=Finding.PARTLY if all(holds) else Finding.FAILS,
        paper="AlexNet heavy at 100 epochs, ResNet and VGG16 early, MobileNetV2 centred",
        ours="mean epochs " + ", ".join(f"{n} {value:.0f}" for n, value in means.mean().items()),
        spread=", ".join(span(list(values), ".0f") for _, values in means),
        setting=f"stand-ins of the described shapes, {rows['seed'].nunique()} seeds",
        paragraph=WHY_2,
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
WHY_3 = "A seed is more than 5% away from the gap or the ratio that the text states."


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
    """The mean gap and the ratio of the rates that the text states."""
    last = rows[rows["jobs"] == JOBS]
    gaps, low, high = (last["time"][last["arrivals"] == name] / JOBS for name in ARRIVALS)
    ratios = low.to_numpy() / high.to_numpy()
    differences = (gaps / MEAN_GAP - 1, ratios / RATE_RATIO - 1)
    holds = [bool((abs(difference) <= TOLERANCE).all()) for difference in differences]
    return Verdict(
        finding=Finding.of(holds),
        paper=f"a plot; its text: a mean gap of {MEAN_GAP:.0f} s, and a high rate "
        f"{RATE_RATIO:.0f} x the low",
        ours=f"mean gap {gaps.mean():.1f} s; high over low {ratios.mean():.2f}",
        spread=f"{span(list(gaps), '.1f')} s; {span(list(ratios))}",
        setting=f"our generator, {NODES} nodes, {JOBS} jobs, {len(gaps)} seeds",
        paragraph="" if all(holds) else WHY_3,
    )


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
