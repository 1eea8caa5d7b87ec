"""What stays the same over a run, and what a policy sees when it decides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from optsched.rolling.instance import RollingInstance
from optsched.rolling.options import RollingOptions
from optsched.selection.assignment import Seat
from optsched.selection.cost import Tables, tables_of
from optsched.selection.instance import SelectionInstance
from optsched.uncertainty.works import Works

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class View:
    """The cluster at a decision: jobs that have arrived and are not done, by local index.

    Attributes
    ----------
    time : float
        T_c.
    jobs : tuple of int
        The instance's index of each.
    done : tuple of float
        Epochs completed by each.
    running : mapping
        Seats held until now.
    due_for_change : frozenset of int
        Jobs whose planned change of speed, T_j, is now.
    """

    world: World
    time: float
    jobs: tuple[int, ...]
    done: tuple[float, ...]
    running: Mapping[int, Seat]
    due_for_change: frozenset[int]

    @cached_property
    def index(self) -> NDArray[np.int64]:
        """The instance's index of each job."""
        return np.array(self.jobs, dtype=np.int64)

    @cached_property
    def completed(self) -> Floats:
        """Epochs completed by each, in an array."""
        return np.array(self.done)

    @cached_property
    def works(self) -> Works:
        """What is left of each job: W - w given W > w."""
        return self.world.works.after(self.index, self.completed, _HAIR)

    @cached_property
    def means(self) -> Floats:
        """E[W - w | W > w] by job."""
        return self.world.means_left(self)

    @cached_property
    def tables(self) -> Tables:
        """Costs as methods for one interval take them."""
        return self.world.tables_at(self)


class World:
    """Tables of a whole instance, computed once, from which those of a moment are cut.

    Attributes
    ----------
    readings : SelectionOptions
        The options' readings of the cost.
    slowest_seconds : array (J,)
        Seconds of all a job's epochs on its slowest configuration.
    """

    def __init__(self, instance: RollingInstance, options: RollingOptions | None = None) -> None:
        self.instance = instance
        self.options = options or RollingOptions()
        self.readings = self.options.readings
        self.all = tables_of(instance, self.readings)
        epochs = [job.epochs for job in instance.jobs]
        self.works = Works.given([(e.values, e.probabilities) for e in epochs])
        self.means = self.works.means
        self.weights, self.due_dates = self.all.weights, self.all.due_dates
        flat = self.all.seconds.reshape(len(epochs), -1)
        slowest = np.where(np.isfinite(flat), flat, 0.0).max(axis=1)
        self.slowest_seconds = slowest * self.works.most
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
        self._done, self._mean = np.full(len(epochs), np.nan), np.empty(len(epochs))

    def means_left(self, view: View) -> Floats:
        """E[W - w | W > w] of the jobs present; taken anew for those that made progress."""
        changed = np.flatnonzero(self._done[view.index] != view.completed)
        self._mean[view.index[changed]] = view.works.means_of(changed)
        self._done[view.index] = view.completed
        return self._mean[view.index]

    def tables_at(self, view: View) -> Tables:
        """Tables of the jobs present. Complexity: O(jobs x configurations)."""
        index, jobs = view.index, tuple(map(self.instance.jobs.__getitem__, view.jobs))
        moment = self._moment.model_copy(update={"now": view.time, "jobs": jobs})
        return Tables(
            moment,
            self.readings,
            self.all.kinds,
            self.all.classes,
            self.all.kind_of,
            self.all.seconds[index],
            view.works,
            self.due_dates[index],
            self.weights[index],
        )


_HAIR = 1e-9
"""Share of a value of W within which rounding has reached it."""
