"""Fig. 3 of sts: submitted jobs over time under its three inter-arrival distributions.

A cluster of 1,000 nodes gets 10,000 jobs, as in the paper's sample. The text gives what can be
tested: a mean gap of 50,000 s / nodes ("exponential"), and a "high" rate four times the "low" one.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

import numpy as np

from optsched.experiments.papers.gathering import gather
from optsched.experiments.papers.output_files import leave
from optsched.experiments.papers.pictures import new_figure
from optsched.experiments.papers.verdict import Finding, Verdict
from optsched.generators.rolling import generate_rolling, rolling_settings
from optsched.plotting.axes import COLOURS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "sts-fig3"
NODES, JOBS = 1000, 10_000
ARRIVALS = ("exponential", "poisson-low", "poisson-high")
SEEDS, QUICK_SEEDS = 10, 3
STEPS = 100
"""Points of a curve: the time by which each hundredth of the jobs is submitted."""
GAP, TIMES = 50_000 / NODES, 4.0
NEAR = 0.05
PARAGRAPH = "A seed is more than 5% away from the gap or the ratio that the text states."


@dataclass(frozen=True)
class Point:
    """By when so many jobs are submitted, in seconds."""

    arrivals: str
    seed: int
    jobs: int
    time: float

    @property
    def gap(self) -> float:
        """Mean seconds between submissions up to here."""
        return self.time / self.jobs


def run(folder: Path, quick: bool) -> str:
    """Make the figure: a CSV of the curves, a Markdown table, a picture and a verdict.

    Parameters
    ----------
    folder : Path
        Gets ``sts-fig3`` with .csv, .md, .png, .pdf and .verdict.json.
    quick : bool
        Three seeds instead of ten.
    """
    seeds = range(QUICK_SEEDS if quick else SEEDS)
    draws = [(arrivals, seed) for arrivals in ARRIVALS for seed in seeds]
    points = gather(draws, lambda draw: _curve(*draw), Point)
    ends = {a: [p for p in points if (p.arrivals, p.jobs) == (a, JOBS)] for a in ARRIVALS}
    lines = [
        f"# sts, Fig. 3: jobs submitted to {NODES} nodes, seeds 0-{seeds[-1]}",
        "",
        "| arrivals | mean gap s [min-max over seeds] | the last job after h |",
        "|---|---|---|",
        *(
            f"| {a} | {_spread([p.gap for p in own], 2)} "
            f"| {_spread([p.time / 3600 for p in own], 1)} |"
            for a, own in ends.items()
        ),
        "",
    ]
    verdict = _verdict(ends, quick)
    lines.append(f"Verdict: {verdict}")
    return leave(folder, verdict, lines, points, _picture(points))


def _curve(arrivals: str, seed: int) -> list[Point]:
    instance = generate_rolling(rolling_settings(NODES, arrivals=arrivals), seed=seed)
    times = np.sort([job.submit_time for job in instance.jobs])
    counts = np.arange(1, STEPS + 1) * (JOBS // STEPS)
    return [Point(arrivals, seed, int(n), float(times[n - 1])) for n in counts]


def _verdict(ends: dict[str, list[Point]], quick: bool) -> Verdict:
    gaps = [point.gap for point in ends["exponential"]]
    pairs = zip(ends["poisson-low"], ends["poisson-high"], strict=True)
    ratios = [low.gap / high.gap for low, high in pairs]
    near = (abs(g / GAP - 1) <= NEAR for g in gaps), (abs(r / TIMES - 1) <= NEAR for r in ratios)
    holds = [all(each) for each in near]
    return Verdict(
        artefact=NAME,
        finding=Finding.HOLDS if all(holds) else Finding.PARTLY if any(holds) else Finding.FAILS,
        paper=f"a plot; its text: a mean gap of {GAP:.0f} s, and a high rate {TIMES:.0f} x the low",
        ours=f"mean gap {mean(gaps):.1f} s; high over low {mean(ratios):.2f}",
        spread=f"{min(gaps):.1f}-{max(gaps):.1f} s; {min(ratios):.2f}-{max(ratios):.2f}",
        setting=f"our generator, {NODES} nodes, {JOBS} jobs, {len(gaps)} seeds",
        smoke=quick,
        paragraph="" if all(holds) else PARAGRAPH,
    )


def _spread(values: list[float], digits: int) -> str:
    middle, low, high = (f"{of(values):.{digits}f}" for of in (mean, min, max))
    return f"{middle} [{low}-{high}]"


def _picture(points: list[Point]) -> Figure:
    """Submitted jobs over time: a line a seed, a colour a distribution."""
    figure = new_figure(6.4, 3.4)
    ax = figure.add_subplot()
    for arrivals, colour in zip(ARRIVALS, COLOURS, strict=False):
        own = [p for p in points if p.arrivals == arrivals]
        for seed in sorted({p.seed for p in own}):
            curve = [p for p in own if p.seed == seed]
            label = arrivals if seed == own[0].seed else None
            hours = [p.time / 3600 for p in curve]
            ax.plot(hours, [p.jobs for p in curve], color=colour, alpha=0.6, label=label)
    ax.set_xscale("log")
    ax.set_xlabel("hours")
    ax.set_ylabel("submitted jobs")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return figure
