"""Method ``exact``: heuristics and bounds first, then state-space search or `ilp`.

Tiny instances are solved by state-space search (1 s where ilp takes over a minute with heavy
contention: two of three crowded cases of the tests); others by ilp. With continuous progress, which
no model supports, the heuristics continue: optimal where they meet the bound, otherwise the best
schedule and the bound are returned.

The search proceeds slot by slot. A state is the remaining iterations of each job and the runs begun
so far. From one slot to the next every choice of starts is tried, including delays: starting
between events can be better because of contention. States that differ by a permutation of equal
servers count once; a state reached before, in any slot, is dropped, and so is one whose bound
reaches the best known schedule. Guarantee: optimal unless a limit ends it; then the slot reached is
the bound. Complexity: exponential.
"""

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
from optsched.makespan.incumbent import SEARCH_TIME_SHARE, Incumbent
from optsched.makespan.instance import MakespanInstance, iterations_per_slot
from optsched.makespan.models.ilp import Pipeline
from optsched.makespan.options import MakespanOptions
from optsched.result import Outcome, Settings

MAX_JOBS, MAX_SERVERS, MAX_GPUS, MAX_SLOTS = 5, 4, 16, 60
"""Instances for the state-space search: seconds there, where `ilp` may take minutes."""
MAX_STATES = 1_000_000

Placement = tuple[int, ...]
"""GPUs by server."""
Runs = tuple[tuple[int, Placement] | None, ...]
"""By job: its start and placement; None if it has not started."""


class State(NamedTuple):
    """Remaining iterations of each job, and the runs begun."""

    remaining: tuple[int, ...]
    runs: Runs

    @property
    def running(self) -> dict[int, Placement]:
        runs = enumerate(self.runs)
        return {j: run[1] for j, run in runs if run is not None and self.remaining[j]}


def exact(instance: MakespanInstance, options: MakespanOptions, settings: Settings) -> Outcome:
    """Schedule optimally; with continuous progress as well as heuristics can."""
    incumbent = Incumbent(instance, settings)
    with incumbent.until_deadline():
        take_starting_schedules(incumbent, settings)
        incumbent.compute_bound(settings.deadline.share(SEARCH_TIME_SHARE))
    if incumbent.is_decided or incumbent.timed_out:
        return replace(incumbent.outcome(proves=True), chosen=incumbent.name or None)
    if not instance.slotted:
        return replace(Pipeline(incumbent).run_heuristics(), chosen=incumbent.name or None)
    is_tiny = (
        len(instance.jobs) <= MAX_JOBS
        and len(instance.servers) <= MAX_SERVERS
        and instance.gpus <= MAX_GPUS
        and min(incumbent.value, instance.horizon) <= MAX_SLOTS
    )
    if not is_tiny:
        return replace(Pipeline(incumbent).run(), chosen="ilp")
    states = StateSearch(instance, incumbent.cutoff, settings.deadline)
    with incumbent.until_deadline():
        states.run()
        incumbent.update_schedule(states.schedule, "state-search")
        incumbent.update_bound(Bound(states.bound, "state-search"))
    outcome = incumbent.outcome({"states": len(states.seen)}, proves=True)
    return replace(outcome, chosen="state-search")


class StateSearch:
    """Breadth-first search for a makespan below a cutoff."""

    def __init__(self, instance: MakespanInstance, cutoff: float, deadline: Deadline) -> None:
        self.instance, self.cutoff, self.deadline = instance, cutoff, deadline
        self.min_duration = [int(slots) for slots in durations_of(instance).minimum]
        self.schedule: Schedule | None = None
        self.seen: set[tuple] = set()
        self.is_cut = False
        self.speed = lru_cache(maxsize=None)(self._speed)
        jobs = instance.jobs
        self.root = State(tuple(job.iterations for job in jobs), (None,) * len(jobs))
        self.bound = min(float(self._min_slots_left(self.root)), cutoff)

    def run(self) -> None:
        """Search until the optimum is known or a limit is reached; sets schedule and bound."""
        layer, slot = [self.root], 0
        while layer:
            next_layer, lower_bound = [], self.cutoff
            for state in layer:
                for successor in self._successors(state, slot):
                    if not any(successor.remaining):
                        self.schedule, self.bound = _schedule(successor), slot + 1.0
                        return
                    total = slot + 1.0 + self._min_slots_left(successor)
                    key = self._key(successor)
                    if total < self.cutoff and key not in self.seen:
                        self.seen.add(key)
                        next_layer.append(successor)
                        lower_bound = min(lower_bound, total)
                if self.is_cut:
                    return
            layer, slot, self.bound = next_layer, slot + 1, lower_bound
        self.bound = self.cutoff

    def _successors(self, state: State, slot: int) -> Iterator[State]:
        free = self.instance.servers
        for placement in state.running.values():
            free = _without(free, placement)
        tried: set[tuple] = set()
        for runs in self._starts(state.runs, slot, free, 0):
            if len(self.seen) + len(tried) > MAX_STATES or self.deadline.is_over:
                self.is_cut = True
                return
            started = State(state.remaining, runs)
            key = self._key(started)
            if key not in tried:
                tried.add(key)
                remaining = self._remaining_after_slot(started)
                if remaining != state.remaining:  # skip states without progress
                    yield State(remaining, runs)

    def _starts(self, runs: Runs, slot: int, free: Placement, j: int) -> Iterator[Runs]:
        """Every way to start some of the pending jobs from `j` on, or none."""
        if j == len(runs):
            yield runs
            return
        yield from self._starts(runs, slot, free, j + 1)
        if runs[j] is None:
            for placement in _placements(self.instance.jobs[j].gpus, free):
                started = (*runs[:j], (slot, placement), *runs[j + 1 :])
                yield from self._starts(started, slot, _without(free, placement), j + 1)

    def _remaining_after_slot(self, state: State) -> tuple[int, ...]:
        used = {j: [s for s, n in enumerate(y) if n] for j, y in state.running.items()}
        spanning = Counter(s for servers in used.values() if len(servers) > 1 for s in servers)
        remaining = list(state.remaining)
        for j, servers in used.items():
            level = max(spanning[s] for s in servers) if len(servers) > 1 else 0
            remaining[j] = max(0, remaining[j] - self.speed(j, len(servers), level))
        return tuple(remaining)

    def _speed(self, j: int, servers: int, level: int) -> int:
        instance = self.instance
        return int(iterations_per_slot(instance, instance.jobs[j], servers, level))

    def _min_slots_left(self, state: State) -> int:
        """Lower bound on the remaining slots: the longest job, or the area."""
        longest, work = 0, 0
        for j, (job, run) in enumerate(zip(self.instance.jobs, state.runs, strict=True)):
            slots = self.min_duration[j]
            if run is not None:
                used = sum(1 for count in run[1] if count)
                speed = self.speed(j, used, 1 if used > 1 else 0)
                if speed == 0:
                    return int(self.cutoff)
                slots = -(-state.remaining[j] // speed)
            longest, work = max(longest, slots), work + slots * job.gpus
        return max(longest, -(-work // self.instance.gpus))

    def _key(self, state: State) -> tuple:
        """The state up to a permutation of equal servers."""
        columns = zip(self.instance.servers, *state.running.values(), strict=True)
        return state.remaining, tuple(run is None for run in state.runs), tuple(sorted(columns))


def _without(free: Placement, placement: Placement) -> Placement:
    return tuple(a - b for a, b in zip(free, placement, strict=True))


def _schedule(state: State) -> Schedule:
    runs = [run for run in state.runs if run is not None]
    return Schedule(
        tuple(float(start) for start, _ in runs),
        tuple({s: count for s, count in enumerate(y) if count} for _, y in runs),
    )


def _placements(gpus: int, free: Placement) -> Iterator[Placement]:
    """All ways to take a number of GPUs of the free ones, lazily: there may be many."""
    if len(free) == 1:
        if gpus <= free[0]:
            yield (gpus,)
        return
    rest = sum(free[1:])
    for taken in range(max(0, gpus - rest), min(gpus, free[0]) + 1):
        for others in _placements(gpus - taken, free[1:]):
            yield (taken, *others)
