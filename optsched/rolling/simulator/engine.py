"""The deterministic event simulator: a policy's decisions become records.

A decision is made at every arrival and completion, at each job's planned change of speed T_j, and H
after the last one at the latest; events of one moment are one decision. Jobs may be preempted and
moved at no cost but `reconfiguration_delay`. Progress is computed from the start of a segment, so a
job that is left alone accumulates no rounding. Equal (instance, policy, seed) gives equal records.
Complexity: O(decisions x (jobs present + policy)). Source: sts, VI-B and VII.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from optsched.deadline import clock
from optsched.errors import InputError, SolverError
from optsched.rolling.instance import RollingInstance
from optsched.rolling.records import Decision, JobRecord, NodeInterval, Records, Segment
from optsched.rolling.simulator.true_epochs import true_epochs
from optsched.rolling.simulator.world import View, World
from optsched.selection.assignment import Seat

SAME_MOMENT = 1e-14
"""Share of the clock's own reading within which events are one: what rounding leaves of a time."""
SHORTEST = 1 / 3_600_000
"""Share of H, a millisecond of an hour: a policy's planned change takes effect no sooner, so that
time always moves on."""
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
    """A job that has arrived and is not done."""

    done: float
    target: float
    seat: Seat | None = None
    start: float = 0.0
    productive: float = 0.0
    seconds: float = math.inf
    finish: float = math.inf
    change: float = math.inf
    first_start: float = math.inf
    preemptions: int = 0
    migrations: int = 0
    changes: int = 0

    def done_at(self, now: float) -> float:
        """Epochs completed."""
        if self.seat is None:
            return self.done
        made = max(now - self.productive, 0.0) / self.seconds
        return min(self.done + made, self.target)


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
    while run.step():
        if progress is not None:
            progress(len(run.finished), len(run.jobs))
    return Records(
        instance=world.instance.name,
        policy=policy.name,
        seed=seed,
        options=world.options.to_dict(),
        segments=tuple(sorted(run.segments, key=lambda s: (s.start, s.job))),
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
        self.world, self.policy, self.targets = world, policy, targets
        instance: RollingInstance = world.instance
        self.jobs, self.delay = instance.jobs, float(instance.reconfiguration_delay)
        self.arrivals = sorted(range(len(self.jobs)), key=lambda j: (self.jobs[j].submit_time, j))
        self.next_arrival, self.idle = 0, 0
        self.timer = math.inf
        self.active: dict[int, _Active] = {}
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
        finish = min((a.finish for a in self.active.values()), default=math.inf)
        change = min((a.change for a in self.active.values()), default=math.inf)
        now = min(arrival, finish, change, self.timer)
        causes = ["change"] if change <= _same_moment(now) else []
        return now, causes + (["interval"] if self.timer <= now else [])

    def _complete(self, now: float) -> bool:
        over = [j for j, a in self.active.items() if a.finish <= _same_moment(now)]
        for j in over:
            active = self.active.pop(j)
            active.done += self._close(j, active, now, active.target)
            self.finished.append(
                JobRecord(
                    j,
                    active.target,
                    active.first_start,
                    now,
                    active.preemptions,
                    active.migrations,
                    active.changes,
                )
            )
        return bool(over)

    def _admit(self, now: float) -> bool:
        before = self.next_arrival
        while self.next_arrival < len(self.arrivals):
            j = self.arrivals[self.next_arrival]
            if self.jobs[j].submit_time > _same_moment(now):
                break
            self.active[j] = _Active(float(self.jobs[j].completed_epochs), self.targets[j])
            self.next_arrival += 1
        return self.next_arrival > before

    def _decide(self, now: float, cause: str) -> None:
        jobs = tuple(sorted(self.active))
        states = [self.active[j] for j in jobs]
        view = View(
            self.world,
            now,
            jobs,
            tuple(a.done_at(now) for a in states),
            {i: a.seat for i, a in enumerate(states) if a.seat is not None},
            frozenset(i for i, a in enumerate(states) if a.change <= _same_moment(now)),
        )
        began = clock()
        plan = self.policy.decide(view)
        seconds = clock() - began
        self.decisions.append(Decision(now, len(jobs), len(plan.seats), cause, seconds))
        shortest = SHORTEST * self.world.instance.interval
        for i, (j, state) in enumerate(zip(jobs, states, strict=True)):
            self._apply(now, j, state, plan.seats.get(i))
            after = plan.changes.get(i, math.inf)
            state.change = math.inf if state.seat is None else _later(now, max(after, shortest))
        self._note_use(now)
        self.timer = _later(now, min(self.world.instance.interval, self.policy.wake))
        self._refuse_idling(bool(plan.seats))

    def _apply(self, now: float, j: int, state: _Active, seat: Seat | None) -> None:
        old = state.seat
        if seat == old:
            return
        started = state.first_start < math.inf
        if old is not None:
            state.done += self._close(j, state, now, None)
        state.seat, state.finish, state.seconds = seat, math.inf, math.inf
        if seat is None:
            state.preemptions += 1
            return
        moved = old is not None and old.node != seat.node
        changed = old is not None and self._differs(old, seat)
        state.migrations += moved
        state.changes += changed and not moved
        again = started and (old is None or moved or changed)
        state.start, state.first_start = now, min(state.first_start, now)
        if again:
            state.productive = now + self.delay
        else:  # at a first start nothing is set up; on other GPUs of its node setting up goes on
            state.productive = now if old is None else max(state.productive, now)
        kind = self.world.all.kind_of[seat.node]
        state.seconds = float(self.world.all.seconds[j, kind, seat.configuration])
        state.finish = state.productive + max(state.target - state.done, 0.0) * state.seconds

    def _differs(self, old: Seat, seat: Seat) -> bool:
        kinds = self.world.all.kind_of
        return kinds[old.node] != kinds[seat.node] or old.configuration != seat.configuration

    def _close(self, j: int, state: _Active, now: float, target: float | None) -> float:
        """End the segment a job is in; the epochs it made."""
        assert state.seat is not None
        seat, end = state.seat, state.done_at(now) if target is None else target
        kind = self.world.all.kinds[self.world.all.kind_of[seat.node]]
        if now > state.start:
            setup = min(state.productive, now) - state.start
            fraction = float(kind.configurations[seat.configuration].fraction)
            made = end - state.done
            self.segments.append(
                Segment(j, state.start, now, seat.node, seat.gpus, fraction, setup, made)
            )
        return end - state.done

    def _note_use(self, now: float) -> None:
        """Close the intervals of nodes whose GPUs in use have changed."""
        gpus: dict[int, set[int]] = defaultdict(set)
        for state in self.active.values():
            if state.seat is not None:
                gpus[state.seat.node].update(state.seat.gpus)
        for node in [n for n, (_, used) in self.in_use.items() if len(gpus.get(n, ())) != used]:
            start, used = self.in_use.pop(node)
            if now > start:
                self.intervals.append(NodeInterval(node, start, now, used))
        for node, held in gpus.items():
            self.in_use.setdefault(node, (now, len(held)))

    def _refuse_idling(self, placed: bool) -> None:
        waiting_for_nothing = not placed and self.next_arrival == len(self.arrivals)
        self.idle = self.idle + 1 if waiting_for_nothing else 0
        if self.idle > MOST_IDLE_DECISIONS:
            name, count = self.policy.name, len(self.active)
            raise StalledError(f"policy {name} leaves {count} jobs waiting on an idle cluster")


def _later(now: float, after: float) -> float:
    """A moment that is later also where the clock itself resolves less than `after`."""
    return now + max(after, 4 * math.ulp(now))


def _same_moment(now: float) -> float:
    """The last time that is still now."""
    return now + SAME_MOMENT * abs(now)
