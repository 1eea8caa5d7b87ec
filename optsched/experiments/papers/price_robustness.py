"""The price policy against STS, where its constants were not found: loads, regimes, seeds.

Beyond the paper. 20 seeds in each of three loads (rho 0.2, 0.6, 1.0) and four regimes: as
generated; a weaker speed-up exponent; an A100 of half the speed; GPUs shared in fractions. The
bound is the clairvoyant one, so the distance to it includes what no policy without foresight can
save.
"""

from __future__ import annotations

from pathlib import Path
from statistics import mean
from typing import Any

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

POLICIES = ("sts", "price", "edf", "rg")
LOADS = (("light", 0.2), ("medium", 0.6), ("saturated", 1.0))
REGIMES: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("as generated", {}, "off"),
    ("speed-up k^0.6", {"speedup": 0.6}, "off"),
    ("A100 half as fast", {"a100_speed": 0.5}, "off"),
    ("fractions", {"sharing": True}, "on"),
)
SEEDS, QUICK_SEEDS = range(1000, 1020), range(1000, 1002)
NODES = 6
BOUND = 50


def run(folder: Path, quick: bool) -> str:
    """Make ``price-robustness.csv`` (every run) and ``price-robustness.md``."""
    seeds = QUICK_SEEDS if quick else SEEDS
    rows: list[Row] = []
    for name, load in LOADS:
        for regime, changes, sharing in REGIMES:
            settings = rolling_settings(NODES, arrivals="load", load=load, **changes)
            case = f"{name}, {regime}"
            rows += rows_of(case, settings, seeds, POLICIES, sharing=sharing, bound=BOUND, passes=2)
            write_rows(folder / "price-robustness.csv", rows)
    lines = [
        f"# price against sts: {NODES} nodes, {rows[0].jobs} jobs, {len(seeds)} seeds "
        f"({seeds[0]}-{seeds[-1]}), common random numbers",
        "",
        "Dollars are means over seeds; the ratio is of total costs, seed by seed; late jobs are a",
        "share of all. RG makes 2 passes. Load: rho, and the fullest type's share in the",
        "uncapacitated clairvoyant plan.",
        "",
        "| case | rho | plan | policy | total $ | energy $ | tardiness $ | late | over STS "
        "(mean ± sd [range]) | over the bound, mean |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for case in dict.fromkeys(row.case for row in rows):
        lines += [_line(rows, case, name) for name in POLICIES]
    verdict = _verdict(rows) + (f" [smoke: {len(seeds)} seeds]" if quick else "")
    lines += ["", f"Verdict: {verdict}"]
    write_text(folder / "price-robustness.md", "\n".join(lines) + "\n")
    return "\n".join(lines)


def _ratios(rows: list[Row], case: str, policy: str, against: str = "sts") -> list[float]:
    ours, theirs = of(rows, case=case, policy=policy), of(rows, case=case, policy=against)
    return [a.total / b.total for a, b in zip(ours, theirs, strict=True)]


def _line(rows: list[Row], case: str, policy: str) -> str:
    own = of(rows, case=case, policy=policy)
    over = mean(row.total / row.bound - 1 for row in own if row.bound)
    late = sum(row.late for row in own) / sum(row.jobs for row in own)
    return (
        f"| {case} | {loads(own)} | {policy} | {average(own, 'total'):.1f} "
        f"| {average(own, 'energy'):.1f} | {average(own, 'tardiness'):.1f} | {100 * late:.1f}% "
        f"| {spread(_ratios(rows, case, policy))} | {100 * over:.1f}% |"
    )


def _verdict(rows: list[Row]) -> str:
    parts = []
    for name, _ in LOADS:
        cases = [c for c in dict.fromkeys(r.case for r in rows) if c.startswith(name)]
        means = [mean(_ratios(rows, case, "price")) for case in cases]
        worse = sum(x > 1 for case in cases for x in _ratios(rows, case, "price"))
        count = sum(len(of(rows, case=case, policy="price")) for case in cases)
        parts.append(
            f"{name}: price / sts {min(means):.2f}-{max(means):.2f} by regime, "
            f"dearer than sts in {worse} of {count} runs"
        )
    best = [
        case
        for case in dict.fromkeys(row.case for row in rows)
        if all(
            average(of(rows, case=case, policy="price"), "total")
            <= 1.005 * average(of(rows, case=case, policy=other), "total")
            for other in POLICIES
        )
    ]
    total = len({row.case for row in rows})
    return "; ".join([*parts, f"best or within 0.5% of it in {len(best)} of {total} cells"])
