"""The event loop. At one instant: ends, virtual completions, arrivals, then one scheduling pass.

Events are the ends of jobs, completions of the virtual machine, arrivals and the end of the
head's window; passes happen only there. With slots an event acts at the next multiple.
Complexity: O(log n) an event, O(sqrt R) an end of R running jobs, and O(gpus a server + pieces) an
offer; flat in servers.
Source: models/online/README.md, "Semantics".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.compiled_loops import njit_borrowing, njit_inlined
from optsched.online.simulator.offers import give_back
from optsched.online.simulator.passes import current_head, enqueue, predicted_end, schedule
from optsched.online.simulator.reservation import expect_no_more
from optsched.online.simulator.state import NEXT, PIECES, RESERVE, RUNNING
from optsched.online.simulator.sure_ends import next_end, pop_end
from optsched.online.simulator.virtual_machine import arrive, complete, next_completion

DONE, MORE, NEEDS_ROOM = 0, 1, 2
FINEST = 2.0**53
"""From so many slots on, the clock tells no two of them apart."""


@njit_borrowing
def advance(rows: Any, packed: Any, rules: Any, queue: Any, state: Any, steps: int) -> int:
    """Process up to `steps` instants; says whether the run is done, or room for pieces is short.

    A pass takes at most the free GPUs, so that much room is always enough.
    """
    room = len(state.piece)
    most = len(state.servers.free) * (len(state.servers.histogram) - 1)
    for _ in range(steps):
        if state.index[PIECES] + most > room:
            return NEEDS_ROOM
        now = _next_event(rows, rules, queue, state)
        if now == np.inf:
            return DONE
        if rules.slot > 0.0:
            now = next_multiple(now, rules.slot)
        state.now[0] = now
        _free_ended(rows, rules, state, now)
        if rules.virtual:
            while next_completion(state.machine) <= now:
                enqueue(rows, rules, queue, state, complete(state.machine))
        _admit(rows, rules, queue, state, now)
        schedule(rows, packed, rules, queue, state, now)
    return MORE


@njit_inlined
def _next_event(rows: Any, rules: Any, queue: Any, state: Any) -> float:
    at = np.inf
    if state.index[NEXT] < len(rows.submit):
        at = rows.submit[state.index[NEXT]]
    at = min(at, next_end(state.ends))
    if rules.virtual:
        at = min(at, next_completion(state.machine))
    if rules.delays:
        head = current_head(rules, queue, state)
        if head >= 0 and state.window[head] > state.now[0]:
            at = min(at, state.window[head])
    return at


@njit_inlined
def next_multiple(time: float, slot: float) -> float:
    """The first multiple of the slot from a time on; the time itself where the clock is coarser.

    A multiple is the number that the product rounds to, so that those are their own next ones.
    """
    count = np.ceil(time / slot)
    if count >= FINEST:
        return time
    if count * slot < time:
        count += 1.0
    elif (count - 1.0) * slot >= time:
        count -= 1.0
    return max(count * slot, time)


@njit_inlined
def _free_ended(rows: Any, rules: Any, state: Any, now: float) -> None:
    while next_end(state.ends) <= now:
        row = pop_end(state.ends)
        state.index[RUNNING] -= 1
        if rules.scan == RESERVE and state.end[row] > state.start[row]:
            expect_no_more(state, predicted_end(rows, state, row), rows.gpus[row])
        first = state.first_piece[row]
        for piece in range(first, first + state.pieces[row]):
            give_back(state.servers, state.piece[piece])


@njit_inlined
def _admit(rows: Any, rules: Any, queue: Any, state: Any, now: float) -> None:
    while state.index[NEXT] < len(rows.submit) and rows.submit[state.index[NEXT]] <= now:
        row = state.index[NEXT]
        state.index[NEXT] = row + 1
        if rules.virtual and rows.work[row] > 0.0:
            arrive(state.machine, now, row, rows.work[row])
        else:
            enqueue(rows, rules, queue, state, row)
