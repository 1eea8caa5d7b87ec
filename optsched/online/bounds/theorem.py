"""Theorem 1's ratio for one run, so that a reader sees how loose it is.

    (2 + tau + rho G/(G - g_max)) rho
      + (2 rho g_max alpha_max/alpha_min) (1 + tau + (1 + rho) G/(G - g_max)) eps

with rho = max alpha^max/alpha^min, alpha_max and alpha_min the extremes over jobs, and eps the mean
of |n - n~|. alpha^min is not known in general; alpha~ stands in for it, as in the paper's own
algorithm, which makes the ratio printed smaller than the theorem's wherever alpha~ is above it.
Source: a-srpt, Theorem 1.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optsched.online.data.jobs import Jobs
from optsched.online.metrics import Metrics


@dataclass(frozen=True)
class TheoremOne:
    """The ratio and what enters it, and what the run shows beside it.

    Attributes
    ----------
    ratio, with_perfect_predictions : float or None
        The theorem's, and its first summand, which eps leaves alone; None when one job needs the
        whole cluster.
    observed : float or None
        The run's own total completion time over a bound on any schedule's: every job started as
        it came, at its least alpha. None for part of a run.
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
        """What the theorem allows, and how far that is from what was seen."""
        if self.ratio is None or self.with_perfect_predictions is None:
            return "Theorem 1 says nothing here: one job needs the whole cluster"
        perfect, ratio = _rough(self.with_perfect_predictions), _rough(self.ratio)
        said = f"Theorem 1 allows A-SRPT {perfect} times the optimal total completion time"
        if self.mean_error:
            said += f" with perfect predictions, {ratio} times with these"
        if self.observed is None:
            return said
        return (
            f"{said}; this run takes at most {self.observed:.4g} times it. The theorem is far from "
            "any run: it counts each job at the worst placement of all, and each iteration "
            "mispredicted as one of the largest job's"
        )

    def to_dict(self) -> dict[str, Any]:
        """The ratio as a JSON object."""
        return asdict(self)


def theorem_one(jobs: Jobs, predicted: NDArray[np.float64], tau: float) -> TheoremOne:
    """The factor by which Theorem 1 bounds A-SRPT's total completion time over the optimal one."""
    if not len(jobs):
        raise ValueError("no job")
    made = jobs.configurations
    used = np.unique(jobs.configuration)
    worst, estimate = made.worst[used], made.estimate[used]
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
    """A run's total completion time over a bound on any schedule's; None for part of a run."""
    if metrics.jobs < len(jobs):
        return None
    submitted = metrics.total_completion_time - metrics.total_flow_time
    bound = submitted + float(jobs.min_length.sum())
    return metrics.total_completion_time / bound if bound > 0 else None


def _rough(ratio: float) -> str:
    """A factor in two digits, or its power of ten: what is that large has no digits to read."""
    return f"{ratio:.2g}" if ratio < 100 else f"about 10^{math.log10(ratio):.0f}"
