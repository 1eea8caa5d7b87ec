"""Method ``state-search``: exact search over states, one slot a step, for tiny instances.

A state is the set of jobs not yet started, and of each running one its GPUs by server and the
iterations left. From layer t to layer t + 1 every choice of starts is tried, waiting included (a
job may gain from starting between two events, since contention comes and goes). States that differ
by a permutation of equal servers count once; a state met before, at any layer, is dropped, and so
is one whose bound reaches the best schedule known.

Guarantee: optimal when it ends as "optimal"; at a limit the layer reached is the bound. Complexity:
exponential; meant for five jobs or so, with a limit of states beyond.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from optsched.makespan.bounds import best_bound
from optsched.makespan.contention import Schedule, evaluate
from optsched.makespan.durations import durations_of
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.known import known_schedule
from optsched.makespan.model_data import require_slots
from optsched.makespan.options import MakespanOptions
from optsched.makespan.outcome import outcome_of
from optsched.makespan.progress import iterations_per_slot
from optsched.result import Outcome, Settings, Termination

MOST_STATES = 1_000_000
CLOCK_EVERY = 256

Placement = tuple[int, ...]
"""GPUs by server."""
Running = tuple[tuple[int, int, Placement], ...]
"""(job, iterations left, placement) of each running job, by job."""


@dataclass(frozen=True)
class State:
    """Where a partial schedule stands at the beginning of a slot, and how it came there."""

    pending: int
    running: Running
    came_from: State | None = None
    started: tuple[tuple[int, Placement], ...] = ()


def state_search(
    instance: MakespanInstance, options: MakespanOptions, settings: Settings
) -> Outcome:
    """Schedule optimally by exhaustive search.

    Raises
    ------
    NotApplicableError
        Under continuous progress.
    """
    require_slots("state-search", instance)
    began = time.perf_counter()
    known = known_schedule(instance, settings)
    value = instance.horizon + 1.0 if known is None else evaluate(instance, known).makespan
    bound = best_bound(instance, high=value)
    until = math.inf if settings.time_limit is None else began + settings.time_limit
    search = _Search(instance, value, until)
    proven = bound.value if bound.value >= value else search.run()
    schedule = known if search.found is None else search.found
    if search.found is not None:
        value = evaluate(instance, search.found).makespan
    complete = proven >= value
    if not complete:
        termination = Termination.TIME_LIMIT
    else:
        termination = Termination.INFEASIBLE if schedule is None else Termination.OPTIMAL
    better = proven > bound.value and termination is not Termination.INFEASIBLE
    return outcome_of(
        instance,
        schedule,
        termination,
        details={"states": len(search.seen)},
        bound=proven if better else bound.value,
        bound_source="state-search" if better else bound.source,
        certificate=None if better else bound.certificate,
        solve_time=time.perf_counter() - began,
    )


class _Search:
    """Breadth-first search below a known makespan."""

    def __init__(self, instance: MakespanInstance, below: float, until: float) -> None:
        self.instance, self.below, self.until = instance, below, until
        durations = durations_of(instance)
        self.gpus = [job.gpus for job in instance.jobs]
        self.least = [int(slots) for slots in durations.least]
        self.seen: set[tuple] = set()
        self.found: Schedule | None = None
        self.classes = sorted(set(instance.servers))
        self.speed = lru_cache(maxsize=None)(self._speed)

    def run(self) -> float:
        """The least makespan below the known one, or what was proven when a limit was reached."""
        layer = [State((1 << len(self.gpus)) - 1, ())]
        slot = 0
        while layer:
            following: list[State] = []
            for count, state in enumerate(layer):
                if count % CLOCK_EVERY == 0 and self._out():
                    return min(self.below, slot + min(self._left(state) for state in layer))
                for after in self._successors(state):
                    if after.pending == 0 and not after.running:
                        self.found = self._schedule(after)
                        return slot + 1.0
                    if slot + 1 + self._left(after) < self.below and self._new(after):
                        following.append(after)
            layer, slot = following, slot + 1
        return self.below

    def _out(self) -> bool:
        return len(self.seen) > MOST_STATES or time.perf_counter() > self.until

    def _successors(self, state: State) -> Iterator[State]:
        free = list(self.instance.servers)
        for _, _, placement in state.running:
            for server, count in enumerate(placement):
                free[server] -= count
        tried: set[tuple] = set()
        for started in self._starts(state.pending, free, 0):
            running = tuple(
                sorted(
                    state.running
                    + tuple((j, self.instance.jobs[j].iterations, y) for j, y in started)
                )
            )
            key = self._key(0, running)
            if key not in tried and running:
                tried.add(key)
                after = self._slot(state, running, started)
                if after is not None:
                    yield after

    def _starts(
        self, pending: int, free: list[int], first: int
    ) -> Iterator[tuple[tuple[int, Placement], ...]]:
        """Every set of jobs from `first` on with every placement, the empty one too."""
        yield ()
        for j in range(first, len(self.gpus)):
            if pending >> j & 1 and self.gpus[j] <= sum(free):
                for placement in _placements(self.gpus[j], tuple(free)):
                    left = [a - b for a, b in zip(free, placement, strict=True)]
                    for others in self._starts(pending, left, j + 1):
                        yield ((j, placement), *others)

    def _slot(
        self, state: State, running: Running, started: tuple[tuple[int, Placement], ...]
    ) -> State | None:
        """The state a slot later; None if nothing moves."""
        sharing = [0] * len(self.instance.servers)
        spans = [sum(1 for count in y if count) > 1 for _, _, y in running]
        for (_, _, y), several in zip(running, spans, strict=True):
            for server, count in enumerate(y):
                sharing[server] += several and count > 0
        left, moved = [], False
        for (j, remaining, y), several in zip(running, spans, strict=True):
            used = [server for server, count in enumerate(y) if count]
            level = max(sharing[server] for server in used) if several else 0
            speed = self.speed(j, len(used), level)
            moved = moved or speed > 0
            if remaining > speed:
                left.append((j, remaining - speed, y))
        if not moved:
            return None
        pending = state.pending
        for j, _ in started:
            pending &= ~(1 << j)
        return State(pending, tuple(left), state, started)

    def _speed(self, j: int, servers: int, level: int) -> int:
        instance = self.instance
        return int(iterations_per_slot(instance, instance.jobs[j], servers, level))

    def _left(self, state: State) -> int:
        """Slots every completion of a state still takes, at least."""
        longest, work = 0, 0
        for j, remaining, placement in state.running:
            used = sum(1 for count in placement if count)
            speed = self.speed(j, used, 1 if used > 1 else 0)
            if speed == 0:
                return int(self.below)
            slots = -(-remaining // speed)
            longest, work = max(longest, slots), work + slots * self.gpus[j]
        for j, least in enumerate(self.least):
            if state.pending >> j & 1:
                longest, work = max(longest, least), work + least * self.gpus[j]
        return max(longest, -(-work // self.instance.gpus))

    def _new(self, state: State) -> bool:
        key = self._key(state.pending, state.running)
        if key in self.seen:
            return False
        self.seen.add(key)
        return True

    def _key(self, pending: int, running: Running) -> tuple:
        """The state up to a permutation of equal servers."""
        columns = sorted(
            (capacity, tuple(y[server] for _, _, y in running))
            for server, capacity in enumerate(self.instance.servers)
        )
        return pending, tuple((j, left) for j, left, _ in running), tuple(columns)

    def _schedule(self, last: State) -> Schedule:
        starts = [0.0] * len(self.gpus)
        placed: list[dict[int, int]] = [{} for _ in self.gpus]
        chain = [last]
        while chain[-1].came_from is not None:
            chain.append(chain[-1].came_from)
        for slot, state in enumerate(reversed(chain[:-1])):
            for j, placement in state.started:
                starts[j] = float(slot)
                placed[j] = {server: count for server, count in enumerate(placement) if count}
        return Schedule(tuple(starts), tuple(placed))


@lru_cache(maxsize=4096)
def _placements(gpus: int, free: tuple[int, ...]) -> tuple[Placement, ...]:
    """All ways to take so many GPUs of servers with so many free."""
    if len(free) == 1:
        return ((gpus,),) if gpus <= free[0] else ()
    rest = sum(free[1:])
    return tuple(
        (taken, *others)
        for taken in range(max(0, gpus - rest), min(gpus, free[0]) + 1)
        for others in _placements(gpus - taken, free[1:])
    )
