"""The deterministic event simulator: a policy's decisions become records.

A decision is made at every arrival and completion, at each job's planned change of speed T_j, and H
after the last one at the latest; events of one moment are one decision. Jobs may be preempted and
moved at no cost but `reconfiguration_delay`. Progress is computed from the start of a segment, so a
job that is left alone accumulates no rounding. Equal (instance, policy, seed) gives equal records.
Complexity: O(decisions x (jobs present + policy)). Source: sts, VI-B and VII.
"""

from __future__ import annotations

import gc
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from optsched.deadline import clock
from optsched.errors import InputError, SolverError
from optsched.rolling.instance import RollingInstance
from optsched.rolling.records import Decision, JobRecord, NodeInterval, Records, Segment
from optsched.rolling.simulator.true_epochs import true_epochs
from optsched.rolling.simulator.world import View, World
from optsched.selection.assignment import Seat

Floats = NDArray[np.float64]
Jobs = NDArray[np.int64]

SAME_MOMENT = 1e-14
"""Share of the clock's own reading within which events are one: what rounding leaves of a time."""
SHORTEST = 1 / 3_600_000
"""Share of H, a millisecond of an hour: a policy's planned change takes effect no sooner, so that
time always moves on."""
RECORDS_A_COLLECTION = 100_000
"""New objects before Python looks for garbage."""
MOST_IDLE_DECISIONS = 10_000
"""Decisions in a row that place nothing, with nothing running, before a run is given up."""
MOST_PERIODIC_DECISIONS = 200_000
"""Decisions for no other reason than that H, or a policy's own `wake`, has passed. A run that could
take more is refused before it starts: see `refuse_endless`."""


class StalledError(SolverError):
    """A policy that leaves waiting jobs on an idle cluster for ever."""


@dataclass(frozen=True)
class Plan:
    """A decision: seats by local job (the others wait), and when jobs change speed.

    Attributes
    ----------
    changes : mapping
        Seconds until a job's planned change of speed, T_j - T_c.
    """

    seats: Mapping[int, Seat]
    changes: Mapping[int, float] = field(default_factory=dict)


class Decider(Protocol):
    """Something that decides, once a run; it may remember.

    Attributes
    ----------
    wake : float
        Seconds after which it wants to decide again at the latest; infinite to leave that to H.
    """

    name: str
    wake: float

    def decide(self, view: View) -> Plan:
        """Seats for the jobs present."""
        ...


@dataclass
class _Active:
    """A job that has arrived and is not done: what changes only with its seat."""

    seat: Seat | None = None
    start: float = 0.0
    first_start: float = math.inf
    preemptions: int = 0
    migrations: int = 0
    changes: int = 0


class _Clocks(NamedTuple):
    """By job: epochs done when its seat was given, and those it needs; from when it makes progress,
    seconds an epoch (infinite while it waits), and the moments of its end and change of speed."""

    done: Floats
    target: Floats
    productive: Floats
    seconds: Floats
    finish: Floats
    change: Floats

    def done_at(self, jobs: Jobs, now: float) -> Floats:
        """Epochs completed by each."""
        done, seconds = self.done[jobs], self.seconds[jobs]
        made = np.maximum(now - self.productive[jobs], 0.0) / seconds
        running = np.minimum(done + made, self.target[jobs])
        return np.where(seconds < math.inf, running, done)


def simulate_rolling(
    world: World,
    policy: Decider,
    *,
    seed: int = 0,
    epochs: tuple[float, ...] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Records:
    """Run a policy to the completion of every job.

    Parameters
    ----------
    world : World
        The instance's tables.
    policy : Decider
        Fresh: it may keep a memory of the run.
    seed : int
        Decides the true epochs that the instance leaves open.
    epochs : tuple of float, optional
        True epochs by job instead.
    progress : callable, optional
        Called with (jobs done, jobs) after each event.

    Raises
    ------
    InputError
        If the run could take more than `MOST_PERIODIC_DECISIONS` periodic decisions.
    StalledError
        If the policy leaves waiting jobs on an idle cluster for ever.
    """
    refuse_endless(world, policy)
    targets = true_epochs(world.instance, seed) if epochs is None else epochs
    run = _Run(world, policy, targets)
    with _few_collections():
        while run.step():
            if progress is not None:
                progress(len(run.finished), len(run.jobs))
    return Records(
        instance=world.instance.name,
        policy=policy.name,
        seed=seed,
        options=world.options.to_dict(),
        segments=tuple(sorted(run.segments, key=attrgetter("start", "job"))),
        nodes=tuple(sorted(run.intervals, key=lambda i: (i.start, i.node))),
        jobs=tuple(sorted(run.finished, key=lambda r: r.job)),
        decisions=tuple(run.decisions),
    )


def refuse_endless(world: World, policy: Decider) -> None:
    """Bound the periodic decisions of a run before it starts.

    The time to cover is at most about the arrivals' span, the longest job at its slowest and all
    jobs' slowest times spread over the nodes.

    Raises
    ------
    InputError
        Naming ``interval``, or the policy's ``wake`` where that is shorter.
    """
    instance = world.instance
    longest = world.slowest_seconds
    times = [job.submit_time for job in instance.jobs]
    seconds = max(times) - min(times) + longest.max() + longest.sum() / len(instance.nodes)
    step = min(float(instance.interval), policy.wake)
    if seconds / step > MOST_PERIODIC_DECISIONS:
        where = "interval" if step == instance.interval else f"{policy.name}: wake"
        raise InputError(
            instance.name,
            where,
            f"{step:g} s, which is up to {seconds / step:.3g} decisions in {seconds:.3g} s",
            f"at most {MOST_PERIODIC_DECISIONS} decisions: {seconds / MOST_PERIODIC_DECISIONS:.3g}"
            " s or more",
        )


class _Run:
    def __init__(self, world: World, policy: Decider, targets: tuple[float, ...]) -> None:
        self.world, self.policy = world, policy
        instance: RollingInstance = world.instance
        self.jobs, self.delay = instance.jobs, float(instance.reconfiguration_delay)
        self.arrivals = sorted(range(len(self.jobs)), key=lambda j: (self.jobs[j].submit_time, j))
        self.next_arrival, self.idle = 0, 0
        self.timer = math.inf
        self.present: Jobs = np.empty(0, dtype=np.int64)  # increasing
        self.active: dict[int, _Active] = {}
        done = np.array([float(job.completed_epochs) for job in self.jobs])
        never = (np.full(len(done), math.inf) for _ in range(3))
        self.clocks = _Clocks(done, np.array(targets, dtype=float), np.zeros(len(done)), *never)
        self.held: dict[int, dict[int, tuple[int, ...]]] = defaultdict(dict)
        self.touched: set[int] = set()
        self.in_use: dict[int, tuple[float, int]] = {}
        self.segments: list[Segment] = []
        self.intervals: list[NodeInterval] = []
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
        if self.active:
            self._decide(now, "+".join(sorted(set(causes))))
        else:
            self.timer = math.inf
            self._note_use(now)
        return True

    def _next_event(self) -> tuple[float, list[str]]:
        arrival = math.inf
        if self.next_arrival < len(self.arrivals):
            arrival = float(self.jobs[self.arrivals[self.next_arrival]].submit_time)
        finish = float(self.clocks.finish[self.present].min(initial=math.inf))
        change = float(self.clocks.change[self.present].min(initial=math.inf))
        now = min(arrival, finish, change, self.timer)
        causes = ["change"] if change <= _same_moment(now) else []
        return now, causes + (["interval"] if self.timer <= now else [])

    def _complete(self, now: float) -> bool:
        is_over = self.clocks.finish[self.present] <= _same_moment(now)
        for j in self.present[is_over].tolist():
            active, target = self.active.pop(j), float(self.clocks.target[j])
            self._close(j, active, now, target)
            self.finished.append(
                JobRecord(
                    j,
                    target,
                    active.first_start,
                    now,
                    active.preemptions,
                    active.migrations,
                    active.changes,
                )
            )
        self.present = self.present[~is_over]
        return bool(is_over.any())

    def _admit(self, now: float) -> bool:
        before = self.next_arrival
        while self.next_arrival < len(self.arrivals):
            j = self.arrivals[self.next_arrival]
            if self.jobs[j].submit_time > _same_moment(now):
                break
            self.active[j] = _Active()
            self.next_arrival += 1
        came = self.arrivals[before : self.next_arrival]
        if came:
            self.present = np.sort(np.append(self.present, came))
        return bool(came)

    def _decide(self, now: float, cause: str) -> None:
        jobs, clocks = tuple(self.present.tolist()), self.clocks
        done = tuple(clocks.done_at(self.present, now).tolist())
        states = [self.active[j] for j in jobs]
        due = np.flatnonzero(clocks.change[self.present] <= _same_moment(now))
        running = {i: a.seat for i, a in enumerate(states) if a.seat is not None}
        view = View(self.world, now, jobs, done, running, frozenset(due.tolist()))
        began = clock()
        plan = self.policy.decide(view)
        seconds = clock() - began
        self.decisions.append(Decision(now, len(jobs), len(plan.seats), cause, seconds))
        for i, before in running.items():
            if i not in plan.seats:
                self._apply(now, jobs[i], states[i], None, done[i])
            elif plan.seats[i] is not before and plan.seats[i] != before:
                self._apply(now, jobs[i], states[i], plan.seats[i], done[i])
        for i, seat in plan.seats.items():
            if states[i].seat is None:
                self._apply(now, jobs[i], states[i], seat, done[i])
        shortest = SHORTEST * self.world.instance.interval
        clocks.change[self.present] = math.inf
        for i, after in plan.changes.items():
            if i < len(states) and states[i].seat is not None:
                clocks.change[jobs[i]] = _later(now, max(after, shortest))
        self._note_use(now)
        self.timer = _later(now, min(self.world.instance.interval, self.policy.wake))
        self._refuse_idling(bool(plan.seats))

    def _apply(self, now: float, j: int, state: _Active, seat: Seat | None, done: float) -> None:
        """Give a job another seat, or none.

        Parameters
        ----------
        now : float
        j : int
            The job.
        state : _Active
        seat : Seat or None
        done : float
            Epochs it has completed.
        """
        old, clocks = state.seat, self.clocks
        started = state.first_start < math.inf
        if old is not None:
            self._close(j, state, now, done)
        state.seat = seat
        clocks.finish[j] = clocks.seconds[j] = math.inf
        if seat is None:
            state.preemptions += 1
            return
        self.held[seat.node][j] = seat.gpus
        self.touched.add(seat.node)
        moved = old is not None and old.node != seat.node
        changed = old is not None and self._differs(old, seat)
        state.migrations += moved
        state.changes += changed and not moved
        again = started and (old is None or moved or changed)
        state.start, state.first_start = now, min(state.first_start, now)
        if again:
            productive = now + self.delay
        else:  # at a first start nothing is set up; on other GPUs of its node setting up goes on
            productive = now if old is None else max(float(clocks.productive[j]), now)
        kind = self.world.all.kind_of[seat.node]
        seconds = float(self.world.all.seconds[j, kind, seat.configuration])
        left = max(float(clocks.target[j]) - float(clocks.done[j]), 0.0)
        clocks.productive[j], clocks.seconds[j] = productive, seconds
        clocks.finish[j] = productive + left * seconds

    def _differs(self, old: Seat, seat: Seat) -> bool:
        kinds = self.world.all.kind_of
        return kinds[old.node] != kinds[seat.node] or old.configuration != seat.configuration

    def _close(self, j: int, state: _Active, now: float, end: float) -> None:
        """End the segment a job is in, with so many epochs completed."""
        assert state.seat is not None
        seat, done = state.seat, float(self.clocks.done[j])
        del self.held[seat.node][j]
        self.touched.add(seat.node)
        kind = self.world.all.kinds[self.world.all.kind_of[seat.node]]
        if now > state.start:
            setup = min(float(self.clocks.productive[j]), now) - state.start
            fraction = kind.configurations[seat.configuration].share
            self.segments.append(
                Segment(j, state.start, now, seat.node, seat.gpus, fraction, setup, end - done)
            )
        self.clocks.done[j] = done + (end - done)

    def _note_use(self, now: float) -> None:
        """Close the intervals of nodes whose GPUs in use have changed."""
        for node in self.touched:
            held = len(set(chain.from_iterable(self.held[node].values())))
            start, used = self.in_use.get(node, (now, 0))
            if held == used:
                continue
            if used and now > start:
                self.intervals.append(NodeInterval(node, start, now, used))
            self.in_use[node] = (now, held)
        self.touched.clear()

    def _refuse_idling(self, placed: bool) -> None:
        waiting_for_nothing = not placed and self.next_arrival == len(self.arrivals)
        self.idle = self.idle + 1 if waiting_for_nothing else 0
        if self.idle > MOST_IDLE_DECISIONS:
            name, count = self.policy.name, len(self.active)
            raise StalledError(f"policy {name} leaves {count} jobs waiting on an idle cluster")


@contextmanager
def _few_collections() -> Iterator[None]:
    """A run leaves some hundred thousand records, none of them garbage, to look at in vain."""
    before = gc.get_threshold()
    if before[0]:
        gc.set_threshold(max(before[0], RECORDS_A_COLLECTION), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _later(now: float, after: float) -> float:
    """A moment that is later also where the clock itself resolves less than `after`."""
    return now + max(after, 4 * math.ulp(now))


def _same_moment(now: float) -> float:
    """The last time that is still now."""
    return now + SAME_MOMENT * abs(now)
