"""Longest-first list scheduling with backfilling, and running the compiled loop behind it.

Guarantee: none under contention. Jobs wait in one list, longest first; at every completion each is
tried in turn on the server with least room that holds it. A job that no free server holds either
waits or spans the fewest that do: both ways are tried and the better schedule kept (a job larger
than every server always spans). Complexity: O(n) events, each O(waiting + running jobs). Beyond
the paper.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from optsched.makespan._contention_kernel import Jobs, ScheduleArrays
from optsched.makespan.bounds.durations import durations_of
from optsched.makespan.contention import Ints, Schedule, empty_schedule, jobs_of, schedule_from
from optsched.makespan.heuristics._list_scheduling_kernel import Ways, schedule_list
from optsched.makespan.incumbent import Incumbent, SearchResult
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.options import MakespanOptions
from optsched.result import Outcome, Settings


@dataclass(frozen=True)
class Lists:
    """An instance made ready for list scheduling; the arrays are overwritten by every run."""

    jobs: Jobs
    fewest: Ints
    arrays: ScheduleArrays

    def ways(self, *, spans: bool = False, limit: Ints | None = None, fills: bool = False) -> Ways:
        """The same way for all jobs; see `Ways`."""
        n = len(self.fewest)
        limit = np.zeros(n, dtype=np.int64) if limit is None else limit
        return Ways(np.full(n, spans), limit, np.full(n, fills), self.fewest)

    def run(self, order: Ints, ways: Ways, cutoff: float = np.inf) -> float:
        """Schedule; the makespan, or infinity. See `schedule_list`."""
        return float(schedule_list(self.jobs, order, ways, cutoff, self.arrays))

    def schedule(self) -> Schedule:
        """The schedule of the last run."""
        return schedule_from(self.jobs, self.arrays)


def prepare_lists(instance: MakespanInstance) -> Lists:
    """Make an instance ready."""
    jobs = jobs_of(instance)
    fewest = np.maximum(durations_of(instance).fewest, 2)
    return Lists(jobs, fewest, empty_schedule(jobs))


def longest_order(instance: MakespanInstance) -> Ints:
    """Longest least duration first, then wider, then by the file's order."""
    durations = durations_of(instance)
    return np.lexsort((-durations.gpus, -durations.least)).astype(np.int64)


@dataclass(frozen=True)
class Listed:
    """An order and ways with what they give; no schedule where they give none."""

    order: Ints
    ways: Ways
    makespan: float = np.inf
    schedule: Schedule | None = None


def best_list(lists: Lists, tries: Iterable[Listed]) -> Listed:
    """The best of orders and ways; the first if none gives a schedule."""
    best: Listed | None = None
    for each in tries:
        best = best or each
        value = lists.run(each.order, each.ways, best.makespan)
        if value < best.makespan:
            best = replace(each, makespan=value, schedule=lists.schedule())
    assert best is not None
    return best


def waiting_or_spanning(lists: Lists, order: Ints) -> Iterator[Listed]:
    """Waiting for room in one server, and spanning at once."""
    for eager in (False, True):
        yield Listed(order.copy(), lists.ways(spans=eager))


def longest_first(
    instance: MakespanInstance, options: MakespanOptions, settings: Settings
) -> Outcome:
    """Schedule longest first."""
    return Incumbent(instance, settings).heuristic(lambda _: by_longest(instance))


def by_longest(instance: MakespanInstance) -> SearchResult:
    """The schedule of longest-first."""
    lists = prepare_lists(instance)
    return SearchResult(
        best_list(lists, waiting_or_spanning(lists, longest_order(instance))).schedule
    )
