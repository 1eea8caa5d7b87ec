"""Table I of a-srpt: parameters of nine models, compared with those of our zoo.

Our counts come from the published architectures layer by layer (`optsched.zoo`). Placement
instances of the zoo carry these bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from optsched.experiments.papers.artefact import Artefact, Scale
from optsched.experiments.papers.claims import Claim, cells_of, judge
from optsched.experiments.papers.pictures import maps
from optsched.zoo import MODELS, profile_model
from optsched.zoo.device import BYTES_PER_NUMBER

if TYPE_CHECKING:
    import pandas as pd

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
CLAIM = Claim(
    "the printed numbers of parameters", "24M to 175B", "printed above counted", form=".1f"
)
WHY = (
    "A model agrees if its count rounds to the printed digits. XLNet-large does not: the printed "
    "550M is half as much again as the architecture has (24 blocks of width 1024 and a vocabulary "
    "of 32,000: 360M). Our placement instances of XLNet-large therefore all-reduce about a third "
    "less than the paper's may have."
)
FIXED = "Counted from the published architectures; the mini-batches are the paper's."


def rows_of(runs: pd.DataFrame, scale: Scale) -> pd.DataFrame:
    """One row per model; nothing is run, and nothing is random."""
    import pandas as pd

    rows = [
        (model, paper, ours, 100 * (paper / ours - 1), rounds_to(ours, paper) and batch == size)
        for model, (paper, batch) in PAPER.items()
        for ours, size in [(parameters_of(model), MODELS[model].batch_size)]
    ]
    return pd.DataFrame(rows, columns=["model", "paper", "ours", "difference", "agrees"])


def parameters_of(model: str) -> float:
    return sum(layer.parameter_bytes for layer in profile_model(model).layers) / BYTES_PER_NUMBER


def rounds_to(value: float, printed: float) -> bool:
    """Whether a value rounds to the printed digits."""
    unit = 1
    while round(printed) % (10 * unit) == 0:  # the last non-zero digit
        unit *= 10
    return abs(value - printed) <= unit / 2


def cells(rows: pd.DataFrame) -> pd.DataFrame:
    return cells_of(
        (CLAIM.text, row["model"], "", [row["difference"]], row["agrees"])
        for row in rows.to_dict("records")
    )


ARTEFACT = Artefact(
    name="a-srpt-table1",
    reference="a-srpt, Table I",
    claim="parameters of nine models",
    runtime="2 s",
    rows=rows_of,
    judge=lambda rows, _: judge([CLAIM], cells(rows), "difference", why=WHY, fixed=FIXED),
    draw=lambda rows: maps([CLAIM], cells(rows), "difference"),
    group_columns=("model",),
    value_columns=("paper", "ours", "difference"),
)
