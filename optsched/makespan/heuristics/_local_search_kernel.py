"""The compiled local search on the order of list scheduling."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from optsched.compiled_loops import njit, njit_borrowing
from optsched.makespan._contention_kernel import Jobs, ScheduleArrays
from optsched.makespan.heuristics._list_scheduling_kernel import LIMITS, Ways, schedule_list
from optsched.makespan.heuristics._random_kernel import draw

REINSERT, SWAP = 0.55, 0.92
"""Shares of the moves: reinsertion, then swap; the rest lets one job span or forbids it."""
PATIENT_REINSERT, PATIENT_SWAP = 0.45, 0.75
LINKS, FILL = 0.9, 0.3
"""Where links are short: the same shares; of the rest what changes how links are shared, and of
that how a job fills a server that another spans."""
PULL = 0.4
"""Share of reinsertions that pull the last job to end to an earlier place."""


class Search(NamedTuple):
    """The present order of a search and the best; every move edits it.

    Attributes
    ----------
    order, best_order : (n,) int
    ways, best_ways : Ways
        How each job takes its servers.
    value, best : (1,) float
        Their makespans in slots.
    last : (1,) int
        The last job to end.
    random : (1,) uint64
        The generator's state.
    patient : bool
        Whether moves also change how many jobs share a link.
    """

    order: Any
    ways: Ways
    value: Any
    best_order: Any
    best_ways: Ways
    best: Any
    last: Any
    random: Any
    patient: bool


@njit(cache=True)
def improve(
    jobs: Jobs, search: Search, target: float, moves: int, slack: float, schedule: ScheduleArrays
) -> int:
    """Try so many moves, fewer if the makespan meets `target`; returns how many.

    A move is kept if the makespan stays within `slack` of the best.
    """
    order, ways, random = search.order, search.ways, search.random
    n = len(order)
    reinsert, swap = (PATIENT_REINSERT, PATIENT_SWAP) if search.patient else (REINSERT, SWAP)
    done = 0
    while done < moves and search.best[0] > target:
        done += 1
        what = draw(random)
        a, b = int(draw(random) * n), int(draw(random) * n)
        if what < reinsert:
            if draw(random) < PULL:
                for i in range(n):
                    if order[i] == search.last[0]:
                        a = i
                b = int(draw(random) * (a + 1))
            _reinsert(order, a, b)
        elif what < swap:
            order[a], order[b] = order[b], order[a]
        else:
            j = order[a]
            old = ways.limit[j], ways.fills[j], ways.spans[j]
            _change_way(search, j)
        cutoff = max(search.value[0], search.best[0] + slack)
        new = schedule_list(jobs, order, ways, np.nextafter(cutoff, np.inf), schedule)
        if new < np.inf:
            search.value[0] = new
            search.last[0] = _last(schedule.finish)
            if new < search.best[0]:
                search.best[0] = new
                _keep(search)
        elif what < reinsert:
            _reinsert(order, b, a)
        elif what < swap:
            order[a], order[b] = order[b], order[a]
        else:
            ways.limit[j], ways.fills[j], ways.spans[j] = old
    return done


@njit_borrowing
def _last(finish: Any) -> int:
    """The first of the jobs that end last."""
    last = 0
    for j in range(len(finish)):
        if finish[j] > finish[last]:
            last = j
    return last


@njit_borrowing
def _keep(search: Search) -> None:
    """The present order as the best."""
    for i in range(len(search.order)):
        search.best_order[i] = search.order[i]
        search.best_ways.spans[i] = search.ways.spans[i]
        search.best_ways.limit[i] = search.ways.limit[i]
        search.best_ways.fills[i] = search.ways.fills[i]


@njit_borrowing
def _change_way(search: Search, j: int) -> None:
    """Let one job span or forbid it; where links are short, change whom it shares them with."""
    ways = search.ways
    if search.patient and draw(search.random) < LINKS:
        if draw(search.random) < FILL:
            ways.fills[j] = not ways.fills[j]
        else:
            ways.limit[j] = int(draw(search.random) * LIMITS)
    else:
        ways.spans[j] = not ways.spans[j]


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
