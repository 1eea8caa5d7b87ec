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
from optsched.uncertainty.distribution import Distribution
from optsched.uncertainty.survival import Curve, Curves, discrete_curve

Floats = NDArray[np.float64]


class Left:
    """What is left of a job: its remaining epochs W - w given W > w, and what is read off them."""

    def __init__(self, work: Distribution) -> None:
        self.work, self.mean, self.most = work, work.mean, work.most

    @cached_property
    def curve(self) -> Curve:
        """F^c from now on."""
        return discrete_curve(self.work)


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
    def left(self) -> tuple[Left, ...]:
        """What is left of each job."""
        return tuple(map(self.world.left, self.jobs, self.done))

    @cached_property
    def curves(self) -> Curves:
        """F^c of every job's remaining epochs."""
        return Curves.of([left.curve for left in self.left])

    @cached_property
    def tables(self) -> Tables:
        """Costs as methods for one interval take them, without those that only (P1.1) needs."""
        return self.world.tables_at(self.time, self.jobs, self.left, with_lateness=False)

    @cached_property
    def costed(self) -> Tables:
        """All of them."""
        return self.world.tables_at(self.time, self.jobs, self.left, with_lateness=True)


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
        self.works = [
            Distribution.of(j.epochs.values, j.epochs.probabilities) for j in instance.jobs
        ]
        self._ends = [work.values * (1 - _HAIR) for work in self.works]
        self.means = np.array([work.mean for work in self.works])
        self.weights = np.array([float(job.tardiness_weight) for job in instance.jobs])
        flat = self.all.seconds.reshape(len(instance.jobs), -1)
        self._slowest = np.where(np.isfinite(flat), flat, 0.0).max(axis=1)
        self.slowest_seconds = self._slowest * np.array([work.most for work in self.works])
        self._left: dict[int, tuple[float, Left]] = {}
        self._due = np.array([float(job.due_date) for job in instance.jobs])

    def left(self, job: int, done: float) -> Left:
        """What remains of a job that is not over; kept until it makes progress."""
        known = self._left.get(job)
        if known is not None and known[0] == done:
            return known[1]
        work = self.works[job]
        first = int(np.searchsorted(self._ends[job], done, side="right"))
        if first == len(work.values):  # rounding put the last epoch's end a hair too far
            left = Distribution(np.array([_HAIR]), np.array([1.0]))
        else:
            weights = work.probabilities[first:]
            left = Distribution(work.values[first:] - done, weights / weights.sum())
        self._left[job] = (done, Left(left))
        return self._left[job][1]

    def tables_at(
        self, time: float, jobs: tuple[int, ...], lefts: tuple[Left, ...], *, with_lateness: bool
    ) -> Tables:
        """Tables of the jobs present. Complexity: O(jobs x configurations [x scenarios]).

        Parameters
        ----------
        time : float
            Of the decision, seconds.
        jobs : tuple of int
            Indices of the jobs present.
        lefts : tuple of Left
            What remains of each of them.
        with_lateness : bool
            Whether expected lateness is tabulated too.

        Returns
        -------
        Tables
            Costs of every choice, as a selection's.
        """
        index = np.array(jobs, dtype=np.int64)
        works = tuple(left.work for left in lefts)
        seconds = self.all.seconds[index]
        means = np.array([left.mean for left in lefts])
        most = np.array([left.most for left in lefts])
        due = self._due[index] - time
        moment = SelectionInstance.model_construct(
            schema_="optsched/selection",
            version=1,
            name=self.instance.name,
            now=time,
            interval=self.instance.interval,
            postponement_penalty=self.instance.postponement_penalty,
            gpu_types=self.instance.gpu_types,
            nodes=self.instance.nodes,
            jobs=tuple(self.instance.jobs[j] for j in jobs),
        )
        late = np.full(seconds.shape, np.nan)
        if with_lateness:
            for j, work in enumerate(works):
                late[j] = self.weights[index[j]] * work.tardiness(seconds[j], float(due[j]))
            late = np.where(np.isfinite(seconds), late, np.inf)
        return Tables(
            moment,
            self.readings,
            self.all.kinds,
            self.all.classes,
            self.all.kind_of,
            seconds,
            seconds * means[:, None, None],
            late,
            self._postponed(index, most, due),
            works,
        )

    def _postponed(self, index: NDArray[np.int64], most: Floats, due: Floats) -> Floats:
        longest = self.instance.interval + self._slowest[index] * most
        worst = np.maximum(longest - due, 0.0)
        penalty = self.instance.postponement_penalty
        return self.weights[index] * (penalty * worst + np.maximum(-due, 0.0))


_HAIR = 1e-9
