"""Epoch distribution in an instance file."""

from typing import Annotated, Self

from pydantic import model_validator

from optsched.schema import LARGEST, About, Between, FileModel, Items, Positive, fault

MOST_VALUES = 100_000
SUM_TOLERANCE = 1e-9
Probability = Annotated[float, Between(1e-30, LARGEST)]
"""At least 1e-30, for tails of truncated exponentials: the exact verifier counts in 2**-200."""


class Epochs(FileModel):
    """The distribution of W_j: values with their probabilities."""

    values: Annotated[
        tuple[Positive, ...],
        Items(MOST_VALUES),
        About("What W_j, the epochs of the job, may be.", "epochs", [20, 60, 100]),
    ]
    probabilities: Annotated[
        tuple[Probability, ...],
        Items(MOST_VALUES),
        About("How likely each value is; they sum to 1.", "probability", [0.3, 0.5, 0.2]),
    ]

    @model_validator(mode="after")
    def _sums_to_one(self) -> Self:
        if not self.values:
            raise fault("values", "no value", "at least one")
        if len(self.values) != len(self.probabilities):
            found = f"{len(self.probabilities)} probabilities"
            raise fault("probabilities", found, f"one for each of {len(self.values)} values")
        total = sum(self.probabilities)
        if abs(total - 1) > SUM_TOLERANCE:
            raise fault("probabilities", f"a sum of {total:.12g}", "1")
        return self
