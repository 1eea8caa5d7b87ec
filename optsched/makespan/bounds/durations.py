"""Durations that no schedule can beat: of each job by the size of server a GPU stands in."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from optsched.makespan.contention import Floats, Ints
from optsched.makespan.instance import (
    MakespanInstance,
    duration,
    fewest_servers,
    server_prefix,
    spanning_duration,
)


@dataclass(frozen=True)
class Durations:
    """Least slots of every job, infinity where it cannot run; ``fewest`` servers that hold it.

    ``inside``: d1_j in one server, were one large enough; ``spanning``: over two or more, alone on
    its links, on the fewest that hold it.
    """

    instance: MakespanInstance
    inside: Floats
    spanning: Floats
    fewest: Ints

    @cached_property
    def gpus(self) -> Ints:
        """G_j."""
        return np.array([job.gpus for job in self.instance.jobs], dtype=np.int64)

    def on(self, capacity: int) -> Floats:
        """d_jc: least slots a GPU of a server of that capacity is taken by each job."""
        one = np.where(self.gpus <= capacity, self.inside, math.inf)
        return np.minimum(one, self.spanning)

    @cached_property
    def least(self) -> Floats:
        """Least slots of each job anywhere."""
        return self.on(max(self.instance.servers))

    @cached_property
    def estimate(self) -> Floats:
        """rho^_j: slots on the fewest servers at p = 1; the least where those make no progress."""
        fewest = np.where(self.fewest == 1, self.inside, self.spanning)
        return np.where(np.isfinite(fewest), fewest, self.least)


def durations_of(instance: MakespanInstance) -> Durations:
    """The least durations of every job. Complexity: O(n log S)."""
    prefix = server_prefix(instance.servers)
    fewest = [fewest_servers(job.gpus, prefix) for job in instance.jobs]
    inside = [duration(instance, job, 1, 0) for job in instance.jobs]
    spanning = [
        spanning_duration(instance, job, n) for job, n in zip(instance.jobs, fewest, strict=True)
    ]
    as_int = np.array(fewest, dtype=np.int64)
    return Durations(instance, np.array(inside), np.array(spanning), as_int)
