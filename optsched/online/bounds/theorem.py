"""Theorem 1's ratio for one run (reported to show how loose it is).

    (2 + tau + rho G/(G - g_max)) rho
      + (2 rho g_max alpha_max/alpha_min) (1 + tau + (1 + rho) G/(G - g_max)) eps

with rho = max alpha^max/alpha^min, alpha_max and alpha_min the extremes over jobs, and eps the mean
of |n - n~|. alpha^min is not known in general; alpha~ replaces it, as in the paper's algorithm, so
the reported ratio may be smaller than the theorem's.
Source: a-srpt, Theorem 1.
"""

import math
from dataclasses import dataclass

import numpy as np

from optsched.arrays import Floats
from optsched.online.data.jobs import Jobs
from optsched.online.metrics import Metrics


@dataclass(frozen=True)
class TheoremOne:
    """Theorem 1's ratio, its parameters and the observed ratio.

    Attributes
    ----------
    ratio, with_perfect_predictions : float or None
        The theorem's ratio, and its first summand, independent of eps; None if one job needs the
        whole cluster.
    observed : float or None
        The run's total completion time over a lower bound on any schedule's: every job starts at
        its submission and has its minimum duration. None for part of a run.
    """

    ratio: float | None
    with_perfect_predictions: float | None
    rho: float
    alpha_spread: float
    largest_job: int
    mean_error: float
    observed: float | None = None

    @property
    def sentence(self) -> str:
        if self.ratio is None or self.with_perfect_predictions is None:
            return "Theorem 1 does not apply: one job needs the whole cluster"
        perfect, ratio = _rough(self.with_perfect_predictions), _rough(self.ratio)
        sentence = f"Theorem 1 allows A-SRPT {perfect} times the optimal total completion time"
        if self.mean_error:
            sentence += f" with perfect predictions, {ratio} times with these"
        if self.observed is None:
            return sentence
        return (
            f"{sentence}; this run is within {self.observed:.4g} times a lower bound. The theorem "
            "assumes the worst placement for every job and charges each mispredicted iteration to "
            "the largest job"
        )


def theorem_one(jobs: Jobs, predicted: Floats, tau: float) -> TheoremOne:
    """The factor by which Theorem 1 bounds A-SRPT's total completion time over the optimal one."""
    used = np.unique(jobs.configuration)
    worst, estimate = jobs.configurations.worst[used], jobs.configurations.estimate[used]
    rho = float((worst / estimate).max())
    spread = float(worst.max() / estimate.min())
    largest, gpus = int(jobs.gpus.max()), jobs.cluster.gpus
    error = float(np.abs(jobs.iterations - predicted).mean())
    if largest == gpus:
        return TheoremOne(None, None, rho, spread, largest, error)
    share = gpus / (gpus - largest)
    perfect = (2 + tau + rho * share) * rho
    ratio = perfect + 2 * rho * largest * spread * (1 + tau + (1 + rho) * share) * error
    return TheoremOne(ratio, perfect, rho, spread, largest, error)


def observed_ratio(jobs: Jobs, metrics: Metrics) -> float | None:
    """Total completion time over a lower bound on any schedule's; None for part of a run."""
    if metrics.jobs < len(jobs):
        return None
    submitted = metrics.total_completion_time - metrics.total_flow_time
    bound = submitted + float(jobs.min_length.sum())
    return metrics.total_completion_time / bound if bound > 0 else None


def _rough(ratio: float) -> str:
    """A factor in two digits, or as a power of ten from 100 on."""
    return f"{ratio:.2g}" if ratio < 100 else f"about 10^{math.log10(ratio):.0f}"
