"""Mutable state of a run: placements, progress, records.

Progress is computed from the start of a segment, so that a job whose placement does not change has
no accumulated rounding error. State is in arrays by job of the instance: a decision costs a few
numpy operations on the jobs present.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from optsched.arrays import Floats, Ints
from optsched.rolling.records import JobRecord, NodeInterval, Segment
from optsched.rolling.simulator.assignment import NO_GPU, NO_NODE, Assignment
from optsched.rolling.simulator.world import World
from optsched.selection.assignment import Placement


class Execution:
    """The state that changes while a policy runs.

    Attributes
    ----------
    assignment : Assignment
        Placements of all jobs of the instance.
    finish, change : array (J,)
        Times of each job's end and of its planned change of speed; infinite if there is none.
    """

    def __init__(self, world: World, epochs: tuple[float, ...]) -> None:
        jobs, kinds = world.instance.jobs, world.tables.kinds
        self._tables, self._delay = world.tables, float(world.instance.reconfiguration_delay)
        self._shares = np.ones(world.tables.seconds.shape[1:])
        for t, kind in enumerate(kinds):
            for c in kind.fractions:
                self._shares[t, c] = kind.configurations[c].share
        self.assignment = Assignment.waiting(len(jobs), max(kind.gpus for kind in kinds))
        self._target = np.array(epochs, dtype=float)
        self._done = np.array([float(job.completed_epochs) for job in jobs])  # at segment start
        infinite = np.full((4, len(jobs)), math.inf)
        self._seconds, self._first_start, self.finish, self.change = infinite
        self._start, self._productive = np.zeros((2, len(jobs)))
        self._preemptions, self._migrations, self._changes = np.zeros((3, len(jobs)), np.int64)
        self._usage_is_current = True
        self._used, self._since = np.zeros((2, len(world.instance.nodes)))
        self._segments: list[tuple[NDArray[np.float64 | np.int64], ...]] = []
        self._gpus: list[Ints] = []  # of the segments, one after another
        self.intervals: list[NodeInterval] = []

    def done_at(self, jobs: Ints, now: float) -> Floats:
        """Epochs completed by each job."""
        productive = np.maximum(now - self._productive[jobs], 0.0)
        done = self._done[jobs] + productive / self._seconds[jobs]  # inf while a job waits
        return np.minimum(done, self._target[jobs])

    def complete(self, jobs: Ints, now: float) -> list[JobRecord]:
        self._end_segments(jobs, now, self._target[jobs])
        self._clear(jobs)
        return [self._record(j, now) for j in jobs.tolist()]

    def _record(self, j: int, now: float) -> JobRecord:
        counts = (n[j].item() for n in (self._preemptions, self._migrations, self._changes))
        return JobRecord(j, float(self._target[j]), float(self._first_start[j]), now, *counts)

    def reassign(
        self,
        present: Ints,
        now: float,
        old: Assignment,
        placements: Mapping[int, Placement],
        done: Floats,
    ) -> None:
        """Apply a new assignment; jobs with unchanged placement continue."""
        new = Assignment.of(placements, *old.gpus.shape)
        width = new.gpus.shape[1]
        self.assignment = self.assignment.padded(width)
        differs, waits = new.differs_from(old.padded(width)), new.node == NO_NODE
        stopping = (differs & (old.node != NO_NODE)).nonzero()[0]
        if len(stopping):
            self._end_segments(present[stopping], now, done[stopping])
            preempted = present[stopping[waits[stopping]]]
            self._clear(preempted)
            self._preemptions[preempted] += 1
        starting = (differs & ~waits).nonzero()[0]
        if len(starting):
            self._start_segments(present[starting], now, new.of_jobs(starting))

    def _clear(self, jobs: Ints) -> None:
        self.assignment.node[jobs], self.assignment.configuration[jobs] = NO_NODE, 0
        self.assignment.gpus[jobs] = NO_GPU
        self.finish[jobs] = self._seconds[jobs] = math.inf
        self._usage_is_current = False

    def _start_segments(self, jobs: Ints, now: float, new: Assignment) -> None:
        """Start a segment of each job; `self.assignment` still holds the previous placement."""
        old, configuration = self.assignment.node[jobs], self.assignment.configuration[jobs]
        kind_of, had = self._tables.kind_of, old != NO_NODE
        kind = kind_of[new.node]
        moved = had & (old != new.node)
        changed = had & ((kind_of[old] != kind) | (configuration != new.configuration))
        needs_setup = (self._first_start[jobs] < math.inf) & (~had | moved | changed)
        # a first start needs no set-up; on other GPUs of its node a job's set-up continues
        productive_from = np.where(had, np.maximum(self._productive[jobs], now), now)
        productive = np.where(needs_setup, now + self._delay, productive_from)
        seconds = self._tables.seconds[jobs, kind, new.configuration]
        remaining = np.maximum(self._target[jobs] - self._done[jobs], 0.0)
        self._migrations[jobs] += moved
        self._changes[jobs] += changed & ~moved
        self.assignment.node[jobs], self.assignment.configuration[jobs] = (
            new.node,
            new.configuration,
        )
        self.assignment.gpus[jobs] = new.gpus
        self._usage_is_current = False
        self._start[jobs] = now
        self._first_start[jobs] = np.minimum(self._first_start[jobs], now)
        self._productive[jobs], self._seconds[jobs] = productive, seconds
        self.finish[jobs] = productive + remaining * seconds

    def _end_segments(self, jobs: Ints, now: float, end: Floats) -> None:
        """End the current segments of jobs, with `end` epochs completed."""
        done, start, placed = self._done[jobs], self._start[jobs], self.assignment.of_jobs(jobs)
        epochs = end - done
        self._done[jobs] = done + epochs
        is_gpu = placed.gpus != NO_GPU
        setup, ends = np.minimum(self._productive[jobs], now) - start, np.full(len(jobs), now)
        sizes = is_gpu.sum(axis=1)
        columns = (jobs, start, ends, placed.node, placed.configuration, sizes, setup, epochs)
        self._segments.append(columns)
        self._gpus.append(placed.gpus[is_gpu])

    def record_node_usage(self, present: Ints, now: float) -> None:
        """End the intervals of nodes whose number of GPUs in use has changed."""
        if self._usage_is_current:
            return
        self._usage_is_current, placed = True, self.assignment.of_jobs(present)
        in_use = np.zeros((len(self._used) + 1, placed.gpus.max(initial=NO_GPU) + 2), dtype=bool)
        in_use[placed.node[:, None], placed.gpus] = True  # index -1: unplaced jobs and padding
        used = in_use[:NO_NODE, :NO_GPU].sum(axis=1)
        for node in np.flatnonzero(used != self._used).tolist():
            start, before = float(self._since[node]), int(self._used[node])
            if before and now > start:
                self.intervals.append(NodeInterval(node, start, now, before))
            self._since[node], self._used[node] = now, used[node]

    def segments(self) -> tuple[Segment, ...]:
        """All segments that have ended, by start and job, without those of length 0."""
        columns = [np.concatenate(column) for column in zip(*self._segments, strict=True)]
        jobs, start, ends, node, configuration, sizes, setup, epochs = columns
        share = self._shares[self._tables.kind_of[node], configuration]
        order = np.lexsort((jobs, start))
        order = order[start[order] < ends[order]]
        flat, last = np.concatenate(self._gpus).tolist(), np.cumsum(sizes)
        spans = zip((last - sizes)[order].tolist(), last[order].tolist(), strict=True)
        gpus = [tuple(flat[a:b]) for a, b in spans]
        head = (column[order].tolist() for column in (jobs, start, ends, node))
        tail = (column[order].tolist() for column in (share, setup, epochs))
        return tuple(map(Segment, *head, gpus, *tail))
