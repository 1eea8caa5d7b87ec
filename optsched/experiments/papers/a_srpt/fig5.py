"""Figure 5 of a-srpt: 75 jobs on one server of 14 GPUs with tau = 0, by load and predictions.

The paper does not state the load: here it is varied. Its other figures imply a load far above 1.
Its trace of 758,223 jobs in two months submits 75 jobs in 51 s, once scaled to 10%, and what it
scheduled took hours: with an hour of work for 14 GPUs that is a load of 70.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from optsched.experiments.papers.a_srpt import runs
from optsched.experiments.papers.a_srpt.runs import (
    BASELINES,
    PERFECT,
    below_best_baseline,
    reductions,
    workload,
)
from optsched.experiments.papers.a_srpt.workloads import JOBS_PER_TEST_JOB, SEEDS, jobs_of
from optsched.experiments.papers.artefact import Artefact, Finding, Scale, Verdict
from optsched.experiments.papers.cells import cells_of, counts, describe_regions, percent_range
from optsched.experiments.papers.pictures import curves
from optsched.experiments.plans.plan import Family
from optsched.generators.online import default_durations
from optsched.online.policies.by_name import PAPER
from optsched.result import Outcome, Settings, Termination

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from optsched.online.instance import OnlineInstance
    from optsched.online.options import OnlineOptions

GPUS = 14
LOADS = (0.3, 0.5, 0.8, 1.2, 2.0, 10.0, 70.0)
OTHER_LOADS = (0.8, 10.0, 70.0)
"""Of the other mixes of jobs."""
PAPER_MIX, WIDER_DURATIONS = "70% single-GPU jobs", "lengths 1.5 x as far apart"
MIXES: Mapping[str, Mapping[str, Any]] = {
    PAPER_MIX: {},
    "90% single-GPU jobs": {"single_gpu_share": 0.9},
    "30% single-GPU jobs": {"single_gpu_share": 0.3},
    WIDER_DURATIONS: {"durations": [600 * (s / 600) ** 1.5 for s in default_durations()]},
}
"""The paper's mix of over 70% single-GPU jobs, and others; the last has 1.5 times the spread of
log durations, around 600 s."""
FOREST, EXACT_60, KNOWN = (
    "lengths by a forest on the 300 jobs before",
    "60% of lengths exact",
    "every length known",
)
"""Predictions. EXACT_60 has the paper's accuracy (Fig. 4): 60% exact, 5% of jobs unseen, the rest
wrong by a log-normal factor. FOREST has less training data than the paper's 606,578 jobs."""
TOLERANCE = 0.05
"""Tolerance on the claimed 44%."""
WHY = (
    "The paper states no load, but 75 of 758,223 jobs in two months, scaled to 10%, are submitted "
    "in 51 s, and what it scheduled took hours: with an hour of work for all 14 GPUs a load of 70. "
    "One server leaves no placement to choose, only an order, and a-srpt's is that of spwf with a "
    "wait: a job queues once the virtual machine has completed it, while GPUs may be idle, and in "
    "the baselines on submission. At low load the wait is all there is. Far above 1 a-srpt gains "
    "on wcs-subtime, which knows no lengths, is even with spjf and behind the others. A length "
    "that the forest overestimates keeps its job waiting beside idle GPUs."
)


@dataclass(frozen=True)
class Part:
    """A part of the claim: a share by seed, from a case's rows and a column, and its test."""

    quantity: str
    share: Callable[[pd.DataFrame, str], pd.Series]
    holds: Callable[[float], bool]


NEAR_PERFECT = "within 7% of perfect prediction"
PARTS: Mapping[str, Part] = {
    NEAR_PERFECT: Part(
        "a-srpt above perfect prediction",
        lambda rows, column: -reductions(rows, column)[PERFECT],
        lambda value: value <= 0.07,
    ),
    "below every baseline": Part(
        "a-srpt below the best baseline", below_best_baseline, lambda value: value > 0
    ),
    "up to 44% below the baselines": Part(
        "a-srpt below the worst baseline",
        lambda rows, column: reductions(rows, column)[[*BASELINES]].max(axis=1),
        lambda value: value > 0.44 - TOLERANCE,
    ),
    "a work-conserving baseline has the shorter makespan": Part(
        "a-srpt's makespan above the shortest work-conserving",
        lambda rows, column: -reductions(rows, "makespan")[[*BASELINES[2:]]].min(axis=1),
        lambda value: value > 0,
    ),
}


def plan(scale: Scale) -> list[Family]:
    """The same jobs at every load; with a user's trace, the trace's load or --load."""
    common: dict[str, Any] = {
        "jobs": jobs_of("a-srpt-fig5", JOBS_PER_TEST_JOB * 75, scale, GPUS),
        "servers": 1,
        "gpus_per_server": GPUS,
        "inter_bandwidth": 1.28e11,
        "intra_bandwidth": 1.28e11,
        "sizes": [2, 4, 8],
        "size_weights": [0.5, 0.3, 0.2],
    }
    loads, other_loads = (LOADS[::3], OTHER_LOADS[-1:]) if scale.quick else (LOADS, OTHER_LOADS)
    scenarios = {
        f"{mix}|{load:g}": {"load": load, **changes}
        for mix, changes in MIXES.items()
        for load in (loads if mix == PAPER_MIX else other_loads)
    }
    if scale.trace is not None:
        scenarios = {f"the trace's jobs|{scale.load or 0.0:g}": {}}
    method = f"{__name__}:by_predictions"
    return [
        workload(name, {**common, **changes}, seed, scale, method, tau=0.0)
        for seed in scale.seeds(SEEDS)
        for name, changes in scenarios.items()
    ]


def by_predictions(instance: OnlineInstance, options: OnlineOptions, settings: Settings) -> Outcome:
    """Simulate the paper's policies with each kind of prediction."""
    forest = runs.predicted(instance, options, settings)
    true = forest.jobs.iterations
    predictions = {
        FOREST: forest.iterations,
        EXACT_60: noisy_predictions(true, settings.seed),
        KNOWN: true,
    }
    metrics = [
        (kind, policy, runs.run(forest.jobs, policy, iterations, options))
        for kind, iterations in predictions.items()
        for policy in PAPER
    ]
    return Outcome(None, Termination.FEASIBLE, details={"runs": metrics})


def noisy_predictions(
    iterations: NDArray[np.float64], seed: int, *, unseen: float = 0.05, sigma: float = 1.0
) -> NDArray[np.float64]:
    """60% exact (Fig. 4), a share `unseen` predicted as 0, the rest times a log-normal factor."""
    rng, count = np.random.default_rng(seed), len(iterations)
    new, exact, normal = rng.random(count), rng.random(count), rng.normal(size=count)
    factor = np.where(exact < 0.6, 1.0, np.exp(sigma * normal))
    return np.asarray(iterations * np.where(new < unseen, 0.0, factor))


def rows_of(swept: pd.DataFrame, scale: Scale) -> pd.DataFrame:
    """One row per policy, load, seed and kind of prediction."""
    rows = runs.outcomes(swept, scale)[list(runs.COLUMNS)]
    scenarios = rows["family"].str.split("|", expand=True)
    rows = rows.assign(lengths=rows["case"], mix=scenarios[0], load=scenarios[1].astype(float))
    return rows.assign(case=rows["case"] + ", " + rows["family"].str.replace("|", ", load "))


def judge(rows: pd.DataFrame, scale: Scale) -> Verdict:
    """Where each part holds in the median of the seeds, by total completion time and by flow."""
    cells, flows = (cells_by(rows, column) for column in ("completion", "mean_flow"))
    counted = cells[~cells["world"].str.startswith(FOREST)] if scale.trace is None else cells
    lines = [
        "A world is a load, a mix of jobs and what is known of them; medians of the seeds by total "
        "completion time, and by flow time, which leaves out the submissions."
        + (f" Not counted: {FOREST}." if scale.trace is None else ""),
        "",
    ]
    for part, part_cells in cells.groupby("part", sort=False):
        text, by_flow = (
            describe_regions(group) for group in (part_cells, flows[flows["part"] == part])
        )
        lines.append(f"- *{part}*: {text}.{f' By flow: {by_flow}.' if by_flow != text else ''}")
    lines += ["", WHY, "", "![Each part by load and what is known](a-srpt-fig5.png)"]
    loads = ", ".join(f"{load:g}" if load else "its own" for load in rows["load"].unique())
    return Verdict(
        Finding.of(counted["holds"]),
        "7% above perfect, below all baselines, by up to 44%; work-conserving baselines have the "
        "shorter makespans",
        counts(counted, "worlds"),
        "; ".join(
            f"{PARTS[str(part)].quantity} {percent_range(values)}"
            for part, values in counted.groupby("part", sort=False)["value"]
        ),
        f"{scale.source}, 75 jobs on 1 x 14 GPUs, tau 0, COMM_HEAVY 1.5, "
        f"baselines by most-available, load {loads}, {', '.join(rows['mix'].unique())}, "
        f"60% of lengths exact or all known, {rows['seed'].nunique()} seeds",
        "\n".join(lines),
    )


def draw(rows: pd.DataFrame) -> Figure:
    """One panel per part of the claim over the load, one line per mix and kind of prediction."""
    cells = cells_by(rows, "completion")
    cells = cells.assign(load=cells["at"].astype(float))
    wide = cells.pivot_table("value", ["world", "load"], "part", sort=False).reset_index()
    labels = {name: f"{part.quantity} (%)" for name, part in PARTS.items()}
    return curves(wide, "load", labels, line="world", xscale="log")


def cells_by(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Each part of the claim by scenario; other mixes are run, but not judged, with the forest."""
    groups = {
        (kind, mix, load): group
        for (kind, mix, load), group in rows.groupby(["lengths", "mix", "load"], sort=False)
        if kind != FOREST or mix == PAPER_MIX or mix not in MIXES
    }
    return cells_of(
        (name, f"{kind}, {mix}", f"{load:g}", 100 * share, part.holds(share))
        for name, part in PARTS.items()
        for (kind, mix, load), group in groups.items()
        if name != NEAR_PERFECT or kind != KNOWN  # perfect prediction is what is measured there
        for share in [part.share(group, column).median()]
    )


ARTEFACT = Artefact(
    name="a-srpt-fig5",
    reference="a-srpt, Fig. 5",
    claim="14 GPUs, tau = 0: within 7% of perfect prediction, up to 44% below the baselines",
    runtime="20 s; --quick 10 s",
    plan=plan,
    rows=rows_of,
    judge=judge,
    draw=draw,
    group_columns=("case", "label"),
    value_columns=("mean_flow", "completion", "makespan"),
    is_scalable=True,
)
