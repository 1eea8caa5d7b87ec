"""Deterministic discrete-event simulator of a policy.

A decision is made at every arrival and completion, at each job's planned change of speed T_j, and H
after the last one at the latest; simultaneous events share a decision. Preempting or moving a job
costs `reconfiguration_delay` only. Equal (instance, policy, seed) gives equal records. Complexity:
O(decisions x (jobs present + policy)). Source: sts, VI-B and VII.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from optsched.arrays import Floats, Ints
from optsched.deadline import clock
from optsched.errors import InputError
from optsched.result import Termination
from optsched.rolling.epochs import draw_epochs
from optsched.rolling.records import Decision, JobRecord, NodeInterval, Records, Segment
from optsched.rolling.simulator.assignment import NO_GPU, NO_NODE, Assignment
from optsched.rolling.simulator.estimates import Knowledge
from optsched.rolling.simulator.world import View, World
from optsched.selection.assignment import Placement

SIMULTANEITY_RTOL = 1e-14
"""Relative difference of times within which events are simultaneous: the rounding of a time."""
MIN_CHANGE_SHARE = 1 / 3_600_000
"""Minimum delay of a planned change, relative to H (1 ms per hour), so that time advances."""
MAX_STALLED_DECISIONS = 2_000
"""Decisions without progress, past all due dates, before a run is aborted, if they also span twice
the reconfiguration delay: jobs that keep their GPUs progress once the delay has passed."""
PROGRESS_RTOL = 1e-9
"""Relative increase of the completed epochs below which there is no progress but rounding."""
MAX_PERIODIC_DECISIONS = 200_000
"""Maximum number of timer decisions, of H or of a policy's `wake`; longer runs are rejected before
they start."""


class UnfinishedRunError(Exception):
    """A run that ended before its jobs were done, at its time limit or for lack of progress."""

    def __init__(self, termination: Termination, message: str) -> None:
        super().__init__(message)
        self.termination = termination


@dataclass(frozen=True)
class Plan:
    """A decision: placements by position in `view.jobs` (missing jobs wait), and for jobs whose
    speed is to change later the seconds until then, T_j - T_c."""

    placements: Mapping[int, Placement]
    changes: Mapping[int, float] = field(default_factory=dict)


class Policy(Protocol):
    """A policy, created per run; it decides at least every `wake` seconds."""

    name: str
    wake: float

    def decide(self, view: View) -> Plan:
        """Place the jobs present."""
        ...


def simulate_rolling(
    world: World,
    policy: Policy,
    *,
    seed: int = 0,
    epochs: tuple[float, ...] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Records:
    """Run a policy to the completion of every job; raises UnfinishedRunError."""
    require_bounded_run(world, policy)
    drawn = draw_epochs(world.instance, seed) if epochs is None else epochs
    run = _Run(world, policy, drawn)
    while run.step():
        if progress is not None:
            progress(len(run.finished), len(run.jobs))
    return Records(
        instance=world.instance.name,
        policy=policy.name,
        seed=seed,
        options=world.options.to_dict(),
        segments=run.execution.segments(),
        nodes=tuple(sorted(run.execution.intervals, key=attrgetter("start", "node"))),
        jobs=tuple(sorted(run.finished, key=attrgetter("job"))),
        decisions=tuple(run.decisions),
    )


def require_bounded_run(world: World, policy: Policy) -> None:
    """Raise InputError if a run may take too many timer decisions, by an estimated length."""
    instance = world.instance
    longest = world.slowest_seconds
    times = [job.submit_time for job in instance.jobs]
    seconds = max(times) - min(times) + longest.max() + longest.sum() / len(instance.nodes)
    step, limit = min(float(instance.interval), policy.wake), MAX_PERIODIC_DECISIONS
    if seconds / step > limit:
        where = "interval" if step == instance.interval else f"{policy.name}: wake"
        found = f"{step:g} s, which gives up to {seconds / step:.3g} decisions (limit {limit})"
        raise InputError(instance.name, where, found, f"at least {seconds / limit:.3g} s")


class Execution:
    """Mutable state of a run: placements, progress, records.

    Progress is computed from the start of a segment, so that a job whose placement does not change
    has no accumulated rounding error. State is in arrays by job of the instance: a decision costs a
    few numpy operations on the jobs present.
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
        # `finish` and `change` are the times of each job's end and of its planned change of speed
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


class _Run:
    def __init__(self, world: World, policy: Policy, epochs: tuple[float, ...]) -> None:
        self.world, self.knowledge, self.policy = world, Knowledge(world), policy
        self.jobs, self.execution = world.instance.jobs, Execution(world, epochs)
        self.arrivals = sorted(range(len(self.jobs)), key=lambda j: (self.jobs[j].submit_time, j))
        self.next_arrival = 0
        self.stalled_decisions, self.last_progress, self.epochs_done = 0, 0.0, 0.0
        self.timer = math.inf
        self.present: Ints = np.empty(0, dtype=np.int64)  # increasing
        self.finished: list[JobRecord] = []
        self.decisions: list[Decision] = []

    def step(self) -> bool:
        """Advance to the next event and decide; False when all jobs are done."""
        now, causes = self._next_event()
        if now == math.inf:
            return False
        if self._complete(now):
            causes.append("completion")
        if self._admit(now):
            causes.append("arrival")
        if len(self.present):
            if "completion" in causes or "arrival" in causes:
                self.knowledge.update(self.finished, self.present)
            self._decide(now, "+".join(sorted(set(causes))))
        else:
            self.timer = math.inf
        self.execution.record_node_usage(self.present, now)
        return True

    def _next_event(self) -> tuple[float, list[str]]:
        arrival = math.inf
        if self.next_arrival < len(self.arrivals):
            arrival = float(self.jobs[self.arrivals[self.next_arrival]].submit_time)
        finish = float(self.execution.finish[self.present].min(initial=math.inf))
        change = float(self.execution.change[self.present].min(initial=math.inf))
        now = min(arrival, finish, change, self.timer)
        causes = ["change"] if change <= _latest_simultaneous(now) else []
        return now, causes + (["interval"] if self.timer <= now else [])

    def _complete(self, now: float) -> bool:
        is_over = self.execution.finish[self.present] <= _latest_simultaneous(now)
        if not is_over.any():
            return False
        self.finished += self.execution.complete(self.present[is_over], now)
        self.present = self.present[~is_over]
        return True

    def _admit(self, now: float) -> bool:
        before = self.next_arrival
        while self.next_arrival < len(self.arrivals):
            j = self.arrivals[self.next_arrival]
            if self.jobs[j].submit_time > _latest_simultaneous(now):
                break
            self.next_arrival += 1
        arrived = self.arrivals[before : self.next_arrival]
        if arrived:
            self.present = np.sort(np.append(self.present, arrived))
        return bool(arrived)

    def _decide(self, now: float, cause: str) -> None:
        present, execution = self.present, self.execution
        done, placements = execution.done_at(present, now), execution.assignment.of_jobs(present)
        self._abort_if_stalled(now, cause, float(done.sum()))
        due = np.flatnonzero(execution.change[present] <= _latest_simultaneous(now)).tolist()
        jobs = tuple(present.tolist())
        view = View(
            self.knowledge.world, now, jobs, tuple(done.tolist()), placements, frozenset(due)
        )
        began = clock()
        plan = self.policy.decide(view)
        seconds = clock() - began
        self.decisions.append(Decision(now, len(present), len(plan.placements), cause, seconds))
        execution.reassign(present, now, placements, plan.placements, done)
        self._plan_changes(now, plan.changes)
        self.timer = now + max(min(self.world.instance.interval, self.policy.wake), _tick(now))

    def _plan_changes(self, now: float, changes: Mapping[int, float]) -> None:
        """Replace all planned changes of speed of running jobs."""
        execution = self.execution
        execution.change[self.present] = math.inf
        if not changes:
            return
        positions = np.fromiter(changes.keys(), np.int64, len(changes))
        seconds_to_change = np.fromiter(changes.values(), float, len(changes))
        is_present = positions < len(self.present)
        jobs, delay = self.present[positions[is_present]], seconds_to_change[is_present]
        running = execution.assignment.node[jobs] != NO_NODE
        min_delay = max(MIN_CHANGE_SHARE * self.world.instance.interval, _tick(now))
        execution.change[jobs[running]] = now + np.maximum(delay[running], min_delay)

    def _abort_if_stalled(self, now: float, cause: str, epochs_done: float) -> None:
        """Abort a run in which no job progresses and none will arrive."""
        has_other_jobs = "arrival" in cause or "completion" in cause
        awaits_arrivals = self.next_arrival < len(self.arrivals)
        progressed = epochs_done > (1 + PROGRESS_RTOL) * self.epochs_done
        if has_other_jobs or awaits_arrivals or progressed or self._awaits_due_date(now):
            self.stalled_decisions, self.last_progress, self.epochs_done = 0, now, epochs_done
            return
        self.stalled_decisions += 1
        patience, stalled = (
            2 * float(self.world.instance.reconfiguration_delay),
            now - self.last_progress,
        )
        if self.stalled_decisions <= MAX_STALLED_DECISIONS or stalled <= patience:
            return
        raise UnfinishedRunError(
            Termination.NO_SOLUTION,
            f"policy {self.policy.name} makes no progress: {len(self.present)} jobs are not done, "
            f"and no job completed an epoch in the last {self.stalled_decisions} decisions "
            f"({stalled:.6g} s)",
        )

    def _awaits_due_date(self, now: float) -> bool:
        """Whether jobs may wait because they are not due, in a run that is not too long yet."""
        last_due_date = max((self.jobs[j].due_date for j in self.present.tolist()), default=now)
        return now < last_due_date and len(self.decisions) < MAX_PERIODIC_DECISIONS


def _tick(now: float) -> float:
    return 4 * math.ulp(now)


def _latest_simultaneous(now: float) -> float:
    """The last time that counts as now."""
    return now + SIMULTANEITY_RTOL * abs(now)
