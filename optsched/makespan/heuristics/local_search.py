"""Local search on the order of list scheduling: reinsertion, swap, and who may span.

Guarantee: never worse than longest-first. Moves that keep the makespan within a shrinking slack of
the best are kept, so that plateaus and small hills are crossed. Anytime; a time limit covers the
bound too, at which the search stops. Equal (seed, iterations) give equal schedules. Complexity: one
list schedule a move. Beyond the paper.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from optsched.deadline import Deadline, OutOfTimeError
from optsched.makespan.heuristics._local_search_kernel import Search, improve
from optsched.makespan.heuristics._random_kernel import random_state
from optsched.makespan.heuristics.list_scheduling import (
    best_list,
    by_longest,
    longest_order,
    prepare_lists,
)
from optsched.makespan.incumbent import SEARCH_SHARE, Incumbent, SearchResult
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.options import MakespanOptions
from optsched.result import Outcome, Settings

EFFORT = 3_200_000
"""Moves times jobs when neither time nor iterations are limited."""
FIRST_SLACK = 0.02
"""Slack at the beginning, as a share of the makespan; it falls to 0 linearly."""
ROUNDS = 20
"""Steps in which the slack falls."""
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
    return found.outcome(details={"moves": moves})


def search(
    instance: MakespanInstance, settings: Settings, target: float, stop: Deadline | None = None
) -> SearchResult:
    """Search until the moves or the time are spent, or the target (a bound) is met.

    Parameters
    ----------
    instance : MakespanInstance
        The instance.
    settings : Settings
        Limits, solver and seed of the run, and its clock.
    target : float
        Slots; a bound.
    stop : Deadline, optional
        Cuts the search too, without a part in how it goes: cut by moves, it repeats exactly.
    """
    deadline, stop = settings.deadline.share(1.0), stop or Deadline()
    n = len(instance.jobs)
    if settings.iterations is not None:
        moves = settings.iterations
    else:
        moves = max(200, EFFORT // n) if deadline.limit is None else 2**62
    lists = prepare_lists(instance)
    order = longest_order(instance)
    value, schedule, spans = best_list(lists, order)
    if schedule is None or value <= target:
        return SearchResult(schedule, details={"moves": 0})
    present = Search(
        order,
        spans,
        np.array([value]),
        order.copy(),
        spans.copy(),
        np.array([value]),
        np.zeros(1, dtype=np.int64),
        random_state(settings.seed),
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
                left, present.last[0] = clock.chunk(done), order[-1]
            made = improve(lists.jobs, present, target, clock.step(left), slack, lists.arrays)
            done, left = done + made, left - made
            if present.best[0] <= instance.horizon:
                settings.progress.report(float(present.best[0]))
    except OutOfTimeError:
        cut = True
    lists.run(present.best_order, present.best_spans)
    return SearchResult(lists.schedule(), cut, {"moves": done})


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
        now = time.perf_counter()
        if now - self.looked < LOOK / 2:
            self.at_once *= 2
        elif now - self.looked > LOOK:
            self.at_once = max(1, self.at_once // 2)
        self.looked = now
        return min(self.at_once, left)
