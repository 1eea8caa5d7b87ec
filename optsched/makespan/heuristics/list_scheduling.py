"""Method ``longest-first``: list scheduling with backfilling, longest job first.

Jobs wait in one list; at every completion each is tried in turn on the server with least room that
holds it. A job that no free server holds either waits or spans the fewest that do: both ways are
tried and the better schedule kept (a job larger than every server always spans). Guarantee: none
under contention. Complexity: O(n) events, each O(waiting + running jobs + S a start). Beyond the
paper.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable

from optsched.kernels import kernel
from optsched.makespan.bounds.durations import durations_of
from optsched.makespan.contention import (
    Bools,
    Ints,
    Jobs,
    Running,
    Schedule,
    ScheduleArrays,
    empty_schedule,
    jobs_of,
    next_end,
    none_running,
    refresh,
    remove_ended,
    schedule_from,
    start,
)
from optsched.makespan.incumbent import Incumbent, SearchResult
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.options import MakespanOptions
from optsched.result import Outcome, Settings

UNLIMITED = np.iinfo(np.int64).max
LIMITS = 4
"""Values of a limit on the jobs of a link: 0 for none, and 1 to 3."""


class Ways(NamedTuple):
    """How each job takes its servers, by job.

    Attributes
    ----------
    spans : (n,) bool
        Whether it may span servers though one could hold it.
    limit : (n,) int
        A spanning job with a limit waits for its fewest servers with at most so many spanning jobs
        on each, itself counted, and admits no more while it runs; 0: no limit.
    fills : (n,) bool
        Whether a job with a limit first takes the rest of a server that another job spans.
    fewest : (n,) int
        Fewest servers that hold it, at least two.
    """

    spans: Bools
    limit: Ints
    fills: Bools
    fewest: Ints


@register_jitable
def _largest(values: Ints) -> int:
    """Index of the first of the largest values."""
    best = 0
    for i in range(len(values)):
        if values[i] > values[best]:
            best = i
    return best


@register_jitable
def _tightest(room: Ints, size: int) -> int:
    """Server with least room that holds `size` GPUs, or -1."""
    best = -1
    for s in range(len(room)):
        if size <= room[s] and (best < 0 or room[s] < room[best]):
            best = s
    return best


@register_jitable
def _spread(jobs: Jobs, j: int, free: Ints, schedule: ScheduleArrays, first: int) -> bool:
    """Place job j on the fewest servers: those with most room, the last as tight as possible.

    Server `first` comes before them unless it is -1. Edits `free`.
    """
    left = jobs.gpus[j]
    base = jobs.first[j]
    schedule.used[j] = 0
    while left > 0:
        s = _tightest(free, left) if first < 0 else first
        first = -1
        if s < 0:
            s = _largest(free)
        taken = min(left, free[s])
        if taken == 0:
            return False
        if schedule.used[j] == 0 and taken == left:
            taken -= 1  # in one server it makes no progress, so one worker stays out
        schedule.where[base + schedule.used[j]] = s
        schedule.held[base + schedule.used[j]] = taken
        schedule.used[j] += 1
        free[s] = 0
        left -= taken
    return True


@register_jitable
def _place_within_limit(
    jobs: Jobs,
    ways: Ways,
    j: int,
    room: Ints,
    links: Ints,
    running: Running,
    schedule: ScheduleArrays,
) -> bool:
    """Place a spanning job as its way allows; False if it has to wait."""
    limit, fewest = ways.limit[j], ways.fewest[j]
    free = room.copy()
    most = 0
    for s in range(len(free)):
        if running.sharing[s] >= links[s] or (limit > 0 and running.sharing[s] >= limit):
            free[s] = 0
        most = max(most, free[s])
    if limit == 0:
        return _spread(jobs, j, free, schedule, -1)
    if ways.fills[j]:
        fullest, short = -1, jobs.gpus[j] - (fewest - 1) * most
        for s in range(len(free)):
            shared = running.sharing[s] > 0 and max(1, short) <= free[s] < jobs.gpus[j]
            if shared and (fullest < 0 or free[s] > free[fullest]):
                fullest = s
        placed = fullest >= 0 and _spread(jobs, j, free.copy(), schedule, fullest)
        if placed and schedule.used[j] <= fewest:
            return True
    return _spread(jobs, j, free, schedule, -1) and schedule.used[j] <= fewest


@register_jitable
def _limit_links(jobs: Jobs, ways: Ways, j: int, links: Ints, schedule: ScheduleArrays) -> None:
    """Apply the limit of a running job that spans to its servers' links."""
    if schedule.used[j] > 1 and ways.limit[j] > 0:
        for k in range(jobs.first[j], jobs.first[j] + schedule.used[j]):
            links[schedule.where[k]] = min(links[schedule.where[k]], ways.limit[j])


@register_jitable
def schedule_list(
    jobs: Jobs, order: Ints, ways: Ways, cutoff: float, schedule: ScheduleArrays
) -> float:
    """Schedule jobs in `order` with backfilling; fills the schedule.

    Returns the makespan in slots, or infinity if it reaches `cutoff` or a job can never start.
    """
    room = jobs.capacity.copy()
    largest, total = room[_largest(room)], 0
    for s in range(len(room)):
        total += room[s]
    limited = ways.limit[_largest(ways.limit)] > 0
    links = np.full(len(room), UNLIMITED)
    # By limit and size: the last event at which such a job found no place.
    failed = np.zeros((LIMITS, jobs.gpus[_largest(jobs.gpus)] + 1 if limited else 1), np.int64)
    event = 0
    waiting, pending = order.copy(), len(order)
    running = none_running(jobs)
    now = 0.0
    schedule.finish[:] = np.inf
    while True:
        event += 1
        # Try the waiting jobs in turn; those that stay keep their order.
        kept = 0
        widest = room[_largest(room)]
        for i in range(pending):
            j = waiting[i]
            size = jobs.gpus[j]
            placed = False
            if size <= widest and jobs.inside[j]:
                base = jobs.first[j]
                schedule.used[j] = 1
                schedule.where[base] = _tightest(room, size)
                schedule.held[base] = size
                placed = True
            elif size <= total and size > 1 and (size > largest or ways.spans[j]):
                if not limited:
                    placed = _spread(jobs, j, room.copy(), schedule, -1)
                elif failed[ways.limit[j], size] < event:
                    placed = _place_within_limit(jobs, ways, j, room, links, running, schedule)
                    if not placed:  # there will be less room later in this event
                        failed[ways.limit[j], size] = event
            if not placed or not start(jobs, running, schedule, j, now):
                waiting[kept] = j
                kept += 1
                continue
            total -= size
            for k in range(jobs.first[j], jobs.first[j] + schedule.used[j]):
                room[schedule.where[k]] -= schedule.held[k]
            if limited:
                _limit_links(jobs, ways, j, links, schedule)
            widest = room[_largest(room)]
        pending = kept
        if running.length[0] == 0:
            return now if pending == 0 else np.inf
        # Move on to the next completion, and free what ends there.
        now = next_end(running, schedule, np.inf)
        if now >= cutoff:
            return np.inf
        ended = remove_ended(jobs, running, schedule, now)
        any_spanned = False
        for r in range(running.length[0], running.length[0] + ended):
            j = running.job[r]
            any_spanned |= schedule.used[j] > 1
            total += jobs.gpus[j]
            for k in range(jobs.first[j], jobs.first[j] + schedule.used[j]):
                room[schedule.where[k]] += schedule.held[k]
        if any_spanned:
            refresh(jobs, running, schedule, now)
            if limited:
                links[:] = UNLIMITED
                for r in range(running.length[0]):
                    _limit_links(jobs, ways, running.job[r], links, schedule)


@kernel
def _schedule_once(
    jobs: Jobs, order: Ints, ways: Ways, cutoff: float, schedule: ScheduleArrays
) -> float:
    """Schedule one list; see `schedule_list`."""
    return schedule_list(jobs, order, ways, cutoff, schedule)


@dataclass(frozen=True)
class Lists:
    """An instance as arrays for list scheduling; every run overwrites the schedule's."""

    jobs: Jobs
    fewest: Ints
    arrays: ScheduleArrays

    def ways(self, *, spans: bool = False, limit: Ints | None = None, fills: bool = False) -> Ways:
        """Equal ways for all jobs but for their limits."""
        n = len(self.fewest)
        limit = np.zeros(n, dtype=np.int64) if limit is None else limit
        return Ways(np.full(n, spans), limit, np.full(n, fills), self.fewest)

    @property
    def steps(self) -> int:
        """Roughly the innermost rounds of one list schedule."""
        return len(self.fewest) * (len(self.fewest) + 4 * len(self.jobs.capacity))

    def run(self, order: Ints, ways: Ways, cutoff: float = np.inf) -> float:
        """Makespan of a list, or infinity; see `schedule_list`."""
        schedule = _schedule_once.for_size(self.steps)
        return float(schedule(self.jobs, order, ways, float(cutoff), self.arrays))

    def schedule(self) -> Schedule:
        """Schedule of the last run."""
        return schedule_from(self.jobs, self.arrays)


def prepare_lists(instance: MakespanInstance) -> Lists:
    """Arrays of an instance for list scheduling."""
    jobs = jobs_of(instance)
    fewest = np.maximum(durations_of(instance).fewest, 2)
    return Lists(jobs, fewest, empty_schedule(jobs))


def longest_order(instance: MakespanInstance) -> Ints:
    """Jobs by falling least duration, then by falling width, then in the file's order."""
    durations = durations_of(instance)
    return np.lexsort((-durations.gpus, -durations.least)).astype(np.int64)


@dataclass(frozen=True)
class Listed:
    """An order and ways, and the schedule they give if there is one."""

    order: Ints
    ways: Ways
    makespan: float = np.inf
    schedule: Schedule | None = None


def best_list(lists: Lists, tries: Iterable[Listed]) -> Listed:
    """Best of orders and ways; the first if none gives a schedule."""
    best: Listed | None = None
    for trial in tries:
        best = best or trial
        value = lists.run(trial.order, trial.ways, best.makespan)
        if value < best.makespan:
            best = replace(trial, makespan=value, schedule=lists.schedule())
    assert best is not None
    return best


def waiting_or_spanning(lists: Lists, order: Ints) -> Iterator[Listed]:
    """One list in which jobs wait for room in one server, one in which they span at once."""
    for spans in (False, True):
        yield Listed(order.copy(), lists.ways(spans=spans))


def longest_first(
    instance: MakespanInstance, options: MakespanOptions, settings: Settings
) -> Outcome:
    """Schedule longest first."""
    return Incumbent(instance, settings).heuristic(lambda _: by_longest(instance))


def by_longest(instance: MakespanInstance) -> SearchResult:
    """Schedule of longest-first."""
    lists = prepare_lists(instance)
    tries = waiting_or_spanning(lists, longest_order(instance))
    return SearchResult(best_list(lists, tries).schedule)
