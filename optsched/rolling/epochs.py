"""Draw the true number of epochs of each job (common random numbers)."""

import numpy as np

from optsched.rolling.instance import RollingInstance, RollingJob
from optsched.uncertainty.distribution import Distribution


def draw_epochs(instance: RollingInstance, seed: int) -> tuple[float, ...]:
    """True epochs: from the file, or drawn by job index and seed given W > completed epochs."""
    return tuple(_draw(job, index, seed) for index, job in enumerate(instance.jobs))


def _draw(job: RollingJob, index: int, seed: int) -> float:
    if job.true_epochs is not None:
        return float(job.true_epochs)
    work = Distribution.of(job.epochs.values, job.epochs.probabilities)
    remaining = work.remaining(job.completed_epochs)
    assert remaining is not None  # ruled out by instance validation
    uniform = np.random.default_rng([seed, index]).random()
    drawn = int(np.searchsorted(remaining.probabilities.cumsum(), uniform, side="right"))
    drawn = min(drawn, len(remaining.values) - 1)
    return float(work.values[len(work.values) - len(remaining.values) + drawn])
