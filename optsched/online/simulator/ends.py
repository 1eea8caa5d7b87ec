"""When running jobs end: the ends of those that end soon are in order, the next one last.

How soon is chosen anew when nobody is left who ends by then. Complexity: O(sqrt R) an end for R
running jobs, where their ends are spread out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.compiled_loops import njit_borrowing, njit_inlined
from optsched.online.simulator.bins import FEW, LONG, insert_keyed, sort_keyed
from optsched.online.simulator.preemption_state import (
    END,
    ENDS,
    GONE,
    HORIZON,
    LAST,
    LEFT,
    MOST_ENDS,
    TIMES,
)


@njit_inlined
def next_end(state: Any) -> float:
    """When the next job ends; infinite if none ends soon."""
    at = state.index[ENDS]
    return -state.end_key[at - 1] if at > 0 else np.inf


@njit_inlined
def expect_end(state: Any, running: int, row: int) -> None:
    """Note the end of a job that starts, if it ends soon."""
    end = state.job[row, END]
    if end <= state.clock[HORIZON] and state.index[ENDS] >= state.index[MOST_ENDS]:
        expect_ends(state, running, -np.inf, state.clock[HORIZON])
    if end <= state.clock[HORIZON]:
        insert_keyed(state.end_key, state.end_row, state.index[ENDS], -end, row)
        state.index[ENDS] += 1


@njit_borrowing
def expect_ends(state: Any, running: int, least: float, most: float) -> None:
    """Note the ends of those that end soon, and forget those of jobs stopped since."""
    every, count = running + state.index[LAST], 0
    horizon = min(most, max(least, _soon(state, running)))
    for at in range(every):
        row = _who(state, running, at)
        end = state.job[row, END]
        if end <= horizon:
            state.end_key[count], state.end_row[count] = -end, row
            count += 1
    sort_keyed(
        state.end_key[:count], state.end_row[:count], state.spare_key, state.spare, state.bins
    )
    state.index[ENDS], state.clock[HORIZON] = count, horizon
    state.index[MOST_ENDS] = min(max(LONG, 2 * count), len(state.end_key))


@njit_inlined
def forget_stopped(state: Any) -> None:
    """Let the next end be that of a job that runs."""
    while state.index[ENDS] > 0:
        at = state.index[ENDS] - 1
        row = state.end_row[at]
        runs = state.number[row, TIMES] > 0 and state.job[row, LEFT] != GONE
        if runs and state.job[row, END] == -state.end_key[at]:
            return
        state.index[ENDS] = at


@njit_inlined
def _soon(state: Any, running: int) -> float:
    """A time by which some of the running jobs end: the second least of so many ends."""
    every = running + state.index[LAST]
    if every <= FEW:
        return np.inf
    first, second = np.inf, np.inf
    for at in range(0, every, int(2.0 * np.sqrt(every))):
        end = state.job[_who(state, running, at), END]
        if end < first:
            first, second = end, first
        elif end < second:
            second = end
    return second


@njit_inlined
def _who(state: Any, running: int, at: int) -> int:
    """The row of a running job."""
    return state.running[at] if at < running else state.last_row[at - running]
