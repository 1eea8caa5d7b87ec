"""The compiled local search on the order of list scheduling."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from optsched.compiled_loops import njit, njit_borrowing
from optsched.makespan._contention_kernel import Jobs, ScheduleArrays
from optsched.makespan.heuristics._list_scheduling_kernel import schedule_list
from optsched.makespan.heuristics._random_kernel import draw

REINSERT, SWAP = 0.55, 0.92
"""Shares of the moves: reinsertion, then swap; the rest lets one job span or forbids it."""
PULL = 0.4
"""Share of reinsertions that pull the last job to end to an earlier place."""


class Search(NamedTuple):
    """The present order of a search and the best; every move edits it.

    Attributes
    ----------
    order, best_order : (n,) int
    spans, best_spans : (n,) bool
        Whether a job may span servers though one could hold it.
    value, best : (1,) float
        Their makespans in slots.
    last : (1,) int
        The last job to end.
    random : (1,) uint64
        The generator's state.
    """

    order: Any
    spans: Any
    value: Any
    best_order: Any
    best_spans: Any
    best: Any
    last: Any
    random: Any


@njit(cache=True)
def improve(
    jobs: Jobs, search: Search, target: float, moves: int, slack: float, schedule: ScheduleArrays
) -> int:
    """Try so many moves, fewer if the makespan meets `target`; returns how many.

    A move is kept if the makespan stays within `slack` slots of the best. `schedule` is overwritten
    by every move.
    """
    order, spans, random = search.order, search.spans, search.random
    n = len(order)
    done = 0
    while done < moves and search.best[0] > target:
        done += 1
        what = draw(random)
        a, b = int(draw(random) * n), int(draw(random) * n)
        if what < REINSERT:
            if draw(random) < PULL:
                for i in range(n):
                    if order[i] == search.last[0]:
                        a = i
                b = int(draw(random) * (a + 1))
            _reinsert(order, a, b)
        elif what < SWAP:
            order[a], order[b] = order[b], order[a]
        else:
            spans[order[a]] = not spans[order[a]]
        cutoff = max(search.value[0], search.best[0] + slack)
        new = schedule_list(jobs, order, spans, np.nextafter(cutoff, np.inf), schedule)
        if new < np.inf:
            search.value[0] = new
            search.last[0] = int(np.argmax(schedule.finish))
            if new < search.best[0]:
                search.best[0] = new
                search.best_order[:] = order
                search.best_spans[:] = spans
        elif what < REINSERT:
            _reinsert(order, b, a)
        elif what < SWAP:
            order[a], order[b] = order[b], order[a]
        else:
            spans[order[a]] = not spans[order[a]]
    return done


@njit_borrowing
def _reinsert(order: Any, a: int, b: int) -> None:
    """Move the entry at a to b; what lies between shifts by one."""
    moved = order[a]
    step = 1 if b > a else -1
    i = a
    while i != b:
        order[i] = order[i + step]
        i += step
    order[b] = moved
