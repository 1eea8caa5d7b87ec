"""Local search on the order of list scheduling: reinsertion, swap, and who may span.

Where most of the work must span and sharing a link costs, it also decides whom a job shares links
with: one with a limit waits until its fewest servers have no more spanning jobs than that, and lets
no more come while it runs. Such a search starts from the limits that take fewest GPU-slots.

Guarantee: never worse than longest-first. Moves that keep the makespan within a shrinking slack of
the best are kept, so that plateaus and small hills are crossed. Anytime; a time limit covers the
bound too, at which the search stops. Equal (seed, iterations) give equal schedules. Complexity: one
list schedule a move. Beyond the paper.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, takewhile

import numpy as np

from optsched.deadline import Deadline, OutOfTimeError, clock
from optsched.makespan.bounds.durations import durations_of
from optsched.makespan.heuristics._list_scheduling_kernel import LIMITS, Ways
from optsched.makespan.heuristics._local_search_kernel import Search, improve
from optsched.makespan.heuristics._random_kernel import random_state
from optsched.makespan.heuristics.list_scheduling import (
    Listed,
    Lists,
    best_list,
    by_longest,
    longest_order,
    prepare_lists,
    waiting_or_spanning,
)
from optsched.makespan.incumbent import SEARCH_SHARE, Incumbent, SearchResult
from optsched.makespan.instance import MakespanInstance, duration
from optsched.makespan.options import MakespanOptions
from optsched.result import Outcome, Settings

EFFORT = 3_200_000
"""Moves times jobs when neither time nor iterations are limited."""
FIRST_SLACK = 0.02
"""Slack at the beginning, as a share of the makespan; it falls to 0 linearly."""
ROUNDS = 20
"""Steps in which the slack falls."""
MOSTLY = 0.5
SLOWED = 1.05
"""Share of the work in jobs that no server holds from which on a search looks after links, where
they take so many times as long when two share a link."""
AVERSIONS = (1.0, 1.1, 0.9, 1.25, 0.8, 1.5, 10.0)
"""What sharing a link with one job more must save at the start of such a search."""
LOOK = 0.1
"""Seconds between looks at the clock: nothing else ends the compiled loop, an interrupt neither."""


def local_search(
    instance: MakespanInstance, options: MakespanOptions, settings: Settings
) -> Outcome:
    """Schedule by local search; ``iterations`` counts moves."""
    found, moves = Incumbent(instance, settings), 0
    with found.working():
        found.take(by_longest(instance))
        if settings.time_limit is not None or found.best is None:
            found.bounded(settings.deadline.share(SEARCH_SHARE))
        if not found.impossible:
            searched = search(instance, settings, found.bound.value)
            moves = searched.details["moves"]
            found.take(searched)
        if settings.time_limit is None:
            found.bounded(settings.deadline)
    return found.outcome({"moves": moves})


def search(
    instance: MakespanInstance, settings: Settings, target: float, stop: Deadline | None = None
) -> SearchResult:
    """Search until the moves or the time are spent, or the target (a bound) is met."""
    deadline, stop = settings.deadline.share(1.0), stop or Deadline()
    n = len(instance.jobs)
    if settings.iterations is not None:
        moves = settings.iterations
    else:
        moves = max(200, EFFORT // n) if deadline.limit is None else 2**62
    lists = prepare_lists(instance)
    patient = links_are_short(instance)
    tries = waiting_or_spanning(lists, longest_order(instance))
    if patient:
        limits = takewhile(
            lambda _: not (deadline.is_over or stop.is_over), _with_limits(lists, instance)
        )
        tries = chain(tries, limits)
    start = best_list(lists, tries)
    if start.schedule is None or start.makespan <= target:
        return SearchResult(start.schedule, details={"moves": 0})
    order, ways = start.order, start.ways
    present = Search(
        order.copy(),
        ways,
        np.array([start.makespan]),
        order.copy(),
        Ways(ways.spans.copy(), ways.limit.copy(), ways.fills.copy(), ways.fewest),
        np.array([start.makespan]),
        np.zeros(1, dtype=np.int64),
        random_state(settings.seed),
        patient,
    )
    done, left, slack = 0, 0, 0.0
    clock = _Clock(deadline, moves)
    cut = False
    try:
        while done < moves and present.best[0] > target:
            if deadline.is_over or stop.is_over:
                cut = True
                break
            if left == 0:
                slack = FIRST_SLACK * float(present.value[0]) * clock.share_left(done)
                left, present.last[0] = clock.chunk(done), present.order[-1]
            made = improve(lists.jobs, present, target, clock.step(left), slack, lists.arrays)
            done, left = done + made, left - made
            if present.best[0] <= instance.latest_end:
                settings.progress.report(float(present.best[0]))
    except OutOfTimeError:
        cut = True
    lists.run(present.best_order, present.best_ways)
    return SearchResult(lists.schedule(), cut, {"moves": done})


def links_are_short(instance: MakespanInstance) -> bool:
    """Whether jobs that no server holds are most of the work, and sharing a link slows them."""
    durations = durations_of(instance)
    work = durations.least * durations.gpus
    larger = np.flatnonzero(durations.gpus > max(instance.servers))
    if work[larger].sum() <= MOSTLY * work.sum():
        return False
    alone, shared = (
        sum(
            duration(instance, instance.jobs[j], max(2, int(durations.fewest[j])), level)
            for j in larger
        )
        for level in (1, 2)
    )
    return bool(shared > SLOWED * alone)


def _with_limits(lists: Lists, instance: MakespanInstance) -> Iterator[Listed]:
    """As many jobs on a link as take fewest GPU-slots, links that must be left alone counted."""
    durations, capacity = durations_of(instance), max(instance.servers)
    slots = np.array(
        [
            [duration(instance, job, int(k), q) for q in range(1, LIMITS)]
            for job, k in zip(instance.jobs, lists.fewest, strict=True)
        ]
    )
    q = np.arange(1, LIMITS)
    taken = np.maximum(durations.gpus[:, None], lists.fewest[:, None] * capacity / q)
    for aversion in AVERSIONS:
        limit = 1 + np.argmin(slots * taken * aversion ** (q - 1), axis=1)
        longest = slots[np.arange(len(limit)), limit - 1]
        for key in (longest, longest * durations.gpus):
            order = np.lexsort((-durations.gpus, -key)).astype(np.int64)
            grouped = np.lexsort((-key, -durations.gpus, limit)).astype(np.int64)
            for each in (order, grouped):
                for fills in (False, True):
                    yield Listed(each, lists.ways(limit=limit, fills=fills))


@dataclass
class _Clock:
    """Moves under one slack, equal parts of the moves or of the time, and moves until a look.

    Only the first say how the search goes; a look at deadline and interrupts costs nothing.
    """

    deadline: Deadline
    moves: int
    size: int = 16
    at_once: int = 1
    looked: float = 0.0

    def share_left(self, done: int) -> float:
        """Share of the search that is left, in steps of 1 / ROUNDS."""
        share = done / self.moves
        if self.deadline.limit is not None:
            share = max(share, self.deadline.spent / max(self.deadline.limit, 1e-9))
        return max(0.0, 1 - (int(share * ROUNDS) + 1) / ROUNDS)

    def chunk(self, done: int) -> int:
        """Moves under one slack."""
        limit = self.deadline.limit
        if limit is None:
            return min(-(-self.moves // ROUNDS), self.moves - done)
        spent = max(self.deadline.spent, 1e-3)
        if done:
            self.size = max(1, int(done / spent * min(0.02 * limit, 0.1)))
        return min(self.size, self.moves - done)

    def step(self, left: int) -> int:
        """Moves until the next look, of so many: about a tenth of a second."""
        now = clock()
        if now - self.looked < LOOK / 2:
            self.at_once *= 2
        elif now - self.looked > LOOK:
            self.at_once = max(1, self.at_once // 2)
        self.looked = now
        return min(self.at_once, left)
