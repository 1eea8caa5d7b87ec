"""Longest-first list scheduling with backfilling, and running the compiled loop behind it.

Guarantee: none under contention. Jobs wait in one list, longest first; at every completion each is
tried in turn on the server with least room that holds it. A job that no free server holds either
waits or spans the fewest that do: both ways are tried and the better schedule kept (a job larger
than every server always spans). Complexity: O(n) events, each O(waiting + running jobs). Beyond
the paper.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from optsched.makespan._contention_kernel import Jobs, ScheduleArrays
from optsched.makespan.bounds.durations import durations_of
from optsched.makespan.contention import Ints, Schedule, empty_schedule, jobs_of, schedule_from
from optsched.makespan.heuristics._list_scheduling_kernel import schedule_list
from optsched.makespan.incumbent import Incumbent, SearchResult
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.options import MakespanOptions
from optsched.result import Outcome, Settings

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Lists:
    """An instance made ready for list scheduling; the arrays are overwritten by every run."""

    jobs: Jobs
    arrays: ScheduleArrays

    def run(self, order: Ints, spans: Flags, cutoff: float = np.inf) -> float:
        """Schedule; the makespan, or infinity. See `schedule_list`."""
        return float(schedule_list(self.jobs, order, spans, cutoff, self.arrays))

    def schedule(self) -> Schedule:
        """The schedule of the last run."""
        return schedule_from(self.jobs, self.arrays)


def prepare_lists(instance: MakespanInstance) -> Lists:
    """Make an instance ready."""
    jobs = jobs_of(instance)
    return Lists(jobs, empty_schedule(jobs))


def longest_order(instance: MakespanInstance) -> Ints:
    """Longest least duration first, then wider, then by the file's order."""
    durations = durations_of(instance)
    return np.lexsort((-durations.gpus, -durations.least)).astype(np.int64)


def best_list(lists: Lists, order: Ints) -> tuple[float, Schedule | None, Flags]:
    """The better of waiting for room in one server and spanning at once."""
    best: tuple[float, Schedule | None, Flags] = (np.inf, None, np.zeros(len(order), np.bool_))
    for eager in (False, True):
        spans = np.full(len(order), eager)
        value = lists.run(order, spans)
        if value < best[0]:
            best = (value, lists.schedule(), spans)
    return best


def longest_first(
    instance: MakespanInstance, options: MakespanOptions, settings: Settings
) -> Outcome:
    """Schedule longest first."""
    return Incumbent(instance, settings).heuristic(lambda _: by_longest(instance))


def by_longest(instance: MakespanInstance) -> SearchResult:
    """The schedule of longest-first."""
    return SearchResult(best_list(prepare_lists(instance), longest_order(instance))[1])
