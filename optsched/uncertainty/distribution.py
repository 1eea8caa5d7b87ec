"""Distribution of a job's number of epochs, and of its remaining epochs.

Source: sts, III and VI-B: after w_c completed epochs, P(W | W > w_c).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Distribution:
    """A discrete distribution: strictly increasing values, positive probabilities of sum 1."""

    values: Floats
    probabilities: Floats

    @classmethod
    def of(cls, values: Sequence[float], probabilities: Sequence[float]) -> Distribution:
        """Make one of values in any order; equal ones are merged, the sum is made exactly 1.

        Parameters
        ----------
        values : sequence of float
            What the variable may be.
        probabilities : sequence of float
            How likely each is.

        Examples
        --------
        >>> Distribution.of([3.0, 1.0, 3.0], [0.25, 0.5, 0.25]).mean
        2.0
        """
        distinct, weights = merge_equal_values(values, probabilities)
        return cls(distinct, weights / weights.sum())

    @classmethod
    def from_samples(cls, samples: Iterable[float]) -> Distribution:
        """The empirical distribution of observed epochs; raises ValueError if there are none."""
        values, counts = np.unique(np.fromiter(samples, dtype=float), return_counts=True)
        if not len(values) or values[0] <= 0:
            raise ValueError("epochs to fit must be at least one positive number")
        return cls(values, counts / counts.sum())

    def remaining(self, completed: float) -> Distribution | None:
        """Epochs left, ``W - completed`` given ``W > completed``; None when there are none."""
        left = self.values > completed
        if not left.any():
            return None
        weights = self.probabilities[left]
        return Distribution(self.values[left] - completed, weights / weights.sum())

    @property
    def mean(self) -> float:
        """E[W]."""
        return float(self.values @ self.probabilities)

    @property
    def max_epochs(self) -> float:
        return float(self.values[-1])

    def tardiness(self, seconds_per_epoch: Floats, due: float) -> Floats:
        """E[(t W - d)^+] in seconds, for an array of seconds per epoch t; infinite where t is."""
        usable = np.isfinite(seconds_per_epoch)
        times = np.where(usable, seconds_per_epoch, 0.0)[..., None] * self.values
        late = np.maximum(times - due, 0.0) @ self.probabilities
        return np.where(usable, late, np.inf)


def merge_equal_values(
    values: Sequence[float], probabilities: Sequence[float]
) -> tuple[Floats, Floats]:
    """Distinct values, increasing, and the sums of their probabilities."""
    distinct, inverse = np.unique(np.asarray(values, dtype=float), return_inverse=True)
    weights = np.bincount(inverse, weights=np.asarray(probabilities, dtype=float))
    return distinct, weights.astype(float)
