"""An assignment of jobs to GPUs in arrays, which also reads as a mapping of `Placement` objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np

from optsched.arrays import Bools, Ints
from optsched.selection.assignment import Placement

NO_NODE, NO_GPU = -1, -1
"""Node of a waiting job, and padding of a job's GPU list."""


class Assignment(Mapping[int, Placement]):
    """The placements of jobs 0 to J - 1; as a mapping it omits the waiting jobs."""

    def __init__(self, node: Ints, configuration: Ints, gpus: Ints) -> None:
        self.node, self.configuration = node, configuration  # (J,): `NO_NODE` if it waits; index
        self.gpus = gpus  # (J, G): GPU indices on the node, then `NO_GPU`

    @classmethod
    def waiting(cls, jobs: int, width: int) -> Assignment:
        node, gpus = np.full(jobs, NO_NODE), np.full((jobs, width), NO_GPU)
        return cls(node, np.zeros(jobs, np.int64), gpus)

    @classmethod
    def of(cls, placements: Mapping[int, Placement], jobs: int, width: int) -> Assignment:
        """Convert a mapping of placements; G is at least `width`."""
        if isinstance(placements, Assignment) and len(placements.node) == jobs:
            return placements.padded(width)
        new = cls.waiting(jobs, max([width, *(len(p.gpus) for p in placements.values())]))
        for j, p in placements.items():
            new.node[j], new.configuration[j] = p.node, p.configuration
            new.gpus[j, : len(p.gpus)] = p.gpus
        return new

    def of_jobs(self, jobs: Ints) -> Assignment:
        return Assignment(self.node[jobs], self.configuration[jobs], self.gpus[jobs])

    def padded(self, width: int) -> Assignment:
        """The same with at least `width` columns of GPUs."""
        missing = max(width - self.gpus.shape[1], 0)
        gpus = np.pad(self.gpus, ((0, 0), (0, missing)), constant_values=NO_GPU)
        return Assignment(self.node, self.configuration, gpus) if missing else self

    def differs_from(self, other: Assignment) -> Bools:
        differs = (self.node != other.node) | (self.configuration != other.configuration)
        return differs | (self.gpus != other.gpus).any(axis=1)

    @property
    def sizes(self) -> Ints:
        """GPUs of each job (J,)."""
        return (self.gpus != NO_GPU).sum(axis=1)

    @cached_property
    def _by_job(self) -> dict[int, Placement]:
        columns = (self.node, self.gpus, self.sizes, self.configuration)
        rows = enumerate(zip(*(column.tolist() for column in columns), strict=True))
        return {j: Placement(n, tuple(gpus[:k]), c) for j, (n, gpus, k, c) in rows if n != NO_NODE}

    def __getitem__(self, job: int) -> Placement:
        return self._by_job[job]

    def __iter__(self) -> Iterator[int]:
        return iter(self._by_job)

    def __len__(self) -> int:
        return int(np.count_nonzero(self.node != NO_NODE))
