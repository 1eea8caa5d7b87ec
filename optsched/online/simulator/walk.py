"""Who is walked through in a full pass: running jobs that one who waits may come before.

Complexity: O(R) for R running jobs by rounds. By remaining work the last of these are in order:
O(sizes) where nobody who waits can have come to the front, and then what `last_running` says for
each job walked through, or seen to have come nearer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.compiled_loops import njit_borrowing, njit_inlined
from optsched.online.simulator.heaps import part_keyed
from optsched.online.simulator.last_running import gpus_of, run_at, run_last, see_last
from optsched.online.simulator.preemption_state import FROM, LAST, NONE, RUNNING
from optsched.online.simulator.waiting_line import (
    dequeue,
    first_fitting,
    is_sooner,
    key_of,
)


@njit_borrowing
def come_after(rows: Any, rules: Any, state: Any, now: float) -> tuple[int, int]:
    """Put the running jobs that come after the first that waits into `order`.

    Returns how many stay, and how many are there.
    """
    first = first_fitting(rows, state, rows.sizes[-1])
    kept, last = 0, 0
    for at in range(state.index[RUNNING]):
        row = state.running[at]
        ran = max(0.0, now - state.job[row, FROM])
        key = key_of(rows, rules, state, row, ran, np.inf)
        if is_sooner(state, key, row, first):
            run_at(state, kept, row, state.running_gpus[at], key)
            kept += 1
        else:
            put(state, last, row, state.running_gpus[at], key)
            last += 1
    return kept, last


@njit_inlined
def claims(rows: Any, rules: Any, state: Any, now: float) -> tuple[int, int, int]:
    """Lay aside jobs that wait, fit beside all that come sooner, and come before some that run.

    Where these take more than what is free, the last of the running jobs that make up for it leave
    those that run for `order`, the last first, until the next such job would come after one of
    them. Returns how many do, the GPUs laid claim to, and how many jobs are aside.
    `state.ahead` counts by keys seen before, and is at most what comes before who comes no sooner
    than the mark.
    """
    free = state.servers.total[0]
    every = len(state.servers.free) * (len(state.servers.histogram) - 1)
    last, held, claimed, aside = 0, 0, 0, 0
    forward = _come_forward(rows, state, every)
    while True:
        best = _first_forward(rows, state, forward, every - claimed)
        if best == NONE or (last > 0 and not is_before(state, best, last - 1)):
            break
        before, missing = last, claimed + rows.sizes[best] - free - held
        while missing > 0 and state.index[RUNNING] > 0:
            at = see_last(rows, rules, state, now)
            key, row = state.last_key[at], state.last_row[at]
            if is_sooner(state, key, row, best):
                break
            gpus = gpus_of(rows, state, row)
            put(state, last, row, gpus, key)
            state.index[RUNNING] -= 1
            state.index[LAST] = at
            missing -= gpus
            last += 1
        if missing > 0:
            state.mark_key[best], state.mark_row[best] = state.head_key[best], state.head[best]
            state.ahead[best] = every - claimed - rows.sizes[best] + missing
            while last > before:
                last -= 1
                run_last(state, state.order_row[last], state.order_key[last])
                state.index[RUNNING] += 1
            continue
        state.aside_key[aside], state.aside[aside] = dequeue(state, best)
        aside += 1
        claimed += rows.sizes[best]
        held = claimed - free - missing
    return last, claimed, aside


@njit_inlined
def is_before(state: Any, bucket: int, at: int) -> bool:
    """Whether the first that waits in a bucket comes before the running job there in `order`."""
    if state.head_key[bucket] != state.order_key[at]:
        return state.head_key[bucket] < state.order_key[at]
    return state.head[bucket] < state.order_row[at]


@njit_inlined
def go_through(
    rows: Any, state: Any, kept: int, last: int, aside: int, room: int
) -> tuple[int, int, int]:
    """Go through `order` and those that wait by (key, row): who fits into the room runs.

    Where all in a part of `order` fit beside whoever waits and comes before its end, they need not
    be put in order. A part in which somebody may not fit is parted again, about one of its jobs.
    Returns how many run that ran, how many are to be stopped, which lie first in `order`, and how
    many are aside.
    """
    stopped, at, end, parts = 0, 0, last, 0
    if last == 0:
        return kept, stopped, aside
    needed = 0
    for each in range(last):
        needed += state.order_gpus[each]
    room += needed
    waiting = first_fitting(rows, state, room)
    while at < last and room >= rows.sizes[0]:
        if at == end:
            parts -= 1
            end, needed = state.parts[parts, 0], state.parts[parts, 1]
        is_one = at + 1 == end
        comes = waiting >= 0 and (
            is_before(state, waiting, at)
            if is_one
            else end == last or is_before(state, waiting, end)
        )
        if comes and (is_one or rows.sizes[waiting] <= room - needed):
            state.aside_key[aside], state.aside[aside] = dequeue(state, waiting)
            aside += 1
            room -= rows.sizes[waiting]
            waiting = first_fitting(rows, state, room)
        elif not comes and needed <= room:
            for each in range(at, end):
                key, row = state.order_key[each], state.order_row[each]
                run_at(state, kept, row, state.order_gpus[each], key)
                kept += 1
            at, room = end, room - needed
            if waiting >= 0 and rows.sizes[waiting] > room:
                waiting = first_fitting(rows, state, room)
        elif is_one:
            key, row = state.order_key[at], state.order_row[at]
            put(state, stopped, row, state.order_gpus[at], key)
            stopped += 1
            at = end
        else:
            middle = part_keyed(state.order_key, state.order_row, state.order_gpus, at, end)
            gpus = state.order_gpus[middle]
            sooner = 0
            for each in range(at, middle):
                sooner += state.order_gpus[each]
            if middle + 1 < end:
                state.parts[parts, 0], state.parts[parts, 1] = end, needed - sooner - gpus
                parts += 1
            end, needed = middle + 1, gpus
            if at < middle:
                state.parts[parts, 0], state.parts[parts, 1] = end, needed
                parts += 1
                end, needed = middle, sooner
    for each in range(at, last):
        put(state, stopped, state.order_row[each], state.order_gpus[each], state.order_key[each])
        stopped += 1
    return kept, stopped, aside


@njit_inlined
def put(state: Any, at: int, row: int, gpus: int, key: float) -> None:
    """Put a running job at a place in `order`."""
    state.order_key[at], state.order_row[at], state.order_gpus[at] = key, row, gpus


@njit_inlined
def _come_forward(rows: Any, state: Any, room: int) -> int:
    """List the buckets whose first may fit into the room beside all that come sooner.

    A processor guesses at branches, here in vain: there is none. Returns how many.
    """
    count = 0
    for bucket in range(len(rows.sizes)):
        state.forward[count] = bucket
        count += _may_fit(rows, state, bucket, room)
    return count


@njit_inlined
def _first_forward(rows: Any, state: Any, count: int, room: int) -> int:
    """The bucket of the first in line of those listed that may still fit; NONE where nobody may."""
    best, best_key, best_row = NONE, np.inf, NONE
    for each in range(count):
        bucket = state.forward[each]
        key, row = state.head_key[bucket], state.head[bucket]
        is_sooner = (key < best_key) | ((key == best_key) & (row < best_row)) | (best == NONE)
        if _may_fit(rows, state, bucket, room) & is_sooner:
            best, best_key, best_row = bucket, key, row
    return best


@njit_inlined
def _may_fit(rows: Any, state: Any, bucket: int, room: int) -> bool:
    """Whether somebody waits in a bucket, and may fit beside all that come sooner."""
    key, row = state.head_key[bucket], state.head[bucket]
    mark, mark_row = state.mark_key[bucket], state.mark_row[bucket]
    comes_before = (key < mark) | ((key == mark) & (row < mark_row))
    return (row != NONE) & (comes_before | (state.ahead[bucket] + rows.sizes[bucket] <= room))
