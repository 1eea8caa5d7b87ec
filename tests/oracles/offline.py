"""Problem (8) offline, by enumeration: the least total completion time of a handful of jobs.

Guarantee: exact over all starts, servers and stage placements, where submissions and true
iterations are known. Some optimal schedule starts every job at a submission or at another job's
end (otherwise it could start earlier on the same GPUs), so those are the starts tried; servers
that the same jobs use alike are interchangeable, and of all placements on the GPUs taken the least
alpha is optimal, by the placement slice's exact methods. Where slices have no seat nothing starts.
Exponential: at most 7 jobs.
Source: a-srpt, (1)-(3), (7), (8).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from optsched.errors import InputError
from optsched.online.data.jobs import Jobs

MOST_JOBS = 7


@dataclass(frozen=True)
class OfflineOptimum:
    """The least total flow (s), and starts (s) and GPUs by server that reach it, by row."""

    flow: float
    start: tuple[float, ...]
    gpus: tuple[tuple[int, ...], ...]


def offline_optimum(jobs: Jobs) -> OfflineOptimum:
    """Enumerate the schedules of a tiny instance.

    Raises
    ------
    InputError
        For more than 7 jobs.
    """
    if len(jobs) > MOST_JOBS:
        raise InputError("offline optimum", "jobs", str(len(jobs)), f"at most {MOST_JOBS}")
    return _Search(jobs).run()


class _Search:
    def __init__(self, jobs: Jobs) -> None:
        self.jobs = jobs
        self.count = len(jobs)
        self.least = (jobs.iterations * jobs.least).tolist()
        self.submit = jobs.submit.tolist()
        self.alpha: dict[tuple[int, tuple[int, ...]], float] = {}
        self.best = float("inf")
        self.start: list[float] = [0.0] * self.count
        self.taken: list[tuple[int, ...]] = [()] * self.count
        self.found: tuple[Any, Any] = ((), ())

    def run(self) -> OfflineOptimum:
        free = [self.jobs.cluster.gpus_per_server] * self.jobs.cluster.servers
        self._go(0.0, -1, free, (), frozenset(range(self.count)), 0.0)
        flow = self.best if self.count else 0.0
        return OfflineOptimum(flow, *self.found)

    def _go(
        self,
        now: float,
        after: int,
        free: list[int],
        running: tuple[tuple[float, int], ...],
        left: frozenset[int],
        flow: float,
    ) -> None:
        """Jobs `left` have not started; at `now` only rows above `after` still may."""
        bound = flow + sum(max(now - self.submit[i], 0.0) + self.least[i] for i in left)
        if bound >= self.best * (1 - 1e-12):
            return
        if not left:
            self.best, self.found = flow, (tuple(self.start), tuple(self.taken))
            return
        for row in sorted(left):
            if row > after and self.submit[row] <= now:
                self._try_row(now, row, free, running, left, flow)
        self._wait(now, free, running, left, flow)

    def _try_row(
        self, now: float, row: int, free: list[int], running: Any, left: Any, flow: float
    ) -> None:
        kinds = [
            (count, tuple((other, self.taken[other][m]) for _, other in running))
            for m, count in enumerate(free)
        ]
        for taken in _offers(free, kinds, int(self.jobs.gpus[row])):
            alpha = self._least_alpha(row, taken)
            if alpha == math.inf:  # slices that have no seat there
                continue
            end = now + float(self.jobs.iterations[row]) * alpha
            self.start[row], self.taken[row] = now, taken
            rest = [count - used for count, used in zip(free, taken, strict=True)]
            self._go(
                now, row, rest, (*running, (end, row)), left - {row}, flow + end - self.submit[row]
            )

    def _wait(self, now: float, free: list[int], running: Any, left: Any, flow: float) -> None:
        """On to the next end or submission."""
        times = [end for end, _ in running] + [self.submit[i] for i in left if self.submit[i] > now]
        if not times:
            return
        then = min(times)
        freed = list(free)
        for end, row in running:
            if end <= then:
                freed = [f + used for f, used in zip(freed, self.taken[row], strict=True)]
        still = tuple(each for each in running if each[0] > then)
        self._go(then, -1, freed, still, left, flow)

    def _least_alpha(self, row: int, taken: tuple[int, ...]) -> float:
        key = (
            int(self.jobs.configuration[row]),
            tuple(sorted((t for t in taken if t), reverse=True)),
        )
        if key not in self.alpha:
            self.alpha[key] = _exact_alpha(self.jobs, *key)
        return self.alpha[key]


def _exact_alpha(jobs: Jobs, configuration: int, offer: tuple[int, ...]) -> float:
    from optsched.placement.exact.exact import exact
    from optsched.placement.instance import SCHEMA, PlacementInstance
    from optsched.placement.options import PlacementOptions
    from optsched.result import Settings

    instance = PlacementInstance.model_validate(
        {
            "schema": SCHEMA,
            "version": 1,
            "name": "offer",
            "cluster": jobs.cluster.hardware,
            "free_gpus": offer,
            "job": jobs.configurations.jobs[configuration],
        }
    )
    outcome = exact(instance, PlacementOptions(), Settings(gap=0.0))
    return math.inf if outcome.claimed is None else outcome.claimed


def _offers(free: list[int], kinds: list[Any], gpus: int) -> Iterator[tuple[int, ...]]:
    """Ways to take GPUs, one of those alike: servers of a kind give in descending order."""

    def go(server: int, left: int, so_far: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if server == len(free):
            if left == 0:
                yield so_far
            return
        most = min(free[server], left)
        for twin in range(server - 1, -1, -1):
            if kinds[twin] == kinds[server]:
                most = min(most, so_far[twin])
                break
        for used in range(most, -1, -1):
            yield from go(server + 1, left - used, (*so_far, used))

    yield from go(0, gpus, ())
