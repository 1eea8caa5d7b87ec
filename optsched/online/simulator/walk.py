"""Who is walked through in a full pass: running jobs that one who waits may come before.

Complexity: O(R) for R running jobs by rounds. By remaining work these are a heap, the last first:
O(sizes) where nobody who waits can have come to the front, else O(log R) for each job laid aside,
walked through, or seen to have come nearer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.compiled_loops import njit_borrowing, njit_inlined
from optsched.online.simulator.heaps import part_keyed
from optsched.online.simulator.preemption_state import FROM, NONE, PLACE, RUNNING
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

    Parameters
    ----------
    rows : Rows
        The jobs.
    rules : Rules
        The policy's.
    state : State
        The run so far; edited.
    now : float
        The instant.
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

    Where these take more than what is free, the last of the running jobs that make up for it go to
    the end of `running` and into `order`, the last first, until the next such job would come after
    one of them. Returns how many do, the GPUs laid claim to, and how many jobs are aside.
    `state.ahead` counts by keys seen before, and is at most what comes before who comes no sooner
    than the mark.

    Parameters
    ----------
    rows : Rows
        The jobs.
    rules : Rules
        The policy's.
    state : State
        The run so far; edited.
    now : float
        The instant.
    """
    free = state.servers.total[0]
    every = len(state.servers.free) * (len(state.servers.histogram) - 1)
    last, held, claimed, aside = 0, 0, 0, 0
    while True:
        best = NONE
        for bucket in range(len(rows.sizes)):
            room = every - claimed - rows.sizes[bucket]
            if state.head[bucket] == NONE or (
                state.ahead[bucket] > room and _is_marked(state, bucket)
            ):
                continue
            if best == NONE or is_sooner(state, state.head_key[bucket], state.head[bucket], best):
                best = bucket
        if best == NONE or (last > 0 and not is_before(state, best, last - 1)):
            break
        before, missing = last, claimed + rows.sizes[best] - free - held
        while missing > 0 and last < state.index[RUNNING]:
            _see_last(rows, rules, state, now, last)
            if is_sooner(state, state.running_key[0], state.running[0], best):
                break
            missing -= _add_last(state, last)
            last += 1
        if missing > 0:
            state.mark_key[best], state.mark_row[best] = state.head_key[best], state.head[best]
            state.ahead[best] = every - claimed - rows.sizes[best] + missing
            while last > before:
                last -= 1
                rise(state, state.index[RUNNING] - last - 1)
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
def run_at(state: Any, place: int, row: int, gpus: int, key: float) -> None:
    """Put a running job at a place among them.

    Parameters
    ----------
    state : State
        The run so far; edited.
    place : int
        Where.
    row, gpus : int
        The job's.
    key : float
        Its key, as last seen.
    """
    state.running[place], state.running_gpus[place] = row, gpus
    state.running_key[place] = key
    state.number[row, PLACE] = place


@njit_inlined
def leave(state: Any, place: int) -> None:
    """Take who runs at a place out of `running`, which stays a heap if it was."""
    last = state.index[RUNNING] - 1
    state.index[RUNNING] = last
    if place < last:
        row = state.running[last]
        _sink(state, place, last, row, state.running_gpus[last], state.running_key[last])
        rise(state, state.number[row, PLACE])


@njit_inlined
def go_through(
    rows: Any, state: Any, kept: int, last: int, aside: int, room: int
) -> tuple[int, int, int]:
    """Go through `order` and those that wait by (key, row): who fits into the room runs.

    Where all in a part of `order` fit beside whoever waits and comes before its end, they need not
    be put in order. A part in which somebody may not fit is parted again, about one of its jobs.
    Returns how many run that ran, how many are to be stopped, which lie first in `order`, and how
    many are aside.

    Parameters
    ----------
    rows : Rows
        The jobs.
    state : State
        The run so far; edited: who waits and is to run is laid aside.
    kept : int
        Jobs that run on.
    last : int
        Those in `order`.
    aside : int
        Jobs that are aside already.
    room : int
        Free GPUs that nobody has claimed.
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
    """Put a running job at a place in `order`.

    Parameters
    ----------
    state : State
        The run so far; edited.
    at : int
        Where.
    row, gpus : int
        The job's.
    key : float
        Its key.
    """
    state.order_key[at], state.order_row[at], state.order_gpus[at] = key, row, gpus


@njit_inlined
def _is_marked(state: Any, bucket: int) -> bool:
    """Whether the first that waits in a bucket comes no sooner than its mark."""
    if state.head_key[bucket] != state.mark_key[bucket]:
        return state.head_key[bucket] > state.mark_key[bucket]
    return state.head[bucket] >= state.mark_row[bucket]


@njit_inlined
def _see_last(rows: Any, rules: Any, state: Any, now: float, count: int) -> None:
    """Let the first in `running` be the last by the keys of now, but for those that are in `order`.

    Keys of jobs that run only fall.

    Parameters
    ----------
    rows : Rows
        The jobs.
    rules : Rules
        The policy's.
    state : State
        The run so far; edited.
    now : float
        The instant.
    count : int
        How many are in `order`.
    """
    while True:
        row = state.running[0]
        ran = max(0.0, now - state.job[row, FROM])
        key = key_of(rows, rules, state, row, ran, np.inf)
        if key == state.running_key[0]:
            return
        _sink(state, 0, state.index[RUNNING] - count, row, state.running_gpus[0], key)


@njit_inlined
def _add_last(state: Any, count: int) -> int:
    """Put the first in `running` into `order`, and to the end; returns its GPUs."""
    end = state.index[RUNNING] - count - 1
    key, row, gpus = state.running_key[0], state.running[0], state.running_gpus[0]
    _sink(state, 0, end, state.running[end], state.running_gpus[end], state.running_key[end])
    run_at(state, end, row, gpus, key)
    put(state, count, row, gpus, key)
    return gpus


@njit_inlined
def rise(state: Any, at: int) -> None:
    """Let a running job rise to where it belongs: nobody comes after whom he stands below.

    Parameters
    ----------
    state : State
        The run so far; edited: all before that place stand where they belong.
    at : int
        The job's place.
    """
    key, row, gpus = state.running_key[at], state.running[at], state.running_gpus[at]
    while at > 0:
        above = (at - 1) >> 1
        if not _is_later(state, key, row, above):
            break
        run_at(state, at, state.running[above], state.running_gpus[above], state.running_key[above])
        at = above
    run_at(state, at, row, gpus, key)


@njit_inlined
def _sink(state: Any, at: int, end: int, row: int, gpus: int, key: float) -> None:
    """Put a running job there or below, where it belongs.

    Parameters
    ----------
    state : State
        The run so far; edited.
    at, end : int
        A place, and how many in `running` are in order but for it.
    row, gpus : int
        The job's.
    key : float
        Its key.
    """
    below = 2 * at + 1
    while below < end:
        if below + 1 < end and not _is_later(
            state, state.running_key[below], state.running[below], below + 1
        ):
            below += 1
        if _is_later(state, key, row, below):
            break
        run_at(state, at, state.running[below], state.running_gpus[below], state.running_key[below])
        at, below = below, 2 * below + 1
    run_at(state, at, row, gpus, key)


@njit_inlined
def _is_later(state: Any, key: float, row: int, at: int) -> bool:
    """Whether a job comes after the running job at a place."""
    return key > state.running_key[at] or (key == state.running_key[at] and row > state.running[at])
