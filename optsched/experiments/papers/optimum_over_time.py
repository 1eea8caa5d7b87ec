"""The optimum of every interval, rolled forward, and the MILP seating of the price policy.

Two facts stated with STS: the single-interval optimum is no bound for the rolling problem, since
(19) freezes the configuration while STS plans to speed up; and a pattern MILP can replace the
greedy seating of `price`. Decisions are cut at 5 s each.
"""

from __future__ import annotations

from pathlib import Path

from optsched.experiments.papers.rolling_runs import (
    Row,
    average,
    loads,
    of,
    rows_of,
    spread,
    write_rows,
)
from optsched.files import write_text
from optsched.generate.rolling import rolling_settings

POLICIES = ("sts", "patterns", "price", "price-patterns")
LOADS = (("light", 0.2), ("medium", 0.6), ("saturated", 1.0))
NODES, JOBS = 3, 30
SEEDS, QUICK_SEEDS = range(2000, 2006), range(2000, 2001)


def run(folder: Path, quick: bool) -> str:
    """Make ``optimum-over-time.csv`` and ``optimum-over-time.md``."""
    seeds = QUICK_SEEDS if quick else SEEDS
    rows: list[Row] = []
    for name, load in LOADS:
        settings = rolling_settings(NODES, jobs=JOBS, arrivals="load", load=load)
        rows += rows_of(name, settings, seeds, POLICIES, bound=50, time_limit=5.0)
    lines = [
        f"# Optima of intervals over time: {NODES} nodes, {JOBS} jobs, seeds {list(seeds)}",
        "",
        "Ratio of total costs to STS's, seed by seed: mean ± sd [range].",
        "",
        f"| load | rho | plan | STS $ | {' | '.join(POLICIES[1:])} |",
        "|---" * (3 + len(POLICIES)) + "|",
    ]
    facts = []
    for name, _ in LOADS:
        base = of(rows, case=name, policy="sts")
        ratios = {
            p: [a.total / b.total for a, b in zip(of(rows, case=name, policy=p), base, strict=True)]
            for p in POLICIES[1:]
        }
        cells = " | ".join(spread(ratios[p]) for p in POLICIES[1:])
        lines.append(f"| {name} | {loads(base)} | {average(base, 'total'):.1f} | {cells} |")
        dearer = sum(ratio > 1 for ratio in ratios["patterns"])
        cheaper = sum(a < b for a, b in zip(ratios["price-patterns"], ratios["price"], strict=True))
        facts.append(
            f"{name}: patterns dearer than sts in {dearer} of {len(base)} runs, "
            f"price-patterns cheaper than price in {cheaper}"
        )
    lines += ["", f"Verdict: {'; '.join(facts)}{' [smoke: 1 seed]' if quick else ''}"]
    write_rows(folder / "optimum-over-time.csv", rows)
    write_text(folder / "optimum-over-time.md", "\n".join(lines) + "\n")
    return "\n".join(lines)
