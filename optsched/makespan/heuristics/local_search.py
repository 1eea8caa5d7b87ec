"""Method ``local-search``: reinsertions, swaps and who may span, on the order of longest-first.

Where most of the work must span and sharing a link costs, it also decides with how many jobs a job
shares its links (`Ways.limit`), and starts from the limits that take fewest GPU-slots.

Guarantee: never worse than longest-first. Moves that keep the makespan within a shrinking slack of
the best are kept, so that plateaus and small hills are crossed. Anytime; a time limit covers the
bound too, at which the search stops. Equal (seed, iterations) give equal schedules. Complexity: one
list schedule a move. Beyond the paper.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, takewhile
from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable

from optsched.deadline import Deadline, OutOfTimeError
from optsched.kernels import kernel
from optsched.makespan.bounds.durations import durations_of
from optsched.makespan.contention import Floats, Ints, Jobs, ScheduleArrays
from optsched.makespan.heuristics.list_scheduling import (
    LIMITS,
    Listed,
    Lists,
    Ways,
    best_list,
    by_longest,
    longest_order,
    prepare_lists,
    schedule_list,
    waiting_or_spanning,
)
from optsched.makespan.heuristics.random_numbers import RandomState, draw, random_state
from optsched.makespan.incumbent import SEARCH_SHARE, Incumbent, SearchResult
from optsched.makespan.instance import MakespanInstance, duration
from optsched.makespan.options import MakespanOptions
from optsched.result import ARITHMETIC, Outcome, Settings

EFFORT = 3_200_000
"""Moves times jobs when neither time nor iterations are limited."""
FIRST_SLACK = 0.02
"""Slack at the beginning, as a share of the makespan; it falls to 0 linearly."""
ROUNDS = 20
"""Steps in which the slack falls."""
SPANNING_SHARE, SLOWDOWN = 0.5, 1.05
"""Share of the work in jobs larger than every server, and their slowdown by one job more on the
link, from which on the search also limits the jobs on links."""
AVERSIONS = (1.0, 1.1, 0.9, 1.25, 0.8, 1.5, 10.0)
"""What sharing a link with one job more must save at the start of such a search."""
LOOK_STEPS = 2_000_000
"""Innermost rounds between looks at the clock, about 0.1 s: nothing else ends the compiled loop."""
REINSERT, SWAP = 0.55, 0.92
"""Cumulative shares of the moves: reinsertion, swap; the rest changes whether a job may span."""
LIMITED_REINSERT, LIMITED_SWAP = 0.45, 0.75
"""The same where links are limited; the rest changes a job's way."""
CHANGE_LINKS, CHANGE_FILLS = 0.9, 0.3
"""Share of these changes about links, and of those about filling a server that another spans."""
PULL = 0.4
"""Share of reinsertions that pull the last job to end to an earlier place."""


class Search(NamedTuple):
    """Present and best order of a search, edited by every move.

    ``value`` and ``best`` are their makespans (1,) in slots, ``last`` the last job to end (1,);
    ``limited`` tells whether moves also change the jobs on links.
    """

    order: Ints
    ways: Ways
    value: Floats
    best_order: Ints
    best_ways: Ways
    best: Floats
    last: Ints
    random: RandomState
    limited: bool


@register_jitable
def _reinsert(order: Ints, a: int, b: int) -> None:
    """Move the entry at a to b; the entries between shift by one."""
    moved = order[a]
    step = 1 if b > a else -1
    i = a
    while i != b:
        order[i] = order[i + step]
        i += step
    order[b] = moved


@register_jitable
def _change_way(search: Search, j: int) -> None:
    """Change whether job j may span or, where links are limited, with whom it shares them."""
    ways = search.ways
    if search.limited and draw(search.random) < CHANGE_LINKS:
        if draw(search.random) < CHANGE_FILLS:
            ways.fills[j] = not ways.fills[j]
        else:
            ways.limit[j] = int(draw(search.random) * LIMITS)
    else:
        ways.spans[j] = not ways.spans[j]


@register_jitable
def _keep_best(search: Search) -> None:
    for i in range(len(search.order)):
        search.best_order[i] = search.order[i]
        search.best_ways.spans[i] = search.ways.spans[i]
        search.best_ways.limit[i] = search.ways.limit[i]
        search.best_ways.fills[i] = search.ways.fills[i]


@kernel
def _improve(
    jobs: Jobs, search: Search, target: float, moves: int, slack: float, schedule: ScheduleArrays
) -> int:
    """Make up to `moves` moves until the makespan meets `target`; return their number.

    A move is kept if the makespan stays within `slack` of the best.
    """
    order, ways, random = search.order, search.ways, search.random
    n = len(order)
    reinsert, swap = REINSERT, SWAP
    if search.limited:
        reinsert, swap = LIMITED_REINSERT, LIMITED_SWAP
    done = 0
    while done < moves and search.best[0] > target:
        done += 1
        # Change the order, or one job's way.
        kind = draw(random)
        a, b = int(draw(random) * n), int(draw(random) * n)
        j = order[a]
        old_limit, old_fills, old_spans = ways.limit[j], ways.fills[j], ways.spans[j]
        if kind < reinsert:
            if draw(random) < PULL:
                for i in range(n):
                    if order[i] == search.last[0]:
                        a = i
                b = int(draw(random) * (a + 1))
            _reinsert(order, a, b)
        elif kind < swap:
            order[a], order[b] = order[b], order[a]
        else:
            _change_way(search, j)
        # Keep the move, or undo it.
        cutoff = max(search.value[0], search.best[0] + slack)
        makespan = schedule_list(jobs, order, ways, np.nextafter(cutoff, np.inf), schedule)
        if makespan < np.inf:
            search.value[0] = makespan
            last = 0
            for i in range(n):
                if schedule.finish[i] > schedule.finish[last]:
                    last = i
            search.last[0] = last
            if makespan < search.best[0]:
                search.best[0] = makespan
                _keep_best(search)
        elif kind < reinsert:
            _reinsert(order, b, a)
        elif kind < swap:
            order[a], order[b] = order[b], order[a]
        else:
            ways.limit[j], ways.fills[j], ways.spans[j] = old_limit, old_fills, old_spans
    return done


def local_search(
    instance: MakespanInstance, options: MakespanOptions, settings: Settings
) -> Outcome:
    """Schedule by local search; ``iterations`` counts moves."""
    incumbent, moves = Incumbent(instance, settings), 0
    with incumbent.working():
        incumbent.take(by_longest(instance))
        incumbent.bounded(settings.deadline.share(SEARCH_SHARE))
        if not incumbent.impossible:
            searched = search(instance, settings, incumbent.bound.value)
            moves = searched.details["moves"]
            incumbent.take(searched)
    return incumbent.outcome({"moves": moves})


def search(
    instance: MakespanInstance, settings: Settings, target: float, stop: Deadline | None = None
) -> SearchResult:
    """Search until the moves or the time are spent, or the target (a bound) is met.

    A bound is lowered by rounding, so it is met to the tolerance with which results are compared.
    """
    target *= 1 + ARITHMETIC
    deadline, stop = settings.deadline.share(1.0), stop or Deadline()
    n = len(instance.jobs)
    if settings.iterations is not None:
        moves = settings.iterations
    else:
        moves = max(200, EFFORT // n) if deadline.limit is None else 2**62
    lists = prepare_lists(instance)
    limited = links_are_short(instance)
    tries = waiting_or_spanning(lists, longest_order(instance))
    if limited:
        in_time = takewhile(
            lambda _: not (deadline.is_over or stop.is_over), _with_limits(lists, instance)
        )
        tries = chain(tries, in_time)
    first = best_list(lists, tries)
    if first.schedule is None or first.makespan <= target:
        return SearchResult(first.schedule, details={"moves": 0})
    order, ways = first.order, first.ways
    present = Search(
        order.copy(),
        ways,
        np.array([first.makespan]),
        order.copy(),
        Ways(ways.spans.copy(), ways.limit.copy(), ways.fills.copy(), ways.fewest),
        np.array([first.makespan]),
        np.zeros(1, dtype=np.int64),
        random_state(settings.seed),
        limited,
    )
    done, left, slack, cut = 0, 0, 0.0, False
    look = max(1, LOOK_STEPS // lists.steps)
    at_one_slack = look if deadline.limit else -(-moves // ROUNDS)
    try:
        while done < moves and present.best[0] > target:
            if deadline.is_over or stop.is_over:
                cut = True
                break
            if left == 0:  # lower the slack
                spent = deadline.spent / deadline.limit if deadline.limit else 0.0
                share_left = 1 - (int(max(done / moves, spent) * ROUNDS) + 1) / ROUNDS
                slack = FIRST_SLACK * float(present.value[0]) * max(0.0, share_left)
                left, present.last[0] = min(at_one_slack, moves - done), present.order[-1]
            step = min(look, left)
            improve = _improve.for_size(lists.steps * step)
            made = improve(lists.jobs, present, float(target), step, slack, lists.arrays)
            done, left = done + made, left - made
            if present.best[0] <= instance.latest_end:
                settings.progress.report(float(present.best[0]))
    except OutOfTimeError:
        cut = True
    lists.run(present.best_order, present.best_ways)
    return SearchResult(lists.schedule(), cut, {"moves": done})


def links_are_short(instance: MakespanInstance) -> bool:
    """Whether jobs larger than every server are most of the work, and sharing a link slows them."""
    durations = durations_of(instance)
    work = durations.least * durations.gpus
    larger = np.flatnonzero(durations.gpus > max(instance.servers))
    if work[larger].sum() <= SPANNING_SHARE * work.sum():
        return False
    alone, shared = (
        sum(
            duration(instance, instance.jobs[j], max(2, int(durations.fewest[j])), level)
            for j in larger
        )
        for level in (1, 2)
    )
    return bool(shared > SLOWDOWN * alone)


def _with_limits(lists: Lists, instance: MakespanInstance) -> Iterator[Listed]:
    """Lists in which each job's limit takes fewest GPU-slots, idle ones on its links counted."""
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
            by_length = np.lexsort((-durations.gpus, -key)).astype(np.int64)
            by_limit = np.lexsort((-key, -durations.gpus, limit)).astype(np.int64)
            for order in (by_length, by_limit):
                for fills in (False, True):
                    yield Listed(order, lists.ways(limit=limit, fills=fills))
