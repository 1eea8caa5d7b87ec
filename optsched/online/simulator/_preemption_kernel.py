"""The event loop of policies that stop jobs. At one instant: ends, arrivals, then one pass.

A full pass goes through all jobs by (key, row), keeps or chooses those that fit together, stops the
running ones that are left over, then fills: waiting jobs start in order where they fit.
Complexity: O(R log R + started log n) a full pass for R running jobs, O(started log n) a fill; with
max-min's shares a full pass looks at every job that waits.
Source: models/online/README.md, "Preemption".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.compiled_loops import njit_borrowing
from optsched.online.simulator._engine_kernel import next_multiple
from optsched.online.simulator.heaps import pop_keyed, push_keyed
from optsched.online.simulator.iteration_cache import cached_time
from optsched.online.simulator.offers import pattern, rule_for, set_free, take
from optsched.online.simulator.preemption import (
    ATTAINED,
    ENDED,
    NEXT,
    NONE,
    PIECES,
    QUEUED,
    REMAINING,
    RUNNING,
    SEGMENTS,
    SHARE,
)

DONE, MORE, NEEDS_ROOM = 0, 1, 2
FINEST = 2.0**53
"""From so many rounds on, the clock tells no two of them apart."""


@njit_borrowing
def advance(rows: Any, packed: Any, rules: Any, state: Any, steps: int) -> int:
    """Process up to `steps` instants; says whether the run is done, or room is short.

    A pass starts at most as many segments and takes at most as many pieces as there are GPUs.

    Parameters
    ----------
    rows : Rows
        The jobs.
    packed : Packed
        The configurations.
    rules : Rules
        The policy's.
    state : State
        The run so far; edited.
    steps : int
        Instants.
    """
    most = len(state.servers.free) * (len(state.servers.histogram) - 1)
    for _ in range(steps):
        written = max(state.index[SEGMENTS], state.index[PIECES])
        if written + most > len(state.piece_server):
            return NEEDS_ROOM
        now = _next_event(rows, rules, state)
        if now == np.inf:
            return DONE
        if rules.slot > 0.0:
            now = next_multiple(now, rules.slot)
        state.now[0] = now
        _end(rows, state, now)
        _admit(rows, rules, state, now)
        if state.index[QUEUED] == 0:
            continue
        if rules.round == 0.0 or _is_boundary(now, rules):
            _preempt(rows, rules, state, now)
        _fill(rows, packed, rules, state, now)
    return MORE


@njit_borrowing
def _next_event(rows: Any, rules: Any, state: Any) -> float:
    at = np.inf
    if state.index[NEXT] < len(rows.submit):
        at = rows.submit[state.index[NEXT]]
    for row in state.running[: state.index[RUNNING]]:
        at = min(at, state.end[row])
    if rules.round > 0.0 and state.index[QUEUED] > 0:
        at = min(at, _next_boundary(state.now[0], rules.round))
    return at


@njit_borrowing
def _next_boundary(now: float, length: float) -> float:
    """The first multiple of a round after now; infinite where the clock is coarser."""
    count = np.floor(now / length)
    while count * length <= now:
        if count >= FINEST:
            return np.inf
        count += 1.0
    return count * length


@njit_borrowing
def _is_boundary(now: float, rules: Any) -> bool:
    """Whether a round begins at an instant, or began since the last multiple of the slot."""
    if rules.slot == 0.0:
        return np.floor(now / rules.round + 0.5) * rules.round == now
    count = np.floor(now / rules.round)
    if count * rules.round > now:
        count -= 1.0
    return next_multiple(count * rules.round, rules.slot) == now


@njit_borrowing
def _end(rows: Any, state: Any, now: float) -> None:
    kept = 0
    for row in state.running[: state.index[RUNNING]]:
        if state.end[row] > now:
            state.running[kept] = row
            kept += 1
            continue
        _release(state, row)
        state.left[row] = 0.0
        state.present[rows.bucket[row]] -= 1
        state.index[ENDED] += 1
    state.index[RUNNING] = kept


@njit_borrowing
def _release(state: Any, row: int) -> None:
    """Free the GPUs of a job's segment."""
    segment = state.segment[row]
    first, last = state.segment_piece[segment], state.index[PIECES]
    if segment + 1 < state.index[SEGMENTS]:
        last = state.segment_piece[segment + 1]
    for piece in range(first, last):
        server = state.piece_server[piece]
        set_free(state.servers, server, state.servers.free[server] + state.piece_gpus[piece])
    state.segment[row] = NONE


@njit_borrowing
def _admit(rows: Any, rules: Any, state: Any, now: float) -> None:
    while state.index[NEXT] < len(rows.submit) and rows.submit[state.index[NEXT]] <= now:
        row = state.index[NEXT]
        state.index[NEXT] = row + 1
        state.present[rows.bucket[row]] += 1
        _enqueue(rows, state, row, _key(rows, rules, state, row, 0.0, 0.0))


@njit_borrowing
def _enqueue(rows: Any, state: Any, row: int, key: float) -> None:
    bucket = rows.bucket[row]
    begin = state.begin[bucket]
    push_keyed(state.key[begin:], state.row[begin:], state.size[bucket], key, row)
    state.size[bucket] += 1
    state.index[QUEUED] += 1


@njit_borrowing
def _dequeue(state: Any, bucket: int) -> tuple[float, int]:
    begin = state.begin[bucket]
    key, row = pop_keyed(state.key[begin:], state.row[begin:], state.size[bucket])
    state.size[bucket] -= 1
    state.index[QUEUED] -= 1
    return key, row


@njit_borrowing
def _key(rows: Any, rules: Any, state: Any, row: int, ran: float, level: float) -> float:
    """A job's place in line once it has worked `ran` seconds more; the least comes first."""
    gpus, worked = rows.gpus[row], state.worked[row] + ran
    if rules.order == ATTAINED:
        return gpus * worked
    if rules.order == REMAINING:
        known = state.known[row]
        if ran > 0.0:
            known = max(0.0, known - ran / state.alpha[row])
        return gpus * known * rows.estimate[row]
    if worked == 0.0:
        return 0.0
    return worked / (min(1.0, level / gpus) * (state.now[0] - rows.submit[row]))


@njit_borrowing
def _fair_level(rows: Any, state: Any) -> float:
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


@njit_borrowing
def _preempt(rows: Any, rules: Any, state: Any, now: float) -> None:
    """Stop the running jobs that are not among the first that fit together."""
    level = np.inf
    if rules.order == SHARE:
        level = _fair_level(rows, state)
        _rank_again(rows, rules, state, level)
    for at in range(state.index[RUNNING]):
        row = state.running[at]
        key = _key(rows, rules, state, row, max(0.0, now - state.work_from[row]), level)
        push_keyed(state.order_key, state.order_row, at, key, row)
    left, stopped, kept, aside = state.index[RUNNING], state.index[RUNNING], 0, 0
    room = len(state.servers.free) * (len(state.servers.histogram) - 1)
    waiting = _first_fitting(rows, state, room)
    while left > 0:
        if waiting >= 0 and _is_before(state, waiting):
            key, row = _dequeue(state, waiting)
            state.aside_key[aside], state.aside[aside] = key, row
            aside += 1
            room -= rows.gpus[row]
            waiting = _first_fitting(rows, state, room)
            continue
        key, row = pop_keyed(state.order_key, state.order_row, left)
        left -= 1
        if rows.gpus[row] <= room:
            room -= rows.gpus[row]
            state.running[kept] = row
            kept += 1
            if waiting >= 0 and rows.sizes[waiting] > room:
                waiting = _first_fitting(rows, state, room)
        else:  # behind what is left of the heap is room for all that left it
            stopped -= 1
            state.order_key[stopped], state.order_row[stopped] = key, row
    for at in range(stopped, state.index[RUNNING]):
        row = state.order_row[at]
        _stop(state, row, now)
        _enqueue(rows, state, row, state.order_key[at])
    state.index[RUNNING] = kept
    for at in range(aside):
        _enqueue(rows, state, state.aside[at], state.aside_key[at])


@njit_borrowing
def _is_before(state: Any, bucket: int) -> bool:
    """Whether the first that waits in a bucket comes before the first of the running ones."""
    at = state.begin[bucket]
    if state.key[at] != state.order_key[0]:
        return state.key[at] < state.order_key[0]
    return state.row[at] < state.order_row[0]


@njit_borrowing
def _first_fitting(rows: Any, state: Any, room: int) -> int:
    """The bucket of the first job in line that waits and takes no more GPUs than that; or NONE."""
    best = NONE
    for bucket in range(len(rows.sizes)):
        if rows.sizes[bucket] > room:
            break  # buckets are in order of size
        if state.size[bucket] == 0:
            continue
        at = state.begin[bucket]
        if best != NONE:
            first = state.begin[best]
            if state.key[at] > state.key[first]:
                continue
            if state.key[at] == state.key[first] and state.row[at] > state.row[first]:
                continue
        best = bucket
    return best


@njit_borrowing
def _rank_again(rows: Any, rules: Any, state: Any, level: float) -> None:
    """Order the jobs that wait by the keys they have now."""
    for bucket in range(len(rows.sizes)):
        begin = state.begin[bucket]
        for at in range(state.size[bucket]):
            row = state.row[begin + at]
            key = _key(rows, rules, state, row, 0.0, level)
            push_keyed(state.key[begin:], state.row[begin:], at, key, row)


@njit_borrowing
def _stop(state: Any, row: int, now: float) -> None:
    ran = max(0.0, now - state.work_from[row])
    made = ran / state.alpha[row]
    state.left[row] = max(0.0, state.left[row] - made)
    state.known[row] = max(0.0, state.known[row] - made)
    state.worked[row] += ran
    state.segment_end[state.segment[row]] = now
    _release(state, row)


@njit_borrowing
def _fill(rows: Any, packed: Any, rules: Any, state: Any, now: float) -> None:
    """Start jobs that wait, in order, where they fit; where slices find no seat, the next ones."""
    aside = 0
    while state.servers.total[0] > 0:
        bucket = _first_fitting(rows, state, state.servers.total[0])
        if bucket == NONE:
            break
        key, row = _dequeue(state, bucket)
        rule = rule_for(rules.offer, rows.heavy[rows.configuration[row]])
        pieces = pattern(state.servers, rule, rows.gpus[row], state.taken, state.scratch)
        alpha = cached_time(state.cache, packed, rows.configuration[row], state.taken, pieces)
        if alpha == np.inf:
            state.aside_key[aside], state.aside[aside] = key, row
            aside += 1
            continue
        _start(rows, rules, state, row, alpha, now)
    for at in range(aside):
        _enqueue(rows, state, state.aside[at], state.aside_key[at])


@njit_borrowing
def _start(rows: Any, rules: Any, state: Any, row: int, alpha: float, now: float) -> None:
    rule = rule_for(rules.offer, rows.heavy[rows.configuration[row]])
    segment, first = state.index[SEGMENTS], state.index[PIECES]
    state.index[PIECES] = take(
        state.servers, rule, rows.gpus[row], state.piece_server, state.piece_gpus, first
    )
    state.index[SEGMENTS] += 1
    state.work_from[row] = now if state.begun[row] == 0 else now + rules.checkpoint
    state.begun[row] += 1
    state.alpha[row] = alpha
    state.end[row] = state.work_from[row] + state.left[row] * alpha
    state.segment[row] = segment
    state.segment_row[segment] = row
    state.segment_start[segment] = now
    state.segment_end[segment] = state.end[row]
    state.segment_alpha[segment] = alpha
    state.segment_piece[segment] = first
    state.running[state.index[RUNNING]] = row
    state.index[RUNNING] += 1
