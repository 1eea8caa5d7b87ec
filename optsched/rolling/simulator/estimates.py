"""What policies know of the jobs: everything, or with `knowledge=estimated` estimates.

The execution logs of ended jobs update the statistics (sts, III-A, Fig. 1). At its submission a
job's kind, w^max, memory, GPU types, due date and weight are known. Its distribution of epochs and
its seconds per epoch are estimated as weighted means over the n ended jobs, whose epochs and epoch
times are known by then, and a worst case: w^max epochs, which end at the due date on the dearest
configuration and cost the same on any. An ended job of the same kind has weight 1. A prior of
weight 1 is divided equally among all ended jobs and the worst case, so that it loses its influence
as jobs of the kind end. Complexity of an update: O(Q n T C + J (T C + S)), with Q kinds and S
distinct numbers of epochs.
"""

from collections.abc import Sequence

import numpy as np

from optsched.arrays import Floats
from optsched.rolling.records import JobRecord
from optsched.rolling.simulator.world import World
from optsched.selection.cost import type_rates
from optsched.uncertainty.distribution import Distribution
from optsched.uncertainty.epochs import Epochs

MIN_RELATIVE_RATE = 1e-3
"""Lower bound on a cost rate relative to the dearest one, since a cost rate may be 0."""


def known_world(world: World, ended: Sequence[JobRecord] = ()) -> World:
    """The world that policies see once some jobs have ended."""
    if world.options.knowledge == "true":
        return world
    jobs = world.instance.jobs
    kinds, kind_of = np.unique([job.kind or "" for job in jobs], return_inverse=True)
    indices, prior = [record.job for record in ended], 1 / (len(ended) + 1)
    weights = prior + (kind_of[indices] == np.arange(len(kinds))[:, None])  # (kinds, n)
    # mean seconds per epoch (J, T, C); an ended job has none on the types that it could not use
    seconds = world.tables.seconds[indices]
    is_known = np.isfinite(seconds)
    total = np.tensordot(weights, np.where(is_known, seconds, 0.0), 1)[kind_of]
    weight = np.tensordot(weights, is_known, 1)[kind_of]
    means = ((total + prior * _worst_case_seconds(world)) / (weight + prior)).tolist()
    epochs_by_kind: dict[tuple[int, float], Epochs] = {}
    estimated = []
    for job, kind, times in zip(jobs, kind_of.tolist(), means, strict=True):
        max_epochs = float(max(job.epochs.values))
        if (kind, max_epochs) not in epochs_by_kind:
            epochs = [*(min(record.epochs, max_epochs) for record in ended), max_epochs]
            work = Distribution.of(epochs, [*weights[kind], prior])
            epochs_by_kind[kind, max_epochs] = Epochs(
                values=tuple(work.values.tolist()), probabilities=tuple(work.probabilities.tolist())
            )
        epoch_time = {
            gpu_kind.name: tuple(row[: gpu_kind.gpus])
            for gpu_kind, row in zip(world.tables.kinds, times, strict=True)
            if gpu_kind.name in job.epoch_time
        }
        changes = {
            "epochs": epochs_by_kind[kind, max_epochs],
            "epoch_time": epoch_time,
            "true_epochs": None,
        }
        estimated.append(job.model_copy(update=changes))
    return World(world.instance.model_copy(update={"jobs": tuple(estimated)}), world.options)


def _worst_case_seconds(world: World) -> Floats:
    """Seconds per epoch (J, T, C) at which w^max epochs on the dearest GPUs end at the due date.

    For a job submitted after its due date, they end H after submission.
    """
    instance = world.instance
    relative_rate = np.zeros_like(world.sizes)
    for t, kind in enumerate(world.tables.kinds):
        relative_rate[t, : kind.gpus] = type_rates(world.tables, t)
    relative_rate /= relative_rate.max() or 1.0
    submitted = np.array([job.submit_time for job in instance.jobs])
    allowed = world.due_dates - submitted
    allowed = np.where(allowed > 0, allowed, instance.interval)
    max_epochs = np.array([max(job.epochs.values) for job in instance.jobs])
    return (allowed / max_epochs)[:, None, None] / np.maximum(relative_rate, MIN_RELATIVE_RATE)
