"""The event loop of policies that stop jobs. At one instant: ends, arrivals, then one pass.

A full pass goes through all jobs by (key, row), keeps or chooses those that fit together, stops the
running ones that are left over, then fills: waiting jobs start in order where they fit.
Complexity: O(R + changed log n) a full pass for R running jobs; by remaining work O(sizes) where
nobody who waits can have come to the front, else O(log n + sqrt R) for each job looked at.
O(started log n) a fill; with max-min's shares a full pass looks at every job that waits.
Source: models/online/README.md, "Preemption".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.compiled_loops import njit_borrowing, njit_inlined
from optsched.online.simulator._engine_kernel import next_multiple
from optsched.online.simulator.ends import expect_ends, forget_stopped, next_end
from optsched.online.simulator.iteration_cache import cached_time
from optsched.online.simulator.last_running import leave, run_at, run_by_key, run_last
from optsched.online.simulator.offers import pattern, rule_for
from optsched.online.simulator.preemption_state import (
    ALPHAS,
    ENDED,
    ENDS,
    FETCHED,
    GONE,
    HORIZON,
    INSTANTS,
    KIND,
    KNOWN,
    LAST,
    LEFT,
    NEXT,
    NONE,
    NOW,
    PIECES,
    QUEUED,
    REMAINING,
    RESTARTS,
    RUNNING,
    SEGMENTS,
    SHARE,
    STOPS,
    SUBMITTED,
)
from optsched.online.simulator.server_sets import see_free
from optsched.online.simulator.share_rounds import go_by_shares
from optsched.online.simulator.starts import (
    change_ahead,
    release,
    start,
    stop,
)
from optsched.online.simulator.waiting_line import (
    dequeue,
    enqueue,
    fetched,
    first_fitting,
    key_of,
)
from optsched.online.simulator.walk import claims, come_after, go_through

DONE, MORE, NEEDS_ROOM = 0, 1, 2
FINEST = 2.0**53
"""From so many rounds on, the clock tells no two of them apart."""


@njit_borrowing
def advance(rows: Any, packed: Any, rules: Any, state: Any, steps: int) -> int:
    """Process up to `steps` instants; says whether the run is done, or room is short.

    A pass starts at most as many segments and takes at most as many pieces as there are GPUs.
    """
    most = len(state.servers.free) * (len(state.servers.histogram) - 1)
    sure = 0
    for _ in range(steps):
        if sure == 0:
            sure = _recordable(state, most)
        if sure == 0:
            return NEEDS_ROOM
        sure -= 1
        now = _next_event(rows, rules, state)
        while now > state.clock[HORIZON]:
            least = now if now < np.inf else -np.inf
            expect_ends(state, state.index[RUNNING] - state.index[LAST], least, np.inf)
            now = _next_event(rows, rules, state)
        if now == np.inf:
            return DONE
        state.clock[NOW] = now
        _end(rows, rules, state, now)
        _admit(rows, rules, state, now)
        if state.index[QUEUED] == 0:
            continue
        restarts, stops, chosen = state.index[RESTARTS], state.index[STOPS], 0
        if rules.round == 0.0 or _is_boundary(now, rules):
            chosen = _preempt(rows, rules, state, now)
        _fill(rows, packed, rules, state, now, chosen)
        _note_instant(state, now, restarts, stops)
    return MORE


@njit_inlined
def _recordable(state: Any, most: int) -> int:
    """How many instants can be recorded, if each has at most so many segments or pieces."""
    room = len(state.segment_row) - state.index[SEGMENTS]
    room = min(room, len(state.stopped_row) - state.index[STOPS])
    room = min(room, len(state.alpha) - state.index[ALPHAS])
    room = min(room, len(state.piece) - state.index[PIECES])
    return min(room // most, len(state.instant) - state.index[INSTANTS])


@njit_inlined
def _note_instant(state: Any, now: float, restarts: int, stops: int) -> None:
    """Record when jobs were stopped, or ran again."""
    restarts, stops = state.index[RESTARTS] - restarts, state.index[STOPS] - stops
    if restarts + stops > 0:
        at = state.index[INSTANTS]
        state.instant[at], state.restarts[at], state.stops[at] = now, restarts, stops
        state.index[INSTANTS] = at + 1


@njit_inlined
def _next_event(rows: Any, rules: Any, state: Any) -> float:
    """When something acts next, if no job ends unexpected; infinite if nothing does."""
    at = np.inf
    if state.index[NEXT] < len(rows.submit):
        at = rows.submit[state.index[NEXT]]
    at = min(at, next_end(state))
    if rules.round > 0.0 and state.index[QUEUED] > 0:
        at = min(at, _next_boundary(state.clock[NOW], rules.round))
    return next_multiple(at, rules.slot) if rules.slot > 0.0 else at


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
    elif (count + 1.0) * rules.round <= now:
        count += 1.0
    return next_multiple(count * rules.round, rules.slot) == now


@njit_inlined
def _end(rows: Any, rules: Any, state: Any, now: float) -> None:
    while next_end(state) <= now:
        row = state.end_row[state.index[ENDS] - 1]
        release(rows, rules, state, row, leave(state, row), False)
        state.job[row, LEFT] = GONE
        state.present[rows.bucket[state.number[row, KIND]]] -= 1
        state.index[ENDED] += 1
        forget_stopped(state)


@njit_inlined
def _admit(rows: Any, rules: Any, state: Any, now: float) -> None:
    while state.index[NEXT] < len(rows.submit) and rows.submit[state.index[NEXT]] <= now:
        row = state.index[NEXT]
        state.index[NEXT] = row + 1
        kind = rows.configuration[row]
        state.number[row, KIND], state.job[row, LEFT] = kind, rows.iterations[row]
        if rules.order == SHARE:
            state.job[row, SUBMITTED] = rows.submit[row]
        else:
            state.job[row, KNOWN] = rows.predicted[row]
        state.present[rows.bucket[kind]] += 1
        enqueue(rows, state, row, key_of(rows, rules, state, row, 0.0, np.inf))


@njit_inlined
def _preempt(rows: Any, rules: Any, state: Any, now: float) -> int:
    """Stop the running jobs that are not among the first that fit together.

    Returns how many of those that wait are, which lie in order in `aside`.
    """
    free, first = state.servers.total[0], 0
    if rules.order == SHARE:
        kept, stopped, aside = go_by_shares(rows, rules, state, now)
    elif rules.order == REMAINING:
        last, claimed, aside = claims(rows, rules, state, now)
        first = state.index[RUNNING] - state.index[LAST]
        kept, stopped, aside = go_through(rows, state, first, last, aside, free - claimed)
    else:
        kept, last = come_after(rows, rules, state, now)
        kept, stopped, aside = go_through(rows, state, kept, last, 0, free)
    at_once = stopped >= max(len(state.servers.free), len(state.servers.histogram))
    for at in range(stopped):
        stop(rows, rules, state, state.order_row[at], state.order_key[at], at_once)
    if at_once:
        see_free(state.servers)
    if rules.order == REMAINING:
        state.index[RUNNING] = kept + state.index[LAST]
        for at in range(first, kept):
            run_last(state, state.running[at], state.running_key[at])
    else:
        state.index[RUNNING] = kept
    if rules.round > 0.0:
        until = _next_boundary(now, rules.round)
        until = next_multiple(until, rules.slot) if rules.slot > 0.0 else until
        expect_ends(state, kept, -np.inf, until)
    elif stopped > 0:
        forget_stopped(state)
    return aside


@njit_inlined
def _fill(rows: Any, packed: Any, rules: Any, state: Any, now: float, chosen: int) -> None:
    """Start what is chosen, then jobs that wait, in order, where they fit.

    Where slices find no seat, a job waits on, and whoever waits may come next.
    """
    at, seatless = 0, 0
    state.clock[FETCHED] = fetched(state, chosen)
    while state.servers.total[0] > 0:
        if at < chosen:
            key, row = state.aside_key[at], state.aside[at]
            at += 1
        else:
            bucket = first_fitting(rows, state, state.servers.total[0])
            if bucket == NONE:
                break
            key, row = dequeue(state, bucket)
        kind = state.number[row, KIND]
        alpha = packed.estimate[kind]
        if rows.gpus[kind] > 1:
            rule = rule_for(rules.offer, rows.heavy[kind])
            pieces = pattern(state.servers, rule, rows.gpus[kind], state.taken, state.scratch)
            alpha = cached_time(state.cache, packed, kind, state.taken, pieces)
        if alpha < np.inf:
            start(rows, rules, state, row, alpha, now)
            place = state.index[RUNNING] - 1 - state.index[LAST]
            if rules.order == REMAINING:
                run_by_key(rows, state, place, row, key)
                change_ahead(rows, state, row, key, rows.gpus[kind])
            else:
                run_at(state, place, row, rows.gpus[kind], key)
            continue
        for each in range(at, chosen):
            enqueue(rows, state, state.aside[each], state.aside_key[each])
        chosen = 0
        state.aside_key[seatless], state.aside[seatless] = key, row
        seatless += 1
    for each in range(seatless):
        enqueue(rows, state, state.aside[each], state.aside_key[each])
