"""What tensor parallelism costs in waiting: jobs whose slices must fit, against load.

    python benchmarks/slices.py [--page docs/slices.md] [--figure docs/slices.png] [--seeds 5]

1,000 jobs of the generator on 25 x 8 GPUs with NICs of 100 Gbit/s; the jobs of several GPUs train
transformers and a mixture of experts in slices of 1, 2, 4 or 8 GPUs (`--slices`). All slices of a
replica sit in one server, so that a job whose GPUs are free may have to wait for others (a-srpt,
VI). Lengths are known, so that nothing but waiting differs. A value is the mean waiting time over
the jobs, the median over seeds [range], in seconds. Every run is audited.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

os.environ.setdefault("NUMBA_NUM_THREADS", "1")

import numpy as np

import optsched
from optsched.experiments.statistics import spread
from optsched.online.audit import audit
from optsched.online.data.jobs import prepare_jobs
from optsched.online.policies.by_name import PolicyOptions
from optsched.online.simulator.engine import simulate_online
from optsched.plotting.axes import COLOURS, house_style, legend_below

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOADS, SLICES = (0.3, 0.5, 0.7, 0.9), (1, 2, 4, 8)
VARIANTS: Mapping[str, tuple[str, str | None]] = {
    "a-srpt": ("a-srpt", None),
    "a-srpt, offers most-available": ("a-srpt", "most"),
    "a-srpt, offers best-fit-last": ("a-srpt", "best-fit-last"),
    "srpt-workload-hold": ("srpt-workload-hold", None),
    "wcs-workload": ("wcs-workload", None),
    "easy": ("easy", None),
}
"""By label a policy and an offer rule in place of its own."""
Waits = dict[tuple[str, float, int], list[float]]


def main() -> None:
    """Run every case; print the page, or write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--page", type=Path)
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    waits = measured(range(arguments.seeds))
    if arguments.page is None:
        print(page(waits))
    else:
        arguments.page.write_text(page(waits), encoding="utf-8")
    if arguments.figure is not None:
        draw(waits, arguments.figure)


def measured(seeds: Sequence[int], *, jobs: int = 1000, loads: Sequence[float] = LOADS) -> Waits:
    """Mean waiting times (s) by label, load and slices, a value a seed."""
    waits: Waits = {}
    for load in loads:
        for slices in SLICES:
            for seed in seeds:
                made = optsched.generate(
                    "online",
                    seed=seed,
                    jobs=jobs,
                    servers=25,
                    inter_bandwidth=1.25e10,
                    load=load,
                    slices=slices,
                )
                prepared = prepare_jobs(made.workload, made.catalogue, made.cluster)
                for label, (policy, offer) in VARIANTS.items():
                    records = simulate_online(prepared, policy, options=PolicyOptions(offer=offer))
                    check = audit(prepared, records, predicted=prepared.iterations)
                    assert check.feasible, (label, load, slices, seed, check)
                    wait = float(np.mean(records.start - records.submit))
                    waits.setdefault((label, load, slices), []).append(wait)
        print(f"load {load:g} done", file=sys.stderr, flush=True)
    return waits


def page(waits: Waits) -> str:
    """A table a policy: loads against slices."""
    loads = sorted({load for _, load, _ in waits})
    lines = [
        "# What slices cost in waiting",
        "",
        "Written by `python benchmarks/slices.py --page docs/slices.md --figure docs/slices.png`; "
        "do not edit.",
        "",
        (__doc__ or "").partition("\n\n")[2].partition("\n\n")[2].strip(),
        "",
        "![Mean waiting time against load, a panel a policy](slices.png)",
    ]
    for label in VARIANTS:
        lines += ["", f"## {label}", ""]
        lines.append("| load | " + " | ".join(f"slices of {q}" for q in SLICES) + " |")
        lines.append("|---:|" + "---:|" * len(SLICES))
        for load in loads:
            cells = [spread(waits[label, load, q], ".0f") for q in SLICES]
            lines.append(f"| {load:g} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def draw(waits: Waits, path: Path) -> None:
    """A panel a policy, a line a size of slices, medians with their range."""
    with house_style():
        _drawn(waits).savefig(path)


def _drawn(waits: Waits) -> Figure:
    from matplotlib.figure import Figure

    loads = sorted({load for _, load, _ in waits})
    figure = Figure(figsize=(9, 6), layout="constrained")
    panels = figure.subplots(2, 3, sharex=True, sharey=True)
    for ax, label in zip(panels.flat, VARIANTS, strict=True):
        for slices, colour in zip(SLICES, COLOURS, strict=False):
            found = [waits[label, load, slices] for load in loads]
            middle = [median(values) for values in found]
            ax.plot(loads, middle, marker="o", ms=4, color=colour, label=f"slices of {slices}")
            low, high = [min(v) for v in found], [max(v) for v in found]
            ax.fill_between(loads, low, high, color=colour, alpha=0.2, linewidth=0)
        ax.set_yscale("symlog", linthresh=10)
        ax.set_title(label)
    for ax in panels[-1]:
        ax.set_xlabel("load")
    for ax in panels[:, 0]:
        ax.set_ylabel("mean waiting time, seconds")
    legend_below(figure, panels[0, 0])
    return figure


if __name__ == "__main__":
    main()
