"""Preemptive policies by a naive loop, written from the page models/online/README.md alone.

Segments, rounds, passes and keys as the page has them, on clusters with or without limits.
Offers, windows, quotas and priorities are those of `oracles.limited`. Every pass looks at every
job.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from oracles.limited import LimitedSimulation
from oracles.online import Row

POLICIES = ("las", "srpt-preemptive", "max-min")


@dataclass
class Progress:
    """What a job has behind it and before it; changed where it is stopped, and nowhere else."""

    left: float
    known: float
    worked: float = 0.0
    segments: list[tuple[float, float, dict[int, int], float]] = field(default_factory=list)
    begin: float = 0.0

    def ran(self, now: float) -> float:
        """Seconds of work in the segment that goes on."""
        return max(0.0, now - self.begin)


class PreemptiveSimulation(LimitedSimulation):
    """One preemptive policy on one workload."""

    def __init__(
        self, *world: Any, checkpoint: float = 30.0, round: float = 360.0, **settings: Any
    ) -> None:
        super().__init__(*world, **settings)
        self.checkpoint, self.round = checkpoint, round
        self.progress = [Progress(row.iterations, row.predicted) for row in self.rows]
        self.sizes = list(self.free)
        self.complete: set[int] = set()
        self.keys: dict[int, float] = {}

    def run(self) -> list[Row]:
        """Rows with their first starts, completions and last servers."""
        arrivals = list(range(len(self.rows)))
        while len(self.complete) < len(self.rows):
            now = self.now = self._acts(min(self._events(arrivals)))
            for at in [at for at in self.running if self.rows[at].end <= now]:
                self._end(at)
            while arrivals and self.rows[arrivals[0]].submit <= now:
                self.queue.append(arrivals.pop(0))
            if self.queue and (not self._rounds() or self._boundary(now)):
                self._full_pass(now)
            self._fill(now)
        for row, progress in zip(self.rows, self.progress, strict=True):
            if len(progress.segments) > 1:
                row.alpha = sum(ran for *_, ran in progress.segments) / row.iterations
        return self.rows

    # Time

    def _events(self, arrivals: Sequence[int]) -> Iterator[float]:
        yield from super()._events(arrivals)
        if self.queue and self._rounds():
            yield self._next_boundary()

    def _rounds(self) -> bool:
        return self.policy != "srpt-preemptive"

    def _boundary(self, now: float) -> bool:
        """Whether a boundary acts now: one that is now, or came since the slot before."""
        near = round(now / self.round)
        back = 2 + int(self.slot / self.round)
        boundaries = (k * self.round for k in range(max(near - back, 0), near + 3))
        return any(self._acts(boundary) == now for boundary in boundaries)

    def _next_boundary(self) -> float:
        k = max(int(self.now / self.round) - 2, 0) if math.isfinite(self.now) else 0
        return next(t for t in (i * self.round for i in itertools.count(k)) if t > self.now)

    # Keys

    def _key(self, at: int, now: float) -> float:
        row, progress = self.rows[at], self.progress[at]
        ran = progress.ran(now) if at in self.running else 0.0
        if self.policy == "las":
            return row.gpus * (progress.worked + ran)
        if self.policy == "max-min":
            return self.keys.get(at, 0.0)
        made = ran / row.alpha if at in self.running else 0.0
        return (row.gpus * max(0.0, progress.known - made)) * row.estimate

    def _share(self, jobs: Sequence[int], now: float) -> None:
        """Keys of max-min: the time a job received over the time it was due."""
        gpus = sorted(self.rows[at].gpus for at in jobs)
        level = math.inf
        if sum(gpus) > self.total:
            rest = float(self.total)
            for i, g in enumerate(gpus):
                if g * (len(gpus) - i) >= rest:
                    level = rest / (len(gpus) - i)
                    break
                rest -= g
        for at in jobs:
            row, progress = self.rows[at], self.progress[at]
            ran = progress.ran(now) if at in self.running else 0.0
            worked = progress.worked + ran
            share = min(1.0, level / row.gpus)
            self.keys[at] = worked / (share * (now - row.submit)) if worked else 0.0

    # Passes

    def _in_order(self, jobs: Sequence[int], now: float) -> list[int]:
        return sorted(jobs, key=lambda i: (-self._priority(i), self._key(i, now), i))

    def _full_pass(self, now: float) -> None:
        jobs = [*self.queue, *self.running]
        if self.policy == "max-min":
            self._share(jobs, now)
        room, chosen = sum(self.sizes[m] for m in self._open_servers(now)), list[int]()
        for at in self._in_order(jobs, now):
            if self.rows[at].gpus > room or self._over_quota(at, chosen):
                continue
            if at in self.running or self._has_offer_when_empty(at, now):
                chosen.append(at)
                room -= self.rows[at].gpus
        for at in [at for at in self.running if at not in chosen]:
            self._stop(at, now)

    def _has_offer_when_empty(self, at: int, now: float) -> bool:
        """Whether the job would have an offer if all GPUs were free."""
        free, self.free = self.free, self.sizes
        offer = self._fitting_offer(at, now)
        self.free = free
        return offer is not None

    def _fill(self, now: float) -> None:
        room = sum(self.free)
        waiting = [at for at in self.queue if self.rows[at].gpus <= room]
        for at, offer in self._offers(self._in_order(waiting, now), now):
            self._resume(at, now, offer)

    # Segments

    def _begin(self, at: int, now: float) -> float:
        """When a segment that starts now has restored the job's state."""
        return now + self.checkpoint if self.progress[at].segments else now

    def _planned_end(self, at: int, now: float, alpha: float) -> float:
        return self._begin(at, now) + self.progress[at].left * alpha

    def _resume(self, at: int, now: float, offer: dict[int, int]) -> None:
        row, progress = self.rows[at], self.progress[at]
        first = row.start
        self._start(at, now, offer)
        row.start = now if first is None else first
        progress.begin, row.end = self._begin(at, now), self._planned_end(at, now, row.alpha)
        progress.segments.append((now, math.nan, row.held, 0.0))

    def _leave(self, at: int, now: float) -> None:
        row, progress = self.rows[at], self.progress[at]
        self.running.remove(at)
        for server, gpus in row.held.items():
            self.free[server] += gpus
        started, _, held, _ = progress.segments[-1]
        progress.segments[-1] = started, now, held, progress.ran(now)

    def _end(self, at: int) -> None:
        self._leave(at, self.rows[at].end)
        self.complete.add(at)

    def _stop(self, at: int, now: float) -> None:
        row, progress = self.rows[at], self.progress[at]
        self._leave(at, now)
        ran = progress.ran(now)
        made = ran / row.alpha
        progress.left = max(0.0, progress.left - made)
        progress.known = max(0.0, progress.known - made)
        progress.worked += ran
        self.queue.append(at)

    def segments(self) -> Iterator[list[tuple[float, float, dict[int, int]]]]:
        """Start, end and servers of each segment, job by job."""
        for progress in self.progress:
            yield [(start, end, held) for start, end, held, _ in progress.segments]
