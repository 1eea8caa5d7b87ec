"""Bootstrap intervals, and texts of medians and ranges."""

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

RESAMPLES = 2000
CONFIDENCE = 0.95
SEED = 0
BATCH_VALUES = 1_000_000
"""Values drawn at a time, to bound the memory."""


class Interval(NamedTuple):
    """A 95% percentile interval."""

    low: float
    high: float


def bootstrap_mean(values: Sequence[float]) -> Interval | None:
    """Interval of the mean under resampling with replacement; None for fewer than two values."""
    if len(values) < 2:
        return None
    import numpy as np
    from scipy.stats import bootstrap

    interval = bootstrap(
        (values,),
        np.mean,
        n_resamples=RESAMPLES,
        batch=max(1, BATCH_VALUES // len(values)),
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(SEED),
    ).confidence_interval
    return Interval(float(interval.low), float(interval.high))


def spread(values: Sequence[float], form: str = ".2f", *, to: str = "-", unit: str = "") -> str:
    """Median and range of some values, such as "0.97 [0.87-1.13]"; "-" for none."""
    return f"{median(values):{form}}{unit} [{span(values, form, to)}]" if values else "-"


def percent(values: Sequence[float]) -> str:
    """Median and range of shares in whole percent, such as "-13% [-90 to 30]"."""
    return spread([100 * value for value in values], "z.0f", to=" to ", unit="%")


def span(values: Sequence[float], form: str = ".2f", to: str = "-") -> str:
    """The smallest and the largest value, such as "0.87-1.13"."""
    return f"{min(values):{form}}{to}{max(values):{form}}"
