"""Data that stay the same over a run, and the view that a policy has of a decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from optsched.rolling.instance import RollingInstance
from optsched.rolling.options import RollingOptions
from optsched.selection.assignment import Placement
from optsched.selection.cost import Tables, tables_of
from optsched.selection.instance import SelectionInstance, SelectionJob
from optsched.uncertainty.remaining_epochs import RemainingEpochs

Floats = NDArray[np.float64]


NEGLIGIBLE = 1e-9
"""Share of a value of W within which the epochs made have reached it, but for rounding."""


@dataclass(frozen=True)
class View:
    """The cluster at a decision at `time` (T_c): the jobs that have arrived and are not done.

    Attributes
    ----------
    jobs, done : tuple
        The instance's index of each job, and the epochs that it has completed.
    running : mapping
        Seats held until now, by position in `jobs`.
    due_for_change : frozenset of int
        Positions of jobs whose planned change of speed, T_j, is now.
    """

    world: World
    time: float
    jobs: tuple[int, ...]
    done: tuple[float, ...]
    running: Mapping[int, Placement]
    due_for_change: frozenset[int]

    @cached_property
    def index(self) -> NDArray[np.int64]:
        """The instance's index of each job."""
        return np.array(self.jobs, dtype=np.int64)

    @cached_property
    def completed(self) -> Floats:
        """`done` as an array."""
        return np.array(self.done)

    @cached_property
    def works(self) -> RemainingEpochs:
        """Distributions of the remaining epochs: W - w given W > w."""
        return self.world.works.conditioned_on(self.index, self.completed, NEGLIGIBLE)

    @cached_property
    def means(self) -> Floats:
        """E[W - w | W > w] by job."""
        return self.works.means

    @cached_property
    def tables(self) -> Tables:
        """Costs of the selection problem at this moment."""
        return self.world.tables_at(self)


class World:
    """Tables of a whole instance, computed once, from which those of a moment are cut.

    Attributes
    ----------
    sizes : array (T, C)
        GPUs of each configuration, a fraction of one where it shares a GPU.
    gpus : array (T,)
        GPUs of each type.
    slowest_seconds : array (J,)
        Seconds of all a job's epochs on its slowest configuration.
    """

    def __init__(self, instance: RollingInstance, options: RollingOptions | None = None) -> None:
        self.instance = instance
        self.options = options or RollingOptions()
        self.readings = self.options.readings
        self.all = tables_of(instance, self.readings)
        epochs = [job.epochs for job in instance.jobs]
        self.works = RemainingEpochs.from_lists([(e.values, e.probabilities) for e in epochs])
        self.means = self.works.means
        self.weights, self.due_dates = self.all.weights, self.all.due_dates
        flat = self.all.seconds.reshape(len(epochs), -1)
        slowest = np.where(np.isfinite(flat), flat, 0.0).max(axis=1)
        self.slowest_seconds = slowest * self.works.max_epochs
        self.sizes = np.zeros(self.all.seconds.shape[1:])
        for t, kind in enumerate(self.all.kinds):
            for c, configuration in enumerate(kind.configurations):
                self.sizes[t, c] = configuration.gpus * float(configuration.fraction)
        gpus = [node.gpus for node in instance.nodes]
        self.gpus = np.zeros(len(self.sizes))
        np.add.at(self.gpus, self.all.kind_of, gpus)
        self._moment = SelectionInstance.model_construct(
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
        """The selection problem of a moment."""
        return self._moment.model_copy(update={"now": time, "jobs": jobs})

    def tables_at(self, view: View) -> Tables:
        """Tables of the jobs present."""
        index, jobs = view.index, tuple(map(self.instance.jobs.__getitem__, view.jobs))
        return Tables(
            self.selection_instance(view.time, jobs),
            self.readings,
            self.all.kinds,
            self.all.classes,
            self.all.kind_of,
            self.all.seconds[index],
            view.works,
            self.due_dates[index],
            self.weights[index],
        )
