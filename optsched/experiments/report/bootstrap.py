"""Confidence intervals by the bootstrap, from a fixed seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 2000
CONFIDENCE = 0.95
SEED = 0
AT_ONCE = 1_000_000
"""Values drawn at a time, so that memory stays small."""


@dataclass(frozen=True)
class Interval:
    """A 95% percentile interval."""

    low: float
    high: float


def bootstrap_mean(values: Sequence[float]) -> Interval | None:
    """Interval of the mean under resampling with replacement; None for fewer than two values."""
    if len(values) < 2:
        return None
    sample = np.asarray(values, dtype=float)
    rng = np.random.default_rng(SEED)
    rows = max(1, AT_ONCE // len(sample))
    means: list[np.ndarray] = []
    for start in range(0, RESAMPLES, rows):
        count = min(rows, RESAMPLES - start)
        means.append(sample[rng.integers(0, len(sample), (count, len(sample)))].mean(axis=1))
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(np.concatenate(means), (tail, 1 - tail))
    return Interval(float(low), float(high))
