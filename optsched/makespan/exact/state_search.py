"""Search over states, one slot a step: how `exact` proves a handful of jobs on a few GPUs.

A state is the set of jobs not yet started and, of each running job, its GPUs by server and the
iterations left. From one slot to the next every choice of starts is tried, waiting included: a job
may gain from starting between two events, since contention comes and goes. States that differ by a
permutation of equal servers count once; a state met before, in any slot, is dropped, and so is one
whose bound reaches the best known schedule.

Guarantee: optimal unless a limit ends it; then the slot reached is the bound. Complexity:
exponential. Where few jobs must all share links it needs seconds where `ilp` needs minutes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from optsched.deadline import Deadline
from optsched.makespan.bounds.best import Bound
from optsched.makespan.bounds.durations import durations_of
from optsched.makespan.contention import Schedule
from optsched.makespan.incumbent import Incumbent
from optsched.makespan.instance import MakespanInstance, iterations_per_slot
from optsched.result import Outcome

MOST_STATES = 1_000_000

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


def search_states(incumbent: Incumbent) -> Outcome:
    """Search below the incumbent, as long as there is time."""
    search = _Search(incumbent.instance, incumbent.beyond, incumbent.settings.deadline)
    with incumbent.working():
        proven = search.run()
        incumbent.offer(search.found, "state-search")
        incumbent.prove(Bound(proven, "state-search"))
    return incumbent.outcome({"states": len(search.seen)}, proves=True)


class _Search:
    """Breadth-first search below a known makespan."""

    def __init__(self, instance: MakespanInstance, below: float, deadline: Deadline) -> None:
        self.instance, self.below, self.deadline = instance, below, deadline
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
        slot, proven = 0, float(self._left(layer[0]))
        while layer:
            following: list[State] = []
            least = self.below
            for state in layer:
                for after in self._successors(state):
                    if after is None:
                        return min(proven, self.below)
                    if after.pending == 0 and not after.running:
                        self.found = self._schedule(after)
                        return slot + 1.0
                    total = slot + 1.0 + self._left(after)
                    if total < self.below and self._new(after):
                        following.append(after)
                        least = min(least, total)
            layer, slot, proven = following, slot + 1, least
        return self.below

    def _out(self, more: int) -> bool:
        """Whether a limit is reached."""
        return len(self.seen) + more > MOST_STATES or self.deadline.is_over

    def _successors(self, state: State) -> Iterator[State | None]:
        """The states a slot later; None, and no more of them, at a limit."""
        free = list(self.instance.servers)
        for _, _, placement in state.running:
            for server, count in enumerate(placement):
                free[server] -= count
        tried: set[tuple] = set()
        for started in self._starts(state.pending, free, 0):
            if self._out(len(tried)):
                yield None
                return
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


def _placements(gpus: int, free: tuple[int, ...]) -> Iterator[Placement]:
    """All ways to take so many GPUs of servers with so many free, one by one: there may be many."""
    if len(free) == 1:
        if gpus <= free[0]:
            yield (gpus,)
        return
    rest = sum(free[1:])
    for taken in range(max(0, gpus - rest), min(gpus, free[0]) + 1):
        for others in _placements(gpus - taken, free[1:]):
            yield (taken, *others)
