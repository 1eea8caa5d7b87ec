"""Table I of a-srpt: the nine models, their parameters and mini-batches, beside those of our zoo.

Our counts come from the published architectures layer by layer (`optsched.zoo`); the published
count enters none of them. Placement instances of the zoo carry these bytes.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from optsched.experiments.papers.artefact import Artefact, Scale
from optsched.experiments.papers.pictures import panels, with_verdict
from optsched.experiments.papers.verdict import Finding, Verdict
from optsched.plotting.axes import COLOURS, WIDTH, headed
from optsched.zoo import MODELS, profile_model
from optsched.zoo.device import BYTES_PER_NUMBER

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

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
    "Holds where the model is one of the other eight, each of which rounds to what the table "
    "prints; fails where it is XLNet-large: the printed 550M is half as much again as the "
    "architecture has (24 blocks of width 1024 and a vocabulary of 32,000: 360M). Our placement "
    "instances of XLNet-large therefore all-reduce about a third less than the paper's may have."
)


def counts(runs: pd.DataFrame, scale: Scale) -> pd.DataFrame:
    """A row a model; nothing is run, and nothing in it is random."""
    import pandas as pd

    rows = []
    for model, (paper, batch) in PAPER.items():
        layers = profile_model(model).layers
        ours = sum(layer.parameter_bytes for layer in layers) / BYTES_PER_NUMBER
        rows.append((model, paper, ours, ours / paper - 1, batch, MODELS[model].batch_size))
    columns = ["model", "paper", "ours", "difference", "paper_batch", "our_batch"]
    return pd.DataFrame(rows, columns=columns)


def agrees(row: Mapping[Hashable, Any]) -> bool:
    """The same mini-batch, and a count that rounds to the printed digits."""
    near = abs(row["ours"] - row["paper"]) <= _half_unit(row["paper"])
    return bool(near and row["paper_batch"] == row["our_batch"])


def table(rows: pd.DataFrame, scale: Scale) -> list[str]:
    """Both counts."""
    return [
        "| model | parameters, paper | ours | difference | mini-batch, paper | ours |",
        "|---|---:|---:|---:|---:|---:|",
        *(
            f"| {r['model']} | {_count(r['paper'])} | {_count(r['ours'])} "
            f"| {100 * r['difference']:+.1f}% | {r['paper_batch']} | {r['our_batch']} |"
            for r in rows.to_dict("records")
        ),
    ]


def judge(rows: pd.DataFrame, scale: Scale) -> Verdict:
    """Whether every model agrees."""
    every = rows.to_dict("records")
    agree = [row for row in every if agrees(row)]
    worst = max(agree, key=lambda row: abs(row["difference"]))
    other = ", ".join(f"{r['model']} {_count(r['ours'])}" for r in every if not agrees(r))
    return Verdict(
        finding=Finding.PARTLY if other else Finding.HOLDS,
        paper=", ".join(f"{row['model']} {_count(row['paper'])}" for row in every),
        ours=f"{len(agree)} of {len(rows)} agree" + (f"; {other}" if other else ""),
        spread=f"of those, at most {100 * abs(worst['difference']):.1f}% apart ({worst['model']})",
        setting="counted from the published architectures; the same mini-batches",
        paragraph=PARAGRAPH if other else "",
    )


def draw(rows: pd.DataFrame) -> Figure:
    """A line a model: the printed count and ours, on a logarithmic axis."""
    figure, (ax,) = panels(WIDTH, 3.6)
    ax.plot(rows["paper"], rows.index, "o", color=COLOURS[1], label="printed", markersize=9)
    ax.plot(rows["ours"], rows.index, "o", color=COLOURS[0], label="ours", markersize=5)
    ax.set_yticks(rows.index, rows["model"])
    ax.invert_yaxis()
    ax.set_xscale("log")
    ax.set_xlabel("parameters")
    headed(ax)
    verdict = judge(rows, Scale())
    said = "the table's nine counts and mini-batches"
    return with_verdict(figure, replace(verdict, paper=said), f"{verdict.ours}.")


def _half_unit(printed: float) -> float:
    """Half of the last digit that is no zero: 5e6 of 340M, 0.05e9 of 6.7B."""
    unit = 1
    while round(printed) % (10 * unit) == 0:
        unit *= 10
    return unit / 2


def _count(value: float) -> str:
    return f"{value / 1e9:.4g}B" if value >= 1e9 else f"{value / 1e6:.4g}M"


ARTEFACTS = (
    Artefact(
        "a-srpt-table1",
        "parameters and mini-batches of nine models",
        rows=counts,
        lines=table,
        judge=judge,
        draw=draw,
        where="a-srpt, Table I",
        runtime="2 s",
    ),
)
