"""Who is walked through in a full pass: running jobs that one who waits may come before.

Complexity: O(R) for R running jobs by rounds; by remaining work O(sizes) where nobody who waits can
have come to the front, else O(R) for each job laid aside or walked through.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.compiled_loops import njit_borrowing, njit_inlined
from optsched.online.simulator.heaps import push_keyed
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
    """Put the running jobs that come after the first that waits onto the heap; returns how many.

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
            push_keyed(state.order_key, state.order_row, last, key, row)
            last += 1
    return last


@njit_inlined
def claims(rows: Any, rules: Any, state: Any, now: float) -> tuple[int, int, int]:
    """Lay aside jobs that wait, fit beside all that come sooner, and come before some that run.

    Where these take more than what is free, the last of the running jobs that make up for it go to
    the end of `running` and onto the heap, until the next such job would come after one of them.
    Returns how many do, the GPUs laid claim to, and how many jobs are aside.
    Keys of jobs that run only fall, and are looked at only where that may change something:
    `state.ahead` counts by the keys last seen, and is at most what comes before who comes no sooner
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
            if state.size[bucket] == 0 or (
                state.ahead[bucket] > room and _is_marked(state, bucket)
            ):
                continue
            at = state.begin[bucket]
            if best == NONE or is_sooner(state, state.key[at], state.row[at], best):
                best = bucket
        if best == NONE or (last > 0 and not is_before(state, best)):
            break
        room = every - claimed - rows.sizes[best]
        if room < every - free:  # it takes more than what is free
            key, row = state.key[state.begin[best]], state.row[state.begin[best]]
            ahead = _ahead(state, key, row)
            if ahead <= room and not looked:
                _look_at_running(rows, rules, state, now, key)
                looked = True
                ahead = _ahead(state, key, row)
            if ahead > room:
                state.ahead[best] = ahead
                state.mark_key[best], state.mark_row[best] = key, row
                continue
        state.aside_key[aside], state.aside[aside] = dequeue(rows, state, best)
        aside += 1
        claimed += rows.sizes[best]
        while held < claimed - free:
            held += _add_last(state, last)
            last += 1
    return last, claimed, aside


@njit_inlined
def is_before(state: Any, bucket: int) -> bool:
    """Whether the first that waits in a bucket comes before the first of the running ones."""
    at = state.begin[bucket]
    if state.key[at] != state.order_key[0]:
        return state.key[at] < state.order_key[0]
    return state.row[at] < state.order_row[0]


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
def _is_marked(state: Any, bucket: int) -> bool:
    """Whether the first that waits in a bucket comes no sooner than its mark."""
    at = state.begin[bucket]
    if state.key[at] != state.mark_key[bucket]:
        return state.key[at] > state.mark_key[bucket]
    return state.row[at] >= state.mark_row[bucket]


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
    for bucket in range(len(rows.sizes)):
        state.ahead[bucket] = _ahead(state, state.mark_key[bucket], state.mark_row[bucket])


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
    """Put the last running job that is not there onto the heap of `count`; returns its GPUs."""
    end = state.index[RUNNING] - count - 1
    found = end
    for at in range(end):
        key = state.running_key[at]
        if key > state.running_key[found] or (
            key == state.running_key[found] and state.running[at] > state.running[found]
        ):
            found = at
    key, row, gpus = state.running_key[found], state.running[found], state.running_gpus[found]
    run_at(state, found, state.running[end], state.running_gpus[end], state.running_key[end])
    run_at(state, end, row, gpus, key)
    push_keyed(state.order_key, state.order_row, count, key, row)
    return gpus
