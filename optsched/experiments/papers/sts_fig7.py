"""Fig. 7 of sts: seconds of one decision by STS, RG and EDF, 10 to 100 nodes, 2 or 4 jobs a node.

The paper's times are its C++ code's on its own server: STS under 5 s at 100 nodes x 400 jobs, under
3 s on average, and slower than RG and EDF. Here it is numpy and compiled loops on this machine.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path
from statistics import mean, median

from optsched.files import write_text
from optsched.generate.selection import SelectionSettings, generate_selection
from optsched.methods import warm_up
from optsched.problem import resolve
from optsched.problems import PROBLEMS
from optsched.result import Settings
from optsched.selection.options import SelectionOptions

METHODS = ("sts", "rg", "edf")
NODES, QUICK_NODES = (10, 20, 40, 60, 80, 100), (10, 100)
SEEDS, QUICK_SEEDS = 3, 1
GPUS = 8


def run(folder: Path, quick: bool) -> str:
    """Make ``sts-fig7.csv`` (every run) and ``sts-fig7.md`` (medians, and a verdict)."""
    warm_up("selection")
    seeds = range(QUICK_SEEDS if quick else SEEDS)
    rows: list[tuple[int, int, int, str, float]] = []
    for nodes in QUICK_NODES if quick else NODES:
        for factor in (2, 4):
            for seed in seeds:
                settings = SelectionSettings(nodes=nodes, jobs=factor * nodes, gpus_per_node=GPUS)
                instance = generate_selection(settings, seed=seed)
                for method in METHODS:
                    solve = resolve(PROBLEMS["selection"].method(method).run)
                    outcome = solve(instance, SelectionOptions(), Settings(seed=seed))
                    rows.append((nodes, factor * nodes, seed, method, outcome.solve_time))
    lines = [
        f"# sts, Fig. 7: seconds of one decision, {GPUS} GPUs a node, seeds 0-{seeds[-1]}",
        "",
        "RG is 20 starts, EDF one pass. Medians [min-max] over seeds.",
        "",
        f"| nodes | jobs | {' | '.join(METHODS)} |",
        "|---|---|---|---|---|",
    ]
    for nodes, jobs in sorted({(row[0], row[1]) for row in rows}):
        here = [row for row in rows if row[:2] == (nodes, jobs)]
        cells = [_cell([row[4] for row in here if row[3] == m]) for m in METHODS]
        lines.append(f"| {nodes} | {jobs} | {' | '.join(cells)} |")
    lines += ["", f"Verdict: {_verdict(rows)}{' [smoke: 1 seed]' if quick else ''}"]
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerows([("nodes", "jobs", "seed", "method", "seconds"), *rows])
    write_text(folder / "sts-fig7.csv", stream.getvalue())
    write_text(folder / "sts-fig7.md", "\n".join(lines) + "\n")
    return "\n".join(lines)


def _cell(times: list[float]) -> str:
    return f"{median(times):.4f} [{min(times):.4f}-{max(times):.4f}]"


def _verdict(rows: list[tuple[int, int, int, str, float]]) -> str:
    ours = [row[4] for row in rows if row[3] == "sts"]
    means = {m: mean(row[4] for row in rows if row[3] == m) for m in METHODS}
    holds = "holds" if max(ours) < 5 else "does not hold"
    order = "holds" if means["sts"] >= max(means["rg"], means["edf"]) else "does not hold"
    return (
        f"STS under 5 s: {holds} (largest {max(ours):.3f} s, mean {means['sts']:.3f} s); "
        f"STS slower than RG and EDF: {order} here "
        f"(means: rg {means['rg']:.3f} s, edf {means['edf']:.3f} s)"
    )
