"""Minimum durations of jobs, by the capacity of the server of a GPU."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from optsched.makespan.contention import Floats, Ints
from optsched.makespan.instance import MakespanInstance, duration, min_servers


@dataclass(frozen=True)
class Durations:
    """Minimum slots of every job, infinity where it cannot run."""

    instance: MakespanInstance
    inside: Floats  # d1_j: on one server (even if none is large enough)
    spanning: Floats  # on the fewest servers that hold it, at least two, alone on its links
    min_servers: Ints  # smallest number of servers that hold it

    @cached_property
    def gpus(self) -> Ints:
        """G_j."""
        return np.array([job.gpus for job in self.instance.jobs], dtype=np.int64)

    def on(self, capacity: int) -> Floats:
        """d_jc: minimum slots that each job occupies a GPU of a server with this capacity."""
        one = np.where(self.gpus <= capacity, self.inside, math.inf)
        return np.minimum(one, self.spanning)

    @cached_property
    def minimum(self) -> Floats:
        """Minimum slots of each job on any placement."""
        return self.on(max(self.instance.servers))

    @cached_property
    def estimate(self) -> Floats:
        """rho_hat_j: slots on the fewest servers at p = 1; `minimum` without progress there."""
        slots = np.where(self.min_servers == 1, self.inside, self.spanning)
        return np.where(np.isfinite(slots), slots, self.minimum)


def durations_of(instance: MakespanInstance) -> Durations:
    """Minimum durations of every job. Complexity: O(n log S)."""
    fewest = min_servers(instance)
    inside = [duration(instance, job, 1, 0) for job in instance.jobs]
    # More servers and more contention only slow a job.
    spanning = [
        duration(instance, job, max(2, count), 1)
        if job.gpus > 1 and len(instance.servers) > 1
        else math.inf
        for job, count in zip(instance.jobs, fewest, strict=True)
    ]
    return Durations(instance, np.array(inside), np.array(spanning), np.array(fewest, np.int64))
