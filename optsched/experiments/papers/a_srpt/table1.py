"""Table I of a-srpt: the nine models, their parameters and mini-batches, beside those of our zoo.

Our counts come from the published architectures layer by layer (`optsched.zoo`); the published
count enters none of them. Placement instances of the zoo carry these bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from optsched.experiments.papers.output_files import leave
from optsched.experiments.papers.pictures import new_figure
from optsched.experiments.papers.verdict import Finding, Verdict
from optsched.plotting.axes import COLOURS
from optsched.zoo import MODELS, profile_model
from optsched.zoo.device import BYTES_PER_NUMBER

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "a-srpt-table1"
PAPER = {
    "VGG19": (144e6, 32),
    "ResNet152": (60e6, 4),
    "Inception-V3": (24e6, 32),
    "BERT-large": (340e6, 4),
    "XLNet-large": (550e6, 4),
    "T5-11B": (11e9, 8),
    "GPT-6.7B": (6.7e9, 32),
    "GPT-13B": (13e9, 32),
    "GPT-175B": (175e9, 16),
}
"""Parameters and samples of a mini-batch, as printed."""
PARAGRAPH = (
    "XLNet-large does not agree: the printed 550M is half as much again as the architecture has "
    "(24 blocks of width 1024 and a vocabulary of 32,000: 360M). "
    "Everything else rounds to what the table prints. Our placement instances of "
    "XLNet-large therefore all-reduce about a third less than the paper's may have."
)


@dataclass(frozen=True)
class Row:
    """One model: counts of parameters, and samples of a mini-batch."""

    model: str
    paper: float
    ours: float
    difference: float
    paper_batch: int
    our_batch: int

    @property
    def agrees(self) -> bool:
        """The same mini-batch, and a count that rounds to the printed digits."""
        near = abs(self.ours - self.paper) <= _half_unit(self.paper)
        return near and self.paper_batch == self.our_batch


def run(folder: Path, quick: bool) -> str:
    """Make the table: CSV, Markdown, a picture and a verdict; nothing in it is random.

    Parameters
    ----------
    folder : Path
        Gets ``a-srpt-table1`` with .csv, .md, .png, .pdf and .verdict.json.
    quick : bool
        Only marks the verdict: there is nothing to shorten.
    """
    rows = [_row(name, *printed) for name, printed in PAPER.items()]
    lines = [
        "# a-srpt, Table I: the models",
        "",
        "| model | parameters, paper | ours | difference | mini-batch, paper | ours |",
        "|---|---:|---:|---:|---:|---:|",
        *(
            f"| {r.model} | {_count(r.paper)} | {_count(r.ours)} | {100 * r.difference:+.1f}% "
            f"| {r.paper_batch} | {r.our_batch} |"
            for r in rows
        ),
        "",
    ]
    verdict = _verdict(rows, quick)
    lines.append(f"Verdict: {verdict}")
    return leave(folder, verdict, lines, rows, _picture(rows))


def _row(model: str, paper: float, batch: int) -> Row:
    layers = profile_model(model).layers
    ours = sum(layer.parameter_bytes for layer in layers) / BYTES_PER_NUMBER
    return Row(model, paper, ours, ours / paper - 1, batch, MODELS[model].batch_size)


def _half_unit(printed: float) -> float:
    """Half of the last digit that is no zero: 5e6 of 340M, 0.05e9 of 6.7B."""
    unit = 1
    while round(printed) % (10 * unit) == 0:
        unit *= 10
    return unit / 2


def _count(value: float) -> str:
    return f"{value / 1e9:.4g}B" if value >= 1e9 else f"{value / 1e6:.4g}M"


def _verdict(rows: list[Row], quick: bool) -> Verdict:
    agree = [row for row in rows if row.agrees]
    worst = max(agree, key=lambda row: abs(row.difference))
    other = [f"{row.model} {_count(row.ours)}" for row in rows if not row.agrees]
    finding = Finding.HOLDS if not other else Finding.PARTLY if agree else Finding.FAILS
    return Verdict(
        artefact=NAME,
        finding=finding,
        paper=", ".join(f"{row.model} {_count(row.paper)}" for row in rows),
        ours=f"{len(agree)} of {len(rows)} agree" + (f"; {', '.join(other)}" if other else ""),
        spread=f"of those, at most {100 * abs(worst.difference):.1f}% apart ({worst.model})",
        setting="counted from the published architectures; the same mini-batches",
        smoke=quick,
        paragraph=PARAGRAPH if other else "",
    )


def _picture(rows: list[Row]) -> Figure:
    """A line a model: the printed count and ours, on a logarithmic axis."""
    figure = new_figure(6.4, 3.4)
    ax = figure.add_subplot()
    at = range(len(rows))
    ax.plot([r.paper for r in rows], at, "o", color=COLOURS[1], label="printed", markersize=9)
    ax.plot([r.ours for r in rows], at, "o", color=COLOURS[0], label="ours", markersize=5)
    ax.set_yticks(at, [r.model for r in rows])
    ax.invert_yaxis()
    ax.set_xscale("log")
    ax.set_xlabel("parameters")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return figure
