"""Static data of a run, and the state shown to a policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from optsched.arrays import Floats, Ints
from optsched.rolling.instance import RollingInstance
from optsched.rolling.options import RollingOptions
from optsched.selection.assignment import Placement
from optsched.selection.cost import Tables, tables_of
from optsched.selection.instance import SelectionInstance, SelectionJob
from optsched.uncertainty.remaining_epochs import RemainingEpochs

EPOCH_RTOL = 1e-9
"""Relative tolerance below which a value of W counts as reached."""


@dataclass(frozen=True)
class View:
    """The cluster at a decision at `time` (T_c): the jobs that have arrived and are not done."""

    world: World
    time: float
    jobs: tuple[int, ...]  # the instance's index of each job
    done: tuple[float, ...]  # epochs that each job has completed
    running: Mapping[int, Placement]  # current placements, by position in `jobs`
    due_for_change: frozenset[int]  # positions of jobs whose planned change of speed, T_j, is now

    @cached_property
    def index(self) -> Ints:
        return np.array(self.jobs, dtype=np.int64)

    @cached_property
    def completed(self) -> Floats:
        return np.array(self.done)

    @cached_property
    def works(self) -> RemainingEpochs:
        """Distributions of the remaining epochs: W - w given W > w."""
        return self.world.works.conditioned_on(self.index, self.completed, EPOCH_RTOL)

    @cached_property
    def means(self) -> Floats:
        return self.works.means

    @cached_property
    def tables(self) -> Tables:
        """Costs of the selection problem at this time."""
        return self.world.tables_at(self)


class World:
    """Cost tables of the whole instance; tables of a decision are slices of them."""

    def __init__(self, instance: RollingInstance, options: RollingOptions | None = None) -> None:
        self.instance = instance
        self.options = options or RollingOptions()
        self.selection_options = self.options.selection
        self.tables = tables_of(instance, self.selection_options)
        epochs = [job.epochs for job in instance.jobs]
        self.works = RemainingEpochs.from_lists([(e.values, e.probabilities) for e in epochs])
        self.means = self.works.means
        self.weights, self.due_dates = self.tables.weights, self.tables.due_dates
        flat = self.tables.seconds.reshape(len(epochs), -1)
        slowest = np.where(np.isfinite(flat), flat, 0.0).max(axis=1)
        self.slowest_seconds = slowest * self.works.max_epochs  # of all epochs, (J,)
        # GPUs of each configuration (T, C), a fraction of one where it shares a GPU
        self.sizes = np.zeros(self.tables.seconds.shape[1:])
        for t, kind in enumerate(self.tables.kinds):
            for c, configuration in enumerate(kind.configurations):
                self.sizes[t, c] = configuration.gpus * float(configuration.fraction)
        gpus = [node.gpus for node in instance.nodes]
        self.gpus = np.bincount(self.tables.kind_of, gpus, len(self.sizes)).astype(
            np.float64
        )  # by type
        self._template = SelectionInstance.model_construct(
            schema_="optsched/selection",
            version=1,
            name=instance.name,
            now=instance.now,
            interval=instance.interval,
            postponement_penalty=instance.postponement_penalty,
            gpu_types=instance.gpu_types,
            nodes=instance.nodes,
            jobs=(),
        )

    def selection_instance(self, time: float, jobs: tuple[SelectionJob, ...]) -> SelectionInstance:
        return self._template.model_copy(update={"now": time, "jobs": jobs})

    def tables_at(self, view: View) -> Tables:
        index, jobs = view.index, tuple(map(self.instance.jobs.__getitem__, view.jobs))
        return Tables(
            self.selection_instance(view.time, jobs),
            self.selection_options,
            self.tables.kinds,
            self.tables.classes,
            self.tables.kind_of,
            self.tables.seconds[index],
            view.works,
            self.due_dates[index],
            self.weights[index],
        )
