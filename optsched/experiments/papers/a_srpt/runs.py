"""What the figures of a-srpt's section V share: runs over seeds, reductions, tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from optsched.experiments.papers.artefact import Scale
from optsched.experiments.papers.gathering import gather
from optsched.experiments.papers.verdict import Verdict, write_verdict
from optsched.online.data.jobs import Jobs
from optsched.online.metrics import compute_metrics
from optsched.online.policies.by_name import PAPER, PolicyOptions
from optsched.online.prediction.predictors import predict
from optsched.online.simulator.engine import simulate_online
from optsched.writing import write_text

SEEDS, QUICK_SEEDS = 10, 3
LOAD = 0.8
BASELINES = PAPER[2:]


@dataclass(frozen=True)
class Variant:
    """A policy with its options, under the label of a table."""

    label: str
    policy: str
    options: PolicyOptions


@dataclass(frozen=True)
class Row:
    """One run of one case: seconds."""

    case: str
    seed: int
    label: str
    jobs: int
    completion: float
    mean_flow: float
    makespan: float


def variants(tau: float = 100.0, *, extra: bool = True) -> list[Variant]:
    """The paper's policies, a-srpt at tau = 1 and with hold, and the one beyond the paper."""
    made = [Variant(name, name, PolicyOptions(tau=tau)) for name in PAPER]
    if extra:
        made += [
            Variant("a-srpt tau=1", "a-srpt", PolicyOptions(tau=1.0)),
            Variant("a-srpt hold=inf", "a-srpt", PolicyOptions(tau=tau, hold="inf")),
            Variant("srpt-workload-hold", "srpt-workload-hold", PolicyOptions(tau=tau)),
        ]
    return made


def seeds(scale: Scale) -> range:
    """Ten, or three for a smoke test."""
    return range(QUICK_SEEDS if scale.quick else SEEDS)


def run_case(
    case: str, jobs: Jobs, seed: int, chosen: Sequence[Variant], predictor: str
) -> list[Row]:
    """Every variant on one case."""
    predicted = predict(jobs, predictor, seed=seed)
    rows = []
    for variant in chosen:
        records = simulate_online(
            predicted.jobs, variant.policy, predicted.iterations, variant.options
        )
        made = compute_metrics(records)
        rows.append(
            Row(
                case,
                seed,
                variant.label,
                made.jobs,
                made.total_completion_time,
                made.mean_flow_time,
                made.makespan,
            )
        )
    return rows


def by_label(rows: Sequence[Row], case: str, label: str) -> list[Row]:
    """The runs of one label in one case, by seed."""
    return [row for row in rows if (row.case, row.label) == (case, label)]


def reduction(rows: Sequence[Row], case: str, label: str, rival: str, of: str) -> list[float]:
    """By seed: how far below the rival's value the label's is, as a share of the rival's."""
    ours, theirs = by_label(rows, case, label), by_label(rows, case, rival)
    return [1 - getattr(a, of) / getattr(b, of) for a, b in zip(ours, theirs, strict=True)]


def best_reduction(rows: Sequence[Row], case: str, label: str, of: str) -> list[float]:
    """By seed: reduction against the best of the paper's baselines at that seed."""
    each = [reduction(rows, case, label, rival, of) for rival in BASELINES]
    return [min(values) for values in zip(*each, strict=True)]


def table(rows: Sequence[Row], case: str, labels: Sequence[str]) -> list[str]:
    """A Markdown table of a case: medians over seeds and spreads."""
    lines = [
        "| policy | mean flow s | total completion time s | makespan s | a-srpt's flow below by |",
        "|---|---:|---:|---:|---:|",
    ]
    for label in labels:
        runs = by_label(rows, case, label)
        below = reduction(rows, case, "a-srpt", label, "mean_flow")
        lines.append(
            f"| {label} | {spread([r.mean_flow for r in runs], '.1f')} "
            f"| {spread([r.completion for r in runs], '.4g')} "
            f"| {spread([r.makespan for r in runs], '.4g')} "
            f"| {'' if label == 'a-srpt' else percent(below)} |"
        )
    return lines


def losses(rows: Sequence[Row], case: str) -> str:
    """Where a-srpt loses: baselines ahead of it, with the number of seeds."""
    found = []
    for rival in BASELINES:
        values = reduction(rows, case, "a-srpt", rival, "mean_flow")
        lost = sum(value < 0 for value in values)
        if lost:
            found.append(f"{rival} ({lost} of {len(values)} seeds)")
    return f"a-srpt loses by flow to: {', '.join(found) or 'none'}"


def spread(values: Sequence[float], form: str) -> str:
    """Median and range."""
    return f"{median(values):{form}} [{min(values):{form}}-{max(values):{form}}]"


def percent(values: Sequence[float]) -> str:
    """Median and range in percent."""
    middle, low, high = (round(100 * of(values)) for of in (median, min, max))
    return f"{middle}% [{low} to {high}]"


def write(
    folder: Path,
    scale: Scale,
    header: Sequence[str],
    lines: Sequence[str],
    verdict: Verdict,
) -> str:
    """Write the verdict and the text, and return it: title, what it ran on, tables, verdict."""
    size = "the paper's sizes" if scale.full else "scaled down"
    mark = f" [smoke: {QUICK_SEEDS} seeds]" if scale.quick else ""
    found = [f"Verdict: {verdict}{mark}", *([verdict.paragraph] if verdict.paragraph else [])]
    text = "\n".join(
        [f"# {verdict.artefact} ({source(scale)}, {size})", "", *header, "", *lines, "", *found]
    )
    write_text(folder / f"{verdict.artefact}.md", text + "\n")
    write_verdict(folder, verdict)
    return text


def source(scale: Scale) -> str:
    """What the jobs are."""
    return f"trace {Path(scale.trace).name}" if scale.trace else "synthetic"


def sweep(
    cases: Sequence[tuple[str, Callable[[int], Jobs]]],
    scale: Scale,
    chosen: Sequence[Variant],
    predictor: str,
) -> list[Row]:
    """Every case, seed and variant."""
    labels = [variant.label for variant in chosen]
    return gather(
        [(case, make, seed) for case, make in cases for seed in seeds(scale)],
        lambda at: run_case(at[0], at[1](at[2]), at[2], chosen, predictor),
        Row,
        key=lambda at: repr((at[0], at[2], predictor, labels)),
    )
