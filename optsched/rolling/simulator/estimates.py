"""What policies know of the jobs: everything, or with `knowledge=estimated` estimates.

The execution logs of ended jobs update the statistics (sts, III-A, Fig. 1). At its submission a
job's kind, w^max, memory, GPU types, due date and weight are known. Its distribution of epochs and
its seconds per epoch are estimated as weighted means over the n ended jobs, whose epochs and epoch
times are known by then, and a worst case: w^max epochs, which end at the due date on the dearest
configuration and cost the same on any. An ended job of the same kind has weight 1. A prior of
weight 1 is divided equally among all ended jobs and the worst case, so that it loses its influence
as jobs of the kind end. Only the jobs present are estimated. Complexity of an update: O(Q n T C +
P (T C + S) + J), with P jobs present, Q kinds and S distinct numbers of epochs.
"""

from collections.abc import Sequence

import numpy as np

from optsched.arrays import Floats, Ints
from optsched.rolling.instance import RollingJob
from optsched.rolling.records import JobRecord
from optsched.rolling.simulator.world import World
from optsched.selection.cost import type_rates
from optsched.uncertainty.distribution import Distribution
from optsched.uncertainty.epochs import Epochs

MIN_RELATIVE_RATE = 1e-3
"""Lower bound on a cost rate relative to the dearest one, since a cost rate may be 0."""


class Knowledge:
    """The world that policies see, updated as jobs end and arrive."""

    def __init__(self, world: World) -> None:
        self.world = self._truth = world
        if world.options.knowledge == "true":
            return
        jobs = world.instance.jobs
        kinds, self._kind_of = np.unique([job.kind or "" for job in jobs], return_inverse=True)
        self._num_kinds = len(kinds)
        self._worst_case = _worst_case_seconds(world)
        self._unseen: list[RollingJob] = list(jobs)  # as known before any job has ended
        self.update([], range(len(jobs)))
        self._unseen = list(self.world.instance.jobs)

    def update(self, ended: Sequence[JobRecord], present: Sequence[int] | Ints) -> None:
        """Estimate the jobs at `present` from the ended ones; others stay as at the beginning."""
        world = self._truth
        if world.options.knowledge == "true":
            return
        rows = np.array(present, dtype=np.int64)
        indices, prior = [record.job for record in ended], 1 / (len(ended) + 1)
        of_kind = self._kind_of[indices] == np.arange(self._num_kinds)[:, None]
        weights = prior + of_kind  # (kinds, n)
        # mean seconds per epoch (J, T, C); an ended job has none on the types that it could not use
        seconds = world.tables.seconds[indices]
        is_known = np.isfinite(seconds)
        total = np.tensordot(weights, np.where(is_known, seconds, 0.0), 1)[self._kind_of[rows]]
        weight = np.tensordot(weights, is_known, 1)[self._kind_of[rows]]
        means = ((total + prior * self._worst_case[rows]) / (weight + prior)).tolist()
        epochs_by_kind: dict[tuple[int, float], Epochs] = {}
        estimated = list(self._unseen)
        for j, times in zip(rows.tolist(), means, strict=True):
            job, kind = world.instance.jobs[j], int(self._kind_of[j])
            max_epochs = float(max(job.epochs.values))
            if (kind, max_epochs) not in epochs_by_kind:
                epochs = [*(min(record.epochs, max_epochs) for record in ended), max_epochs]
                work = Distribution.of(epochs, [*weights[kind], prior])
                values, probabilities = work.values.tolist(), work.probabilities.tolist()
                epochs_by_kind[kind, max_epochs] = Epochs(
                    values=tuple(values), probabilities=tuple(probabilities)
                )
            epoch_time = {
                gpu_kind.name: tuple(row[: gpu_kind.gpus])
                for gpu_kind, row in zip(world.tables.kinds, times, strict=True)
                if gpu_kind.name in job.epoch_time
            }
            changes = {"epoch_time": epoch_time, "true_epochs": None}
            estimated[j] = job.model_copy(
                update={**changes, "epochs": epochs_by_kind[kind, max_epochs]}
            )
        instance = world.instance.model_copy(update={"jobs": tuple(estimated)})
        self.world = World(instance, world.options)


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
