"""Pictures of a-srpt's section V: errors of predictions, strips of policies, flow by parameter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from optsched.experiments.papers.a_srpt.runs import Row, by_label
from optsched.experiments.papers.pictures import new_figure, save
from optsched.plotting.axes import COLOURS
from optsched.plotting.online import completion_by

EDGES = np.concatenate(([-1.0], np.arange(-0.95, 3.0, 0.1), [np.inf]))
"""Bins of (n~ - n)/n, one of them around 0; the last holds everything above."""


def error_shares(predicted: np.ndarray, true: np.ndarray) -> list[float]:
    """Share of the jobs in each bin of the relative error."""
    counts, _ = np.histogram((predicted - true) / true, bins=EDGES)
    return [float(count) / max(len(true), 1) for count in counts]


def draw_errors(folder: Path, name: str, shares: Mapping[str, Sequence[Sequence[float]]]) -> None:
    """Fig. 4: the histogram of relative errors by predictor, means over seeds."""
    figure = new_figure(8, 4)
    ax = figure.add_subplot()
    edges = np.append(EDGES[:-1], EDGES[-2] + 0.1)
    for (label, by_seed), colour in zip(shares.items(), COLOURS, strict=False):
        ax.stairs(100 * np.mean(by_seed, axis=0), edges, label=label, color=colour)
    ax.set_xlabel("(predicted - true)/true iterations; the last bin holds all above")
    ax.set_ylabel("jobs (%)")
    ax.legend(fontsize="small")
    save(figure, folder, name)


def draw_strips(
    folder: Path, name: str, rows: Sequence[Row], case: str, labels: Sequence[str]
) -> None:
    """Mean flow by policy: a dot a seed, a tick at the median."""
    figure = new_figure(8, 1.4 + 0.32 * len(labels))
    ax = figure.add_subplot()
    for at, label in enumerate(labels):
        values = [row.mean_flow for row in by_label(rows, case, label)]
        ax.plot(values, [at] * len(values), "o", color=COLOURS[0], alpha=0.7)
        ax.plot([float(np.median(values))], [at], "|", color="#000000", markersize=16)
    ax.set_yticks(range(len(labels)), list(labels))
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.set_xscale("log")
    ax.set_xlabel("mean flow time (s)")
    save(figure, folder, name)


def draw_by(
    folder: Path,
    name: str,
    rows: Sequence[Row],
    cases: Sequence[str],
    labels: Sequence[str],
    axis: str,
) -> None:
    """Mean flow by number of jobs, single-GPU share or NIC: the number that opens a case's name."""
    values = [float(case.split()[0].rstrip("%")) for case in cases]
    flows: dict[str, Sequence[Sequence[float]]] = {
        label: [[row.mean_flow for row in by_label(rows, case, label)] for case in cases]
        for label in labels
    }
    figure = new_figure(8, 5)
    completion_by(values, flows, axis, figure.add_subplot())
    save(figure, folder, name)
