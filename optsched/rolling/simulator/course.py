"""The course of a run: who holds which GPUs, how far each job is, and what is recorded of both.

Progress is computed from the start of a segment, so a job that is left alone accumulates no
rounding. All is in arrays by job of the instance; a decision costs a pass over the jobs present.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from optsched.rolling.records import JobRecord, NodeInterval, Segment
from optsched.rolling.simulator.seats import NO_GPU, WAITS, Seats
from optsched.rolling.simulator.world import World
from optsched.selection.assignment import Seat

Floats = NDArray[np.float64]
Jobs = NDArray[np.int64]


class Course:
    """What changes while a policy runs.

    Attributes
    ----------
    seats : Seats
        Of all jobs of the instance.
    finish, change : array (J,)
        Moments of each job's end and of its planned change of speed; infinite if there is none.
    """

    def __init__(self, world: World, targets: tuple[float, ...]) -> None:
        jobs, kinds = world.instance.jobs, world.all.kinds
        self._tables, self._delay = world.all, float(world.instance.reconfiguration_delay)
        self._shares = np.ones(world.all.seconds.shape[1:])
        for t, kind in enumerate(kinds):
            for c in kind.fractions:
                self._shares[t, c] = kind.configurations[c].share
        self.seats = Seats.waiting(len(jobs), max(kind.gpus for kind in kinds))
        self._target = np.array(targets, dtype=float)
        self._done = np.array([float(job.completed_epochs) for job in jobs])  # when it was seated
        never = np.full((4, len(jobs)), math.inf)
        self._seconds, self._first_start, self.finish, self.change = never
        self._start, self._productive = np.zeros((2, len(jobs)))
        self._preemptions, self._migrations, self._changes = np.zeros((3, len(jobs)), np.int64)
        self._use_is_known = True
        self._used, self._since = np.zeros((2, len(world.instance.nodes)))
        self._segments: list[tuple[NDArray[np.float64 | np.int64], ...]] = []
        self._gpus: list[Jobs] = []  # of the segments, one behind another
        self.intervals: list[NodeInterval] = []

    def done_at(self, jobs: Jobs, now: float) -> Floats:
        """Epochs completed by each."""
        done, seconds = self._done[jobs], self._seconds[jobs]
        made = np.maximum(now - self._productive[jobs], 0.0) / seconds
        running = np.minimum(done + made, self._target[jobs])
        return np.where(seconds < math.inf, running, done)

    def complete(self, jobs: Jobs, now: float) -> list[JobRecord]:
        """Take the seats of jobs that are done."""
        self._close(jobs, now, self._target[jobs])
        self._seat(jobs, self.seats.none_of(len(jobs)))
        return [self._record(j, now) for j in jobs.tolist()]

    def _record(self, j: int, now: float) -> JobRecord:
        counts = (each[j].item() for each in (self._preemptions, self._migrations, self._changes))
        return JobRecord(j, float(self._target[j]), float(self._first_start[j]), now, *counts)

    def reseat(
        self, present: Jobs, now: float, old: Seats, seats: Mapping[int, Seat], done: Floats
    ) -> None:
        """Give the jobs present other seats, or none; those whose seat is as it was go on."""
        new = Seats.of(seats, *old.gpus.shape)
        width = new.gpus.shape[1]
        self.seats = self.seats.widened(width)
        differs = new.differ(old.widened(width))
        leaves, waits = differs & (old.node != WAITS), new.node == WAITS
        places = leaves.nonzero()[0]
        if len(places):
            self._close(present[places], now, done[places])
        stops = present[leaves & waits]
        if len(stops):
            self._stop(stops)
        places = (differs & ~waits).nonzero()[0]
        if len(places):
            self._open(present[places], now, new.of_some(places))

    def _seat(self, jobs: Jobs, seats: Seats) -> None:
        mine, self._use_is_known = self.seats, False
        mine.node[jobs], mine.configuration[jobs] = seats.node, seats.configuration
        mine.gpus[jobs] = seats.gpus

    def _stop(self, jobs: Jobs) -> None:
        self._seat(jobs, self.seats.none_of(len(jobs)))
        self.finish[jobs] = self._seconds[jobs] = math.inf
        self._preemptions[jobs] += 1

    def _open(self, jobs: Jobs, now: float, seats: Seats) -> None:
        """Begin a segment of each job, whose seat, if it had one, it still has."""
        old, configuration = self.seats.node[jobs], self.seats.configuration[jobs]
        kind_of, had = self._tables.kind_of, old != WAITS
        kind = kind_of[seats.node]
        moved = had & (old != seats.node)
        changed = had & ((kind_of[old] != kind) | (configuration != seats.configuration))
        again = (self._first_start[jobs] < math.inf) & (~had | moved | changed)
        # at a first start nothing is set up; on other GPUs of its node setting up goes on
        goes_on = np.where(had, np.maximum(self._productive[jobs], now), now)
        productive = np.where(again, now + self._delay, goes_on)
        seconds = self._tables.seconds[jobs, kind, seats.configuration]
        left = np.maximum(self._target[jobs] - self._done[jobs], 0.0)
        self._migrations[jobs] += moved
        self._changes[jobs] += changed & ~moved
        self._seat(jobs, seats)
        self._start[jobs] = now
        self._first_start[jobs] = np.minimum(self._first_start[jobs], now)
        self._productive[jobs], self._seconds[jobs] = productive, seconds
        self.finish[jobs] = productive + left * seconds

    def _close(self, jobs: Jobs, now: float, end: Floats) -> None:
        """End the segments that jobs are in, with so many epochs completed."""
        done, start, seats = self._done[jobs], self._start[jobs], self.seats.of_some(jobs)
        made = end - done
        self._done[jobs] = done + made
        is_gpu = seats.gpus != NO_GPU
        sizes, gpus = is_gpu.sum(axis=1), seats.gpus[is_gpu]
        setup = np.minimum(self._productive[jobs], now) - start
        ends = np.full(len(jobs), now)
        kept = (jobs, start, ends, seats.node, seats.configuration, sizes, setup, made)
        self._segments.append(kept)
        self._gpus.append(gpus)

    def note_use(self, present: Jobs, now: float) -> None:
        """Close the intervals of nodes whose GPUs in use have changed."""
        if self._use_is_known:
            return
        self._use_is_known, seats = True, self.seats.of_some(present)
        in_use = np.zeros((len(self._used) + 1, seats.gpus.max(initial=NO_GPU) + 2), dtype=bool)
        in_use[seats.node[:, None], seats.gpus] = True  # the last of each are WAITS and NO_GPU
        used = in_use[:WAITS, :NO_GPU].sum(axis=1)
        for node in np.flatnonzero(used != self._used).tolist():
            start, before = float(self._since[node]), int(self._used[node])
            if before and now > start:
                self.intervals.append(NodeInterval(node, start, now, before))
            self._since[node], self._used[node] = now, used[node]

    def segments(self) -> tuple[Segment, ...]:
        """All segments that have ended, by start and job; without those that took no time."""
        columns = [np.concatenate(each) for each in zip(*self._segments, strict=True)]
        jobs, start, ends, node, configuration, sizes, setup, made = columns
        share = self._shares[self._tables.kind_of[node], configuration]
        flat, last = np.concatenate(self._gpus).tolist(), np.cumsum(sizes)
        order = np.lexsort((jobs, start))
        order = order[start[order] < ends[order]]
        rows = zip((last - sizes)[order].tolist(), last[order].tolist(), strict=True)
        gpus = [tuple(flat[a:b]) for a, b in rows]
        head = (each[order].tolist() for each in (jobs, start, ends, node))
        tail = (each[order].tolist() for each in (share, setup, made))
        return tuple(map(Segment, *head, gpus, *tail))
