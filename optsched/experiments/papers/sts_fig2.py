"""Fig. 2 of sts: how many jobs end at which epoch, for four networks.

The paper's 885 runs are not published with the figure, so its bars cannot be met; its text says
what they look like: AlexNet heavy at the maximum, ResNet and VGG16 early, MobileNetV2 centred. This
makes the seeded stand-ins that instances are generated from and tests that description on them.
With OPTSCHED_DATA set, real epochs-to-target samples are tabulated beside them.
"""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path

import numpy as np

from optsched.files import write_text
from optsched.generate.epochs import MOST_EPOCHS, RUNS, SHAPES, sample_epochs
from optsched.selection.epoch_samples import read_epoch_samples

SEEDS, QUICK_SEEDS = 20, 3
BIN = 10
REAL = "traces/zeus_summary_train.csv.gz"


def run(folder: Path, quick: bool) -> str:
    """Make ``sts-fig2.csv`` (every bar) and ``sts-fig2.md`` (the description, tested)."""
    seeds = range(QUICK_SEEDS if quick else SEEDS)
    rows: list[list[object]] = []
    lines = [
        f"# sts, Fig. 2: epochs to the end, {RUNS} runs a network, seeds 0-{seeds[-1]}",
        "",
        "| network | shape | mean epochs [min-max over seeds] | at the maximum | as described |",
        "|---|---|---|---|---|",
    ]
    held = []
    for shape in SHAPES:
        samples = [sample_epochs(shape, RUNS, np.random.default_rng(seed)) for seed in seeds]
        for seed, epochs in zip(seeds, samples, strict=True):
            rows += _bars("generated", shape.network, seed, epochs)
        means = [float(epochs.mean()) for epochs in samples]
        at_most = float(np.mean([np.mean(epochs == MOST_EPOCHS) for epochs in samples]))
        holds = all(_described(shape.network, epochs) for epochs in samples)
        held.append(holds)
        lines.append(
            f"| {shape.network} | {shape.description} | {np.mean(means):.1f} "
            f"[{min(means):.1f}-{max(means):.1f}] | {100 * at_most:.1f}% "
            f"| {'yes, every seed' if holds else 'not every seed'} |"
        )
    lines += ["", *_real(rows)]
    verdict = "the four described shapes hold" if all(held) else "a described shape does not hold"
    lines.append(f"Verdict: {verdict}; bars are stand-ins{' [smoke: 3 seeds]' if quick else ''}")
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerows([("source", "network", "seed", "from_epoch", "to_epoch", "jobs"), *rows])
    write_text(folder / "sts-fig2.csv", stream.getvalue())
    write_text(folder / "sts-fig2.md", "\n".join(lines) + "\n")
    return "\n".join(lines)


def _bars(source: str, network: str, seed: object, epochs: np.ndarray) -> list[list[object]]:
    most = int(epochs.max())
    edges = np.arange(0, most + BIN + 1, BIN)
    counts, _ = np.histogram(epochs, edges + 0.5)
    return [
        [source, network, seed, int(low) + 1, int(low) + BIN, int(count)]
        for low, count in zip(edges, counts, strict=False)
    ]


def _described(network: str, epochs: np.ndarray) -> bool:
    """The words of VII-A2, as inequalities."""
    middle = (1 + MOST_EPOCHS) / 2
    if network == "AlexNet":
        return bool(np.median(epochs) > middle and np.mean(epochs == MOST_EPOCHS) > 0.2)
    if network == "MobileNetV2":
        return bool(abs(np.median(epochs) - middle) < MOST_EPOCHS / 10)
    return bool(np.median(epochs) < middle)


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
