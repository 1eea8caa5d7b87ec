"""How many epochs each job takes: one draw a job, the same for every policy."""

from __future__ import annotations

import numpy as np

from optsched.rolling.instance import RollingInstance, RollingJob
from optsched.uncertainty.distribution import Distribution


def draw_epochs(instance: RollingInstance, seed: int) -> tuple[float, ...]:
    """Epochs of every job: the file's, or drawn given that more than the completed are needed.

    Job number and seed alone decide a draw (common random numbers): policies, other jobs' draws
    and the order of events do not touch it.
    """
    return tuple(_draw(job, index, seed) for index, job in enumerate(instance.jobs))


def _draw(job: RollingJob, index: int, seed: int) -> float:
    if job.true_epochs is not None:
        return float(job.true_epochs)
    work = Distribution.of(job.epochs.values, job.epochs.probabilities)
    left = work.remaining(job.completed_epochs)
    assert left is not None  # the instance refuses such a job
    uniform = np.random.default_rng([seed, index]).random()
    at = int(np.searchsorted(left.probabilities.cumsum(), uniform, side="right"))
    at = min(at, len(left.values) - 1)
    return float(work.values[len(work.values) - len(left.values) + at])
