"""Fig. 2 of sts: how many jobs end at which epoch, for four networks.

The paper's 885 runs are not published with the figure, so its bars cannot be met; its text says
what they look like: AlexNet heavy at the maximum, ResNet and VGG16 early, MobileNetV2 centred. This
makes the seeded stand-ins that instances are generated from and tests that description on them.
With OPTSCHED_DATA set, real epochs-to-target samples are tabulated beside them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from optsched.experiments.papers.pictures import new_figure, save
from optsched.experiments.papers.verdict import Finding, Verdict, write_verdict
from optsched.generators.epochs import MOST_EPOCHS, RUNS, SHAPES, sample_epochs
from optsched.plotting.axes import COLOURS
from optsched.uncertainty.epoch_samples import read_epoch_samples
from optsched.writing import csv_text, write_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "sts-fig2"
SEEDS, QUICK_SEEDS = 20, 3
BIN = 10
REAL = "traces/zeus_summary_train.csv.gz"
PARAGRAPH = (
    "What can be tested is the paper's description in words, and every seed of our stand-ins "
    "agrees with it. That says that instances are drawn from distributions of the described "
    "shapes; it is no evidence for the figure, whose 885 runs are not published, so that neither "
    "its bars nor its means can be compared. Public samples of other networks' epochs to a target "
    "are tabulated beside them when OPTSCHED_DATA holds them; most of those end early."
)

Samples = dict[str, list[np.ndarray]]
"""Epochs of every run by network and seed."""


def run(folder: Path, quick: bool) -> str:
    """Make the stand-ins: a CSV of every bar, a Markdown table, a picture and a verdict.

    Parameters
    ----------
    folder : Path
        Gets ``sts-fig2`` with .csv, .md, .png, .pdf and .verdict.json.
    quick : bool
        Three seeds instead of twenty.
    """
    seeds = range(QUICK_SEEDS if quick else SEEDS)
    samples: Samples = {
        shape.network: [sample_epochs(shape, RUNS, np.random.default_rng(seed)) for seed in seeds]
        for shape in SHAPES
    }
    rows: list[list[object]] = [
        bar
        for network, drawn in samples.items()
        for seed, epochs in zip(seeds, drawn, strict=True)
        for bar in _bars("generated", network, seed, epochs)
    ]
    lines = [
        f"# sts, Fig. 2: epochs to the end, {RUNS} runs a network, seeds 0-{seeds[-1]}",
        "",
        "| network | shape | mean epochs [min-max over seeds] | at the maximum | as described |",
        "|---|---|---|---|---|",
        *(_row(shape.network, shape.description, samples[shape.network]) for shape in SHAPES),
        "",
        *_real(rows),
    ]
    verdict = _verdict(samples, quick)
    lines.append(f"Verdict: {verdict}")
    header = ("source", "network", "seed", "from_epoch", "to_epoch", "jobs")
    write_text(folder / f"{NAME}.csv", csv_text(header, rows))
    write_text(folder / f"{NAME}.md", "\n".join(lines) + "\n")
    save(_picture(samples), folder, NAME)
    write_verdict(folder, verdict)
    return "\n".join(lines)


def _bars(source: str, network: str, seed: object, epochs: np.ndarray) -> list[list[object]]:
    counts, edges = _counted(epochs, int(epochs.max()))
    return [
        [source, network, seed, int(low) + 1, int(low) + BIN, int(count)]
        for low, count in zip(edges, counts, strict=False)
    ]


def _counted(epochs: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    edges = np.arange(0, most + BIN + 1, BIN)
    counts, _ = np.histogram(epochs, edges + 0.5)
    return counts, edges


def _row(network: str, description: str, drawn: list[np.ndarray]) -> str:
    means = [float(epochs.mean()) for epochs in drawn]
    at_most = float(np.mean([np.mean(epochs == MOST_EPOCHS) for epochs in drawn]))
    holds = all(_described(network, epochs) for epochs in drawn)
    return (
        f"| {network} | {description} | {np.mean(means):.1f} [{min(means):.1f}-{max(means):.1f}] "
        f"| {100 * at_most:.1f}% | {'yes, every seed' if holds else 'not every seed'} |"
    )


def _described(network: str, epochs: np.ndarray) -> bool:
    """The words of VII-A2, as inequalities."""
    middle = (1 + MOST_EPOCHS) / 2
    if network == "AlexNet":
        return bool(np.median(epochs) > middle and np.mean(epochs == MOST_EPOCHS) > 0.2)
    if network == "MobileNetV2":
        return bool(abs(np.median(epochs) - middle) < MOST_EPOCHS / 10)
    return bool(np.median(epochs) < middle)


def _verdict(samples: Samples, quick: bool) -> Verdict:
    held = [all(_described(name, e) for e in drawn) for name, drawn in samples.items()]
    means = {name: [float(e.mean()) for e in drawn] for name, drawn in samples.items()}
    return Verdict(
        artefact=NAME,
        finding=Finding.PARTLY if all(held) else Finding.FAILS,
        paper="AlexNet heavy at 100 epochs, ResNet and VGG16 early, MobileNetV2 centred",
        ours="mean epochs " + ", ".join(f"{n} {np.mean(m):.0f}" for n, m in means.items()),
        spread=", ".join(f"{min(m):.0f}-{max(m):.0f}" for m in means.values()),
        setting=f"stand-ins of the described shapes, {QUICK_SEEDS if quick else SEEDS} seeds",
        smoke=quick,
        paragraph=PARAGRAPH,
    )


def _real(rows: list[list[object]]) -> list[str]:
    folder = os.environ.get("OPTSCHED_DATA")
    if folder is None or not (Path(folder) / REAL).is_file():
        return ["Real samples left out: OPTSCHED_DATA is unset or holds none.", ""]
    lines = [
        "Real runs, all targets of a network together:",
        "",
        "| real data | runs that reached the target | did not | mean epochs | most |",
    ]
    lines.append("|---|---|---|---|---|")
    for group in read_epoch_samples(Path(folder) / REAL):
        name = " ".join(group.key)
        if group.epochs:
            epochs = np.array(group.epochs)
            rows += _bars("real", name, "", epochs)
            spread = f"{epochs.mean():.1f} | {epochs.max():.0f}"
        else:
            spread = "- | -"
        lines.append(f"| {name} | {len(group.epochs)} | {group.unfinished} | {spread} |")
    return [*lines, ""]


def _picture(samples: Samples) -> Figure:
    """A panel a network: jobs by epochs to the end, the mean over seeds and its range."""
    figure = new_figure(3.0 * len(samples), 2.8)
    panels = figure.subplots(1, len(samples), sharey=True)
    for ax, (network, drawn), colour in zip(panels, samples.items(), COLOURS, strict=False):
        counts = np.array([_counted(epochs, MOST_EPOCHS - BIN)[0] for epochs in drawn])
        centres = BIN * (np.arange(counts.shape[1]) + 0.5)
        mean = counts.mean(axis=0)
        reach = [mean - counts.min(axis=0), counts.max(axis=0) - mean]
        ax.bar(centres, mean, width=0.9 * BIN, color=colour, yerr=reach, ecolor="#555555")
        ax.set_title(network, loc="left", fontsize="medium")
        ax.set_xlabel("epochs to the end")
        ax.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("jobs")
    return figure
