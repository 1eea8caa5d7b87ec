"""Figs. 2 and 3 of sts: epochs of four networks, and submissions over time.

Fig. 2: the paper's 885 runs are not published, so its bars cannot be compared; its text describes
them: AlexNet heavy at the maximum, ResNet and VGG16 early, MobileNetV2 centred. The seeded
stand-ins that instances are generated from are tested against that description.

Fig. 3: a cluster of 1,000 nodes gets 10,000 jobs, as in the paper's sample. The text gives what can
be tested: a mean gap of 50,000 s / nodes ("exponential"), and a "high" rate four times the "low".
"""

from __future__ import annotations

from statistics import mean
from typing import TYPE_CHECKING, Any

import numpy as np

from optsched.experiments.papers.artefact import Artefact, Finding, Scale, Verdict, seeded
from optsched.experiments.papers.pictures import curves, panels
from optsched.experiments.plans.plan import Family
from optsched.experiments.statistics import span
from optsched.generators.epochs import MOST_EPOCHS, RUNS, SHAPES, sample_epochs
from optsched.plotting.axes import COLOURS
from optsched.result import Outcome, Termination

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

SEEDS, QUICK_SEEDS = {2: 20, 3: 10}, 3
"""By figure."""
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

    rows: list[tuple[Any, ...]] = []
    for shape in SHAPES:
        for seed in range(QUICK_SEEDS if scale.quick else SEEDS[2]):
            epochs = sample_epochs(shape, RUNS, np.random.default_rng(seed))
            lengths, counts = np.unique(epochs, return_counts=True)
            pairs = zip(lengths.tolist(), counts.tolist(), strict=True)
            rows += [(shape.network, seed, length, count) for length, count in pairs]
    return pd.DataFrame(rows, columns=["network", "seed", "epochs", "jobs"])


def judge_2(rows: pd.DataFrame, scale: Scale) -> Verdict:
    """Whether the stand-ins have the described shapes."""
    samples = {shape.network: _samples(rows, shape.network) for shape in SHAPES}
    held = [_as_described(name, epochs) for name, each in samples.items() for epochs in each]
    means = {name: [float(epochs.mean()) for epochs in each] for name, each in samples.items()}
    return Verdict(
        finding=Finding.PARTLY if all(held) else Finding.FAILS,
        paper="AlexNet heavy at 100 epochs, ResNet and VGG16 early, MobileNetV2 centred",
        ours="mean epochs " + ", ".join(f"{n} {np.mean(m):.0f}" for n, m in means.items()),
        spread=", ".join(span(m, ".0f") for m in means.values()),
        setting=f"stand-ins of the described shapes, {rows['seed'].nunique()} seeds",
        paragraph=WHY_2,
    )


def draw_2(rows: pd.DataFrame) -> Figure:
    """A panel a network: jobs by number of epochs, the mean over seeds and its range."""
    figure, axes = panels(3.0 * len(SHAPES), 2.8, len(SHAPES), sharey=True)
    edges = np.arange(0, MOST_EPOCHS + 1, BIN)
    for ax, shape, colour in zip(axes, SHAPES, COLOURS, strict=False):
        samples = _samples(rows, shape.network)
        counts = np.array([np.histogram(epochs, edges + 0.5)[0] for epochs in samples])
        mean = counts.mean(axis=0)
        reach = [mean - counts.min(axis=0), counts.max(axis=0) - mean]
        ax.bar(edges[:-1] + BIN / 2, mean, width=0.9 * BIN, color=colour, yerr=reach)
        ax.set(title=shape.network, xlabel="epochs to the end")
    axes[0].set_ylabel("jobs")
    return figure


def _samples(rows: pd.DataFrame, network: str) -> list[np.ndarray]:
    """Epochs of every run of a network, an array a seed."""
    own = rows[rows["network"] == network]
    return [np.repeat(each["epochs"].to_numpy(), each["jobs"]) for _, each in own.groupby("seed")]


def _as_described(network: str, epochs: np.ndarray) -> bool:
    """The words of VII-A2, as inequalities."""
    middle = (1 + MOST_EPOCHS) / 2
    if network == "AlexNet":
        return bool(np.median(epochs) > middle and np.mean(epochs == MOST_EPOCHS) > 0.2)
    if network == "MobileNetV2":
        return bool(abs(np.median(epochs) - middle) < MOST_EPOCHS / 10)
    return bool(np.median(epochs) < middle)


FIG2 = Artefact(
    name="sts-fig2",
    where="sts, Fig. 2",
    claim="jobs end late (AlexNet), early (ResNet, VGG16) or in the middle (MobileNetV2)",
    runtime="3 s; --quick 2 s",
    rows=rows_of_2,
    judge=judge_2,
    draw=draw_2,
    by=("network",),
    values=("epochs", "jobs"),
)


NODES, JOBS = 1000, 10_000
ARRIVALS = ("exponential", "poisson-low", "poisson-high")
STEPS = 100
"""Points of a curve: one after each hundredth of the jobs."""
GAP, TIMES = 50_000 / NODES, 4.0
NEAR = 0.05
WHY_3 = "A seed is more than 5% away from the gap or the ratio that the text states."


def plan_3(scale: Scale) -> list[Family]:
    """The workloads; nothing is scheduled."""
    method = f"{__name__}:submissions"
    return [
        seeded(arrivals, "rolling", {"nodes": NODES, "arrivals": arrivals}, seed, [method])
        for arrivals in ARRIVALS
        for seed in range(QUICK_SEEDS if scale.quick else SEEDS[3])
    ]


def submissions(instance: Any, options: object, settings: object) -> Outcome:
    """The time by which each hundredth of the jobs is submitted, in seconds."""
    times = np.sort([job.submit_time for job in instance.jobs])
    curve = times[np.arange(1, STEPS + 1) * (JOBS // STEPS) - 1].tolist()
    return Outcome(None, Termination.FEASIBLE, details={"times": curve})


def rows_of_3(runs: pd.DataFrame, scale: Scale) -> pd.DataFrame:
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


def judge_3(rows: pd.DataFrame, scale: Scale) -> Verdict:
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
        paragraph="" if all(holds) else WHY_3,
    )


def draw_3(rows: pd.DataFrame) -> Figure:
    """Time of submission by number of jobs."""
    hours = rows.assign(hours=rows["time"] / 3600)
    return curves(hours, "jobs", {"hours": "hours until submitted"}, line="arrivals")


def _gaps(rows: pd.DataFrame, arrivals: str) -> list[float]:
    """Mean seconds between submissions, a value a seed."""
    last = rows[(rows["arrivals"] == arrivals) & (rows["jobs"] == JOBS)]
    return [float(time) / JOBS for time in last["time"]]


FIG3 = Artefact(
    name="sts-fig3",
    where="sts, Fig. 3",
    claim="jobs arrive 50,000 s / nodes apart, or as Poisson arrivals, high at four times low",
    runtime="2 min; --quick 30 s",
    plan=plan_3,
    rows=rows_of_3,
    judge=judge_3,
    draw=draw_3,
    by=("arrivals",),
    values=("time",),
)
