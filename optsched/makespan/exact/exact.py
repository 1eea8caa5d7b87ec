"""Method ``exact``: bounds against heuristics first, then a search over states or `ilp`.

A handful of jobs on a handful of GPUs are searched: where they must all share links, the search
takes a second and `ilp` more than a minute (two of three crowded cases of the tests). Others are
modelled. Under continuous progress, which no model takes, the heuristics go on: optimal where they
meet the bound, otherwise the best schedule and the bound stand.

The search goes slot by slot. A state is the iterations left of each job and the runs begun so far.
From one slot to the next every choice of starts is tried, waiting included: a job may gain from
starting between two events, since contention comes and goes. States that differ by a permutation of
equal servers count once; a state met before, in any slot, is dropped, and so is one whose bound
reaches the best known schedule. Guarantee: optimal unless a limit ends it; then the slot reached is
the bound. Complexity: exponential.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from optsched.deadline import Deadline
from optsched.makespan.bounds.best import Bound
from optsched.makespan.bounds.durations import durations_of
from optsched.makespan.contention import Schedule
from optsched.makespan.exact.starting_schedules import take_starting_schedules
from optsched.makespan.incumbent import SEARCH_SHARE, Incumbent
from optsched.makespan.instance import MakespanInstance, iterations_per_slot
from optsched.makespan.models.ilp import Pipeline
from optsched.makespan.options import MakespanOptions
from optsched.result import Outcome, Settings

MAX_JOBS, MAX_SERVERS, MAX_GPUS, MAX_SLOTS = 5, 4, 16, 60
"""Instances whose states are searched: seconds there, where `ilp` may take minutes."""
MAX_STATES = 1_000_000

Placement = tuple[int, ...]
"""GPUs by server."""
Runs = tuple[tuple[int, Placement] | None, ...]
"""By job: its start and placement; None if it has not started."""


class State(NamedTuple):
    """Iterations left of each job, and the runs begun."""

    left: tuple[int, ...]
    runs: Runs


def exact(instance: MakespanInstance, options: MakespanOptions, settings: Settings) -> Outcome:
    """Schedule optimally; under continuous progress as well as heuristics can."""
    incumbent = Incumbent(instance, settings)
    with incumbent.working():
        take_starting_schedules(incumbent, settings)
        incumbent.bounded(settings.deadline.share(SEARCH_SHARE))
    if incumbent.met or incumbent.impossible or incumbent.cut:
        return replace(incumbent.outcome(proves=True), chosen=incumbent.name or None)
    if not instance.slotted:
        return replace(Pipeline(incumbent).search_alone(), chosen=incumbent.name or None)
    if _is_tiny(incumbent):
        return replace(search_states(incumbent), chosen="state-search")
    return replace(Pipeline(incumbent).run(), chosen="ilp")


def _is_tiny(incumbent: Incumbent) -> bool:
    """Whether few enough jobs run on few enough GPUs for the search over states."""
    instance = incumbent.instance
    return (
        len(instance.jobs) <= MAX_JOBS
        and len(instance.servers) <= MAX_SERVERS
        and instance.gpus <= MAX_GPUS
        and min(incumbent.value, instance.horizon) <= MAX_SLOTS
    )


def search_states(incumbent: Incumbent) -> Outcome:
    """Search below the incumbent, as long as there is time."""
    search = StateSearch(incumbent.instance, incumbent.beyond, incumbent.settings.deadline)
    with incumbent.working():
        search.run()
        incumbent.offer(search.schedule, "state-search")
        incumbent.prove(Bound(search.bound, "state-search"))
    return incumbent.outcome({"states": len(search.seen)}, proves=True)


class StateSearch:
    """Breadth-first search for a makespan below a cutoff."""

    def __init__(self, instance: MakespanInstance, cutoff: float, deadline: Deadline) -> None:
        self.instance, self.cutoff, self.deadline = instance, cutoff, deadline
        self.least = [int(slots) for slots in durations_of(instance).least]
        self.schedule: Schedule | None = None
        self.seen: set[tuple] = set()
        self.is_cut = False
        self.speed = lru_cache(maxsize=None)(self._speed)
        jobs = instance.jobs
        self.start = State(tuple(job.iterations for job in jobs), (None,) * len(jobs))
        self.bound = min(float(self._slots_left(self.start)), cutoff)

    def run(self) -> None:
        """Search until the optimum is known or a limit is reached; sets schedule and bound."""
        layer, slot = [self.start], 0
        while layer:
            following, least = [], self.cutoff
            for state in layer:
                for after in self._successors(state, slot):
                    if not any(after.left):
                        self.schedule, self.bound = _schedule(after), slot + 1.0
                        return
                    total = slot + 1.0 + self._slots_left(after)
                    key = self._key(after)
                    if total < self.cutoff and key not in self.seen:
                        self.seen.add(key)
                        following.append(after)
                        least = min(least, total)
                if self.is_cut:
                    return
            layer, slot, self.bound = following, slot + 1, least
        self.bound = self.cutoff

    def _successors(self, state: State, slot: int) -> Iterator[State]:
        """States a slot later, until a limit is reached."""
        free = list(self.instance.servers)
        for j in _running(state):
            free = [a - b for a, b in zip(free, _placement(state, j), strict=True)]
        tried: set[tuple] = set()
        for runs in self._starts(state.runs, slot, tuple(free), 0):
            if len(self.seen) + len(tried) > MAX_STATES or self.deadline.is_over:
                self.is_cut = True
                return
            begun = State(state.left, runs)
            key = self._key(begun)
            if key not in tried:
                tried.add(key)
                left = self._left_after_a_slot(begun)
                if left != state.left:  # otherwise nothing runs, or nothing gets on
                    yield State(left, runs)

    def _starts(self, runs: Runs, slot: int, free: Placement, j: int) -> Iterator[Runs]:
        """Every way to start some of the pending jobs from `j` on, or none."""
        if j == len(runs):
            yield runs
            return
        yield from self._starts(runs, slot, free, j + 1)
        if runs[j] is None:
            for placement in _placements(self.instance.jobs[j].gpus, free):
                begun = (*runs[:j], (slot, placement), *runs[j + 1 :])
                rest = tuple(a - b for a, b in zip(free, placement, strict=True))
                yield from self._starts(begun, slot, rest, j + 1)

    def _left_after_a_slot(self, state: State) -> tuple[int, ...]:
        used = {
            j: [s for s, count in enumerate(_placement(state, j)) if count] for j in _running(state)
        }
        sharing = Counter(s for servers in used.values() if len(servers) > 1 for s in servers)
        left = list(state.left)
        for j, servers in used.items():
            level = max(sharing[s] for s in servers)
            left[j] = max(0, left[j] - self.speed(j, len(servers), level * (len(servers) > 1)))
        return tuple(left)

    def _speed(self, j: int, servers: int, level: int) -> int:
        instance = self.instance
        return int(iterations_per_slot(instance, instance.jobs[j], servers, level))

    def _slots_left(self, state: State) -> int:
        """Least slots until all jobs have ended: the longest, or the area."""
        longest, work = 0, 0
        for j, (job, run) in enumerate(zip(self.instance.jobs, state.runs, strict=True)):
            slots = self.least[j]
            if run is not None:
                used = sum(1 for count in run[1] if count)
                speed = self.speed(j, used, 1 if used > 1 else 0)
                if speed == 0:
                    return int(self.cutoff)
                slots = -(-state.left[j] // speed)
            longest, work = max(longest, slots), work + slots * job.gpus
        return max(longest, -(-work // self.instance.gpus))

    def _key(self, state: State) -> tuple:
        """The state up to a permutation of equal servers."""
        placements = [_placement(state, j) for j in _running(state)]
        columns = sorted(
            (capacity, tuple(y[server] for y in placements))
            for server, capacity in enumerate(self.instance.servers)
        )
        return state.left, tuple(run is None for run in state.runs), tuple(columns)


def _running(state: State) -> list[int]:
    return [j for j, run in enumerate(state.runs) if run is not None and state.left[j]]


def _placement(state: State, j: int) -> Placement:
    run = state.runs[j]
    assert run is not None
    return run[1]


def _schedule(state: State) -> Schedule:
    runs = [run for run in state.runs if run is not None]
    return Schedule(
        tuple(float(start) for start, _ in runs),
        tuple({s: count for s, count in enumerate(y) if count} for _, y in runs),
    )


def _placements(gpus: int, free: Placement) -> Iterator[Placement]:
    """All ways to take so many GPUs of the free ones, lazily: there may be many."""
    if len(free) == 1:
        if gpus <= free[0]:
            yield (gpus,)
        return
    rest = sum(free[1:])
    for taken in range(max(0, gpus - rest), min(gpus, free[0]) + 1):
        for others in _placements(gpus - taken, free[1:]):
            yield (taken, *others)
