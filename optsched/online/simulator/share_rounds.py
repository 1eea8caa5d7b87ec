"""A round of max-min fair shares: all jobs, those that wait and those that run, are ranked anew.

Of each size those that come first are candidates, beside the running ones that come no later; they
are put in order by counting, and gone through. Where that was too few, fronts and `go_through` do
the rest. Complexity: O(n + c) for n jobs that are there and c candidates whose keys are spread
evenly, O(n + c log c) whatever they are.
Source: models/online/README.md, "Preemption".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.compiled_loops import njit_borrowing, njit_dividing, njit_inlined
from optsched.online.simulator.bins import sort_keyed, spread
from optsched.online.simulator.last_running import run_at
from optsched.online.simulator.preemption_state import FROM, KIND, NOW, QUEUED, REACHED, RUNNING
from optsched.online.simulator.waiting_line import (
    key_of,
    limit_for,
    list_front,
    see_head,
    unlist,
    wait_in_front,
)
from optsched.online.simulator.walk import go_through, put

MORE = 16
"""Of a size, half as many again as left the line in a round are candidates, and so many more."""
BEYOND = 1.25
"""Keys so many times that of the last job that was chosen in the round before share a bin."""
CODE = 24
"""From this bit on, a candidate's code is its row; below are its bucket and, last, if it runs."""
BUCKET = 2**CODE - 1


@njit_borrowing
def go_by_shares(rows: Any, rules: Any, state: Any, now: float) -> tuple[int, int, int]:
    """Keep or lay aside the first jobs that fit together by their shares now.

    Returns how many run that ran, how many are to be stopped, which lie first in `order`, and how
    many are aside.
    """
    level = fair_level(rows, state)
    waiting, most = _gather(rows, state, level)
    count, later = _add_running(rows, rules, state, now, level, waiting, most)
    _part_by_key(state, count, most)
    at, kept, stopped, aside, room = _walk(rows, state, count)
    later = _hand_back(rows, state, at, count, later)
    for each in range(later):
        room -= state.order_gpus[each]
    for bucket in range(len(rows.sizes)):
        see_head(state, bucket)
    kept, passed, aside = go_through(rows, state, kept, later, aside, room)
    for each in range(stopped):
        key, row = state.line_key[each], state.line[each]
        put(state, passed + each, row, 0, key)
    return kept, passed + stopped, aside


@njit_borrowing
def fair_level(rows: Any, state: Any) -> float:
    """The level of max-min fair shares min(g, level) of all GPUs among the jobs there are."""
    rest = len(state.servers.free) * (len(state.servers.histogram) - 1)
    jobs = 0
    for count in state.present:
        jobs += count
    for bucket in range(len(rows.sizes)):
        gpus, count = rows.sizes[bucket], state.present[bucket]
        if count > 0 and gpus * jobs >= rest:
            return rest / jobs
        rest -= gpus * count
        jobs -= count
    return np.inf


@njit_dividing
def _compute_shares(key: Any, served: Any, since: Any, share: float, now: float) -> None:
    """The keys of some that wait, by shares."""
    for at in range(len(key)):
        due = share * (now - since[at])
        key[at] = served[at] / (due if due > 0.0 else 1.0)  # none is due where none has worked


@njit_inlined
def _gather(rows: Any, state: Any, level: float) -> tuple[int, float]:
    """Make the first that wait of each size candidates, which leave the line and lie in `aside`.

    Returns how many these are, and the largest key among them.
    """
    now, count, most = state.clock[NOW], 0, -1.0
    for bucket in range(len(rows.sizes)):
        list_front(state, bucket)
        begin = state.begin[bucket]
        end = begin + state.size[bucket]
        share = min(1.0, level / rows.sizes[bucket])
        _compute_shares(
            state.key[begin:end], state.served[begin:end], state.since[begin:end], share, now
        )
        limit = limit_for(state, bucket, state.gone[bucket] * 3 // 2 + MORE)
        first, picked, code = count, 0, bucket << 1
        for at in range(begin, end):
            state.spare[picked] = at
            picked += state.key[at] <= limit
        for each in range(picked - 1, -1, -1):
            at = state.spare[each]
            key = state.key[at]
            state.aside_key[count], state.aside[count] = key, state.row[at] << CODE | code
            count += 1
            most = max(most, key)
            end -= 1
            unlist(state, at, end)
        state.size[bucket], state.gone[bucket] = end - begin, 0
        state.longest[bucket] = max(state.longest[bucket], 2 * (count - first))
    return count, most


@njit_inlined
def _add_running(
    rows: Any, rules: Any, state: Any, now: float, level: float, count: int, most: float
) -> tuple[int, int]:
    """Add the running jobs up to a key to the candidates; the later ones are put into `order`.

    Returns how many there are of both.
    """
    later = 0
    for at in range(state.index[RUNNING]):
        row = state.running[at]
        ran = max(0.0, now - state.job[row, FROM])
        key = key_of(rows, rules, state, row, ran, level)
        if key <= most:
            bucket = rows.bucket[state.number[row, KIND]]
            state.aside_key[count], state.aside[count] = key, row << CODE | bucket << 1 | 1
            count += 1
        else:
            put(state, later, row, state.running_gpus[at], key)
            later += 1
    return count, later


@njit_inlined
def _part_by_key(state: Any, count: int, most: float) -> None:
    """Put the candidates into `line` by bins, of which there are as many.

    Most are later than who was the last to run when a round began before; they share the last bin.
    """
    reach = BEYOND * state.clock[REACHED]
    if not 0.0 < reach < most:
        reach = most
    line = state.line_key, state.line
    spread(state.aside_key[:count], state.aside[:count], line, state.ends, 0.0, reach)


@njit_inlined
def _put_in_order(state: Any, begin: int, end: int) -> None:
    """Put a bin of `line` in order by (key, row)."""
    if end - begin > 1:
        keys, codes = state.line_key[begin:end], state.line[begin:end]
        sort_keyed(keys, codes, state.spare_key, state.spare, state.bins)


@njit_inlined
def _walk(rows: Any, state: Any, count: int) -> tuple[int, int, int, int, int]:
    """Go through the candidates in order as far as nobody in line may come before them.

    Returns how many were gone through; of these, how many run that ran, how many are to be stopped,
    which lie first in `line`, and how many are aside; and the GPUs that are left.
    """
    room = len(state.servers.free) * (len(state.servers.histogram) - 1)
    kept, stopped, aside, last, at, each, end = 0, 0, 0, -1.0, 0, 0, 0
    while at < count and room >= rows.sizes[0]:
        while at == end:
            end = state.ends[each]
            each += 1
            _put_in_order(state, at, end)
        key, code = state.line_key[at], state.line[at]
        if key > last:
            last = _listed_from(rows, state, room)
            if key > last:
                break
        at += 1
        row, bucket = code >> CODE, (code & BUCKET) >> 1
        gpus = rows.sizes[bucket]
        fits = gpus <= room
        if fits:
            room -= gpus
            state.clock[REACHED] = key
        if code & 1 == 0:
            if fits:
                state.aside_key[aside], state.aside[aside] = key, row
                aside += 1
                state.gone[bucket] += 1
            else:
                wait_in_front(state, bucket, key, row)
        elif fits:
            run_at(state, kept, row, gpus, key)
            kept += 1
        else:
            state.line_key[stopped], state.line[stopped] = key, row
            stopped += 1
    state.index[QUEUED] -= aside
    return at, kept, stopped, aside, room


@njit_inlined
def _listed_from(rows: Any, state: Any, room: int) -> float:
    """A key that all jobs exceed that are listed and take no more GPUs than that."""
    least = np.inf
    for bucket in range(len(rows.sizes)):
        if rows.sizes[bucket] > room:
            break  # buckets are in order of size
        if state.size[bucket] > 0:
            least = min(least, state.limit[bucket])
    return least


@njit_inlined
def _hand_back(rows: Any, state: Any, at: int, count: int, later: int) -> int:
    """Put candidates that were not gone through into fronts, and into `order`.

    Returns how many are in `order`.
    """
    for each in range(at, count):
        key, code = state.line_key[each], state.line[each]
        row, bucket = code >> CODE, (code & BUCKET) >> 1
        if code & 1 == 0:
            wait_in_front(state, bucket, key, row)
        else:
            put(state, later, row, rows.sizes[bucket], key)
            later += 1
    return later
