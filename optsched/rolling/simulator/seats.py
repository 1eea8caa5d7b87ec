"""Seats in arrays, as policies and the simulator hand them on; as objects to whoever asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from optsched.selection.assignment import Seat

Ints = NDArray[np.int64]
WAITS, NO_GPU = -1, -1
"""The node of a job without a seat, and what stands behind a seat's GPUs."""


class Seats(Mapping[int, Seat]):
    """The seats of jobs 0 to J - 1, some of which wait; a mapping of those that do not.

    Attributes
    ----------
    node, configuration : array (J,)
        The node of each, or `WAITS`, and its configuration's index in the node's type, 0 if none.
    gpus : array (J, G)
        Indices on the node, and `NO_GPU` behind them.
    """

    def __init__(self, node: Ints, configuration: Ints, gpus: Ints) -> None:
        self.node, self.configuration, self.gpus = node, configuration, gpus

    @classmethod
    def waiting(cls, jobs: int, width: int) -> Seats:
        """None has a seat; G is `width`."""
        node, gpus = np.full(jobs, WAITS), np.full((jobs, width), NO_GPU)
        return cls(node, np.zeros(jobs, np.int64), gpus)

    @classmethod
    def of(cls, seats: Mapping[int, Seat], jobs: int, width: int) -> Seats:
        """The same in arrays; G is `width` at least."""
        if isinstance(seats, Seats) and len(seats.node) == jobs and seats.gpus.shape[1] >= width:
            return seats
        made = cls.waiting(jobs, max([width, *(len(seat.gpus) for seat in seats.values())]))
        for j, seat in seats.items():
            made.node[j], made.configuration[j] = seat.node, seat.configuration
            made.gpus[j, : len(seat.gpus)] = seat.gpus
        return made

    def none_of(self, jobs: int) -> Seats:
        """As wide, for jobs that have none."""
        return self.waiting(jobs, self.gpus.shape[1])

    def of_some(self, jobs: Ints | NDArray[np.bool_]) -> Seats:
        """Those of some jobs, by place among them."""
        return Seats(self.node[jobs], self.configuration[jobs], self.gpus[jobs])

    def widened(self, width: int) -> Seats:
        """The same with room for so many GPUs."""
        missing = width - self.gpus.shape[1]
        if missing <= 0:
            return self
        gpus = np.pad(self.gpus, ((0, 0), (0, missing)), constant_values=NO_GPU)
        return Seats(self.node, self.configuration, gpus)

    def differ(self, others: Seats) -> NDArray[np.bool_]:
        """Whose seats are not the same (J,)."""
        differ = (self.node != others.node) | (self.configuration != others.configuration)
        return differ | (self.gpus != others.gpus).any(axis=1)

    @property
    def sizes(self) -> Ints:
        """GPUs of each (J,)."""
        return (self.gpus != NO_GPU).sum(axis=1)

    @cached_property
    def _by_job(self) -> dict[int, Seat]:
        columns = (self.node, self.gpus, self.sizes, self.configuration)
        rows = enumerate(zip(*(each.tolist() for each in columns), strict=True))
        return {
            j: Seat(node, tuple(gpus[:k]), c) for j, (node, gpus, k, c) in rows if node != WAITS
        }

    def __getitem__(self, job: int) -> Seat:
        return self._by_job[job]

    def __iter__(self) -> Iterator[int]:
        return iter(self._by_job)

    def __len__(self) -> int:
        return int(np.count_nonzero(self.node != WAITS))
