"""The deterministic event simulator: a policy's decisions become records.

A decision is made at every arrival and completion, at each job's planned change of speed T_j, and H
after the last one at the latest; events of one moment share a decision. Preempting or moving a job
costs `reconfiguration_delay` only. Equal (instance, policy, seed) gives equal records. Complexity:
O(decisions x (jobs present + policy)). Source: sts, VI-B and VII.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Protocol

import numpy as np

from optsched.deadline import clock
from optsched.errors import InputError
from optsched.result import Termination
from optsched.rolling.epochs import draw_epochs
from optsched.rolling.records import Decision, JobRecord, Records
from optsched.rolling.simulator.assignment import WAITS
from optsched.rolling.simulator.execution import Execution, Jobs
from optsched.rolling.simulator.world import View, World
from optsched.selection.assignment import Seat

SAME_MOMENT = 1e-14
"""Share of the current time within which events are simultaneous: the rounding of a time."""
SHORTEST = 1 / 3_600_000
"""Share of H, a millisecond of an hour: no planned change takes effect sooner, so that time always
advances."""
MAX_FRUITLESS_DECISIONS = 2_000
"""Decisions in a row without progress of any job before a run is given up, if they also span twice
the reconfiguration delay: jobs that are left alone progress once the delay has passed."""
LEAST_PROGRESS = 1e-9
"""Share of the epochs made so far below which new ones are taken for rounding."""
MOST_PERIODIC_DECISIONS = 200_000
"""Decisions for no other reason than that H, or a policy's own `wake`, has passed. A run that could
take more is refused before it starts: see `refuse_endless`."""


class UnfinishedRunError(Exception):
    """A run that ended before its jobs were done, at its time limit or for lack of progress."""

    def __init__(self, termination: Termination, message: str) -> None:
        super().__init__(message)
        self.termination = termination


@dataclass(frozen=True)
class Plan:
    """A decision: seats by local job (the others wait), and for jobs whose speed is to change later
    the seconds until then, T_j - T_c."""

    seats: Mapping[int, Seat]
    changes: Mapping[int, float] = field(default_factory=dict)


class Decider(Protocol):
    """A policy, made fresh for each run; it may keep state.

    It decides again after `wake` seconds at the latest; infinite leaves that to H.
    """

    name: str
    wake: float

    def decide(self, view: View) -> Plan:
        """Seats for the jobs present."""
        ...


def simulate_rolling(
    world: World,
    policy: Decider,
    *,
    seed: int = 0,
    epochs: tuple[float, ...] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Records:
    """Run a policy to the completion of every job; raises UnfinishedRunError."""
    refuse_endless(world, policy)
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


def refuse_endless(world: World, policy: Decider) -> None:
    """Refuse a run that may take too many periodic decisions.

    Its length is estimated by the span of the arrivals, the longest job at its slowest and all
    jobs' slowest times spread over the nodes.
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
    def __init__(self, world: World, policy: Decider, epochs: tuple[float, ...]) -> None:
        self.world, self.policy = world, policy
        self.jobs, self.execution = world.instance.jobs, Execution(world, epochs)
        self.arrivals = sorted(range(len(self.jobs)), key=lambda j: (self.jobs[j].submit_time, j))
        self.next_arrival = 0
        self.fruitless, self.last_progress, self.epochs_made = 0, 0.0, 0.0
        self.timer = math.inf
        self.present: Jobs = np.empty(0, dtype=np.int64)  # increasing
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
            self._decide(now, "+".join(sorted(set(causes))))
        else:
            self.timer = math.inf
        self.execution.note_use(self.present, now)
        return True

    def _next_event(self) -> tuple[float, list[str]]:
        arrival = math.inf
        if self.next_arrival < len(self.arrivals):
            arrival = float(self.jobs[self.arrivals[self.next_arrival]].submit_time)
        finish = float(self.execution.finish[self.present].min(initial=math.inf))
        change = float(self.execution.change[self.present].min(initial=math.inf))
        now = min(arrival, finish, change, self.timer)
        causes = ["change"] if change <= _same_moment(now) else []
        return now, causes + (["interval"] if self.timer <= now else [])

    def _complete(self, now: float) -> bool:
        is_over = self.execution.finish[self.present] <= _same_moment(now)
        if not is_over.any():
            return False
        self.finished += self.execution.complete(self.present[is_over], now)
        self.present = self.present[~is_over]
        return True

    def _admit(self, now: float) -> bool:
        before = self.next_arrival
        while self.next_arrival < len(self.arrivals):
            j = self.arrivals[self.next_arrival]
            if self.jobs[j].submit_time > _same_moment(now):
                break
            self.next_arrival += 1
        came = self.arrivals[before : self.next_arrival]
        if came:
            self.present = np.sort(np.append(self.present, came))
        return bool(came)

    def _decide(self, now: float, cause: str) -> None:
        present, execution = self.present, self.execution
        done, seats = execution.done_at(present, now), execution.seats.of_jobs(present)
        self._refuse_standstill(now, cause, float(done.sum()))
        due = np.flatnonzero(execution.change[present] <= _same_moment(now)).tolist()
        jobs = tuple(present.tolist())
        view = View(self.world, now, jobs, tuple(done.tolist()), seats, frozenset(due))
        began = clock()
        plan = self.policy.decide(view)
        seconds = clock() - began
        self.decisions.append(Decision(now, len(present), len(plan.seats), cause, seconds))
        execution.reassign(present, now, seats, plan.seats, done)
        self._plan_changes(now, plan.changes)
        self.timer = now + max(min(self.world.instance.interval, self.policy.wake), _tick(now))

    def _plan_changes(self, now: float, changes: Mapping[int, float]) -> None:
        """Replace all planned changes of speed by these, for running jobs."""
        execution = self.execution
        execution.change[self.present] = math.inf
        if not changes:
            return
        places = np.fromiter(changes.keys(), np.int64, len(changes))
        after = np.fromiter(changes.values(), float, len(changes))
        is_present = places < len(self.present)
        jobs, after = self.present[places[is_present]], after[is_present]
        runs = execution.seats.node[jobs] != WAITS
        least = max(SHORTEST * self.world.instance.interval, _tick(now))
        execution.change[jobs[runs]] = now + np.maximum(after[runs], least)

    def _refuse_standstill(self, now: float, cause: str, made: float) -> None:
        """Give up a run in which no job progresses and no further one arrives."""
        has_other_jobs = "arrival" in cause or "completion" in cause
        awaits_arrivals = self.next_arrival < len(self.arrivals)
        if has_other_jobs or awaits_arrivals or made > (1 + LEAST_PROGRESS) * self.epochs_made:
            self.fruitless, self.last_progress, self.epochs_made = 0, now, made
            return
        self.fruitless += 1
        patience = 2 * float(self.world.instance.reconfiguration_delay)
        if self.fruitless <= MAX_FRUITLESS_DECISIONS or now - self.last_progress <= patience:
            return
        raise UnfinishedRunError(
            Termination.NO_SOLUTION,
            f"policy {self.policy.name} makes no progress: {len(self.present)} jobs are not done, "
            f"and none ran an epoch in the last {self.fruitless} decisions "
            f"({now - self.last_progress:.6g} s)",
        )


def _tick(now: float) -> float:
    """Resolution of the clock."""
    return 4 * math.ulp(now)


def _same_moment(now: float) -> float:
    """The last time that counts as now."""
    return now + SAME_MOMENT * abs(now)
