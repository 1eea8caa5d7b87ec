"""The event loop of policies that stop jobs. At one instant: ends, arrivals, then one pass.

A full pass goes through all jobs by (key, row), keeps or chooses those that fit together, stops the
running ones that are left over, then fills: waiting jobs start in order where they fit.
Complexity: O(R log R + started log n) a full pass for R running jobs; by remaining work O(sizes)
where nobody who waits can have come to the front, else O(R) for each job laid aside or walked
through. O(started log n) a fill; with max-min's shares a full pass looks at every job that waits.
Source: models/online/README.md, "Preemption".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.compiled_loops import njit_borrowing, njit_inlined
from optsched.online.simulator._engine_kernel import next_multiple
from optsched.online.simulator.heaps import pop_keyed, push_keyed
from optsched.online.simulator.iteration_cache import cached_time
from optsched.online.simulator.offers import pattern, rule_for, set_free, take
from optsched.online.simulator.preemption import (
    ENDED,
    ENDS,
    NEXT,
    NONE,
    PIECES,
    QUEUED,
    REMAINING,
    RUNNING,
    SEGMENTS,
    SHARE,
)
from optsched.online.simulator.waiting_line import (
    dequeue,
    enqueue,
    fair_level,
    first_fitting,
    is_sooner,
    key_of,
    rank_again,
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


@njit_inlined
def _next_event(rows: Any, rules: Any, state: Any) -> float:
    at = np.inf
    if state.index[NEXT] < len(rows.submit):
        at = rows.submit[state.index[NEXT]]
    if state.index[RUNNING] > 0:
        at = min(at, state.end_time[0])
    if rules.round > 0.0 and state.index[QUEUED] > 0:
        at = min(at, _next_boundary(state.now[0], rules.round))
    return at


@njit_inlined
def _next_boundary(now: float, length: float) -> float:
    """The first multiple of a round after now; infinite where the clock is coarser."""
    count = np.floor(now / length)
    while count * length <= now:
        if count >= FINEST:
            return np.inf
        count += 1.0
    return count * length


@njit_inlined
def _is_boundary(now: float, rules: Any) -> bool:
    """Whether a round begins at an instant, or began since the last multiple of the slot."""
    if rules.slot == 0.0:
        return np.floor(now / rules.round + 0.5) * rules.round == now
    count = np.floor(now / rules.round)
    if count * rules.round > now:
        count -= 1.0
    return next_multiple(count * rules.round, rules.slot) == now


@njit_inlined
def _end(rows: Any, state: Any, now: float) -> None:
    while state.index[RUNNING] > 0 and state.end_time[0] <= now:
        row = state.end_row[0]
        _release(rows, state, row)
        state.left[row] = 0.0
        state.present[rows.bucket[row]] -= 1
        state.index[ENDED] += 1
        last = state.index[RUNNING] - 1
        state.index[RUNNING] = last
        state.running[state.place[row]] = state.running[last]
        state.place[state.running[last]] = state.place[row]
        _forget_stopped(state)


@njit_inlined
def _forget_stopped(state: Any) -> None:
    """Let the first end be that of a job that runs."""
    while state.index[ENDS] > 0:
        row = state.end_row[0]
        if state.segment[row] != NONE and state.end[row] == state.end_time[0]:
            return
        pop_keyed(state.end_time, state.end_row, state.index[ENDS])
        state.index[ENDS] -= 1


@njit_inlined
def _release(rows: Any, state: Any, row: int) -> None:
    """Free the GPUs of a job's segment."""
    for bucket in range(len(rows.sizes)):
        state.ahead[bucket] -= rows.gpus[row]
    segment = state.segment[row]
    first, last = state.segment_piece[segment], state.index[PIECES]
    if segment + 1 < state.index[SEGMENTS]:
        last = state.segment_piece[segment + 1]
    for piece in range(first, last):
        server = state.piece_server[piece]
        set_free(state.servers, server, state.servers.free[server] + state.piece_gpus[piece])
    state.segment[row] = NONE


@njit_inlined
def _admit(rows: Any, rules: Any, state: Any, now: float) -> None:
    while state.index[NEXT] < len(rows.submit) and rows.submit[state.index[NEXT]] <= now:
        row = state.index[NEXT]
        state.index[NEXT] = row + 1
        state.present[rows.bucket[row]] += 1
        enqueue(rows, state, row, key_of(rows, rules, state, row, 0.0, 0.0))


@njit_borrowing
def _preempt(rows: Any, rules: Any, state: Any, now: float) -> None:
    """Stop the running jobs that are not among the first that fit together.

    What is walked through in line are the last of the running ones; all before them stay.
    """
    level = np.inf
    if rules.order == SHARE:
        level = fair_level(rows, state)
        rank_again(rows, rules, state, level)
    last, claimed, aside = 0, 0, 0
    if rules.order == REMAINING:
        last, claimed, aside = _claims(rows, rules, state, now)
    else:
        _look_at_running(rows, rules, state, now, level)
        while last < state.index[RUNNING]:
            key, row = state.running_key[last], state.running[last]
            push_keyed(state.order_key, state.order_row, last, key, row)
            last += 1
    left, stopped, kept = last, last, state.index[RUNNING] - last
    room = state.servers.total[0] - claimed
    for at in range(last):
        room += rows.gpus[state.order_row[at]]
    waiting = first_fitting(rows, state, room)
    while left > 0:
        if waiting >= 0 and _is_before(state, waiting):
            key, row = dequeue(state, waiting)
            state.aside_key[aside], state.aside[aside] = key, row
            aside += 1
            room -= rows.gpus[row]
            waiting = first_fitting(rows, state, room)
            continue
        key, row = pop_keyed(state.order_key, state.order_row, left)
        left -= 1
        if rows.gpus[row] <= room:
            room -= rows.gpus[row]
            state.running[kept] = row
            kept += 1
            if waiting >= 0 and rows.sizes[waiting] > room:
                waiting = first_fitting(rows, state, room)
        else:  # behind what is left of the heap is room for all that left it
            stopped -= 1
            state.order_key[stopped], state.order_row[stopped] = key, row
    for at in range(stopped, last):
        row = state.order_row[at]
        _stop(rows, state, row, now)
        enqueue(rows, state, row, state.order_key[at])
    state.index[RUNNING] = kept
    if last > 0:
        for at in range(kept):
            state.place[state.running[at]] = at
        _forget_stopped(state)
    for at in range(aside - 1, -1, -1):
        enqueue(rows, state, state.aside[at], state.aside_key[at])


@njit_borrowing
def _look_at_running(rows: Any, rules: Any, state: Any, now: float, level: float) -> None:
    """Note the keys of the running jobs, and their GPUs."""
    for at in range(state.index[RUNNING]):
        row = state.running[at]
        ran = max(0.0, now - state.work_from[row])
        state.running_key[at] = key_of(rows, rules, state, row, ran, level)
        state.running_gpus[at] = rows.gpus[row]


@njit_borrowing
def _claims(rows: Any, rules: Any, state: Any, now: float) -> tuple[int, int, int]:
    """Lay aside jobs that wait, come before running ones, and fit beside all that come sooner.

    Where these take more than what is free, the last of the running jobs that make up for it go to
    the end of `running` and onto the heap, until the next such job would come after one of them.
    Returns how many do, the GPUs laid claim to, and how many jobs are aside.
    Where keys of jobs that run only fall, what comes before a job that waits grows until one of
    these ends or is stopped: `state.ahead` is at most the GPUs of those.
    """
    free = state.servers.total[0]
    every = len(state.servers.free) * (len(state.servers.histogram) - 1)
    last, held, claimed, aside, looked = 0, 0, 0, 0, False
    while True:
        best = NONE
        for bucket in range(len(rows.sizes)):
            room = min(every - claimed - rows.sizes[bucket], every - free - 1)
            if state.size[bucket] == 0 or state.ahead[bucket] > room:
                continue
            if not looked:
                _look_at_running(rows, rules, state, now, np.inf)
                looked = True
            state.ahead[bucket] = _ahead(state, bucket)
            if state.ahead[bucket] > room:
                continue
            at = state.begin[bucket]
            if best == NONE or is_sooner(state, state.key[at], state.row[at], best):
                best = bucket
        if best == NONE or (last > 0 and not _is_before(state, best)):
            break
        state.aside_key[aside], state.aside[aside] = dequeue(state, best)
        aside += 1
        claimed += rows.sizes[best]
        while held < claimed - free:
            held += _add_last(state, last)
            last += 1
    return last, claimed, aside


@njit_inlined
def _ahead(state: Any, bucket: int) -> int:
    """GPUs of the running jobs that come before the first that waits in a bucket."""
    gpus, least, row = 0, state.key[state.begin[bucket]], state.row[state.begin[bucket]]
    for at in range(state.index[RUNNING]):
        key = state.running_key[at]
        if key < least or (key == least and state.running[at] < row):
            gpus += state.running_gpus[at]
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
    state.running_key[found], state.running_key[end] = state.running_key[end], key
    state.running[found], state.running[end] = state.running[end], row
    state.running_gpus[found], state.running_gpus[end] = state.running_gpus[end], gpus
    push_keyed(state.order_key, state.order_row, count, key, row)
    return gpus


@njit_inlined
def _is_before(state: Any, bucket: int) -> bool:
    """Whether the first that waits in a bucket comes before the first of the running ones."""
    at = state.begin[bucket]
    if state.key[at] != state.order_key[0]:
        return state.key[at] < state.order_key[0]
    return state.row[at] < state.order_row[0]


@njit_inlined
def _stop(rows: Any, state: Any, row: int, now: float) -> None:
    ran = max(0.0, now - state.work_from[row])
    made = ran / state.alpha[row]
    state.left[row] = max(0.0, state.left[row] - made)
    state.known[row] = max(0.0, state.known[row] - made)
    state.worked[row] += ran
    state.segment_end[state.segment[row]] = now
    _release(rows, state, row)


@njit_borrowing
def _fill(rows: Any, packed: Any, rules: Any, state: Any, now: float) -> None:
    """Start jobs that wait, in order, where they fit; where slices find no seat, the next ones."""
    aside = 0
    while state.servers.total[0] > 0:
        bucket = first_fitting(rows, state, state.servers.total[0])
        if bucket == NONE:
            break
        key, row = dequeue(state, bucket)
        rule = rule_for(rules.offer, rows.heavy[rows.configuration[row]])
        pieces = pattern(state.servers, rule, rows.gpus[row], state.taken, state.scratch)
        alpha = cached_time(state.cache, packed, rows.configuration[row], state.taken, pieces)
        if alpha == np.inf:
            state.aside_key[aside], state.aside[aside] = key, row
            aside += 1
            continue
        _start(rows, rules, state, row, alpha, now)
        for each in range(len(rows.sizes)):
            if state.size[each] > 0 and is_sooner(state, key, row, each):
                state.ahead[each] += rows.gpus[row]
    for at in range(aside):
        enqueue(rows, state, state.aside[at], state.aside_key[at])


@njit_inlined
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
    state.place[row] = state.index[RUNNING]
    state.index[RUNNING] += 1
    _expect_end(state, row)


@njit_inlined
def _expect_end(state: Any, row: int) -> None:
    """Note a job's end; where there is no room left, forget those of jobs stopped since."""
    if state.index[ENDS] == len(state.end_time):
        state.index[ENDS] = 0
        for each in state.running[: state.index[RUNNING] - 1]:
            push_keyed(state.end_time, state.end_row, state.index[ENDS], state.end[each], each)
            state.index[ENDS] += 1
    push_keyed(state.end_time, state.end_row, state.index[ENDS], state.end[row], row)
    state.index[ENDS] += 1
