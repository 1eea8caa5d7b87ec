"""The head's reservation: when so many GPUs are predicted to be free, and which others then are.

Ends that are predicted stand in order of time, the next one last: most that come and go are near
it. Of jobs that run on past theirs only the GPUs are counted. A change is O(running jobs) moves of
a few bytes, mostly some dozens; a reservation is O(k) for the k first ends.
Source: EASY backfilling, Lifka, The ANL/IBM SP scheduling system (JSSPP 1995).
"""

from __future__ import annotations

from typing import Any

from optsched.compiled_loops import njit_inlined
from optsched.online.simulator.state import DUE, OVERDUE


@njit_inlined
def expect(state: Any, due: float, gpus: int) -> None:
    """Note when a job that has just started is predicted to end."""
    if due <= state.overdue_at[0]:
        state.index[OVERDUE] += gpus
        return
    at = state.index[DUE]
    state.index[DUE] = at + 1
    while at > 0 and state.due_time[at - 1] < due:
        state.due_time[at] = state.due_time[at - 1]
        state.due_gpus[at] = state.due_gpus[at - 1]
        at -= 1
    state.due_time[at] = due
    state.due_gpus[at] = gpus


@njit_inlined
def expect_no_more(state: Any, due: float, gpus: int) -> None:
    """Forget a job that was expected, as it has ended."""
    if due <= state.overdue_at[0]:
        state.index[OVERDUE] -= gpus
        return
    last = state.index[DUE] - 1
    at, time, held = last, state.due_time[last], state.due_gpus[last]
    while time != due or held != gpus:
        at -= 1
        time, state.due_time[at] = state.due_time[at], time
        held, state.due_gpus[at] = state.due_gpus[at], held
    state.index[DUE] = last


@njit_inlined
def reservation(state: Any, gpus: int, now: float) -> tuple[float, int]:
    """When so many GPUs are predicted to be free, and how many others will be free then.

    A job that runs on past its prediction is taken to end now.
    """
    at, start = state.index[DUE], now
    while at > 0 and state.due_time[at - 1] <= now:
        at -= 1
        state.index[OVERDUE] += state.due_gpus[at]
    state.index[DUE] = at
    state.overdue_at[0] = now
    free = state.servers.total[0] + state.index[OVERDUE]
    while at > 0 and free < gpus:
        at -= 1
        free += state.due_gpus[at]
        start = state.due_time[at]
    while at > 0 and state.due_time[at - 1] <= start:
        at -= 1
        free += state.due_gpus[at]
    return start, free - gpus
