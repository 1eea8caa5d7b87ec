"""Theorem 1's ratio for one run, so that a reader sees how loose it is.

    (2 + tau + rho G/(G - g_max)) rho
      + (2 rho g_max alpha_max/alpha_min) (1 + tau + (1 + rho) G/(G - g_max)) eps

with rho = max alpha^max/alpha^min, alpha_max and alpha_min the extremes over jobs, and eps the mean
of |n - n~|. alpha^min is not known in general; alpha~ stands in for it, as in the paper's own
algorithm, which makes the ratio printed smaller than the theorem's wherever alpha~ is above it.
Source: a-srpt, Theorem 1.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optsched.online.data.jobs import Jobs


@dataclass(frozen=True)
class TheoremOne:
    """The ratio and what enters it; `ratio` is None when one job needs the whole cluster."""

    ratio: float | None
    rho: float
    alpha_spread: float
    largest_job: int
    mean_error: float

    def to_dict(self) -> dict[str, Any]:
        """The ratio as a JSON object."""
        return asdict(self)


def theorem_one(jobs: Jobs, predicted: NDArray[np.float64], tau: float) -> TheoremOne:
    """The factor by which Theorem 1 bounds A-SRPT's total completion time over the optimal one.

    Raises
    ------
    ValueError
        Without a job.
    """
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
        return TheoremOne(None, rho, spread, largest, error)
    share = gpus / (gpus - largest)
    ratio = (2 + tau + rho * share) * rho
    ratio += 2 * rho * largest * spread * (1 + tau + (1 + rho) * share) * error
    return TheoremOne(ratio, rho, spread, largest, error)
