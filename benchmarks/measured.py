"""Iteration times predicted against measured ones: `python benchmarks/measured.py`.

    python benchmarks/measured.py --page docs/measured.md --figure docs/measured.png

1,549 iteration times of GPT models on 2 to 512 A100s, in OPTSCHED_DATA/measured (see `SOURCE`), are
predicted by the zoo's profile of the network and this package's cost of the placement that the job
had (`measured_model`). Up to five constants of the hardware are fitted on a tenth of a file's rows,
drawn by seed, and judged on the others; nothing else is adjusted, and no row is left out.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from measured_model import (
    COLUMNS,
    GPUS_PER_SERVER,
    NAMES,
    RECOMPUTED,
    Constants,
    Floats,
    Row,
    fit,
    measured_files,
    memory_of,
    predicted,
)

from optsched.errors import InputError
from optsched.plotting.axes import MARK_COLOUR, add_heading, house_style
from optsched.zoo.device import A100_BF16

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SOURCE = (
    "the validation runs of J. Bang, Y. Choi, M. Kim, Y. Kim and M. Rhu, vTrain: A Simulation\n"
    "Framework for Evaluating Cost-effective and Compute-optimal Large Language Model Training,\n"
    "MICRO 2024, https://github.com/VIA-Research/vTrain; MIT licence, copyright 2024 VIA Research\n"
    "Group at KAIST"
)
SHARE = 0.1
SEEDS = 10
SYSTEMATIC = 0.07
"""Mean signed error from which a group of rows is named; of a combination of degrees, twice it."""
GROUPED = ("tensor", "data", "pipeline", "micro_batch", "hidden", "gpus")
UNITS = {
    "efficiency": "of the peaks",
    "overhead": "s",
    "launch": "s",
    "intra_bandwidth": "B/s",
    "inter_bandwidth": "B/s",
}


@dataclass(frozen=True)
class Judged:
    """A file's rows, the constants of each seed, and each seed's predictions (nan: fitted on)."""

    name: str
    rows: list[Row]
    constants: list[Constants]
    ratios: Floats
    """(seeds, rows): predicted / measured - 1."""

    @property
    def means(self) -> Floats:
        """Mean absolute error of each seed's rest."""
        return np.asarray(np.nanmean(np.abs(self.ratios), axis=1))

    @property
    def medians(self) -> Floats:
        """Median absolute error of each seed's rest."""
        return np.asarray(np.nanmedian(np.abs(self.ratios), axis=1))


def main() -> int:
    """Judge both files; print, and write the page and the picture that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=SEEDS, metavar="N")
    parser.add_argument("--page", metavar="FILE", help="write what is printed as a page")
    parser.add_argument("--figure", metavar="FILE", help="draw measured against predicted")
    given = parser.parse_args()
    try:
        files = measured_files()
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    found = [judged(name, rows, range(given.seeds)) for name, rows in files.items()]
    text = "\n".join(report(each) for each in found)
    print(text)
    if given.figure:
        draw(found, given.figure)
    if given.page:
        picture = os.path.relpath(given.figure, Path(given.page).parent) if given.figure else ""
        Path(given.page).write_text(page(text, picture), encoding="utf-8")
    return 0


def judged(name: str, rows: list[Row], seeds: Iterable[int]) -> Judged:
    """Fit on a tenth by seed, predict the rest."""
    constants, ratios = [], []
    for seed in seeds:
        drawn = np.random.default_rng(seed).permutation(len(rows))
        known = drawn[: math.ceil(SHARE * len(rows))]
        found = fit([rows[index] for index in known], RECOMPUTED[name])
        times = [predicted(row, found, RECOMPUTED[name]) / row.seconds - 1 for row in rows]
        times_of_rest = np.array(times)
        times_of_rest[known] = np.nan
        constants.append(found)
        ratios.append(times_of_rest)
    return Judged(name, rows, constants, np.array(ratios))


def report(found: Judged) -> str:
    """A file's errors: in all, by constant, by degree, and what is systematically off."""
    gpus = [row.gpus for row in found.rows]
    lines = [
        f"## {found.name}: {len(found.rows)} rows, {min(gpus)} to {max(gpus)} GPUs",
        "",
        f"Over {len(found.constants)} draws of {_known(found)} rows, the errors on the other rows "
        "are:",
        "",
        "| absolute relative error | mean of the draws | least | most |",
        "|---|---:|---:|---:|",
        f"| mean | {_spread(found.means)} |",
        f"| median | {_spread(found.medians)} |",
        "",
        "The fitted constants, with the value from which the fit starts:",
        "",
        "| constant | start | median of the draws | least | most |",
        "|---|---:|---:|---:|---:|",
    ]
    used = NAMES if max(gpus) > GPUS_PER_SERVER else NAMES[:-1]
    for name in used:
        values = [getattr(constants, name) for constants in found.constants]
        shown_values = (
            getattr(Constants, name),
            float(np.median(values)),
            min(values),
            max(values),
        )
        cells = " | ".join(f"{value:.3g}" for value in shown_values)
        lines.append(f"| {name} ({UNITS[name]}) | {cells} |")
    lines += [
        "",
        "Errors by group of rows; a negative signed error is a prediction that is too short:",
        "",
        "| | rows | mean error | median error | mean signed error |",
        "|---|---:|---:|---:|---:|",
    ]
    off: list[str] = []
    for attribute in GROUPED:
        for value in sorted({getattr(row, attribute) for row in found.rows}):
            group = f"{COLUMNS[attribute].removeprefix('# ')} {value}"
            error = _errors(found, lambda row, a=attribute, v=value: getattr(row, a) == v)  # type: ignore[misc]
            lines.append(f"| {group} | {_cells(error)} |")
            off += _named(group, error, SYSTEMATIC)
    combined = sorted({(row.tensor, row.micro_batch, row.hidden) for row in found.rows})
    for tensor, samples, hidden in combined:
        own = (tensor, samples, hidden)
        error = _errors(found, lambda row, o=own: (row.tensor, row.micro_batch, row.hidden) == o)  # type: ignore[misc]
        group = f"tensor parallelism {tensor}, micro batch {samples} and hidden size {hidden}"
        off += _named(group, error, 2 * SYSTEMATIC)
    lines += [
        "",
        "Groups with a systematic error:",
        "",
        *(off or ["nothing."]),
        "",
        _memory(found.rows),
        "",
    ]
    return "\n".join(lines)


def _memory(rows: Sequence[Row]) -> str:
    held = [1e-9 * memory_of(row) for row in rows]
    room = 1e-9 * A100_BF16.memory_bytes
    over = sum(each > room for each in held)
    return (
        f"Memory: the planner computes {min(held):.1f} to {max(held):.1f} GB on the fullest GPU "
        f"of\nthese jobs; for {over} of {len(rows)} jobs this exceeds the {room:g} GB of an A100."
    )


def _known(found: Judged) -> int:
    return math.ceil(SHARE * len(found.rows))


def _spread(values: Floats) -> str:
    return " | ".join(
        f"{100 * value:.1f}%" for value in (values.mean(), values.min(), values.max())
    )


def _errors(found: Judged, chosen: Callable[[Row], bool]) -> Floats:
    """Signed errors of a group's rows by draw, where they were not fitted on."""
    columns = [index for index, row in enumerate(found.rows) if chosen(row)]
    own = found.ratios[:, columns]
    return own[:, ~np.isnan(own).all(axis=0)]


def _cells(error: Floats) -> str:
    each = (np.nanmean(np.abs(error)), np.nanmedian(np.abs(error)))
    told = " | ".join(f"{100 * value:.1f}%" for value in each)
    return f"{error.shape[1]} | {told} | {100 * np.nanmean(error):+.1f}%"


def _named(group: str, error: Floats, least: float) -> list[str]:
    mean = float(np.nanmean(error))
    if abs(mean) < least:
        return []
    way = "long" if mean > 0 else "short"
    rows = "1 row" if error.shape[1] == 1 else f"{error.shape[1]} rows"
    return [f"- {group}: {100 * abs(mean):.0f}% too {way} on average ({rows})"]


def draw(found: Sequence[Judged], path: str) -> None:
    """Measured against predicted, by tensor degree, each row by the first draw that left it out."""
    with house_style():
        _drawn(found).savefig(path)


def _drawn(found: Sequence[Judged]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.2 * len(found), 4.6), layout="constrained")
    axes = figure.subplots(1, len(found), squeeze=False)
    for axis, each in zip(axes[0], found, strict=True):
        seconds = np.array([row.seconds for row in each.rows])
        left_out = np.argmin(np.isnan(each.ratios), axis=0)
        times = seconds * (1 + each.ratios[left_out, np.arange(len(seconds))])
        for tensor in sorted({row.tensor for row in each.rows}):
            own = [index for index, row in enumerate(each.rows) if row.tensor == tensor]
            axis.plot(
                seconds[own], times[own], ".", markersize=4, label=f"tensor parallelism {tensor}"
            )
        ends = np.array([seconds.min() / 1.3, seconds.max() * 1.3])
        axis.plot(ends, ends, color=MARK_COLOUR, linewidth=0.8)
        axis.fill_between(ends, 0.9 * ends, 1.1 * ends, color=MARK_COLOUR, alpha=0.12, linewidth=0)
        axis.set(
            xscale="log", yscale="log", xlabel="measured, seconds", ylabel="predicted, seconds"
        )
        add_heading(axis, f"{each.name}: mean error {100 * each.means.mean():.1f}%")
    return figure


def page(text: str, picture: str) -> str:
    """docs/measured.md."""
    image = f"![Predicted against measured iteration times; the band is 10%]({picture})\n\n"
    return PAGE.format(source=SOURCE, image=image if picture else "", text=text)


COMMAND = "python benchmarks/measured.py --page docs/measured.md --figure docs/measured.png"
PAGE = f"""<!-- generated by `{COMMAND}`; do not edit -->
"""
PAGE += """# Predicted against measured iteration times

The cost model predicts the iteration times of this page with mean errors below 10%. An excess or a
{{term}}`gap` in placement means something only if the cost that methods minimise is realistic.

The data are 1,549 measured iteration times of GPT models on A100s. The prediction of a row uses
only its configuration: `optsched.placement.cost` with micro-batches, on the zoo's profile of the
network in Megatron's tensor slices, with the job's own {{term}}`stages <stage>` and placement
(slices side by side, then the {{term}}`replicas <replica>` of a stage, then the stages). The two
files of measured times are in the folder `measured/` of the folder that `OPTSCHED_DATA` names.

{image}Data: {source}.
For comparison, a published simulator built for such runs reports mean errors of about 8% (one
server) and 15% (many servers).

**Fitted constants**: the fraction of the peaks that kernels reach, the additional seconds of a
sublayer's forward pass, the seconds that a host needs to launch it, and one or two bandwidths. Each
fit uses a tenth of a file's rows, drawn by seed, and is judged on the other rows. It starts at
round data-sheet values and is regularised towards them.

**Assumptions**: an A100 has 312 TFLOP/s and 2.04 TB/s; a number has two bytes; results pass through
memory from kernel to kernel; a backward pass costs two forward passes; jobs of many servers repeat
the forward pass in it, and jobs of one server do not; a replica of 16 slices spans two servers,
modelled as one server whose inside is as fast as their NICs.

Only the values of the constants are tested on unseen rows. The choice of constants and assumptions
was made with all rows known.

{text}
## What the errors say

- One server: GPUs are idle where the host launches kernels more slowly than they run, and then the
  work hardly matters. One constant does not capture this: with 8 slices the host is so slow that a
  micro-batch of 1 takes longer than one of 4.
- One server, 2 or 4 slices: some micro-batches take less time than micro-batches of half their size
  (4 of width 1,024 on 2 slices, 2 of width 2,048 on 4). A cost that grows with the work cannot
  predict this.
- Many servers: for the 3.6-billion model, the micro-batch of 64 on 8 slices and those of 2 on 4 and
  8 slices take 1.3 to 2 times as long as their neighbours. The 39-billion model on 2 slices is
  slower than its work and bytes predict. These few rows cause much of the mean error.
- Memory: the planner keeps the output of each sublayer, whereas recomputation of whole blocks keeps
  that of each block. The planner would therefore reject a few jobs that ran.
- Missing in the cost: the optimiser's step, the exchange of the table that the first and the last
  stage share, and the all-reduce of gradients while a GPU computes.
"""


if __name__ == "__main__":
    sys.exit(main())
