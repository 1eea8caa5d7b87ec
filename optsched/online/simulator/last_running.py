"""Running jobs by remaining work: those that come last are in order, the others listed in none.

The last ones are those that, by (key, row) as last seen, come after a limit. Keys of jobs that run
only fall, so that the last by the keys of now is found by looking at the last as seen before, again
and again. Complexity: O(1) for who is not among the last or comes after all others, else
O(sqrt R) of R running jobs, where their keys are spread out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.compiled_loops import njit_borrowing, njit_inlined
from optsched.online.simulator.bins import FEW, LONG, insert_keyed, sort_keyed
from optsched.online.simulator.preemption_state import (
    FROM,
    KIND,
    LAST,
    LIMIT,
    LIMIT_ROW,
    MOST_LAST,
    NONE,
    PLACE,
    RUNNING,
)
from optsched.online.simulator.waiting_line import key_of


@njit_inlined
def run_at(state: Any, place: int, row: int, gpus: int, key: float) -> None:
    """Put a running job at a place among those listed."""
    state.running[place], state.running_gpus[place] = row, gpus
    state.running_key[place] = key
    state.number[row, PLACE] = place


@njit_inlined
def run_by_key(rows: Any, state: Any, place: int, row: int, key: float) -> None:
    """Put a running job among the last if it belongs there, else at a place among those listed."""
    if not _is_last(state, key, row):
        run_at(state, place, row, gpus_of(rows, state, row), key)
        return
    run_last(state, row, key)
    if state.index[LAST] > state.index[MOST_LAST]:
        _let_go(rows, state, place)


@njit_inlined
def run_last(state: Any, row: int, key: float) -> None:
    """Put a running job among the last."""
    state.number[row, PLACE] = NONE
    insert_keyed(state.last_key, state.last_row, state.index[LAST], key, row)
    state.index[LAST] += 1


@njit_inlined
def gpus_of(rows: Any, state: Any, row: int) -> int:
    """A job's GPUs."""
    return rows.gpus[state.number[row, KIND]]


@njit_inlined
def leave(state: Any, row: int) -> float:
    """Take a job out of those that run; returns its key, as last seen."""
    place = state.number[row, PLACE]
    state.index[RUNNING] -= 1
    if place == NONE:
        return _leave_last(state, row)
    key, end = state.running_key[place], state.index[RUNNING] - state.index[LAST]
    if place < end:
        run_at(state, place, state.running[end], state.running_gpus[end], state.running_key[end])
    return key


@njit_inlined
def see_last(rows: Any, rules: Any, state: Any, now: float) -> int:
    """Where the last by the keys of now is among the last ones. Somebody runs."""
    while True:
        if state.index[LAST] == 0:
            _choose_last(state)
        at = state.index[LAST] - 1
        row = state.last_row[at]
        ran = max(0.0, now - state.job[row, FROM])
        key = key_of(rows, rules, state, row, ran, np.inf)
        if key == state.last_key[at]:
            return at
        if _is_last(state, key, row):
            insert_keyed(state.last_key, state.last_row, at, key, row)
        else:
            state.index[LAST] = at
            run_at(state, state.index[RUNNING] - at - 1, row, gpus_of(rows, state, row), key)


@njit_inlined
def _leave_last(state: Any, row: int) -> float:
    """Take a job out of the last ones; returns its key, as last seen."""
    at = 0
    while state.last_row[at] != row:
        at += 1
    key, end = state.last_key[at], state.index[LAST] - 1
    state.index[LAST] = end
    for each in range(at, end):
        state.last_key[each] = state.last_key[each + 1]
        state.last_row[each] = state.last_row[each + 1]
    return key


@njit_borrowing
def _choose_last(state: Any) -> None:
    """Let some of those that are listed be the last ones; there is none before."""
    count = state.index[RUNNING]
    _choose_limit(state, count)
    to, last = 0, 0
    for at in range(count):
        key, row = state.running_key[at], state.running[at]
        if _is_last(state, key, row):
            state.last_key[last], state.last_row[last] = key, row
            state.number[row, PLACE] = NONE
            last += 1
        else:
            run_at(state, to, row, state.running_gpus[at], key)
            to += 1
    sort_keyed(
        state.last_key[:last], state.last_row[:last], state.spare_key, state.spare, state.bins
    )
    state.index[LAST], state.index[MOST_LAST] = last, max(LONG, 2 * last)


@njit_inlined
def _choose_limit(state: Any, count: int) -> None:
    """Let the second last by (key, row) of some of those that are listed be the limit."""
    key, row, last_key, last_row = -1.0, NONE, -1.0, NONE
    if count > FEW:
        for at in range(0, count, int(2.0 * np.sqrt(count))):
            each_key, each = state.running_key[at], state.running[at]
            if each_key > last_key or (each_key == last_key and each > last_row):
                key, row, last_key, last_row = last_key, last_row, each_key, each
            elif each_key > key or (each_key == key and each > row):
                key, row = each_key, each
    state.clock[LIMIT], state.index[LIMIT_ROW] = key, row


@njit_inlined
def _is_last(state: Any, key: float, row: int) -> bool:
    """Whether a running job is among the last: it comes after the limit."""
    limit = state.clock[LIMIT]
    return key > limit or (key == limit and row > state.index[LIMIT_ROW])


@njit_borrowing
def _let_go(rows: Any, state: Any, place: int) -> None:
    """List the first half of the last ones from a place on."""
    last = state.index[LAST]
    end = last // 2
    state.clock[LIMIT], state.index[LIMIT_ROW] = state.last_key[end - 1], state.last_row[end - 1]
    for at in range(end):
        row = state.last_row[at]
        run_at(state, place + at, row, gpus_of(rows, state, row), state.last_key[at])
    for at in range(end, last):
        state.last_key[at - end], state.last_row[at - end] = state.last_key[at], state.last_row[at]
    state.index[LAST] = last - end
