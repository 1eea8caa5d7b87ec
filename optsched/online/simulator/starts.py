"""Starting and stopping a job: its segment, its GPUs, and when it is expected to end.

Complexity: O(pieces), and what `ends` says.
Source: models/online/README.md, "Preemption".
"""

from __future__ import annotations

from typing import Any

from optsched.compiled_loops import njit_inlined
from optsched.online.records import GPUS, SERVER
from optsched.online.simulator.ends import expect_end
from optsched.online.simulator.offers import give_back, rule_for, take
from optsched.online.simulator.preemption_state import (
    ALPHA,
    ALPHAS,
    END,
    FROM,
    KIND,
    KNOWN,
    LAST,
    LEFT,
    NOW,
    PIECE,
    PIECES,
    REMAINING,
    RESTARTS,
    RUNNING,
    SEGMENTS,
    STOPS,
    TIMES,
    WORKED,
)
from optsched.online.simulator.waiting_line import enqueue


@njit_inlined
def start(rows: Any, rules: Any, state: Any, row: int, alpha: float, now: float) -> None:
    """Let a job that waits run, from now on or once it is restored."""
    kind = state.number[row, KIND]
    gpus = rows.gpus[kind]
    rule = rule_for(rules.offer, rows.heavy[kind])
    first = state.index[PIECES]
    end = take(state.servers, rule, gpus, state.piece, first)
    state.index[PIECES] = end
    state.piece[end - 1] = ~state.piece[end - 1]
    begin = now
    if state.number[row, TIMES] == 0:
        state.start[row] = now
    else:
        begin += rules.checkpoint
        state.index[RESTARTS] += 1
    state.job[row, FROM], state.job[row, ALPHA] = begin, alpha
    state.job[row, END] = begin + state.job[row, LEFT] * alpha
    state.number[row, TIMES], state.number[row, PIECE] = 1 - state.number[row, TIMES], first
    state.segment_row[state.index[SEGMENTS]] = row
    state.index[SEGMENTS] += 1
    if end - first > 1:
        state.alpha[state.index[ALPHAS]] = alpha
        state.index[ALPHAS] += 1
    state.index[RUNNING] += 1
    expect_end(state, state.index[RUNNING] - 1 - state.index[LAST], row)


@njit_inlined
def stop(rows: Any, rules: Any, state: Any, row: int, key: float, at_once: bool) -> None:
    """Let a running job wait."""
    now = state.clock[NOW]
    ran = max(0.0, now - state.job[row, FROM])
    made = ran / state.job[row, ALPHA]
    state.job[row, LEFT] = max(0.0, state.job[row, LEFT] - made)
    if rules.order == REMAINING:
        state.job[row, KNOWN] = max(0.0, state.job[row, KNOWN] - made)
    state.job[row, WORKED] += ran
    state.number[row, TIMES] = -state.number[row, TIMES]
    state.stopped_row[state.index[STOPS]] = row
    state.index[STOPS] += 1
    release(rows, rules, state, row, key, at_once)
    enqueue(rows, state, row, key)


@njit_inlined
def release(rows: Any, rules: Any, state: Any, row: int, key: float, at_once: bool) -> None:
    """Free the GPUs of a job's segment; those that wait behind it have less before them."""
    if rules.order == REMAINING:
        change_ahead(rows, state, row, key, -rows.gpus[state.number[row, KIND]])
    piece, last = state.number[row, PIECE], False
    while not last:
        word = state.piece[piece]
        last = word < 0
        if last:
            word = ~word
        if at_once:
            state.servers.free[word >> SERVER] += word & GPUS
        else:
            give_back(state.servers, word)
        piece += 1


@njit_inlined
def change_ahead(rows: Any, state: Any, row: int, key: float, gpus: int) -> None:
    """Add to the GPUs before the marks, where a job with such a key comes before them."""
    for bucket in range(len(rows.sizes)):
        mark = state.mark_key[bucket]
        is_before = (key < mark) | ((key == mark) & (row < state.mark_row[bucket]))
        state.ahead[bucket] += gpus * is_before
