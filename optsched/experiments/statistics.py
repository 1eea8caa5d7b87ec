"""Intervals by the bootstrap, and how tables and verdicts say how values vary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import mean, median, stdev

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
    import numpy as np
    from scipy.stats import bootstrap

    found = bootstrap(
        (values,),
        np.mean,
        n_resamples=RESAMPLES,
        batch=max(1, AT_ONCE // len(values)),
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(SEED),
    ).confidence_interval
    return Interval(float(found.low), float(found.high))


def spread(
    values: Sequence[float],
    form: str = ".2f",
    *,
    middle: Callable[[Sequence[float]], float] = median,
    to: str = "-",
    unit: str = "",
) -> str:
    """The middle of some values and their range, such as "0.97 [0.87-1.13]"; "-" for none."""
    if not values:
        return "-"
    return f"{middle(values):{form}}{unit} [{span(values, form, to)}]"


def percent(values: Sequence[float]) -> str:
    """Median and range of shares in whole percent, such as "-13% [-90 to 30]"."""
    return spread([100 * value for value in values], "z.0f", to=" to ", unit="%")


def deviation(values: Sequence[float]) -> str:
    """Mean, standard deviation and range, such as "1.08 ± 0.06 [0.99-1.19]"."""
    around = stdev(values) if len(values) > 1 else 0.0
    return f"{mean(values):.2f} ± {around:.2f} [{span(values)}]"


def span(values: Sequence[float], form: str = ".2f", to: str = "-") -> str:
    """The least and the largest of some values, such as "0.87-1.13"."""
    return f"{min(values):{form}}{to}{max(values):{form}}"
