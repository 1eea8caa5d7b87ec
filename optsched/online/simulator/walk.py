"""Who is walked through in a full pass: running jobs that one who waits may come before.

Complexity: O(R) for R running jobs by rounds; by remaining work O(sizes) where nobody who waits can
have come to the front, else O(R) for each job laid aside or walked through.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.compiled_loops import njit_borrowing, njit_inlined
from optsched.online.simulator.heaps import part_keyed
from optsched.online.simulator.preemption import FROM, NONE, RUNNING, SHARE
from optsched.online.simulator.waiting_line import (
    dequeue,
    fair_level,
    first_fitting,
    is_sooner,
    key_of,
    rank_again,
)


@njit_borrowing
def come_after(rows: Any, rules: Any, state: Any, now: float) -> int:
    """Put the running jobs that come after the first that waits into `order`; returns how many.

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
    level = np.inf
    if rules.order == SHARE:
        level = fair_level(rows, state)
        rank_again(rows, state, level)
    first = first_fitting(rows, state, rows.sizes[-1])
    kept, last = 0, 0
    for at in range(state.index[RUNNING]):
        row = state.running[at]
        ran = max(0.0, now - state.job[row, FROM])
        key = key_of(rows, rules, state, row, ran, level)
        if is_sooner(state, key, row, first):
            run_at(state, kept, row, state.running_gpus[at], key)
            kept += 1
        else:
            _put(state, last, row, state.running_gpus[at], key)
            last += 1
    return last


@njit_inlined
def claims(rows: Any, rules: Any, state: Any, now: float) -> tuple[int, int, int]:
    """Lay aside jobs that wait, fit beside all that come sooner, and come before some that run.

    Where these take more than what is free, the last of the running jobs that make up for it go to
    the end of `running` and into `order`, the last first, until the next such job would come after
    one of them. Returns how many do, the GPUs laid claim to, and how many jobs are aside.
    Keys of jobs that run only fall, and are looked at only where that may change something:
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
    last, held, claimed, aside, looked = 0, 0, 0, 0, False
    while True:
        best = NONE
        for bucket in range(len(rows.sizes)):
            room = every - claimed - rows.sizes[bucket]
            if state.front[bucket] == 0 or (
                state.ahead[bucket] > room and _is_marked(state, bucket)
            ):
                continue
            at = state.begin[bucket]
            if best == NONE or is_sooner(state, state.front_key[at], state.front_row[at], best):
                best = bucket
        if best == NONE or (last > 0 and not is_before(state, best, last - 1)):
            break
        room = every - claimed - rows.sizes[best]
        if room < every - free:  # it takes more than what is free
            key, row = state.front_key[state.begin[best]], state.front_row[state.begin[best]]
            ahead = _ahead(state, key, row)
            if ahead <= room and not looked:
                _look_at_running(rows, rules, state, now, key)
                looked = True
                ahead = _ahead(state, key, row)
            if ahead > room:
                state.ahead[best] = ahead
                state.mark_key[best], state.mark_row[best] = key, row
                continue
        state.aside_key[aside], state.aside[aside] = dequeue(state, best)
        aside += 1
        claimed += rows.sizes[best]
        while held < claimed - free:
            held += _add_last(state, last)
            last += 1
    return last, claimed, aside


@njit_inlined
def is_before(state: Any, bucket: int, at: int) -> bool:
    """Whether the first that waits in a bucket comes before the running job there in `order`."""
    first = state.begin[bucket]
    if state.front_key[first] != state.order_key[at]:
        return state.front_key[first] < state.order_key[at]
    return state.front_row[first] < state.order_row[at]


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
    state.place[row] = place


@njit_inlined
def go_through(
    rows: Any, state: Any, last: int, aside: int, room: int
) -> tuple[int, int, int, int]:
    """Go through `order` and those that wait by (key, row): who fits into the room runs.

    Where all in a part of `order` fit beside whoever waits and comes before its end, they need not
    be put in order. A part in which somebody may not fit is parted again, about one of its jobs.
    Returns how many run that ran, how many of those in `order` were passed over, which lie first
    there, from where on the others are left, and how many are aside.

    Parameters
    ----------
    rows : Rows
        The jobs.
    state : State
        The run so far; edited: who waits and is to run is laid aside.
    last : int
        Jobs in `order`, which are the last in `running`.
    aside : int
        Jobs that are aside already.
    room : int
        GPUs that nobody else claims.
    """
    kept, stopped, at, end, parts = state.index[RUNNING] - last, 0, 0, last, 0
    needed = 0
    for each in range(last):
        needed += state.order_gpus[each]
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
            _put(state, stopped, row, state.order_gpus[at], key)
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
    return kept, stopped, at, aside


@njit_inlined
def _put(state: Any, at: int, row: int, gpus: int, key: float) -> None:
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
    at = state.begin[bucket]
    if state.front_key[at] != state.mark_key[bucket]:
        return state.front_key[at] > state.mark_key[bucket]
    return state.front_row[at] >= state.mark_row[bucket]


@njit_inlined
def _look_at_running(rows: Any, rules: Any, state: Any, now: float, least: float) -> None:
    """See the keys that the running jobs have now, where they were not below one in question.

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
    least : float
        That key: of the first that is asked about in a pass, so that later ones are above.
    """
    for at in range(state.index[RUNNING]):
        if state.running_key[at] < least:
            continue
        row = state.running[at]
        ran = max(0.0, now - state.job[row, FROM])
        state.running_key[at] = key_of(rows, rules, state, row, ran, np.inf)


@njit_inlined
def _ahead(state: Any, least: float, row: int) -> int:
    """GPUs of the running jobs that come before a key and row."""
    gpus = 0
    for at in range(state.index[RUNNING]):
        key = state.running_key[at]  # no branches: a processor does eight at once
        is_before = (key < least) | ((key == least) & (state.running[at] < row))
        gpus += is_before * state.running_gpus[at]
    return gpus


@njit_inlined
def _add_last(state: Any, count: int) -> int:
    """Put the last running job that is not there into `order`; returns its GPUs."""
    end = state.index[RUNNING] - count - 1
    found, key = end, state.running_key[end]
    for at in range(end):
        if state.running_key[at] >= key and (
            state.running_key[at] > key or state.running[at] > state.running[found]
        ):
            found, key = at, state.running_key[at]
    row, gpus = state.running[found], state.running_gpus[found]
    run_at(state, found, state.running[end], state.running_gpus[end], state.running_key[end])
    run_at(state, end, row, gpus, key)
    _put(state, count, row, gpus, key)
    return gpus
