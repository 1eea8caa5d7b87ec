"""Fig. 2 of sts: how many jobs end at which epoch, for four networks.

The paper's 885 runs are not published, so its bars cannot be compared; its text describes them:
AlexNet heavy at the maximum, ResNet and VGG16 early, MobileNetV2 centred. The seeded stand-ins that
instances are generated from are tested against that description.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from optsched.experiments.papers.artefact import Artefact, Finding, Scale, Verdict
from optsched.experiments.papers.pictures import panels
from optsched.experiments.statistics import span
from optsched.generators.epochs import MOST_EPOCHS, RUNS, SHAPES, sample_epochs
from optsched.plotting.axes import COLOURS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

SEEDS, QUICK_SEEDS = 20, 3
BIN = 10
PARAGRAPH = (
    "What can be tested is the paper's description in words, and every seed of our stand-ins "
    "agrees with it. That says that instances are drawn from distributions of the described "
    "shapes; it is no evidence for the figure, whose 885 runs are not published, so that neither "
    "its bars nor its means can be compared."
)


def rows_of(runs: pd.DataFrame, scale: Scale) -> pd.DataFrame:
    """Jobs by network, seed and number of epochs; nothing is run."""
    import pandas as pd

    rows: list[tuple[Any, ...]] = []
    for shape in SHAPES:
        for seed in range(QUICK_SEEDS if scale.quick else SEEDS):
            epochs = sample_epochs(shape, RUNS, np.random.default_rng(seed))
            lengths, counts = np.unique(epochs, return_counts=True)
            pairs = zip(lengths.tolist(), counts.tolist(), strict=True)
            rows += [(shape.network, seed, length, count) for length, count in pairs]
    return pd.DataFrame(rows, columns=["network", "seed", "epochs", "jobs"])


def judge(rows: pd.DataFrame, scale: Scale) -> Verdict:
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
        paragraph=PARAGRAPH,
    )


def draw(rows: pd.DataFrame) -> Figure:
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


ARTEFACT = Artefact(
    name="sts-fig2",
    where="sts, Fig. 2",
    claim="jobs end late (AlexNet), early (ResNet, VGG16) or in the middle (MobileNetV2)",
    runtime="3 s; --quick 2 s",
    rows=rows_of,
    judge=judge,
    draw=draw,
    by=("network",),
    values=("epochs", "jobs"),
)
